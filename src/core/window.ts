/**
 * The receive window of one channel: RFC 4254 §5.2. Credit goes back as bytes are consumed, not as they arrive, in steps that
 * are never under 1024 bytes (nor under a smaller window) and small against the window, so that a sender far away never runs
 * dry while we keep up.
 *
 * The window grows where it holds the sender back: it is set against what was consumed in one round trip. A sender that the
 * window limits fills it every round trip, so a window that is less than twice that may be the limit. It is not when the
 * consumer is: then bytes pile up here. It never shrinks.
 */

import { protocolError } from '../errors.ts';
import { RecentBytes } from './recent_bytes.ts';

/** The smallest WINDOW_ADJUST worth a packet. */
export const MIN_ADJUST = 1024;

/** Credit goes back in this share of the window: 1/16 of 2 MiB is 128 KiB, eight packets a mebibyte. */
const STEP = 16;

/** RFC 4254 §5.2: the window is a uint32. */
export const MAX_WINDOW = 0xffffffff;

/** The window is to hold what comes in so many round trips, and is after a round at most so many times what it was. */
const HEADROOM = 2;

/** Milliseconds of a round at least: in less, what is consumed at one stroke, as after a pause of the disk, looks like a rate. */
const MIN_ROUND = 50;

/** The consumer keeps up while no more than this share of the window waits for it. */
const KEPT_UP = 1 / 4;

export class ReceiveWindow {
  #size: number;
  #granted: number;
  #owed = 0;
  #held = 0;
  #received = 0;
  #adjustments = 0;
  readonly #recent = new RecentBytes();
  #roundFrom = Number.NEGATIVE_INFINITY;
  /** The size that the round began with. */
  #roundSize = 0;

  /** `size`: bytes that the peer may have on the way to us and that wait to be consumed, together, at first. */
  constructor(size: number) {
    this.#size = size;
    this.#granted = size;
  }

  /** Bytes that the peer may have on the way to us and that wait to be consumed, together. */
  get size(): number {
    return this.#size;
  }

  /** What the peer may still send. */
  get granted(): number {
    return this.#granted;
  }

  /** Bytes received. */
  get total(): number {
    return this.#received;
  }

  /** WINDOW_ADJUSTs that `consumed` asked for. */
  get adjustments(): number {
    return this.#adjustments;
  }

  /** Counts received bytes; throws `protocol` when they are more than the peer was granted. */
  received(count: number): void {
    if (count > this.#granted) {
      throw protocolError(`The peer sent ${count} bytes into a channel window of ${this.#granted}`);
    }
    this.#granted -= count;
    this.#held += count;
    this.#received += count;
  }

  /**
   * Counts consumed bytes; returns the WINDOW_ADJUST to send now, or 0. The window grows by up to `room` bytes; without times
   * (`now` and `roundTrip` in milliseconds) it does not.
   */
  consumed(count: number, now?: number, roundTrip?: number, room = 0): number {
    this.#owed += count;
    this.#held -= count;
    const growth = now === undefined || roundTrip === undefined ? 0 : this.#growth(count, now, roundTrip, room);
    this.#size += growth;
    if (growth === 0 && this.#owed < this.#step) return 0;
    const adjust = this.#owed + growth;
    this.#owed = 0;
    this.#granted += adjust;
    this.#adjustments++;
    return adjust;
  }

  get #step(): number {
    return Math.min(this.#size, Math.max(MIN_ADJUST, Math.floor(this.#size / STEP)));
  }

  /** By how much to grow now: by nothing, or by a step at least, unless less than that is left. */
  #growth(count: number, now: number, roundTrip: number, room: number): number {
    const round = Math.max(roundTrip, MIN_ROUND);
    const once = (this.#recent.add(count, now, round) * roundTrip) / round;
    if (now - this.#roundFrom >= round) {
      this.#roundFrom = now;
      this.#roundSize = this.#size;
    }
    if (this.#held > this.#size * KEPT_UP) return 0;
    const target = Math.floor(HEADROOM * Math.min(once, this.#roundSize));
    const growth = Math.min(target - this.#size, room);
    return growth >= Math.max(MIN_ADJUST, Math.min(this.#step, room)) ? growth : 0;
  }
}
