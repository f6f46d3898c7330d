/**
 * A byte pipe at the far end of a long line, in the time of any clock: everything takes `milliseconds` longer in either direction,
 * and nothing else holds it up, so what a transfer gets over it is what the two ends keep in flight. A line may also be narrow:
 * it carries so many bytes a millisecond.
 */

import type { Clock } from '../../src/io/clock.ts';
import type { BytePipe, PipeSink } from '../../src/io/pipe.ts';

export interface LineTerms {
  /** One way. */
  readonly milliseconds: number;
  /** Bytes a millisecond, each way. Default: no end. */
  readonly rate?: number | undefined;
}

export function longLine(inner: BytePipe, clock: Clock, terms: LineTerms): BytePipe {
  const out = oneWay(clock, terms);
  const back = oneWay(clock, terms);
  let sink: PipeSink | undefined;
  return {
    open(owner) {
      sink = owner;
      inner.open({
        data(bytes) {
          inner.consumed(bytes.length);
          back(bytes.length, () => sink?.data(bytes));
        },
        end: () => back(0, () => sink?.end()),
        drain: () => {},
        closed: (cause) => back(0, () => sink?.closed(cause)),
      });
    },
    write(pieces) {
      let size = 0;
      for (const piece of pieces) size += piece.length;
      out(size, () => void inner.write(pieces));
      return true;
    },
    end: () => out(0, () => inner.end()),
    consumed: () => {},
    close: (cause) => inner.close(cause),
  };
}

/** Runs what is given to it in order, each when its bytes would have arrived; what arrives at once runs at once. */
function oneWay(clock: Clock, { milliseconds, rate = Number.POSITIVE_INFINITY }: LineTerms) {
  let free = 0;
  let last: { readonly at: number; readonly runs: (() => void)[] } | undefined;
  return (size: number, run: () => void): void => {
    free = Math.max(free, clock.now()) + size / rate;
    // whole milliseconds: as few timers as will do
    const at = Math.ceil(free + milliseconds);
    if (last?.at === at) {
      last.runs.push(run);
      return;
    }
    const batch = { at, runs: [run] };
    last = batch;
    clock.after(at - clock.now(), () => {
      if (last === batch) last = undefined;
      for (const each of batch.runs) each();
    });
  };
}
