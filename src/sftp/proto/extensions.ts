/**
 * Extended requests of OpenSSH, a row each: OpenSSH PROTOCOL §4. `request` is the name in EXTENDED, `fields` what
 * follows it, `reply` the body of EXTENDED_REPLY; without `reply` the answer is a STATUS. A server names in VERSION the
 * requests it takes, with the version that the `version` here must equal.
 */

export const extensions = {
  /** §4.3: RENAME that replaces an existing file in one step. */
  posixRename: {
    request: 'posix-rename@openssh.com',
    version: '1',
    fields: { from: 'string', to: 'string' },
  },
  /** §4.6: flush a file to its disk. */
  fsync: {
    request: 'fsync@openssh.com',
    version: '1',
    fields: { handle: 'string' },
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
} as const;
