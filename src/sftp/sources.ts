/** The kinds of sources: a local file, bytes, an iterable, a Web Stream. Bytes of the caller are copied, once. */

import { copy } from '../bytes/bytes.ts';
import { SshError, toSshError } from '../errors.ts';
import type { LocalFile } from '../io/local_files.ts';
import type { BlockDigests } from './digests.ts';
import type { SourceEvents, WriteSource } from './source.ts';

/** Bytes that are read, or copied, at a time: large enough that a promise for each is cheap. */
const STEP = 512 * 1024;

/**
 * Pieces of memory kept to be read into again: what eight windows of 2 MiB have on the way. There are never more than were on
 * the way at once, and to let go of some would only mean to ask for others.
 */
const SPARE = 64;

/** Read beyond the size that was stated, to see that the file ends there. */
const PROBE = 4096;

/** Reads `file` from byte `start` until its end. Does not close it. `size`: what it is said to hold. */
export function fileSource(file: LocalFile, size: number = Number.POSITIVE_INFINITY, start: number = 0): WriteSource {
  const lent: { readonly memory: Uint8Array; readonly end: number }[] = [];
  const spare: Uint8Array[] = [];
  let position = start;
  let reading: Promise<void> | undefined;
  const room = (): Uint8Array => {
    const left = size - position;
    if (left >= STEP || left < 0) return spare.pop() ?? new Uint8Array(STEP);
    return new Uint8Array(Math.max(left, PROBE));
  };
  const read = async (events: SourceEvents): Promise<void> => {
    let bytes: Uint8Array;
    try {
      const memory = room();
      bytes = memory.subarray(0, await file.read(memory, position));
      if (memory.length === STEP) lent.push({ memory, end: position - start + bytes.length });
    } catch (error) {
      reading = undefined;
      events.broken(toSshError(error, 'bad-local-file', { operation: 'read' }));
      return;
    }
    reading = undefined;
    position += bytes.length;
    if (bytes.length === 0) events.end();
    else events.push(bytes);
  };
  return {
    pull: (events) => {
      reading = read(events);
    },
    spent: (count) => {
      for (let first = lent[0]; first !== undefined && first.end <= count; first = lent[0]) {
        lent.shift();
        if (spare.length < SPARE) spare.push(first.memory);
      }
    },
    stop: async () => reading,
  };
}

/** Copies out of `bytes`, which must not change before the transfer has ended. */
export function bytesSource(bytes: Uint8Array): WriteSource {
  if (!(bytes instanceof Uint8Array)) throw new SshError('bad-argument', `Bytes are a Uint8Array, not ${typeof bytes}`);
  let position = 0;
  return {
    pull: (events) => {
      if (position >= bytes.length) {
        events.end();
        return;
      }
      const piece = copy(bytes.subarray(position, position + STEP));
      position += piece.length;
      events.push(piece);
    },
    stop: async () => undefined,
  };
}

/** Takes what an iterable or a Web Stream yields. */
export function iterableSource(chunks: AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>): WriteSource {
  const iterator = 'getReader' in chunks ? readerIterator(chunks) : chunks[Symbol.asyncIterator]();
  let current: Uint8Array = new Uint8Array(0);
  let position = 0;
  const pull = async (events: SourceEvents): Promise<void> => {
    try {
      while (position >= current.length) {
        const next = await iterator.next();
        if (next.done) {
          events.end();
          return;
        }
        if (!(next.value instanceof Uint8Array)) {
          throw new SshError('bad-argument', `A source must yield Uint8Array, this one yielded ${typeof next.value}`);
        }
        current = next.value;
        position = 0;
      }
    } catch (error) {
      events.broken(toSshError(error, 'bad-argument', { operation: 'read' }));
      return;
    }
    const piece = copy(current.subarray(position, position + STEP));
    position += piece.length;
    events.push(piece);
  };
  return {
    pull: (events) => void pull(events),
    stop: async () => {
      // A source that never yields must not hold up the end of the transfer: it is told, not waited for.
      Promise.resolve()
        .then(() => iterator.return?.())
        .catch(() => undefined);
    },
  };
}

function readerIterator(stream: ReadableStream<Uint8Array>): AsyncIterator<Uint8Array> {
  const reader = stream.getReader();
  return {
    next: async () => (await reader.read()) as IteratorResult<Uint8Array>,
    return: async () => {
      await reader.cancel();
      return { done: true, value: undefined };
    },
  };
}

/** `source`, of which the digests are taken as it passes. */
export function digestedSource(source: WriteSource, blocks: BlockDigests): WriteSource {
  return {
    pull: (events) =>
      source.pull({
        // first the digest: what was pushed belongs to the transfer
        push: (bytes) =>
          void blocks.add(bytes).then(
            () => events.push(bytes),
            (error) => events.broken(toSshError(error, 'crypto', { operation: 'verify' })),
          ),
        skip: (count) => events.skip(count),
        end: () => events.end(),
        broken: (error) => events.broken(error),
      }),
    spent: (count) => source.spent?.(count),
    stop: () => source.stop(),
  };
}
