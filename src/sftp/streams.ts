/** The content of an open file as an async iterator and as Web Streams, at the pace of whoever reads or writes. */

import { type Bytes, copy } from '../bytes/bytes.ts';
import { SshError, toSshError } from '../errors.ts';
import type { OpenHandle } from './operations.ts';
import type { RangeOptions, TransferOptions } from './options.ts';
import { type Next, OrderedSink } from './ordered_sink.ts';
import type { SourceEvents, WriteSource } from './source.ts';
import { type Running, startRead, startWrite } from './transfer.ts';

/** A read in order, piece by piece. */
interface OrderedRead {
  /** The next bytes, or how it ended. One question at a time; the answer may come at once. */
  next(consumer: (next: Next) => void): void;
  /** Ends it; harmless when it has ended. */
  abort(error: SshError): void;
}

/** Starts to read `file` in order. */
function orderedRead(file: OpenHandle, options: RangeOptions): OrderedRead {
  const sink = new OrderedSink(options.start ?? 0);
  const running = startRead(file, sink, options, 'ask');
  running.done.then(
    () => sink.settle(undefined),
    (error: SshError) => sink.settle(error),
  );
  return { next: (consumer) => sink.next(consumer), abort: (error) => running.abort(error) };
}

/** The error that ends a transfer whose consumer has left. */
function left(operation: string): SshError {
  return new SshError('aborted', `${operation}: the consumer stopped before the end`, { operation });
}

/** The pieces of a file. Leaving the loop early ends the transfer. */
export async function* chunksOf(file: OpenHandle, options: RangeOptions): AsyncGenerator<Bytes> {
  const read = orderedRead(file, options);
  try {
    for (;;) {
      const next = await new Promise<Next>((resolve) => read.next(resolve));
      if ('error' in next) throw next.error;
      if ('end' in next) return;
      yield next.bytes as Bytes;
    }
  } finally {
    read.abort(left('read'));
  }
}

/**
 * A stream of a file. `open` is called at once; `close` once the stream is done with the file, however it ended.
 */
export function readableOf(
  open: () => Promise<OpenHandle>,
  close: (file: OpenHandle) => void,
  options: RangeOptions,
): ReadableStream<Bytes> {
  let file: OpenHandle | undefined;
  let read: OrderedRead | undefined;
  let cancelled = false;
  const release = (): void => {
    if (file !== undefined) close(file);
    file = undefined;
  };
  return new ReadableStream<Bytes>(
    {
      start: async () => {
        file = await open();
        if (cancelled) release();
        else read = orderedRead(file, options);
      },
      pull: (controller) =>
        new Promise<void>((resolve) => {
          read?.next((next) => {
            if ('bytes' in next) controller.enqueue(next.bytes as Bytes);
            else if ('end' in next) controller.close();
            else controller.error(next.error);
            if (!('bytes' in next)) release();
            resolve();
          });
        }),
      cancel: () => {
        cancelled = true;
        read?.abort(left('read'));
        release();
      },
    },
    { highWaterMark: 0 }, // what is read ahead waits in the transfer, where it is counted
  );
}

/** A source that is filled from outside, one piece at a time. */
class PushSource implements WriteSource {
  #events: SourceEvents | undefined;
  #offered: { readonly bytes: Uint8Array | undefined; readonly taken: () => void } | undefined;

  pull(events: SourceEvents): void {
    this.#events = events;
    this.#serve();
  }

  /** Resolves when the transfer has taken the bytes, or, for `undefined`, the word that there are no more. */
  offer(bytes: Uint8Array | undefined): Promise<void> {
    return new Promise((resolve) => {
      this.#offered = { bytes, taken: resolve };
      this.#serve();
    });
  }

  async stop(): Promise<void> {
    this.#offered?.taken();
  }

  #serve(): void {
    const events = this.#events;
    const offered = this.#offered;
    if (events === undefined || offered === undefined) return;
    this.#events = undefined;
    this.#offered = undefined;
    if (offered.bytes === undefined) events.end();
    else events.push(offered.bytes);
    offered.taken();
  }
}

/**
 * A stream into a file. `open` is called at once; `close` when the stream is closed and everything acknowledged;
 * `discard` when it ended in any other way. A chunk is copied before `write` returns.
 */
export function writableOf(
  open: () => Promise<OpenHandle>,
  close: (file: OpenHandle) => Promise<void>,
  discard: (file: OpenHandle) => void,
  options: TransferOptions & { readonly start?: number | undefined },
): WritableStream<Uint8Array> {
  const source = new PushSource();
  let file: OpenHandle | undefined;
  let running: Running | undefined;
  return new WritableStream<Uint8Array>(
    {
      start: async (controller) => {
        file = await open();
        running = startWrite(file, source, options.start ?? 0, undefined, options);
        running.done.catch((error: SshError) => {
          controller.error(error);
          void source.stop();
          if (file !== undefined) discard(file);
          file = undefined;
        });
      },
      write: (chunk) => {
        if (chunk instanceof Uint8Array) return source.offer(copy(chunk));
        throw new SshError('bad-argument', `A chunk must be a Uint8Array, not ${typeof chunk}`);
      },
      close: async () => {
        await source.offer(undefined);
        await running?.done;
        const open = file;
        file = undefined;
        if (open !== undefined) await close(open);
      },
      abort: (reason) => {
        running?.abort(toSshError(reason ?? left('write'), 'aborted', { operation: 'write' }));
      },
    },
    { highWaterMark: 1 },
  );
}
