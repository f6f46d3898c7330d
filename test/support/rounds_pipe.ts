/**
 * A pipe over which everything that one side has to say leaves together, and the answers come back together: so that round trips
 * can be counted, whatever time things take.
 */

import { setImmediate } from 'node:timers';
import type { BytePipe, PipeSink } from '../../src/io/pipe.ts';

/** Turns of the event loop in which nothing more is said. */
const QUIET_TURNS = 4;

/** Calls `run` once `touch` was not called for a while. */
function whenQuiet(run: () => void): { touch(): void } {
  let left = 0;
  const wait = (): void => {
    left -= 1;
    if (left > 0) setImmediate(wait);
    else run();
  };
  return {
    touch: () => {
      if (left === 0) setImmediate(wait);
      left = QUIET_TURNS;
    },
  };
}

export interface RoundsPipe extends BytePipe {
  /** How often this side has said something. */
  rounds: number;
}

export function roundsPipe(inner: BytePipe): RoundsPipe {
  const out: Uint8Array[] = [];
  const back: Uint8Array[] = [];
  let sink: PipeSink | undefined;
  const sending = whenQuiet(() => {
    pipe.rounds += 1;
    inner.write(out.splice(0));
  });
  const receiving = whenQuiet(() => {
    for (const bytes of back.splice(0)) sink?.data(bytes);
  });
  const pipe: RoundsPipe = {
    rounds: 0,
    open(given) {
      sink = given;
      inner.open({
        data: (bytes) => {
          back.push(bytes);
          receiving.touch();
        },
        end: () => given.end(),
        drain: () => given.drain(),
        closed: (cause) => given.closed(cause),
      });
    },
    write(pieces) {
      out.push(...pieces);
      sending.touch();
      return true;
    },
    end: () => inner.end(),
    consumed: (count) => inner.consumed(count),
    close: (cause) => inner.close(cause),
  };
  return pipe;
}
