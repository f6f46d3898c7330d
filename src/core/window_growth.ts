/** How far the windows of one connection's channels grow, all together: memory stays bounded however many channels there are. */

import type { RoundTrip } from './round_trip.ts';
import type { ReceiveWindow } from './window.ts';

export interface WindowConfig {
  /** Receive window of every channel at first, in bytes. */
  readonly window: number;
  /** What it may grow to; all of them together grow by no more than one may. */
  readonly maxWindow: number;
}

export class WindowGrowth {
  readonly #config: WindowConfig;
  readonly #roundTrip: RoundTrip;
  readonly #measure: () => void;
  #grown = 0;
  #measured = false;

  /** `measure` sends a request that tells the round trip. */
  constructor(config: WindowConfig, roundTrip: RoundTrip, measure: () => void) {
    this.#config = config;
    this.#roundTrip = roundTrip;
    this.#measure = measure;
  }

  /** Counts consumed bytes of a channel; returns the WINDOW_ADJUST to send now, or 0. */
  consumed(window: ReceiveWindow, count: number): number {
    const { now, smallest } = this.#roundTrip;
    const room = this.#config.maxWindow - this.#config.window - this.#grown;
    const { size } = window;
    const adjust = window.consumed(count, now, smallest, room);
    this.#grown += window.size - size;
    if (smallest === undefined && now !== undefined && room > 0) this.#measureOnce();
    return adjust;
  }

  /** The channel has ended: what its window has grown by is there for others. */
  ended(window: ReceiveWindow): void {
    this.#grown -= window.size - this.#config.window;
  }

  /**
   * A client has measured by the time that data comes, with its own requests. A server asks for nothing by itself; it does so
   * with the first data, as long as little else can be on the way that the answer would have to queue behind.
   */
  #measureOnce(): void {
    if (this.#measured) return;
    this.#measured = true;
    this.#measure();
  }
}
