/** What `--json` prints about a transfer, and the facts it is made from. */

import type { Negotiated } from '../core/events.ts';
import { oneLine } from './exit.ts';
import type { Summary } from './summary.ts';
import { commandWording } from './wording.ts';

/** The algorithms in use. */
export interface AlgorithmReport {
  readonly kex: string;
  readonly hostKey: string;
  /** That of the direction in which the content went. */
  readonly cipher: string;
  /** `null` where the cipher authenticates by itself, as AES-GCM and ChaCha20-Poly1305 do. */
  readonly mac: string | null;
  /** `none`, or as in RFC 4253 §6.2. */
  readonly compression: string;
}

/** The object of `get --json` and `put --json`. */
export interface TransferReport {
  /** Bytes of content that were moved. */
  readonly bytes: number;
  /** From the first request about a file to the last answer; connecting and logging in come before. */
  readonly seconds: number;
  /** 10^6 bytes a second. */
  readonly megabytesPerSecond: number;
  /** READs or WRITEs that were sent. */
  readonly requests: number;
  readonly maxRequestsInFlight: number;
  readonly maxBytesInFlight: number;
  /** READs that were answered with less than they asked for, other than at the end of a file. */
  readonly shortReads: number;
  /** Channels that carried content at the same time, at the most. */
  readonly lanes: number;
  /** The smallest round trip seen, in milliseconds; `null` where none was measured. */
  readonly roundTrip: number | null;
  /** Receive window of the channel at the end, in bytes. */
  readonly window: number;
  /** The most that it may grow to. */
  readonly maxWindow: number;
  /** Window adjustments sent. */
  readonly adjustments: number;
  /** Bytes that an earlier transfer had left and that were not moved again. */
  readonly resumedFrom: number;
  readonly files: number;
  readonly directories: number;
  readonly links: number;
  readonly skipped: readonly { readonly path: string; readonly why: string }[];
  readonly failed: readonly { readonly path: string; readonly code: string; readonly message: string }[];
  readonly algorithms: AlgorithmReport;
}

/** What is known without the transfer. */
export interface ReportFacts {
  readonly milliseconds: number;
  /** The options in use. */
  readonly window: number;
  readonly maxWindow: number;
}

export function transferReport(summary: Summary, facts: ReportFacts, algorithms: AlgorithmReport): TransferReport {
  const { bytes, requests, maxRequestsInFlight, maxBytesInFlight, shortReads, lanes, adjustments } = summary;
  const { files, directories, links, resumedFrom, roundTrip } = summary;
  const { milliseconds, maxWindow } = facts;
  return {
    bytes,
    seconds: rounded(milliseconds / 1000, 6),
    megabytesPerSecond: milliseconds > 0 ? rounded(bytes / 1000 / milliseconds, 3) : 0,
    requests,
    maxRequestsInFlight,
    maxBytesInFlight,
    shortReads,
    lanes,
    roundTrip: roundTrip === undefined ? null : rounded(roundTrip, 3),
    window: summary.window ?? facts.window,
    maxWindow,
    adjustments,
    resumedFrom,
    files,
    directories,
    links,
    skipped: summary.skipped,
    failed: summary.failed.map(({ path, error }) => ({
      path,
      code: error.code,
      message: oneLine(commandWording(error.message)),
    })),
    algorithms,
  };
}

/** The algorithms that protect what goes in `direction`. */
export function algorithmReport(negotiated: Negotiated, direction: 'toClient' | 'toServer'): AlgorithmReport {
  const { kex, hostKey } = negotiated;
  const { cipher, mac, compression } = negotiated[direction];
  return { kex, hostKey, cipher, mac: mac ?? null, compression };
}

export function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
