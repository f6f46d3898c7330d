/** Every limit of an SFTP server session on what a client can make it allocate, queue or wait for, in one table. */

import { requireInteger, requireKnown, withoutUndefined } from '../../core/options.ts';
import { MAX_PACKET } from '../proto/framer.ts';

/** Limits that a server may set; sizes in bytes. */
export interface SftpServerLimits {
  /** Files and directories open at once; with as many, OPEN fails. Clients are told (`limits@openssh.com`). */
  readonly openHandles: number;
  /** Requests not answered yet, above which no further bytes are taken. OpenSSH has 64 on the way, HPN-SSH 1024. */
  readonly pendingRequests: number;
  /** Bytes of such requests, WRITEs as a rule: what keeps a disk busy, and little enough for many sessions. */
  readonly pendingBytes: number;
  /** Longest packet taken, without its length field; at least 34000, which every client may send (draft §3). */
  readonly packetLength: number;
  /** Longest READ that is answered in full, at most 256 KiB. OpenSSH's is the default. Clients are told. */
  readonly readLength: number;
}

const defaultServerLimits: SftpServerLimits = {
  openHandles: 256,
  pendingRequests: 1024,
  pendingBytes: 4 * 1024 * 1024,
  packetLength: MAX_PACKET,
  readLength: 255 * 1024,
};

/** What every server has to take (draft §3). */
const SMALLEST_PACKET = 34000;

/** What of a packet's length may be content, so that the rest has room: as OpenSSH counts it. */
export const PACKET_OVERHEAD = 1024;

/** Longest packet that clients are told of: that of OpenSSH. */
export const TOLD_PACKET: number = 256 * 1024;

/** Most that one call asks of an open file: eight of the READs that most clients send. */
export const READ_BATCH: number = 256 * 1024;

/** The limits with the defaults; throws `bad-argument` for what is none. */
export function serverLimits(given: Partial<SftpServerLimits> = {}): SftpServerLimits {
  requireKnown('limits', given, defaultServerLimits);
  const limits = { ...defaultServerLimits, ...withoutUndefined(given) };
  for (const name of Object.keys(defaultServerLimits) as (keyof SftpServerLimits)[]) {
    const least = name === 'packetLength' ? SMALLEST_PACKET : 1;
    const most = name === 'readLength' ? READ_BATCH : Number.MAX_SAFE_INTEGER;
    requireInteger(`limits.${name}`, limits[name], least, most);
  }
  return limits;
}

/** Most bytes and pieces that one call gives to an open file; systems take 1024 pieces at once. */
export const WRITE_BATCH: number = 1024 * 1024;
export const WRITE_PIECES = 1024;

/** Names in one NAME, as OpenSSH has it, and bytes of them: every client takes packets of 34000 bytes (draft §3). */
export const DIRECTORY_NAMES = 100;
export const DIRECTORY_BYTES: number = 32 * 1024;

/** Bytes of a path or of what a symbolic link says: PATH_MAX of Linux. */
export const LONGEST_PATH = 4096;

/** Ids that one users-groups-by-id@openssh.com may ask for: a client asks for those of one listing. */
export const OWNER_IDS = 4096;

/** Bytes that copy-data moves at a time, and after how many it lets others run. */
export const COPY_PIECE: number = 256 * 1024;
export const COPY_TURN: number = 8 * 1024 * 1024;

/** Replies are written together up to this many bytes: early word of a full pipe. */
export const FLUSH_AT: number = 256 * 1024;

/**
 * Replies, other than DATA, that may still be made while the pipe is full, before no further requests are taken: a client that
 * uploads without reading its acknowledgements gets some way, one that asks and never listens does not.
 */
export const OUTPUT_SLACK: number = 256 * 1024;

/** Milliseconds for calls that still run when a session is lost, before their files are closed all the same. */
export const CLOSE_GRACE = 2000;
