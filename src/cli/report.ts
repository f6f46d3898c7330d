/** What `--json` prints about a transfer, and the facts it is made from. */

import type { Negotiated } from '../core/events.ts';

/** The algorithms in use. */
export interface AlgorithmReport {
  readonly kex: string;
  readonly hostKey: string;
  /** That of the direction in which the content went. */
  readonly cipher: string;
  /** `null` where the cipher authenticates by itself, as AES-GCM and ChaCha20-Poly1305 do. */
  readonly mac: string | null;
}

/** The object of `get --json` and `put --json`. */
export interface TransferReport {
  /** Bytes of content that were moved. */
  readonly bytes: number;
  /** From the first request about the file to the last answer; connecting and logging in come before. */
  readonly seconds: number;
  /** 10^6 bytes a second. */
  readonly megabytesPerSecond: number;
  readonly maxRequestsInFlight: number;
  readonly maxBytesInFlight: number;
  /** Receive window of the channel in bytes. */
  readonly window: number;
  readonly algorithms: AlgorithmReport;
}

/** What a transfer measured. */
export interface TransferFacts {
  readonly bytes: number;
  readonly milliseconds: number;
  readonly maxRequestsInFlight: number;
  readonly maxBytesInFlight: number;
  readonly window: number;
}

export function transferReport(facts: TransferFacts, algorithms: AlgorithmReport): TransferReport {
  const { bytes, milliseconds, maxRequestsInFlight, maxBytesInFlight, window } = facts;
  return {
    bytes,
    seconds: rounded(milliseconds / 1000, 6),
    megabytesPerSecond: milliseconds > 0 ? rounded(bytes / 1000 / milliseconds, 3) : 0,
    maxRequestsInFlight,
    maxBytesInFlight,
    window,
    algorithms,
  };
}

/** The algorithms that protect what goes in `direction`. */
export function algorithmReport(negotiated: Negotiated, direction: 'toClient' | 'toServer'): AlgorithmReport {
  const { kex, hostKey } = negotiated;
  const { cipher, mac } = negotiated[direction];
  return { kex, hostKey, cipher, mac: mac ?? null };
}

export function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
