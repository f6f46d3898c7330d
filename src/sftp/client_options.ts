/** What an SFTP client can be told, and the check of what a caller passes. */

import {
  abortSignal,
  type Check,
  callback,
  checkTable,
  integer,
  type OptionTable,
  object,
  oneOf,
} from '../core/option_checks.ts';
import type { Clock } from '../io/clock.ts';
import type { LocalFiles } from '../io/local_files.ts';
import type { BytePipe } from '../io/pipe.ts';
import { milliseconds } from './check_options.ts';
import type { ServerLimits } from './link.ts';
import type { CallOptions } from './options.ts';
import type { SymlinkOrder } from './requests.ts';

/** Options of `SftpClient.open`. */
export interface SftpClientOptions extends CallOptions {
  /** Local files for paths given to `get` and `put`. */
  readonly localFiles?: LocalFiles | undefined;
  /**
   * Order of the two paths in SYMLINK: that of OpenSSH and most servers, or that of the draft. Default: from `quirkTable` where
   * SSH tells who the server is, else `openssh`.
   */
  readonly symlinkOrder?: SymlinkOrder | undefined;
  /**
   * Extended requests of the server in place of what it announces, by name: the version, or `undefined` for one that it does
   * wrong. Default: from `quirkTable` where SSH tells who the server is.
   */
  readonly extensions?: Readonly<Record<string, string | undefined>> | undefined;
  /**
   * What the server takes, whatever it says itself. Erlang's gives one handle for two files when more than two are open, so
   * `maxOpenHandles` is 2 for it. Default: from `quirkTable`, as `extensions`.
   */
  readonly limits?: ServerLimits | undefined;
  /** Longest packet taken from the server, in bytes. Default: 257 KiB. */
  readonly maxPacket?: number | undefined;
  readonly clock?: Clock | undefined;
  /**
   * Opens a pipe to another SFTP session on the same connection. Large uploads over a distance use some while they run, see
   * `lanes` of `put`; rejecting is fine. Default: none, and every upload stays on `pipe`.
   */
  readonly openLane?: (() => Promise<BytePipe>) | undefined;
  /**
   * Whether the client is there before the server has said VERSION: what is asked of it waits for that, or, with `send`, goes
   * right behind INIT, which takes a server that is known to carry out requests in order from there on. What is wrong with the
   * server is what operations, and `ready`, reject with. Default: false.
   */
  readonly early?: boolean | 'send' | undefined;
}

const most: Check = { expected: 'a number of at least 1', fits: (value) => typeof value === 'number' && value >= 1 };
const limits: OptionTable<ServerLimits> = {
  maxPacketLength: most,
  maxReadLength: most,
  maxWriteLength: most,
  maxOpenHandles: most,
};
const table: OptionTable<SftpClientOptions> = {
  signal: abortSignal,
  stallTimeout: milliseconds,
  localFiles: object,
  symlinkOrder: oneOf('openssh', 'draft'),
  extensions: object,
  limits: object,
  maxPacket: integer(1),
  clock: object,
  openLane: callback,
  early: oneOf(true, false, 'send'),
};

/** Throws `bad-argument`. */
export function checkClientOptions(options: SftpClientOptions): void {
  checkTable('sftp', options, table);
  checkTable('sftp limits', options.limits ?? {}, limits);
}
