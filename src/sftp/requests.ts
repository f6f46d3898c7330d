/**
 * The requests of SFTP 3, a method each (draft-ietf-secsh-filexfer-02 §6, OpenSSH PROTOCOL §4). What moves the content of
 * files, or takes many requests, is `client.ts`'s.
 */

import { printable } from '../bytes/text.ts';
import { SshError } from '../errors.ts';
import { call } from './call.ts';
import { type CheckFileOptions, checkName } from './check_file.ts';
import { checkAttributes, checkFlags, checkOptions, checkOwners } from './check_options.ts';
import { expandPath, hardlink, homeDirectory, lsetstat, ownerNames, statvfs } from './extended.ts';
import { RemoteFile } from './file.ts';
import type { Link, ServerLimits } from './link.ts';
import { type DirectoryEntry, type ListOptions, list } from './list.ts';
import { makeDirectory, makePath } from './make_path.ts';
import {
  exists,
  type OpenFlags,
  type OpenMode,
  offers,
  openFile,
  pathRequest,
  plainRename,
  posixRename,
  readlink,
  realpath,
  stat,
} from './operations.ts';
import type { CallOptions, MkdirOptions, RemotePath, RemoveOptions, RenameOptions, SetstatOptions } from './options.ts';
import { pathBytes } from './path.ts';
import { type Attributes, encodeAttributes } from './proto/attrs.ts';
import type { FileDigests } from './proto/digests.ts';
import { extensions, type FileSystemStats, type OwnerNames } from './proto/extensions.ts';
import { packets } from './proto/packets.ts';
import { removeTree } from './remove_tree.ts';

/** Order of the two paths in SYMLINK: that of OpenSSH and most servers, or that of the draft. */
export type SymlinkOrder = 'openssh' | 'draft';

/** An SFTP session as far as single requests go; see `SftpClient`. */
export abstract class SftpRequests implements AsyncDisposable {
  protected readonly link: Link;
  readonly #symlinkOrder: SymlinkOrder;

  protected constructor(link: Link, symlinkOrder: SymlinkOrder) {
    this.link = link;
    this.#symlinkOrder = symlinkOrder;
  }

  /** Resolves when the server has said VERSION, as it has from the start unless `early` was set; else rejects with why not. */
  get ready(): Promise<void> {
    return this.link.ready;
  }

  /** Extended requests that the server advertised, by name, with their versions; empty before `ready`. */
  get extensions(): ReadonlyMap<string, string> {
    return this.link.extensions;
  }

  /** What the server said that it takes; empty until it answered, and where it states nothing. */
  get limits(): ServerLimits {
    return this.link.limits;
  }

  /** OPEN. `attrs` are for a file that is created. */
  async open(
    path: RemotePath,
    flags: OpenFlags | OpenMode = 'r',
    options: CallOptions & { readonly attrs?: Attributes | undefined } = {},
  ): Promise<RemoteFile> {
    const { attrs = {} } = options;
    checkFlags(flags);
    checkAttributes('open', attrs);
    return new RemoteFile(await openFile(this.link, path, flags, attrs, options));
  }

  /** STAT: the attributes of what `path` leads to. */
  stat(path: RemotePath, options: CallOptions = {}): Promise<Attributes> {
    return stat(this.link, packets.stat, path, options);
  }

  /** LSTAT: the attributes of `path` itself, be it a symbolic link. */
  lstat(path: RemotePath, options: CallOptions = {}): Promise<Attributes> {
    return stat(this.link, packets.lstat, path, options);
  }

  /** SETSTAT: sets exactly the attributes that are given. A `size` cuts the file, or lengthens it with zeros. */
  async setstat(path: RemotePath, attrs: Attributes, options: SetstatOptions = {}): Promise<void> {
    checkAttributes('setstat', attrs);
    const value = { path: pathBytes(path), attrs: encodeAttributes(attrs, options.times) };
    await call(this.link, { row: packets.setstat, value, operation: 'setstat', path }, options);
  }

  /** The entries of a directory, in the server's order. Leaving the loop early closes the directory. */
  list(path: RemotePath, options: ListOptions = {}): AsyncGenerator<DirectoryEntry> {
    checkOptions('list', options);
    return list(this.link, path, options);
  }

  /** REALPATH: the canonical absolute path; of `.` it is where the session starts. Bytes where it is not UTF-8. */
  realpath(path: RemotePath, options: CallOptions = {}): Promise<RemotePath> {
    return realpath(this.link, path, options);
  }

  /** READLINK: what a symbolic link holds. Bytes where it is not UTF-8. */
  readlink(path: RemotePath, options: CallOptions = {}): Promise<RemotePath> {
    return readlink(this.link, path, options);
  }

  /** MKDIR. With `recursive` those above it are made as well, and a directory that is there is no error. */
  async mkdir(path: RemotePath, options: MkdirOptions = {}): Promise<void> {
    checkOptions('mkdir', options);
    const { attrs = {}, recursive } = options;
    checkAttributes('mkdir', attrs);
    if (recursive) await makePath(this.link, path, attrs, options);
    else await makeDirectory(this.link, path, attrs, options);
  }

  /** RMDIR: removes an empty directory. */
  rmdir(path: RemotePath, options: CallOptions = {}): Promise<void> {
    return pathRequest(this.link, packets.rmdir, 'rmdir', path, options);
  }

