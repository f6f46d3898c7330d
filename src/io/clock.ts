/** Time as a value, so that tests can run it by hand. */

/** A source of time and timers. */
export interface Clock {
  /** Milliseconds from some fixed point, never going back. */
  now(): number;
  /** Runs `run` once after `milliseconds`; returns what cancels it. */
  after(milliseconds: number, run: () => void): () => void;
}

/** The longest delay that timers of runtimes take, 2^31 - 1 ms: they end a longer one at once. */
export const LONGEST_DELAY = 0x7fffffff;

/** The runtime's own clock. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after(milliseconds, run) {
    const timer = setTimeout(run, milliseconds);
    return () => clearTimeout(timer);
  },
};
