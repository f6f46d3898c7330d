/** Several files under way at once, and their progress as one. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eachOf, finished, Tally } from '../../src/cli/move.ts';
import { ProgressMeter } from '../../src/cli/progress.ts';
import { Summary } from '../../src/cli/summary.ts';

describe('eachOf', () => {
  it('works on several at once, and on all', async () => {
    const [seen, now] = [new Set<number>(), { count: 0, most: 0 }];
    await eachOf(
      Array.from({ length: 100 }, (_, i) => i),
      async (item) => {
        now.most = Math.max(now.most, ++now.count);
        await Promise.resolve();
        seen.add(item);
        now.count--;
      },
    );
    assert.equal(seen.size, 100);
    assert.equal(now.most, 16);
  });

  it('ends at the first that rejects, once those under way have settled', async () => {
    const log: number[] = [];
    const work = async (item: number): Promise<void> => {
      await Promise.resolve();
      if (item === 3) throw new Error('three');
      for (let i = 0; i < 5; i++) await Promise.resolve();
      log.push(item);
    };
    await assert.rejects(
      eachOf(
        Array.from({ length: 100 }, (_, i) => i),
        work,
      ),
      /three/,
    );
    assert.equal(log.length, 15);
  });

  it('has nothing to do for nothing', () => eachOf([], () => Promise.reject(new Error('never'))));
});

describe('Tally', () => {
  function watched(sizes: readonly (number | undefined)[]) {
    const written: string[] = [];
    let ms = 0;
    const output = { write: (text: string) => written.push(text), columns: 120 };
    const meter = new ProgressMeter(output, 'all', () => (ms += 1000));
    return { tally: new Tally(meter, sizes, true), last: () => (written.at(-1) as string).trim(), written, meter };
  }

  it('sums bytes, sizes and files, and knows the end once all sizes are known', () => {
    const { tally, last } = watched([1000, undefined]);
    tally.file(0, 'a')?.({ bytes: 500, total: 1000 });
    assert.match(last(), /^a {2}0\/2 files {2}500 B {2}/);
    tally.file(1, 'b')?.({ bytes: 500, total: 1000 });
    assert.match(last(), /^b {2}0\/2 files {3}50% {2}1\.00 KB of 2\.00 KB/);
    tally.through(0);
    tally.file(1, 'b')?.({ bytes: 700, total: 1000 });
    assert.match(last(), /^b {2}1\/2 files {3}80% {2}1\.20 KB of 1\.50 KB/);
  });

  it('joins trees, whose ends are open while they are listed', () => {
    const { tally, last } = watched([10, undefined]);
    const progress = { path: 'x/y', bytes: 5, total: 100, files: 2, filesTotal: 7, listed: false, rate: 1 };
    tally.tree(1)?.(progress);
    assert.match(last(), /^x\/y {2}2\/8\+ files {2}5 B/);
    tally.tree(1)?.({ ...progress, bytes: 90, total: 90, listed: true });
    assert.match(last(), /^x\/y {2}2\/8 files {3}90% {2}90 B of 100 B/);
  });

  it('shows a single file as it is', () => {
    const { meter, last } = watched([10]);
    new Tally(meter, [undefined], false).file(0, 'a')?.({ bytes: 500, total: 1000 });
    assert.match(last(), /^a {3}50% {2}500 B of 1\.00 KB/);
  });

  it('gives no functions where nobody watches', () => {
    const tally = new Tally(undefined, [1], true);
    assert.deepEqual([tally.file(0, 'x'), tally.tree(0)], [undefined, undefined]);
    tally.through(0);
  });

  it('ends with what it came to, and clears the line where something failed', () => {
    const summary = new Summary();
    for (let i = 0; i < 3; i++) {
      summary.file({ bytes: 10, requests: 1, maxRequestsInFlight: 1, maxBytesInFlight: 1, shortReads: 0, lanes: 1 });
    }
    const first = watched([1]);
    finished(first.meter, summary, true);
    assert.match(first.written.join(''), /^\rall {2}3 files {2}100% {2}30 B {2}.* *\n$/);
    const second = watched([1]);
    second.tally.file(0, 'a')?.({ bytes: 1, total: 2 });
    summary.refuse('x', 'is empty');
    finished(second.meter, summary, true);
    assert.match(second.written.at(-1) as string, /^\r +\r$/);
    assert.deepEqual([summary.failedTotal, summary.files, summary.bytes], [1, 3, 30]);
  });
});
