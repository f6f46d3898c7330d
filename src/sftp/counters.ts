/** What a running transfer counts. */

import type { TransferStats } from './options.ts';

/** `TransferStats` in the making. */
export type Counters = { -readonly [K in keyof TransferStats]: TransferStats[K] };

export function newCounters(): Counters {
  return { bytes: 0, requests: 0, maxRequestsInFlight: 0, maxBytesInFlight: 0, shortReads: 0 };
}
