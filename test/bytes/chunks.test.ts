import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ChunkQueue } from '../../src/bytes/chunks.ts';
import { fromHex, hex } from '../../src/bytes/text.ts';
import { drawBelow } from '../support/feed.ts';
import { seededRandom } from '../support/random.ts';

/** Repeatable numbers below a bound. */
function generator(seed: number): (below: number) => number {
  const random = seededRandom(`chunks ${seed}`);
  return (below) => drawBelow(random, below);
}

/** The obvious queue: one array of numbers. */
class Model {
  readonly bytes: number[] = [];

  take(count: number): number[] | undefined {
    return count > this.bytes.length ? undefined : this.bytes.splice(0, count);
  }
}

const list = (bytes: Uint8Array | undefined): number[] | undefined => (bytes === undefined ? undefined : [...bytes]);

function queueOf(...chunks: string[]): ChunkQueue {
  const queue = new ChunkQueue();
  for (const chunk of chunks) queue.push(fromHex(chunk));
  return queue;
}

describe('ChunkQueue', () => {
  it('takePieces takes views of the chunks, and nothing when there are fewer bytes', () => {
    const chunks = ['010203', '0405', '060708'].map(fromHex);
    const queue = new ChunkQueue();
    for (const chunk of chunks) queue.push(chunk);
    assert.deepEqual(list(queue.take(1)), [1]);
    assert.equal(queue.takePieces(8), undefined);
    assert.deepEqual(queue.takePieces(0), []);
    const pieces = queue.takePieces(5) ?? [];
    assert.deepEqual(pieces.map(hex), ['0203', '0405', '06']);
    pieces.forEach((piece, i) => {
      assert.equal(piece.buffer, chunks[i]?.buffer);
    });
    assert.deepEqual(list(queue.takeAll()), [7, 8]);
  });

  it('takes across chunks that lie side by side in memory without a copy', () => {
    const memory = Uint8Array.from({ length: 12 }, (_, i) => i);
    const queue = new ChunkQueue();
    queue.push(memory.subarray(2, 5));
    assert.deepEqual(list(queue.take(1)), [2]);
    queue.push(memory.subarray(5, 9));
    const taken = queue.take(5);
    assert.deepEqual(list(taken), [3, 4, 5, 6, 7]);
    assert.equal(taken?.buffer, memory.buffer);
    queue.push(memory.subarray(10, 12)); // not beside the last one
    queue.push(memory.slice(9, 10));
    assert.deepEqual(list(queue.takeAll()), [8, 10, 11, 9]);
  });

  it('does what the model does, at random splits', () => {
    for (let seed = 1; seed <= 60; seed++) {
      const random = generator(seed);
      const queue = new ChunkQueue();
      const model = new Model();
      for (let step = 0; step < 400; step++) {
        const chunk = Uint8Array.from({ length: random(12) }, () => random(256));
        const count = random(20);
        switch (random(6)) {
          case 0:
          case 1:
          case 2:
            queue.push(chunk);
            model.bytes.push(...chunk);
            break;
          case 3:
            assert.deepEqual(list(queue.take(count)), model.take(count));
            break;
          case 4:
            assert.deepEqual(
              list(queue.peek(count)),
              count > model.bytes.length ? undefined : model.bytes.slice(0, count),
            );
            break;
          default: {
            const some = queue.takeSome(count);
            if (some === undefined) assert.ok(count === 0 || model.bytes.length === 0);
            else assert.deepEqual([...some], model.take(some.length));
            assert.ok((some?.length ?? 0) <= count);
          }
        }
        assert.equal(queue.length, model.bytes.length);
      }
      assert.deepEqual([...queue.takeAll()], model.bytes);
      assert.equal(queue.length, 0);
    }
  });

  it('peek and take are undefined until there is enough, and then exact', () => {
    const queue = queueOf('0102', '03');
    assert.equal(queue.peek(4), undefined);
    assert.equal(queue.take(4), undefined);
    assert.equal(queue.length, 3);
    assert.equal(hex(queue.peek(3) as Uint8Array), '010203');
    assert.equal(hex(queue.take(3) as Uint8Array), '010203');
    assert.equal(queue.take(1), undefined);
  });

  it('takes nothing as an empty array, also from an empty queue', () => {
    assert.equal(new ChunkQueue().take(0)?.length, 0);
    assert.equal(queueOf('01').take(0)?.length, 0);
    assert.equal(new ChunkQueue().takeAll().length, 0);
  });

  it('takes a view where the bytes lie in one chunk', () => {
    const chunk = fromHex('01020304');
    const queue = new ChunkQueue();
    queue.push(chunk);
    assert.equal(queue.take(3)?.buffer, chunk.buffer);
    assert.equal(queue.takeSome(9)?.buffer, chunk.buffer);
  });

  it('takeSome stays inside the first chunk', () => {
    const queue = queueOf('0102', '0304');
    assert.equal(hex(queue.takeSome(9) as Uint8Array), '0102');
    assert.equal(hex(queue.takeSome(1) as Uint8Array), '03');
    assert.equal(hex(queue.takeSome(9) as Uint8Array), '04');
    assert.equal(queue.takeSome(9), undefined);
  });

  it('ignores empty chunks', () => {
    const queue = queueOf('', '01', '', '02');
    assert.equal(queue.length, 2);
    assert.equal(hex(queue.take(2) as Uint8Array), '0102');
  });

  it('indexOf finds a byte over chunk borders and after bytes were taken', () => {
    const queue = queueOf('0102', '0304');
    assert.equal(queue.indexOf(10), -1);
    queue.push(fromHex('050a'));
    assert.equal(queue.indexOf(10), 5);
    queue.take(3);
    assert.equal(queue.indexOf(10), 2);
    queue.take(3);
    assert.equal(queue.indexOf(10), -1);
    queue.push(fromHex('0a'));
    assert.equal(queue.indexOf(10), 0);
  });

  it('indexOf finds line feeds as the model does, however lines are split', () => {
    for (let seed = 1; seed <= 40; seed++) {
      const random = generator(seed);
      const queue = new ChunkQueue();
      const model = new Model();
      for (let step = 0; step < 200; step++) {
        const chunk = Uint8Array.from({ length: random(5) }, () => random(12));
        queue.push(chunk);
        model.bytes.push(...chunk);
        const at = queue.indexOf(10);
        assert.equal(at, model.bytes.indexOf(10));
        if (at >= 0) assert.deepEqual(list(queue.take(at + 1)), model.take(at + 1));
      }
    }
  });

  it('takes single bytes out of many chunks in linear time', () => {
    // Eight times the bytes: 8 times the time when linear, 64 times when quadratic. The best of three, as others compute too.
    const milliseconds = (count: number): number => Math.min(...[0, 1, 2].map(() => drain(count)));
    const few = milliseconds(20_000);
    assert.ok(milliseconds(160_000) < 24 * few + 300, 'work grows faster than the bytes');
  });
});

/** Milliseconds to push `count` chunks of one byte and to take them one by one. */
function drain(count: number): number {
  const queue = new ChunkQueue();
  const one = fromHex('07');
  const started = performance.now();
  for (let i = 0; i < count; i++) queue.push(one);
  let sum = 0;
  while (queue.length > 0) sum += (queue.take(1) as Uint8Array)[0] as number;
  assert.equal(sum, 7 * count);
  return performance.now() - started;
}
