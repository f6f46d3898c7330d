/**
 * Extended requests of OpenSSH, a row each: OpenSSH PROTOCOL §4. `request` is the name in EXTENDED, `fields` what
 * follows it, `reply` the body of EXTENDED_REPLY; without `reply` the answer is a STATUS, except where a row says NAME.
 * A server names in VERSION the requests it takes, with the version that the `version` here must equal.
 */

/** Bits of `flags` in the reply to statvfs@openssh.com. */
export const StatvfsFlag = { readOnly: 1, noSetuid: 2 } as const;

/** A file system's figures: OpenSSH PROTOCOL §4.4, POSIX `statvfs`. Counts are exact up to 2^53 − 1. */
export interface FileSystemStats {
  /** Bytes of a block as the system prefers to transfer it, and of one as the counts below mean it. */
  readonly blockSize: number;
  readonly fragmentSize: number;
  readonly blocks: number;
  readonly freeBlocks: number;
  readonly availableBlocks: number;
  readonly files: number;
  readonly freeFiles: number;
  readonly availableFiles: number;
  readonly id: number;
  readonly readOnly: boolean;
  readonly noSetuid: boolean;
  /** Bytes of the longest file name. */
  readonly maxName: number;
}

/** Names of owners: OpenSSH PROTOCOL §4.12. An id without a name is an empty string. */
export interface OwnerNames {
  readonly users: readonly string[];
  readonly groups: readonly string[];
}

export const extensions = {
  /** §4.3: RENAME that replaces an existing file in one step. */
  posixRename: {
    request: 'posix-rename@openssh.com',
    version: '1',
    fields: { from: 'string', to: 'string' },
  },
  /** §4.4: figures of the file system that holds a path, as of POSIX `statvfs`; `flags`: see `StatvfsFlag`. */
  statvfs: {
    request: 'statvfs@openssh.com',
    version: '2',
    fields: { path: 'string' },
    reply: {
      blockSize: 'uint64',
      fragmentSize: 'uint64',
      blocks: 'uint64',
      freeBlocks: 'uint64',
      availableBlocks: 'uint64',
      files: 'uint64',
      freeFiles: 'uint64',
      availableFiles: 'uint64',
      id: 'uint64',
      flags: 'uint64',
      maxName: 'uint64',
    },
  },
  /** §4.4: the same for an open file. */
  fstatvfs: {
    request: 'fstatvfs@openssh.com',
    version: '2',
    fields: { handle: 'string' },
    reply: {
      blockSize: 'uint64',
      fragmentSize: 'uint64',
      blocks: 'uint64',
      freeBlocks: 'uint64',
      availableBlocks: 'uint64',
      files: 'uint64',
      freeFiles: 'uint64',
      availableFiles: 'uint64',
      id: 'uint64',
      flags: 'uint64',
      maxName: 'uint64',
    },
  },
  /** §4.5: a second name for a file, as link(2). */
  hardlink: {
    request: 'hardlink@openssh.com',
    version: '1',
    fields: { from: 'string', to: 'string' },
  },
  /** §4.6: flush a file to its disk. */
  fsync: {
    request: 'fsync@openssh.com',
    version: '1',
    fields: { handle: 'string' },
  },
  /** §4.7: SETSTAT that does not follow a symbolic link. A size in `attrs` is refused. */
  lsetstat: {
    request: 'lsetstat@openssh.com',
    version: '1',
    fields: { path: 'string', attrs: 'rest' },
  },
  /** §4.8: what the server allows; 0 means that it states no limit. */
  limits: {
    request: 'limits@openssh.com',
    version: '1',
    fields: {},
    reply: {
      maxPacketLength: 'uint64',
      maxReadLength: 'uint64',
      maxWriteLength: 'uint64',
      maxOpenHandles: 'uint64',
    },
  },
  /** §4.9: REALPATH that knows `~` and `~user`. Answered with NAME. */
  expandPath: {
    request: 'expand-path@openssh.com',
    version: '1',
    fields: { path: 'string' },
  },
  /** §4.10, draft-ietf-secsh-filexfer-extensions-00 §7: copies between open files. Length 0: up to the end. */
  copyData: {
    request: 'copy-data',
    version: '1',
    fields: { from: 'string', fromOffset: 'uint64', length: 'uint64', to: 'string', toOffset: 'uint64' },
  },
  /** §4.11, draft-ietf-secsh-filexfer-extensions-00: where a user starts; '' is the own user. Answered with NAME. */
  homeDirectory: {
    request: 'home-directory',
    version: '1',
    fields: { username: 'string' },
  },
  /** §4.12: names of users and groups. Asked with uint32s to the end; answered with strings to the end, '' for unknown. */
  ownerNames: {
    request: 'users-groups-by-id@openssh.com',
    version: '1',
    fields: { users: 'string', groups: 'string' },
    reply: { users: 'string', groups: 'string' },
  },
  /**
   * draft-ietf-secsh-filexfer-extensions-00 §3: digests of a part of an open file, one for each `blockSize` bytes, or one for
   * all of it where that is 0; `length` 0: up to the end. Answered with the algorithm and the digests, see `readDigests`.
   * Servers of version 3 take it without announcing it.
   */
  checkFileHandle: {
    request: 'check-file-handle',
    version: '1',
    fields: { handle: 'string', algorithms: 'name-list', start: 'uint64', length: 'uint64', blockSize: 'uint32' },
  },
  /** The same by path. */
  checkFileName: {
    request: 'check-file-name',
    version: '1',
    fields: { path: 'string', algorithms: 'name-list', start: 'uint64', length: 'uint64', blockSize: 'uint32' },
  },
  /** The first under the name that paramiko gives it, announced with the algorithms in place of a version. */
  checkFile: {
    request: 'check-file',
    version: '',
    fields: { handle: 'string', algorithms: 'name-list', start: 'uint64', length: 'uint64', blockSize: 'uint32' },
  },
} as const;
