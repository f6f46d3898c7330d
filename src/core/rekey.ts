/** When keys have done enough: RFC 4253 §9, RFC 4344 §3. */

import type { Traffic } from './packet.ts';

/** Limits that start a key exchange; whichever is reached first. */
export interface RekeyLimits {
  /** Bytes in one direction. */
  readonly bytes: number;
  /** Packets in one direction. chacha20-poly1305 must not come near 2^32 (its nonce), RFC 4344 §3.1 says 2^31. */
  readonly packets: number;
  /** Milliseconds since the last key exchange. */
  readonly time: number;
}

/**
 * RFC 4253 §9 recommends a gigabyte or an hour. 2^30 bytes keep even a 64-bit block cipher safe; packets are bounded where
 * RFC 4344 puts it.
 */
export const defaultRekeyLimits: RekeyLimits = { bytes: 2 ** 30, packets: 2 ** 31, time: 3_600_000 };

/** Whether one direction has passed a limit. */
export function isWornOut(limits: RekeyLimits, traffic: Traffic): boolean {
  return traffic.bytes >= limits.bytes || traffic.packets >= limits.packets;
}
