/**
 * What an SFTP server serves: small functions on paths and open files, each of which may be left out. A request that needs a
 * missing one is answered OP_UNSUPPORTED, and an extension is announced only where its function is there. Knows no packets.
 *
 * Paths are absolute and normalised: they begin with `/`, have no empty part, no `.`, no `..`, no NUL and, except for `/`
 * itself, no `/` at the end. Names are bytes on the wire; here a byte that is not part of valid UTF-8 is a lone surrogate
 * U+DC80 to U+DCFF, so that every name survives the way there and back (`bytes/name.ts`).
 *
 * A function fails by throwing a `PosixError`, or what `node:fs` throws: an error whose `code` is one of POSIX (`ENOENT`, …) is
 * answered with the status that fits, and a text of ours. An `SshError` with a `status` is answered with that and with its own
 * text. Anything else is FAILURE, without its text, and is told to `onError`.
 */

import type { Attributes } from '../proto/attrs.ts';
import type { FileSystemStats, OwnerNames } from '../proto/extensions.ts';
import type { MaybePromise } from './maybe_promise.ts';

/** How a file is to be opened: draft-ietf-secsh-filexfer-02 §6.3. Permissions are 0 to 0o7777 here and everywhere. */
export interface OpenRequest {
  /** Also where the client asked for neither. */
  readonly read: boolean;
  readonly write: boolean;
  /** Every write goes to the end, whatever its offset. */
  readonly append: boolean;
  /** Make the file if it is not there. */
  readonly create: boolean;
  /** Empty it if it is there; also without `create` and `write`, as open(2) takes it. */
  readonly truncate: boolean;
  /** Fail if it is there; only beside `create`. */
  readonly exclusive: boolean;
  /** For a file that is made; as a rule `permissions` or nothing. */
  readonly attrs: Attributes;
}

/**
 * An open file. Calls come one at a time, in the order of the client's requests; `close` is the last, and always comes, once.
 * When the session is lost while a call hangs, `close` comes beside it in the end.
 */
export interface BackendFile {
  /**
   * Whether a read may give less than was asked without being at the end, as of a pipe or a terminal: what came is then
   * answered at once. Default: false; the server reads on, since of a regular file clients expect all that they asked for.
   */
  readonly stream?: boolean;
  /**
   * At least one and at most `length` bytes from `offset` on; none at all means the end of the file. The bytes are the
   * server's from then on. `length` is at most 256 KiB. They may be a part of `memory`, `length` bytes that the server has at
   * hand: what is read into those needs no memory of its own.
   */
  read?(offset: number, length: number, memory?: Uint8Array): MaybePromise<Uint8Array>;
  /**
   * Writes the pieces one after the other from `offset` on, all of them; at most 1 MiB and 1024 pieces, none of them empty. They
   * must not be kept or changed. After a failure the same bytes may come again, to tell which of several requests failed,
   * but not if the file was opened with `append`.
   */
  write?(offset: number, pieces: readonly Uint8Array[]): MaybePromise<void>;
  stat?(): MaybePromise<Attributes>;
  setstat?(attrs: Attributes): MaybePromise<void>;
  /** Brings what was written to the disk. */
  sync?(): MaybePromise<void>;
  statvfs?(): MaybePromise<FileSystemStats>;
  close(): MaybePromise<void>;
}

/** One entry of a directory. */
export interface BackendEntry {
  /** The last part of its path; `.` and `..` are the server's business. */
  readonly name: string;
  /** As of `lstat`. */
  readonly attrs: Attributes;
  /** Hard links and names of the owners, for the line that people see. */
  readonly links?: number;
  readonly owner?: string;
  readonly group?: string;
}

/** A tree of files. */
export interface SftpBackend {
  open?(path: string, request: OpenRequest): MaybePromise<BackendFile>;
  /**
   * Entries in any order, as they come. The first is asked for at once, so that a generator may throw what is wrong with the
   * path. Left early, the iterator's `return` is called.
   */
  list?(path: string): MaybePromise<AsyncIterable<BackendEntry> | Iterable<BackendEntry>>;
  /** Attributes of what a path leads to, links followed. */
  stat?(path: string): MaybePromise<Attributes>;
  /** Attributes of the path itself. Left out: `stat`. */
  lstat?(path: string): MaybePromise<Attributes>;
  /** Changes exactly what is given: size, owner, permissions, times, in this order (a change of owner takes setuid away). */
  setstat?(path: string, attrs: Attributes): MaybePromise<void>;
  /** The same for the path itself (`lsetstat@openssh.com`). */
  lsetstat?(path: string, attrs: Attributes): MaybePromise<void>;
  mkdir?(path: string, attrs: Attributes): MaybePromise<void>;
  /** Removes an empty directory. */
  rmdir?(path: string): MaybePromise<void>;
  /** Removes anything but a directory. */
  remove?(path: string): MaybePromise<void>;
  /** Fails where `to` exists. */
  rename?(from: string, to: string): MaybePromise<void>;
  /** Replaces what `to` was in one step (`posix-rename@openssh.com`). */
  posixRename?(from: string, to: string): MaybePromise<void>;
  /** The path with all links followed; it need not exist as a whole. Left out: the path. */
  realpath?(path: string): MaybePromise<string>;
  /** What the link says: any text, not a path of the server's. */
  readlink?(path: string): MaybePromise<string>;
  symlink?(target: string, path: string): MaybePromise<void>;
  /** `hardlink@openssh.com`. */
  hardlink?(from: string, to: string): MaybePromise<void>;
  /** `statvfs@openssh.com`; `fstatvfs@openssh.com` where open files have it too. */
  statvfs?(path: string): MaybePromise<FileSystemStats>;
  /** The directory in which a user starts (`home-directory`, `expand-path@openssh.com`); '' is the user who is logged in. */
  home?(username: string): MaybePromise<string>;
  /** `users-groups-by-id@openssh.com`. */
  ownerNames?(users: readonly number[], groups: readonly number[]): MaybePromise<OwnerNames>;
  /** Whether open files have `sync`, which `fsync@openssh.com` needs, and `statvfs`. Default: false. */
  readonly files?: { readonly sync?: boolean; readonly statvfs?: boolean };
}
