/** What a running transfer counts, and what its result says. */

import type { Link } from './link.ts';
import type { TransferStats } from './options.ts';
import { perSecond } from './rate.ts';

/** `TransferStats` in the making. */
export type Counters = {
  -readonly [K in
    | 'bytes'
    | 'requests'
    | 'maxRequestsInFlight'
    | 'maxBytesInFlight'
    | 'shortReads'
    | 'lanes']: TransferStats[K];
};

export function newCounters(): Counters {
  return { bytes: 0, requests: 0, maxRequestsInFlight: 0, maxBytesInFlight: 0, shortReads: 0, lanes: 1 };
}

/** The result of a transfer over `link` that began at `startedAt` on its clock and ends now. */
export function finalStats(counters: Counters, link: Link, startedAt: number): TransferStats {
  const milliseconds = link.clock.now() - startedAt;
  const pipe = link.stats;
  return {
    ...counters,
    seconds: milliseconds / 1000,
    rate: perSecond(counters.bytes, milliseconds),
    ...(pipe === undefined ? {} : { window: pipe.window, adjustments: pipe.adjustments }),
    ...(pipe?.roundTrip === undefined ? {} : { roundTrip: pipe.roundTrip }),
  };
}
