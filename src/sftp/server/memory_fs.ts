/**
 * A whole file system in memory as a backend: for servers that keep nothing, and for tests. Everything that the protocol knows
 * is there; permissions and owners are kept and not enforced, since there is one user.
 */

import { encodeName } from '../../bytes/name.ts';
import { toBytes } from '../../bytes/text.ts';
import { SshError } from '../../errors.ts';
import type { Attributes } from '../proto/attrs.ts';
import type { FileSystemStats, OwnerNames } from '../proto/extensions.ts';
import type { BackendEntry, OpenRequest, SftpBackend } from './backend.ts';
import { MemoryFile, type MemoryHost } from './memory_file.ts';
import {
  attributesOf,
  change,
  checkNew,
  type DirectoryNode,
  type FileNode,
  type Inode,
  LONGEST_NAME,
  locate,
  type Place,
  parentOf,
  type TreeNode,
} from './memory_tree.ts';
import { resolvePath } from './paths.ts';
import { PosixError } from './posix_error.ts';
import { SparseBytes } from './sparse_bytes.ts';

/** Options of `memoryFiles`. */
export interface MemoryFilesOptions {
  /** Files that are there from the start, by path; text is UTF-8. Directories come into being as needed. */
  readonly files?: Readonly<Record<string, string | Uint8Array>> | undefined;
  /** Bytes that all files together may take. Default: 1 GiB. */
  readonly maxBytes?: number | undefined;
  /** Names of files, directories and links together, and open files without one. Default: 100 000. */
  readonly maxFiles?: number | undefined;
  /** Where relative paths begin. Default: `/`. */
  readonly home?: string | undefined;
  /** Who owns what is made. Default: user and group 0, `root`. */
  readonly owner?: MemoryOwner | undefined;
  /** Permission bits that nothing gets when it is made, as umask(2). Default: 0o022. */
  readonly umask?: number | undefined;
  /** Milliseconds since 1970. Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/** An owner and its names. */
export interface MemoryOwner {
  readonly uid: number;
  readonly gid: number;
  readonly user: string;
  readonly group: string;
}

/** A file system in memory. Nothing in it takes time: its functions give no promises. */
export interface MemoryFiles extends Required<SftpBackend> {
  open(path: string, request: OpenRequest): MemoryFile;
  stat(path: string): Attributes;
  lstat(path: string): Attributes;
  list(path: string): Iterable<BackendEntry>;
  readlink(path: string): string;
  realpath(path: string): string;
  statvfs(path?: string): FileSystemStats;
  /** Puts a file at `path`, in place of one that is there; directories come into being as needed. Text is UTF-8. */
  put(path: string, content: string | Uint8Array): void;
  /** A copy of the content of a file; `undefined` where there is none. */
  get(path: string): Uint8Array | undefined;
}

/** Makes a file system in memory. */
export function memoryFiles(options: MemoryFilesOptions = {}): MemoryFiles {
  const files = new Memory(options);
  for (const [path, content] of Object.entries(options.files ?? {})) files.put(path, content);
  return files;
}

const MAX_BYTES = 1024 * 1024 * 1024;
const MAX_FILES = 100_000;

/** Bytes of a block in figures. */
const BLOCK = 4096;

const ROOT: MemoryOwner = { uid: 0, gid: 0, user: 'root', group: 'root' };

/** Permissions of what is made without any, before the umask: those that OpenSSH's sftp-server asks for. */
const NEW_FILE = 0o666;
const NEW_DIRECTORY = 0o777;
const UMASK = 0o022;

const PUT = { read: false, write: true, append: false, create: true, truncate: true, exclusive: false, attrs: {} };

class Memory implements MemoryFiles {
  readonly files = { sync: true, statvfs: true } as const;
  readonly #maxBytes: number;
  readonly #maxFiles: number;
  readonly #home: string;
  readonly #owner: MemoryOwner;
  readonly #umask: number;
  readonly #now: () => number;
  readonly #root: DirectoryNode;
  #usedBytes = 0;
  #usedFiles = 0;

  constructor(options: MemoryFilesOptions) {
    this.#maxBytes = whole('maxBytes', options.maxBytes ?? MAX_BYTES);
    this.#maxFiles = whole('maxFiles', options.maxFiles ?? MAX_FILES);
    this.#home = resolvePath('', options.home ?? '/');
    this.#owner = options.owner ?? ROOT;
    this.#umask = options.umask ?? UMASK;
    this.#now = options.now ?? Date.now;
    this.#root = this.#newDirectory(NEW_DIRECTORY & ~this.#umask);
    this.#makeDirectories(this.#home);
  }

  put(path: string, content: string | Uint8Array): void {
    const absolute = resolvePath('', path);
    this.#makeDirectories(absolute.slice(0, absolute.lastIndexOf('/')));
    const file = this.open(absolute, PUT);
    file.write(0, [toBytes(content)]);
    file.close();
  }