  /** REMOVE: removes a file or a symbolic link. With `recursive` a directory, too, with all that is in it. */
  async remove(path: RemotePath, options: RemoveOptions = {}): Promise<void> {
    checkOptions('remove', options);
    if (options.recursive) return removeTree(this.link, path, options);
    return pathRequest(this.link, packets.remove, 'remove', path, options);
  }

  /** Renames. See `overwrite` for targets that exist. */
  async rename(from: RemotePath, to: RemotePath, options: RenameOptions = {}): Promise<void> {
    checkOptions('rename', options);
    await this.#rename(from, to, options).catch((error: unknown) => {
      throw namingBoth(error, from, to);
    });
  }

  async #rename(from: RemotePath, to: RemotePath, options: RenameOptions): Promise<void> {
    if (!options.overwrite) return plainRename(this.link, from, to, '; overwrite: true replaces it', options);
    if (this.link.greeting) await this.link.ready;
    if (offers(this.link, extensions.posixRename)) return posixRename(this.link, from, to, options);
    return plainRename(this.link, from, to, ', and the server has no posix-rename@openssh.com to replace it', options);
  }

  /** posix-rename@openssh.com: replaces an existing file in one step. `not-supported` where it is not offered. */
  posixRename(from: RemotePath, to: RemotePath, options: CallOptions = {}): Promise<void> {
    return posixRename(this.link, from, to, options).catch((error: unknown) => {
      throw namingBoth(error, from, to);
    });
  }

  /** SYMLINK: makes `path` a symbolic link that holds `target`. */
  async symlink(target: RemotePath, path: RemotePath, options: CallOptions = {}): Promise<void> {
    const [first, second] = this.#symlinkOrder === 'openssh' ? [target, path] : [path, target];
    const value = { first: pathBytes(first), second: pathBytes(second) };
    await call(this.link, { row: packets.symlink, value, operation: 'symlink', path }, options);
  }

  /** Whether anything stands at `path`, be it a symbolic link that leads to nothing. */
  exists(path: RemotePath, options: CallOptions = {}): Promise<boolean> {
    return exists(this.link, path, options);
  }

  /**
   * hardlink@openssh.com: gives the file at `from` the name `to` as well. As all requests below, `not-supported` where the
   * server does not offer it, unless it says otherwise.
   */
  hardlink(from: RemotePath, to: RemotePath, options: CallOptions = {}): Promise<void> {
    return hardlink(this.link, from, to, options);
  }

  /** lsetstat@openssh.com: SETSTAT of `path` itself, be it a symbolic link. A `size` is refused. */
  async lsetstat(path: RemotePath, attrs: Attributes, options: SetstatOptions = {}): Promise<void> {
    checkAttributes('lsetstat', attrs);
    return lsetstat(this.link, path, attrs, options);
  }

  /** statvfs@openssh.com: the figures of the file system that holds `path`. */
  statvfs(path: RemotePath, options: CallOptions = {}): Promise<FileSystemStats> {
    return statvfs(this.link, path, options);
  }

  /**
   * expand-path@openssh.com: REALPATH of a path that may begin with `~` or `~user`. Where it is not offered, `~` is where
   * the session starts, and `~user` is `not-supported`.
   */
  expandPath(path: RemotePath, options: CallOptions = {}): Promise<RemotePath> {
    return expandPath(this.link, path, options);
  }

  /** home-directory: of `username`. The own one is what `~` is: see `expandPath`. */
  homeDirectory(username = '', options: CallOptions = {}): Promise<RemotePath> {
    return homeDirectory(this.link, username, options);
  }

  /** users-groups-by-id@openssh.com: a name for each id, in order; an empty one where the server knows none. */
  async ownerNames(
    ids: { readonly users?: readonly number[] | undefined; readonly groups?: readonly number[] | undefined },
    options: CallOptions = {},
  ): Promise<OwnerNames> {
    checkOwners(ids);
    return ownerNames(this.link, ids.users ?? [], ids.groups ?? [], options);
  }

  /**
   * check-file (draft-ietf-secsh-filexfer-extensions-00 §3): digests of a file, taken by the server. ProFTPD has it, and
   * paramiko for blocks of at most 64 KiB; OpenSSH does not. ProFTPD does not announce it: see `extensions` of `open`.
   */
  async checkFile(path: RemotePath, options: CheckFileOptions = {}): Promise<FileDigests> {
    checkOptions('checkFile', options);
    return checkName(this.link, path, options);
  }

  /** Why the session ended, once it has. */
  get cause(): SshError | undefined {
    return this.link.cause;
  }

  /** Ends the session: what is pending rejects with `connection-closed`. Resolves when the pipe has closed. */
  close(): Promise<void> {
    this.link.fail(new SshError('connection-closed', 'This side closed the SFTP session'));
    return new Promise((resolve) => this.link.whenClosed(resolve));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** A refusal may be about either path, and does not say which. */
function namingBoth(error: unknown, from: RemotePath, to: RemotePath): unknown {
  if (!(error instanceof SshError) || error.path === undefined) return error;
  const { code, message, fault, status, operation, path } = error;
  const subject = `${operation} ${path}`;
  if ((code !== 'sftp-status' && code !== 'target-exists') || !message.startsWith(subject)) return error;
  const both = `${operation} ${printable(from, 1024)} to ${printable(to, 1024)}${message.slice(subject.length)}`;
  const told = status === undefined ? {} : { status };
  return new SshError(code, both, { fault, ...told, operation: operation ?? 'rename', path, cause: error });
}
