/** Wraps a byte pipe so that everything takes `milliseconds` longer in either direction. */

import type { BytePipe, PipeSink } from '../../src/io/pipe.ts';

export function delayPipe(inner: BytePipe, milliseconds: number): BytePipe {
  /** Runs what is given to it in order, each a while after it was given. */
  const line = (): ((run: () => void) => void) => {
    const waiting: { readonly at: number; readonly run: () => void }[] = [];
    const arm = (): void => {
      const first = waiting[0];
      if (first === undefined) return;
      setTimeout(
        () => {
          while (waiting[0] !== undefined && waiting[0].at <= performance.now() + 0.5) waiting.shift()?.run();
          arm();
        },
        Math.max(0, first.at - performance.now()),
      );
    };
    return (run) => {
      waiting.push({ at: performance.now() + milliseconds, run });
      if (waiting.length === 1) arm();
    };
  };
  const out = line();
  const back = line();
  const pipe: BytePipe = {
    open(sink: PipeSink) {
      inner.open({
        data: (bytes) => back(() => sink.data(bytes)),
        end: () => back(() => sink.end()),
        drain: () => sink.drain(),
        closed: (cause) => back(() => sink.closed(cause)),
      });
    },
    write(pieces) {
      out(() => void inner.write(pieces));
      return true;
    },
    end: () => out(() => inner.end()),
    consumed: (count) => out(() => inner.consumed(count)),
    close: (cause) => inner.close(cause),
  };
  return inner.receiveWindow === undefined ? pipe : Object.assign(pipe, { receiveWindow: inner.receiveWindow });
}
