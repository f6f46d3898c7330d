/**
 * The receive window of one channel: RFC 4254 §5.2. Credit goes back as bytes are consumed, not as they arrive, in steps that
 * are never under 1024 bytes (nor under a smaller window) and small against the window, so that a sender far away never runs
 * dry while we keep up.
 */

import { protocolError } from '../errors.ts';

/** The smallest WINDOW_ADJUST worth a packet. */
export const MIN_ADJUST = 1024;

/** Credit goes back in this share of the window: 1/16 of 2 MiB is 128 KiB, eight packets a mebibyte. */
const STEP = 16;

/** RFC 4254 §5.2: the window is a uint32. */
export const MAX_WINDOW = 0xffffffff;

export class ReceiveWindow {
  readonly size: number;
  #granted: number;
  #owed = 0;

  /** `size`: bytes that the peer may have on the way to us and that wait to be consumed, together. */
  constructor(size: number) {
    this.size = size;
    this.#granted = size;
  }

  /** Counts received bytes; throws `protocol` when they are more than the peer was granted. */
  received(count: number): void {
    if (count > this.#granted) {
      throw protocolError(`The peer sent ${count} bytes into a channel window of ${this.#granted}`);
    }
    this.#granted -= count;
  }

  /** Counts consumed bytes; returns the WINDOW_ADJUST to send now, or 0. */
  consumed(count: number): number {
    this.#owed += count;
    const step = Math.min(this.size, Math.max(MIN_ADJUST, Math.floor(this.size / STEP)));
    if (this.#owed < step) return 0;
    const adjust = this.#owed;
    this.#owed = 0;
    this.#granted += adjust;
    return adjust;
  }
}
