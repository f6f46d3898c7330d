/** The limit of `--timeout`. */

import { SshError } from '../errors.ts';

/** It stands still while a person types. */
export class Deadline {
  readonly signal: AbortSignal;
  /** The error, once the time is over. */
  passed: SshError | undefined;
  readonly #own = new AbortController();
  #left: number;
  #since = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #limit: number | undefined;

  constructor(limit: number | undefined, signal: AbortSignal) {
    this.#limit = limit;
    this.#left = limit ?? 0;
    this.signal = AbortSignal.any([signal, this.#own.signal]);
    this.#run();
  }

  /** The time that `work` takes does not count. */
  async pausedFor<T>(work: () => Promise<T>): Promise<T> {
    this.stop();
    try {
      return await work();
    } finally {
      this.#run();
    }
  }

  stop(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#left -= performance.now() - this.#since;
  }

  #run(): void {
    if (this.#limit === undefined) return;
    this.#since = performance.now();
    this.#timer = setTimeout(
      () => {
        const message = `Not logged in within ${(this.#limit as number) / 1000} s (--timeout)`;
        this.passed = new SshError('timeout', message, { fault: 'network' });
        this.#own.abort();
      },
      Math.max(0, this.#left),
    );
  }
}
