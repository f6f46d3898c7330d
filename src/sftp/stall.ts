/** Notices that a peer has stopped answering. Knows time only through the clock it is given. */

import { SshError } from '../errors.ts';
import { type Clock, LONGEST_DELAY } from '../io/clock.ts';

/**
 * Calls `onStall` once when nothing was heard for `limit` milliseconds. `heardAt` says when, on the clock, something
 * last was; it is asked only when the limit may be reached. A `limit` of 0 never ends; one that is no number is
 * `bad-argument`.
 */
export class StallGuard {
  readonly #clock: Clock;
  readonly #limit: number;
  readonly #heardAt: () => number;
  readonly #onStall: () => void;
  #startedAt = 0;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, limit: number, heardAt: () => number, onStall: () => void) {
    if (!(typeof limit === 'number' && limit >= 0)) {
      throw new SshError('bad-argument', `stallTimeout must be milliseconds, or 0 for none, not ${String(limit)}`);
    }
    this.#clock = clock;
    this.#limit = limit;
    this.#heardAt = heardAt;
    this.#onStall = onStall;
  }

  start(): void {
    if (this.#limit === 0 || this.#limit === Number.POSITIVE_INFINITY) return;
    this.#startedAt = this.#clock.now();
    this.#arm(this.#limit);
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #arm(milliseconds: number): void {
    this.#cancel = this.#clock.after(Math.min(milliseconds, LONGEST_DELAY), () => {
      const left = Math.max(this.#startedAt, this.#heardAt()) + this.#limit - this.#clock.now();
      if (left > 0) {
        this.#arm(left);
        return;
      }
      this.#cancel = undefined;
      this.#onStall();
    });
  }
}
