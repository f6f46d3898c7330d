/**
 * The files of a machine as the server's directory backend needs them: an interface only, implemented per runtime in
 * `transports`. Knows no SFTP; confinement is the caller's (`confined_path.ts`).
 *
 * Paths are those of the host. In them a byte that is not part of valid UTF-8 is a lone surrogate U+DC80 to U+DCFF
 * (`bytes/name.ts`). Everything rejects with the runtime's own error, whose `code` is that of POSIX (`ENOENT`, …).
 */

import type { FileSystemStats } from '../proto/extensions.ts';

/** What stands at a path. `other` is a device, pipe or socket. */
export type HostKind = 'file' | 'directory' | 'symlink' | 'other';

export interface HostStat {
  readonly kind: HostKind;
  /** Together they tell a file from every other on the machine that is there at the same time. */
  readonly device: bigint;
  readonly inode: bigint;
  /** Bytes. */
  readonly size: number;
  /** Type bits and permissions. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly links: number;
  /** Whole seconds since 1970, rounded towards it; negative before. */
  readonly atime: number;
  readonly mtime: number;
}

/** How to open. A symbolic link is never followed (`ELOOP`), and opening a pipe or device never waits. */
export interface HostOpen {
  readonly read: boolean;
  readonly write: boolean;
  /** Every write goes to the end. */
  readonly append?: boolean;
  /** Make the file; `EEXIST` where anything stands, a dangling link too. */
  readonly create?: boolean;
  /** Permissions of a file that is made, from which the process's umask is taken. */
  readonly mode?: number;
}

/**
 * Anything that is open, a directory too. One call at a time, and `place` beside it. `close` may come beside a call that
 * hangs, and again; what is left of the call then touches no file that was opened since.
 */
export interface HostFile {
  stat(): Promise<HostStat>;
  /** The path at which the system itself has what is open, if it tells. */
  place(): Promise<string | undefined>;
  /** At most `length` bytes from `offset` on, none at the end; in `memory`, `length` bytes of it, or in memory of their own. */
  read(offset: number, length: number, memory?: Uint8Array): Promise<Uint8Array>;
  /** Writes all of the pieces; without an offset where the system puts them, which is the end for `append`. */
  write(offset: number | undefined, pieces: readonly Uint8Array[]): Promise<void>;
  truncate(size: number): Promise<void>;
  chown(uid: number, gid: number): Promise<void>;
  chmod(mode: number): Promise<void>;
  utimes(atime: number, mtime: number): Promise<void>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

/**
 * The names in a directory, in any order and without `.` and `..`. One call at a time; `close` is the last. What has reached
 * its end holds nothing open any more.
 */
export interface HostDirectory {
  /** At most `count` more names; none at the end. */
  next(count: number): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** Names of ids. */
export interface HostOwners {
  readonly users: ReadonlyMap<number, string>;
  readonly groups: ReadonlyMap<number, string>;
}

/** The file system of the machine. */
export interface HostFiles {
  /** What stands between the parts of a path. */
  readonly separator: '/' | '\\';
  /** Names that are not UTF-8 come with U+FFFD in place of bytes, so that nothing finds their files. */
  readonly lossyNames: boolean;
  /** Whether a text can be one part of a path, and means nothing else (a drive, a device, two parts). */
  isName(text: string): boolean;
  /** The path with all symbolic links followed. */
  realpath(path: string): Promise<string>;
  /** What stands at the path itself. */
  lstat(path: string): Promise<HostStat>;
  readlink(path: string): Promise<string>;
  open(path: string, how: HostOpen): Promise<HostFile>;
  openDirectory(path: string): Promise<HostDirectory>;
  mkdir(path: string, mode: number): Promise<void>;
  rmdir(path: string): Promise<void>;
  unlink(path: string): Promise<void>;
  /** Replaces what stands at `to`. */
  rename(from: string, to: string): Promise<void>;
  link(from: string, to: string): Promise<void>;
  symlink(target: string, path: string): Promise<void>;
  /** These two change a symbolic link itself. */
  lchown(path: string, uid: number, gid: number): Promise<void>;
  lutimes(path: string, atime: number, mtime: number): Promise<void>;
  /** Follows a symbolic link: not for one. */
  chmod(path: string, mode: number): Promise<void>;
  statfs(path: string): Promise<FileSystemStats>;
  /** Who owns what on this machine, as far as files say; empty where they do not. */
  owners(): Promise<HostOwners>;
}
