/** Options and results that the operations of the SFTP client share. */

import type { Attributes } from './proto/attrs.ts';

/** A remote path: text, which is sent as UTF-8, or the exact bytes. `/` separates; there is no `~`. */
export type RemotePath = string | Uint8Array;

/** Options of every operation. */
export interface CallOptions {
  /** Ends the operation with `aborted`; the client stays usable. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Milliseconds without any answer, while requests are pending, after which the operation ends with `timeout`;
   * 0: never. Default: that of the client.
   */
  readonly stallTimeout?: number | undefined;
}

/** Options of setting attributes. */
export interface SetstatOptions extends CallOptions {
  /** What to do with times before 1970 or after 2106: refuse with `bad-argument`, or set the nearest. Default: `refuse`. */
  readonly times?: 'refuse' | 'clamp' | undefined;
}

/** Options of `mkdir`. */
export interface MkdirOptions extends CallOptions {
  /** For the directory itself, not for those above it. */
  readonly attrs?: Attributes | undefined;
  /**
   * Whether directories above it that are missing are made as well. A directory that is there already is no error then;
   * anything else in its place, or above it, is `target-exists`. Default: false.
   */
  readonly recursive?: boolean | undefined;
}

/** Options of `remove`. */
export interface RemoveOptions extends CallOptions {
  /**
   * Whether a directory is removed, with all that is in it. Symbolic links are removed, never followed. Where something in it
   * cannot be removed the rest may be gone. `/` and paths that end in `.` or `..` are `bad-argument`. Default: false.
   */
  readonly recursive?: boolean | undefined;
}

/** Options of `rename`. */
export interface RenameOptions extends CallOptions {
  /**
   * Whether an existing file is replaced, which takes posix-rename@openssh.com: without it, an existing target is the
   * error `target-exists`. The target is never deleted by us. Default: false.
   */
  readonly overwrite?: boolean | undefined;
}

/** How far a transfer has come. */
export interface Progress {
  /** Bytes that are out: written locally or handed to the consumer (reading), acknowledged by the server (writing). */
  readonly bytes: number;
  /** How many there will be as far as is known; a file may end before or after. */
  readonly total?: number;
  /** Bytes a second, of the last second or so; 0 before any time has passed. */
  readonly rate: number;
}

/** Options of everything that moves the content of files. */
export interface TransferOptions extends CallOptions {
  /** READs or WRITEs pending at once on a channel, at least 1. Default: 128. */
  readonly requests?: number | undefined;
  /** Bytes a request; more than the server takes is cut down. Default: found from its limits and the receive window. */
  readonly requestSize?: number | undefined;
  /**
   * Most channels that one upload may spread over; 1: never more than its own. The server's window caps a channel at one
   * window a round trip, so more are opened where that is measured to be the limit and enough is left to send. Where the
   * server refuses them the upload goes on over those it has. Downloads need one. Default: 8.
   */
  readonly lanes?: number | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/** Options of everything that reads the content of files. */
export interface ReadOptions extends TransferOptions {
  /**
   * Whether a file may end before the size that the server states for it, as files of sysfs do. Default: false, and
   * such an end is the error `incomplete`.
   */
  readonly trustEof?: boolean | undefined;
}

/** Options of reading a part of a file. */
export interface RangeOptions extends ReadOptions {
  /** First byte, counted from 0. Default: 0. */
  readonly start?: number | undefined;
  /** The byte after the last one. Default: the end of the file, wherever it turns out to be. */
  readonly end?: number | undefined;
}

/** What a transfer did. */
export interface TransferStats {
  /** Bytes of content that were moved. */
  readonly bytes: number;
  /** READs or WRITEs that were sent. */
  readonly requests: number;
  /** Over all channels. */
  readonly maxRequestsInFlight: number;
  /** Content asked for and not yet here, or sent and not yet acknowledged. */
  readonly maxBytesInFlight: number;
  /** DATA replies that were shorter than asked, other than by the end of the file. */
  readonly shortReads: number;
  /** From the first request to the last answer; without OPEN, CLOSE and renaming. */
  readonly seconds: number;
  /** Bytes a second, over all of that time. */
  readonly rate: number;
  /** Channels that carried it at the most. */
  readonly lanes: number;
  /** The smallest round trip seen on the channel, in milliseconds, where one was measured. */
  readonly roundTrip?: number;
  /** The channel's receive window at the end, in bytes, where there is one. */
  readonly window?: number;
  /** WINDOW_ADJUSTs that were sent on the channel by then, since it was opened. */
  readonly adjustments?: number;
}

/** READs or WRITEs pending at once by default: 4 MiB of 32 KiB requests. */
export const DEFAULT_REQUESTS = 128;

/** Channels of one upload by default. OpenSSH allows 10 sessions in a connection, and some are left to others. */
export const DEFAULT_LANES = 8;

/**
 * Milliseconds without an answer before a wait ends by default. Long enough for disks that spin up, short enough that
 * a server that stopped answering is noticed.
 */
export const DEFAULT_STALL_TIMEOUT = 120_000;
