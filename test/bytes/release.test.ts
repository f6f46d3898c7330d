/** Memory is freed only where nothing else can be in it. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { releaseMemory, releaseWhole } from '../../src/bytes/release.ts';

describe('releaseMemory', () => {
  it('frees bytes that are all of their memory', () => {
    const bytes = new Uint8Array(100_000).fill(7);
    releaseMemory(bytes);
    assert.equal(bytes.buffer.byteLength, 0);
  });

  it('leaves bytes alone that share their memory, and those that are few', () => {
    const memory = new Uint8Array(100_000).fill(7);
    for (const part of [memory.subarray(1), memory.subarray(0, 99_999), memory.subarray(10, 50_000)]) {
      releaseMemory(part);
      assert.ok(part.length > 0 && part.every((byte) => byte === 7));
    }
    const few = new Uint8Array(4095).fill(7);
    releaseMemory(few);
    assert.equal(few.length, 4095);
  });

  it('takes memory that cannot be freed', () => {
    const shared = new Uint8Array(new SharedArrayBuffer(100_000)).fill(7);
    releaseMemory(shared);
    assert.equal(shared[99_999], 7);
  });
});

describe('releaseWhole', () => {
  it('frees what lies beside the bytes, too', () => {
    const memory = new Uint8Array(100_000);
    releaseWhole(memory.subarray(500, 600));
    assert.equal(memory.buffer.byteLength, 0);
  });
});
