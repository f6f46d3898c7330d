/** Blocks of zeros, which sparse files leave out. */

import type { SourceEvents, WriteSource } from './source.ts';

/** Whether all bytes are zero. */
function isZero(bytes: Uint8Array): boolean {
  const { length } = bytes;
  // most content shows what it is at once
  if (length > 0 && (bytes[0] !== 0 || bytes[length - 1] !== 0)) return false;
  for (let i = 0; i < length; i++) if (bytes[i] !== 0) return false;
  return true;
}

/**
 * The pieces, which stand one behind the other from `position` on, as runs to be written: without those that are zeros
 * and lie behind `from`, where nothing is yet.
 */
export function denseRuns(
  pieces: readonly Uint8Array[],
  position: number,
  from: number,
): readonly (readonly [pieces: readonly Uint8Array[], position: number])[] {
  const runs: [Uint8Array[], number][] = [];
  let at = position;
  let open: Uint8Array[] | undefined;
  for (const piece of pieces) {
    if (at >= from && isZero(piece)) open = undefined;
    else if (open === undefined) {
      open = [piece];
      runs.push([open, at]);
    } else open.push(piece);
    at += piece.length;
  }
  return runs;
}

/** Bytes that are looked at together: at least a block of most file systems, and few of them in a piece. */
const BLOCK = 16 * 1024;

type Event = { readonly skip: number } | { readonly bytes: Uint8Array } | 'end';

/**
 * `source`, whose blocks of zeros behind its first `from` bytes are skipped. Its last byte never is, so that the file gets its
 * length.
 */
export function sparseSource(source: WriteSource, from: number): WriteSource {
  const ready: Event[] = [];
  let position = 0;
  /** Zeros that nothing was said of yet. */
  let zeros = 0;
  const skip = (count: number): void => {
    if (count > 0) ready.push({ skip: count });
    zeros -= count;
  };
  const take = (bytes: Uint8Array): void => {
    let dense = 0; // where those begin that are to be sent
    let at = 0;
    const send = (): void => {
      if (at > dense) ready.push({ bytes: bytes.subarray(dense, at) });
    };
    while (at < bytes.length) {
      const block = bytes.subarray(at, at + BLOCK);
      if (position + at >= from && isZero(block)) {
        send();
        zeros += block.length;
        dense = at + block.length;
      } else skip(zeros);
      at += block.length;
    }
    send();
    position += bytes.length;
    if (zeros > 1) skip(zeros - 1);
  };
  const tell = (events: SourceEvents): void => {
    const event = ready.shift();
    if (event === undefined) ask(events);
    else if (event === 'end') events.end();
    else if ('skip' in event) events.skip(event.skip);
    else events.push(event.bytes);
  };
  const ask = (events: SourceEvents): void =>
    source.pull({
      push: (bytes) => {
        take(bytes);
        tell(events);
      },
      skip: (count) => {
        skip(zeros);
        ready.push({ skip: count });
        position += count;
        tell(events);
      },
      end: () => {
        if (zeros > 0) ready.push({ bytes: new Uint8Array(zeros) });
        ready.push('end');
        tell(events);
      },
      broken: (error) => events.broken(error),
    });
  return {
    pull: tell,
    spent: (count) => source.spent?.(count),
    stop: () => source.stop(),
  };
}
