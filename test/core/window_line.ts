/**
 * A receive window at the end of a long line, millisecond by millisecond: a sender that sends all it may, a line that carries so
 * much a millisecond, and a consumer that takes so much. For tests.
 */

import { ReceiveWindow } from '../../src/core/window.ts';

export interface LineOptions {
  /** Milliseconds. */
  readonly roundTrip: number;
  /** Bytes a millisecond that the line carries. Default: no end. */
  readonly line?: number;
  /** Bytes a millisecond that the consumer takes. Default: no end. */
  readonly consumer?: number | ((time: number) => number);
  /** Bytes a millisecond that the sender has. Default: no end. */
  readonly sender?: (time: number) => number;
  readonly window: number;
  readonly maxWindow: number;
  /** What was measured as the round trip. Default: the round trip. */
  readonly measured?: number | undefined;
}

export interface LineRun {
  /** The window after each millisecond. */
  readonly sizes: readonly number[];
  /** What the consumer took by the end. */
  readonly consumed: number;
  /** The most that waited for the consumer. */
  readonly mostHeld: number;
  readonly window: ReceiveWindow;
}

/** Runs for so many milliseconds. Fails as the window does when the sender, which keeps to its credit, sends too much. */
export function runLine(options: LineOptions, milliseconds: number): LineRun {
  const { roundTrip, line = 1e12, maxWindow } = options;
  const measured = 'measured' in options ? options.measured : roundTrip;
  const window = new ReceiveWindow(options.window);
  const oneWay = roundTrip / 2;
  const arriving: number[] = [];
  const credit: number[] = [];
  const sizes: number[] = [];
  let free = options.window;
  let held = 0;
  let mostHeld = 0;
  let consumed = 0;
  for (let now = 0; now < milliseconds; now++) {
    free += credit[now] ?? 0;
    const sent = Math.floor(Math.min(free, line, options.sender?.(now) ?? free));
    free -= sent;
    arriving[now + oneWay] = sent;
    const came = arriving[now] ?? 0;
    window.received(came);
    held += came;
    const rate = typeof options.consumer === 'function' ? options.consumer(now) : (options.consumer ?? held);
    const taken = Math.floor(Math.min(held, rate));
    if (taken > 0) {
      held -= taken;
      consumed += taken;
      const adjust = window.consumed(taken, now, measured, maxWindow - window.size);
      credit[now + oneWay] = (credit[now + oneWay] ?? 0) + adjust;
    }
    mostHeld = Math.max(mostHeld, held);
    sizes.push(window.size);
  }
  return { sizes, consumed, mostHeld, window };
}
