/**
 * How many bytes the server may have on the way to us. What is asked for never exceeds what the pipe can take, reply
 * headers included: a server that waits for window while its own reader is blocked would wait for ever. Bytes count
 * from the request until their consumer is done with them. All transfers of a client share one budget.
 */

import type { BytePipe } from '../io/pipe.ts';
import { DATA_HEADER } from './proto/packets.ts';
import type { Pump } from './pump.ts';

/** Part of the window that is left to replies other than DATA: two long ones. */
const RESERVE = 32 * 1024;

/** A channel gathers credit before it passes it on, up to this share of its window: as long, the server has that much less. */
const GATHERED = 1 / 16;

/** What may be in flight on a pipe that limits nothing by itself: bounds the memory. */
const UNWINDOWED = 8 * 1024 * 1024;

export class ReadBudget {
  readonly #pipe: BytePipe;
  readonly #wake: (pump: Pump) => void;
  /** In the order in which they are woken: who waits longest comes first. */
  readonly #waiting = new Set<Pump>();
  #asked = 0;
  #held = 0;
  #lent = 0;
  /** Part of what was asked for that nobody wants any more. */
  #abandoned = 0;

  constructor(pipe: BytePipe, wake: (pump: Pump) => void) {
    this.#pipe = pipe;
    this.#wake = wake;
  }

  /** Bytes that may be asked for or held at once. */
  get limit(): number {
    const window = this.#pipe.receiveWindow;
    if (window === undefined) return UNWINDOWED;
    return Math.floor(Math.max(window * (1 - GATHERED) - RESERVE, window / 2));
  }

  /** Bytes that were asked for and are not here, headers included. */
  get asked(): number {
    return this.#asked;
  }

  /** Bytes that are here and that their consumer is not done with. */
  get held(): number {
    return this.#held;
  }

  /** The longest content that one request may ask for. */
  get largest(): number {
    return Math.max(1, this.limit - DATA_HEADER);
  }

  /** Whether replies may be stuck behind bytes that a consumer of ours does not take: the server is not to blame then. */
  get holdsBackReplies(): boolean {
    return this.#held > 0 && this.#pipe.receiveWindow === undefined;
  }

  /**
   * Takes room for a request of `length` bytes. False: there is none; `pump` is woken when there may be. `starving`
   * says that the pump has nothing in flight and nothing here. It must not depend on another transfer, whose consumer
   * may be waiting for this one, so bytes held elsewhere are given back to the pipe early in its favour; nor on replies
   * that nobody wants any more, since a server that has stopped answering one READ may never send them.
   */
  take(pump: Pump, length: number, starving: boolean): boolean {
    const cost = length + DATA_HEADER;
    const missing = this.#asked + this.#held - this.#lent + cost - this.limit;
    if (missing > 0 && !(starving && (this.#lend(cost) || this.#writeOff(missing)))) {
      this.#waiting.add(pump);
      return false;
    }
    this.#asked += cost;
    this.#waiting.delete(pump); // to be the last of those who wait, should it want more
    return true;
  }

  #lend(cost: number): boolean {
    if (this.#held - this.#lent < cost) return false;
    this.#lent += cost;
    this.#pipe.consumed(cost);
    return true;
  }

  /** Should they come all the same, they pass through the reserve: they are discarded, and given back, at once. */
  #writeOff(count: number): boolean {
    if (this.#abandoned < count) return false;
    this.#abandoned -= count;
    this.#asked -= count;
    return true;
  }

  /** Nobody wants the `count` bytes any more that were asked for and are not here. */
  abandon(count: number): void {
    this.#abandoned += count;
    if (this.#waiting.size > 0) this.#wakeWaiting();
  }

  /** `count` bytes that were abandoned came, or will not come. */
  discarded(count: number): void {
    const counted = Math.min(count, this.#abandoned);
    this.#abandoned -= counted;
    this.free(counted);
  }

  /** `count` bytes that were asked for are here, and kept. */
  hold(count: number): void {
    this.#asked -= count;
    this.#held += count;
    if (this.#waiting.size > 0) this.#wakeWaiting();
  }

  /** `count` bytes that were asked for came and were not kept, or will not come. */
  free(count: number): void {
    this.#asked -= count;
    if (this.#waiting.size > 0) this.#wakeWaiting();
  }

  /** The consumer is done with `count` held bytes. */
  release(count: number): void {
    this.#held -= count;
    const repaid = Math.min(this.#lent, count);
    this.#lent -= repaid;
    if (count > repaid) this.#pipe.consumed(count - repaid);
    if (this.#waiting.size > 0) this.#wakeWaiting();
  }

  /** `pump` wants nothing any more. */
  forget(pump: Pump): void {
    if (this.#waiting.delete(pump)) this.#wakeWaiting();
  }

  #wakeWaiting(): void {
    for (const pump of this.#waiting) this.#wake(pump);
  }
}
