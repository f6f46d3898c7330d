/**
 * A POSIX file tree in memory: nodes, names, and where a path leads. Knows no open files and no SFTP.
 */

import { encodeName } from '../../bytes/name.ts';
import type { Attributes } from '../proto/attrs.ts';
import { PosixError } from './posix_error.ts';
import type { SparseBytes } from './sparse_bytes.ts';

/** What every node has. Times are seconds since 1970. */
export interface Inode {
  permissions: number;
  uid: number;
  gid: number;
  atime: number;
  mtime: number;
  /** How many names it has; a directory is named by itself and by each directory in it, too. */
  links: number;
}

export interface FileNode extends Inode {
  readonly kind: 'file';
  readonly content: SparseBytes;
  /** How often it is open: it lives on without a name while it is. */
  open: number;
}

export interface DirectoryNode extends Inode {
  readonly kind: 'directory';
  readonly entries: Map<string, TreeNode>;
}

export interface LinkNode extends Inode {
  readonly kind: 'symlink';
  readonly target: string;
}

export type TreeNode = FileNode | DirectoryNode | LinkNode;

/** Where a path leads. */
export interface Place {
  /** The directories on the way, from the root to the one that holds the last name. */
  readonly parents: readonly DirectoryNode[];
  /** The last name; '' where the path ends in a directory without naming it, as `/` does. */
  readonly name: string;
  /** What stands there. */
  readonly node: TreeNode | undefined;
  /** The path with all links on the way followed. */
  readonly path: string;
}

/** Symbolic links on one way: as Linux has it. */
const MOST_LINKS = 40;

/**
 * Parts of paths on one way. A path has 2048 at most (PATH_MAX 4096), but links made for it could ask for 40 times that, in each of
 * a thousand requests, and nobody else is served meanwhile.
 */
const MOST_PARTS = 4096;

/** Bytes of a name: NAME_MAX of Linux. */
export const LONGEST_NAME = 255;

const TYPE_BITS = { file: 0o100000, directory: 0o040000, symlink: 0o120000 } as const;

/** Follows `path` from `root`; the last name too, if it is a link and `follow` is set. Throws unless all but the last exist. */
export function locate(root: DirectoryNode, path: string, follow: boolean): Place {
  const parents = [root];
  const names: string[] = [];
  const ahead = partsOf(path).reverse();
  let followed = 0;
  let parts = ahead.length;
  for (let name = ahead.pop(); name !== undefined; name = ahead.pop()) {
    if (name === '..') {
      if (names.pop() !== undefined) parents.pop();
      continue;
    }
    const node = (parents.at(-1) as DirectoryNode).entries.get(name);
    const last = ahead.length === 0;
    if (node?.kind === 'symlink' && (follow || !last)) {
      if (++followed > MOST_LINKS) throw new PosixError('ELOOP', path);
      parts += node.target.split('/').length;
      if (parts > MOST_PARTS) throw new PosixError('ELOOP', path);
      ahead.push(...partsOf(node.target).reverse());
      if (node.target.startsWith('/')) {
        names.length = 0;
        parents.length = 1;
      }
      continue;
    }
    if (last) return { parents, name, node, path: `/${[...names, name].join('/')}` };
    if (node === undefined) throw new PosixError('ENOENT', path);
    if (node.kind !== 'directory') throw new PosixError('ENOTDIR', path);
    parents.push(node);
    names.push(name);
  }
  return { parents, name: '', node: parents.at(-1), path: `/${names.join('/')}` };
}

function partsOf(path: string): string[] {
  return path.split('/').filter((part) => part !== '' && part !== '.');
}

/** The directory that holds the last name of a place. */
export function parentOf(place: Place): DirectoryNode {
  return place.parents.at(-1) as DirectoryNode;
}

/** Throws unless a new name can stand at the place. */
export function checkNew(place: Place): void {
  if (place.node !== undefined) throw new PosixError('EEXIST', place.path);
  if (encodeName(place.name).length > LONGEST_NAME) throw new PosixError('ENAMETOOLONG', place.path);
}

/** The attributes of a node. */
export function attributesOf(node: TreeNode): Attributes {
  const { uid, gid, atime, mtime, permissions } = node;
  return { size: sizeOf(node), uid, gid, permissions: TYPE_BITS[node.kind] | permissions, atime, mtime };
}

/** Changes what is given; `now` in seconds. */
export function change(node: TreeNode, attrs: Attributes, now: number): void {
  const { size, uid, gid, permissions, atime, mtime } = attrs;
  if (size !== undefined) {
    if (node.kind !== 'file') throw new PosixError(node.kind === 'directory' ? 'EISDIR' : 'EINVAL', 'size');
    node.content.resize(size);
    node.mtime = now;
  }
  if (uid !== undefined) node.uid = uid;
  if (gid !== undefined) node.gid = gid;
  if (permissions !== undefined) node.permissions = permissions & 0o7777;
  if (atime !== undefined) node.atime = atime;
  if (mtime !== undefined) node.mtime = mtime;
}

function sizeOf(node: TreeNode): number {
  if (node.kind === 'file') return node.content.size;
  return node.kind === 'symlink' ? encodeName(node.target).length : 4096;
}
