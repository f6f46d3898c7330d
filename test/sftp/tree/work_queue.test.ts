/** The queue of files: how many at once, how many wait, and that large ones are few. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers';
import { LARGE, LARGE_AT_ONCE, LARGE_BYTES, MAX_WAITING, WorkQueue } from '../../../src/sftp/tree/work_queue.ts';

/** Jobs that end when told. */
function jobs(): { readonly running: (() => void)[]; job(): Promise<void> } {
  const running: (() => void)[] = [];
  return { running, job: () => new Promise<void>((resolve) => running.push(resolve)) };
}

const settle = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await Promise.resolve();
};

describe('WorkQueue', () => {
  it('runs so many at once, in order', async () => {
    const queue = new WorkQueue(() => 3);
    const begun: number[] = [];
    const { running, job } = jobs();
    for (let i = 0; i < 7; i++) {
      await queue.add(() => {
        begun.push(i);
        return job();
      }, 0);
    }
    assert.deepEqual(begun, [0, 1, 2]);
    running[1]?.();
    await settle();
    assert.deepEqual(begun, [0, 1, 2, 3]);
    for (const end of running) end();
    await settle();
    assert.deepEqual(begun, [0, 1, 2, 3, 4, 5, 6]);
  });

  it('holds back whoever adds when too many wait', async () => {
    const queue = new WorkQueue(() => 1);
    const { running, job } = jobs();
    let added = 0;
    const adding = (async (): Promise<void> => {
      for (let i = 0; i < MAX_WAITING + 10; i++) {
        await queue.add(job, i % 2 === 0 ? LARGE : 0);
        added++;
      }
    })();
    const passed = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    await passed();
    // one runs, and the last that waits has not been told to go on
    assert.equal(added, MAX_WAITING);
    for (let ended = 1; ended <= 9; ended++) {
      running.at(-1)?.();
      await passed();
      assert.equal(added, MAX_WAITING + ended);
    }
    running.at(-1)?.();
    await adding;
  });

  it('runs few very large ones at once, before small ones, and small ones meanwhile', async () => {
    const queue = new WorkQueue(() => LARGE_AT_ONCE + 2);
    const begun: string[] = [];
    const { running, job } = jobs();
    const add = (name: string, bytes: number): Promise<void> =>
      queue.add(() => {
        begun.push(name);
        return job();
      }, bytes);
    for (let i = 0; i < LARGE_AT_ONCE + 1; i++) await add(`large ${i}`, LARGE_BYTES);
    for (let i = 0; i < 3; i++) await add(`small ${i}`, LARGE - 1);
    assert.deepEqual(begun.slice(LARGE_AT_ONCE), ['small 0', 'small 1']);
    running[0]?.();
    await settle();
    assert.equal(begun.at(-1), `large ${LARGE_AT_ONCE}`);
  });

  it('runs as many of those between as fill a line', async () => {
    const queue = new WorkQueue(() => 1000);
    const { running, job } = jobs();
    for (let i = 0; i < 100; i++) await queue.add(job, LARGE_BYTES / 16);
    assert.equal(running.length, 16);
    for (let i = 0; i < 8; i++) running[i]?.();
    await settle();
    assert.equal(running.length, 24);
  });
});
