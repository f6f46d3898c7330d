/** Answers asked for ahead. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ahead } from '../../../src/sftp/tree/ahead.ts';

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

describe('ahead', () => {
  it('keeps the order, whatever takes time', async () => {
    const later = (n: number): number | Promise<number> => (n % 3 === 0 ? Promise.resolve(n) : n);
    assert.deepEqual(await all(ahead([...Array(50).keys()], 4, later)), [...Array(50).keys()]);
  });

  it('asks for so many at once and no more', async () => {
    let asking = 0;
    let most = 0;
    const ask = async (n: number): Promise<number> => {
      most = Math.max(most, ++asking);
      for (let i = 0; i < 100; i++) await Promise.resolve();
      asking--;
      return n;
    };
    await all(ahead([...Array(50).keys()], 8, ask));
    assert.equal(most, 8);
  });

  it('hands on at once what is ready', async () => {
    async function* endless(): AsyncGenerator<number> {
      yield 1;
      await new Promise(() => undefined);
    }
    assert.deepEqual(await ahead(endless(), 8, (n) => n).next(), { value: 1, done: false });
  });

  it('leaves the items when it is left, and fails where an answer does', async () => {
    let left = 0;
    async function* items(): AsyncGenerator<number> {
      try {
        for (let i = 0; ; i++) yield i;
      } finally {
        left++;
      }
    }
    for await (const item of ahead(items(), 4, (n) => Promise.resolve(n))) if (item === 2) break;
    assert.equal(left, 1);
    const failing = ahead(items(), 4, async (n) => {
      if (n === 3) throw new Error('told to');
      return n;
    });
    await assert.rejects(all(failing), /told to/);
    assert.equal(left, 2);
  });
});
