/** How a download gets into a local file: what memory it takes on the way, in whatever order it comes. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { equalBytes } from '../../src/bytes/bytes.ts';
import type { LocalFile } from '../../src/io/local_files.ts';
import { FileSink } from '../../src/sftp/file_sink.ts';
import { replayedRandom } from '../support/replayed_random.ts';
import { patterned } from '../support/scripted_sftp.ts';
import { VirtualClock } from '../support/virtual_clock.ts';

const KIB = 1024;

/** A file on a disk that stands still until it is let go, and the memory that was written from. */
class StillFile {
  readonly content: Uint8Array;
  readonly memory = new Set<ArrayBufferLike>();
  writes = 0;
  #go: () => void = () => {};
  readonly #gate: Promise<void>;

  constructor(size: number) {
    this.content = new Uint8Array(size);
    this.#gate = new Promise((resolve) => {
      this.#go = resolve;
    });
  }

  get file(): LocalFile {
    const write: LocalFile['write'] = async (pieces, position) => {
      await this.#gate;
      this.writes++;
      let at = position;
      for (const piece of pieces) {
        this.memory.add(piece.buffer);
        this.content.set(piece, at);
        at += piece.length;
      }
    };
    return { write } as LocalFile;
  }

  get bytes(): number {
    let sum = 0;
    for (const { byteLength } of this.memory) sum += byteLength;
    return sum;
  }

  go(): void {
    this.#go();
  }
}

/** Gives the pieces to a sink over a disk that stands still until all have come, and waits for the end. */
async function through(size: number, pieces: readonly (readonly [position: number, length: number])[]) {
  const bytes = patterned(size);
  const disk = new StillFile(size);
  const sink = new FileSink(disk.file, { origin: 0 });
  const finished = new Promise<void>((resolve, reject) =>
    sink.start({ taken: () => {}, finished: resolve, broken: reject }),
  );
  for (const [position, length] of pieces) sink.data(position, bytes.slice(position, position + length));
  disk.go();
  sink.finish();
  await finished;
  assert.ok(equalBytes(disk.content, bytes));
  assert.equal(sink.contiguous, size);
  return disk;
}

function pieces(size: number, length: number): [number, number][] {
  return Array.from({ length: Math.ceil(size / length) }, (_, i) => [i * length, Math.min(length, size - i * length)]);
}

describe('FileSink', () => {
  it('takes no more memory than the content where that comes from the end to the start', async () => {
    const size = 4096 * KIB;
    const disk = await through(size, pieces(size, 32 * KIB).reverse());
    assert.ok(disk.bytes <= size + 32 * KIB, `${disk.bytes} bytes for ${size}`);
  });

  it('takes no more than twice the content where many parts come a byte at a time, side by side', async () => {
    const [parts, length] = [64, 500];
    const order: [number, number][] = [];
    for (let i = 0; i < length; i++) for (let part = 0; part < parts; part++) order.push([part * length + i, 1]);
    const disk = await through(parts * length, order);
    assert.ok(disk.bytes <= 2 * parts * length + 32 * KIB, `${disk.bytes} bytes for ${parts * length}`);
    assert.ok(disk.writes <= 12 * parts, `${disk.writes} writes`);
  });

  it('makes few large writes of what comes in order', async () => {
    const size = 8192 * KIB;
    const disk = await through(size, pieces(size, 30_000));
    assert.ok(disk.writes <= 24, `${disk.writes} writes`);
  });

  it('puts pieces of any length in any order together', async () => {
    const random = replayedRandom('pieces');
    for (let round = 0; round < 20; round++) {
      const order: [number, number][] = [];
      let size = 0;
      while (size < 300_000) {
        const [a = 0, b = 0, c = 0] = random(3);
        const length = 1 + ((a * 256 + b) % (c < 128 ? 300 : 60_000));
        order.push([size, length]);
        size += length;
      }
      // neighbours change places, some far
      for (let i = order.length - 1; i > 0; i--) {
        const [a = 0] = random(1);
        const other = Math.max(0, i - (a % 16));
        [order[i], order[other]] = [order[other] as [number, number], order[i] as [number, number]];
      }
      await through(size, order);
    }
  });

  /** A sink over a fast disk, on a clock that is run by hand, and the lengths of the writes so far. */
  function overFastDisk(): { sink: FileSink; clock: VirtualClock; writes: number[]; taken: () => number } {
    const writes: number[] = [];
    let sum = 0;
    const write: LocalFile['write'] = async (pieces) => void writes.push(...pieces.map((piece) => piece.length));
    const sink = new FileSink({ write } as LocalFile, { origin: 0 });
    const clock = new VirtualClock();
    const taken = (count: number): void => {
      sum += count;
    };
    sink.start({ taken, finished: () => {}, broken: assert.fail }, clock);
    return { sink, clock, writes, taken: () => sum };
  }

  it('makes large writes of small pieces that keep coming, for a fast disk, too', async () => {
    const { sink, clock, writes, taken } = overFastDisk();
    for (let at = 0; at < 1024 * KIB; at += 16 * KIB) {
      sink.data(at, new Uint8Array(16 * KIB));
      await clock.pass(0);
    }
    const kibibytes = writes.map((length) => length / KIB);
    assert.deepEqual(kibibytes, [32, 32, 64, 128, 256, 256, 256]);
    assert.equal(taken(), 1024 * KIB);
    assert.equal(clock.timers, 0);
  });

  it('writes what is less after 5 ms, at push, and at the end', async () => {
    const { sink, clock, writes } = overFastDisk();
    sink.data(0, new Uint8Array(1000));
    await clock.pass(4);
    assert.deepEqual(writes, []);
    await clock.pass(1);
    assert.deepEqual(writes, [1000]);
    sink.data(1000, new Uint8Array(2000));
    sink.push();
    await clock.pass(0);
    assert.deepEqual(writes, [1000, 2000]);
    sink.data(3000, new Uint8Array(3000));
    sink.finish();
    await clock.pass(0);
    assert.deepEqual(writes, [1000, 2000, 3000]);
    assert.equal(clock.timers, 0);
  });

  it('sets no timer that outlives it', async () => {
    const { sink, clock, writes } = overFastDisk();
    sink.data(0, new Uint8Array(1000));
    assert.equal(clock.timers, 1);
    sink.abandon();
    assert.equal(clock.timers, 0);
    await clock.pass(100);
    assert.deepEqual(writes, []);
  });
});
