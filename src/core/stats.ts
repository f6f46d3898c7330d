/** What a connection has moved since its start, the identification with it, and how long its line is. */

import type { RoundTripStats } from './round_trip.ts';

export interface TransportStats {
  /** Bytes on the line, and packets. */
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly packetsIn: number;
  readonly packetsOut: number;
  /** Key exchanges that have ended. */
  readonly keyExchanges: number;
}

export interface ConnectionStats extends TransportStats, RoundTripStats {
  /** Channels that there are now, whoever opened them. */
  readonly channels: number;
}