  get(path: string): Uint8Array | undefined {
    try {
      const { node } = locate(this.#root, path, true);
      return node?.kind === 'file' ? node.content.read(0, node.content.size) : undefined;
    } catch {
      return undefined;
    }
  }

  #makeDirectories(path: string): void {
    let made = '';
    for (const name of path.split('/').filter((part) => part !== '')) {
      made += `/${name}`;
      if (locate(this.#root, made, true).node === undefined) this.mkdir(made, {});
    }
  }

  // Files.

  open(path: string, request: OpenRequest): MemoryFile {
    const alone = request.create && request.exclusive;
    const place = locate(this.#root, path, !alone);
    const { node } = place;
    if (node !== undefined && alone) throw new PosixError('EEXIST', path);
    if (node === undefined && !request.create) throw new PosixError('ENOENT', path);
    if (node !== undefined && node.kind !== 'file') throw new PosixError('EISDIR', path);
    const file = node ?? this.#makeFile(place, request.attrs);
    if (request.truncate) this.#change(file, { size: 0 });
    file.open++;
    return new MemoryFile(this.#host, file, request.append);
  }

  #makeFile(place: Place, attrs: Attributes): FileNode {
    const content = new SparseBytes((more) => this.#reserve(more));
    const permissions = (attrs.permissions ?? NEW_FILE) & ~this.#umask;
    const file: FileNode = { kind: 'file', content, open: 0, ...this.#inode(permissions) };
    this.#enter(place, file);
    return file;
  }

  readonly #host: MemoryHost = {
    change: (node, attrs) => this.#change(node, attrs),
    touch: (node) => {
      node.mtime = this.#seconds;
    },
    statvfs: () => this.statvfs(),
    closed: (file) => {
      file.open--;
      this.#freeIfUnused(file);
    },
  };

  *list(path: string): Generator<BackendEntry> {
    const node = this.#existing(path, true);
    if (node.kind !== 'directory') throw new PosixError('ENOTDIR', path);
    for (const [name, entry] of node.entries) {
      const owner = entry.uid === this.#owner.uid ? { owner: this.#owner.user } : {};
      const group = entry.gid === this.#owner.gid ? { group: this.#owner.group } : {};
      yield { name, attrs: attributesOf(entry), links: entry.links, ...owner, ...group };
    }
  }

  stat(path: string): Attributes {
    return attributesOf(this.#existing(path, true));
  }

  lstat(path: string): Attributes {
    return attributesOf(this.#existing(path, false));
  }

  setstat(path: string, attrs: Attributes): void {
    this.#change(this.#existing(path, true), attrs);
  }

  lsetstat(path: string, attrs: Attributes): void {
    this.#change(this.#existing(path, false), attrs);
  }

  // Names.

  mkdir(path: string, attrs: Attributes): void {
    const permissions = (attrs.permissions ?? NEW_DIRECTORY) & ~this.#umask;
    this.#enter(locate(this.#root, path, false), this.#newDirectory(permissions));
  }

  rmdir(path: string): void {
    const place = locate(this.#root, path, false);
    if (place.node === undefined) throw new PosixError('ENOENT', path);
    if (place.node.kind !== 'directory') throw new PosixError('ENOTDIR', path);
    if (place.name === '') throw new PosixError('EBUSY', path);
    if (place.node.entries.size > 0) throw new PosixError('ENOTEMPTY', path);
    this.#leave(place, place.node);
  }

  remove(path: string): void {
    const place = locate(this.#root, path, false);
    if (place.node === undefined) throw new PosixError('ENOENT', path);
    if (place.node.kind === 'directory') throw new PosixError('EISDIR', path);
    this.#leave(place, place.node);
  }

  rename(from: string, to: string): void {
    this.#existing(from, false);
    if (locate(this.#root, to, false).node !== undefined) throw new PosixError('EEXIST', to);
    this.posixRename(from, to);
  }

  posixRename(from: string, to: string): void {
    const node = this.#existing(from, false);
    const source = locate(this.#root, from, false);
    const target = locate(this.#root, to, false);
    if (source.name === '' || target.name === '') throw new PosixError('EBUSY', from);
    if (node === target.node) return; // two names of one file stay as they are: POSIX rename
    if (node.kind === 'directory' && target.parents.includes(node)) throw new PosixError('EINVAL', to);
    if (target.node === undefined) checkNew(target);
    else this.#makeRoom(node, target, target.node);
    this.#detach(source, node);
    this.#attach(target, node);
  }

  /** Takes away what stands at `place`, if `node` may take its name. */
  #makeRoom(node: TreeNode, place: Place, old: TreeNode): void {
    if (old.kind === 'directory') {
      if (node.kind !== 'directory') throw new PosixError('EISDIR', place.path);
      if (old.entries.size > 0) throw new PosixError('ENOTEMPTY', place.path);
    } else if (node.kind === 'directory') {
      throw new PosixError('ENOTDIR', place.path);
    }
    this.#leave(place, old);
  }

  realpath(path: string): string {
    return locate(this.#root, path, true).path;
  }

  readlink(path: string): string {
    const node = this.#existing(path, false);
    if (node.kind !== 'symlink') throw new PosixError('EINVAL', path);
    return node.target;
  }

  symlink(target: string, path: string): void {
    const place = locate(this.#root, path, false);
    checkNew(place);
    const length = encodeName(target).length;
    if (!this.#reserve(length)) throw new PosixError('ENOSPC', path);
    try {
      this.#enter(place, { kind: 'symlink', target, ...this.#inode(0o777) });
    } catch (error) {
      this.#reserve(-length);
      throw error;
    }
  }

  hardlink(from: string, to: string): void {
    const node = this.#existing(from, false);
    if (node.kind === 'directory') throw new PosixError('EPERM', from);
    const place = locate(this.#root, to, false);
    this.#enter(place, node);
    node.links++;
  }

  // Figures and owners.

  statvfs(path = '/'): FileSystemStats {
    this.#existing(path, true);
    const freeBlocks = Math.floor((this.#maxBytes - this.#usedBytes) / BLOCK);
    const freeFiles = this.#maxFiles - this.#usedFiles;
    return {
      blockSize: BLOCK,
      fragmentSize: BLOCK,
      blocks: Math.floor(this.#maxBytes / BLOCK),
      freeBlocks,
      availableBlocks: freeBlocks,
      files: this.#maxFiles,
      freeFiles,
      availableFiles: freeFiles,
      id: 0,
      readOnly: false,
      noSetuid: true,
      maxName: LONGEST_NAME,
    };
  }

  home(username: string): string {
    if (username === '' || username === this.#owner.user) return this.#home;
    throw new PosixError('ENOENT', username);
  }

  ownerNames(users: readonly number[], groups: readonly number[]): OwnerNames {
    const { uid, gid, user, group } = this.#owner;
    return {
      users: users.map((id) => (id === uid ? user : '')),
      groups: groups.map((id) => (id === gid ? group : '')),
    };
  }

  // Nodes.

  get #seconds(): number {
    return Math.floor(this.#now() / 1000);
  }

  #inode(permissions: number): Inode {
    const { uid, gid } = this.#owner;
    return { permissions, uid, gid, atime: this.#seconds, mtime: this.#seconds, links: 1 };
  }

  #newDirectory(permissions: number): DirectoryNode {
    return { kind: 'directory', entries: new Map(), ...this.#inode(permissions), links: 2 };
  }

  #existing(path: string, follow: boolean): TreeNode {
    const { node } = locate(this.#root, path, follow);
    if (node === undefined) throw new PosixError('ENOENT', path);
    return node;
  }

  #reserve(more: number): boolean {
    if (this.#usedBytes + more > this.#maxBytes) return false;
    this.#usedBytes += more;
    return true;
  }

  /** Gives a node that is new, or another name besides those that it has. */
  #enter(place: Place, node: TreeNode): void {
    checkNew(place);
    if (this.#usedFiles >= this.#maxFiles) throw new PosixError('ENOSPC', place.path);
    this.#usedFiles++;
    this.#attach(place, node);
  }

  /** Takes a name away. */
  #leave(place: Place, node: TreeNode): void {
    this.#detach(place, node);
    node.links -= node.kind === 'directory' ? 2 : 1;
    // the last name of a file counts for as long as it is open
    if (node.links > 0) this.#usedFiles--;
    else this.#freeIfUnused(node);
  }

  #attach(place: Place, node: TreeNode): void {
    const parent = parentOf(place);
    parent.entries.set(place.name, node);
    parent.mtime = this.#seconds;
    if (node.kind === 'directory') parent.links++;
  }

  #detach(place: Place, node: TreeNode): void {
    const parent = parentOf(place);
    parent.entries.delete(place.name);
    parent.mtime = this.#seconds;
    if (node.kind === 'directory') parent.links--;
  }

  #freeIfUnused(node: TreeNode): void {
    if (node.links > 0 || (node.kind === 'file' && node.open > 0)) return;
    this.#usedFiles--;
    if (node.kind === 'file') node.content.resize(0);
    else if (node.kind === 'symlink') this.#reserve(-encodeName(node.target).length);
  }

  #change(node: TreeNode, attrs: Attributes): void {
    change(node, attrs, this.#seconds);
  }
}

function whole(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new SshError('bad-argument', `${name} is a whole number, not ${value}`);
}
