/** Memory is freed only where nothing else can be in it. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { memoryFor, recycle, releaseMemory } from '../../src/bytes/release.ts';

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

describe('recycle and memoryFor', () => {
  it('gives the same memory to the next who needs exactly as much, and to nobody else', () => {
    const memory = memoryFor(20_000);
    recycle(memory.subarray(5));
    assert.notEqual(memoryFor(19_999).buffer, memory.buffer);
    const again = memoryFor(20_000);
    assert.equal(again.buffer, memory.buffer);
    assert.equal(again.length, 20_000);
    assert.notEqual(memoryFor(20_000).buffer, memory.buffer);
  });

  it('never gives memory to two, though it was given back twice', () => {
    const memory = memoryFor(20_001);
    recycle(memory);
    recycle(memory);
    const first = memoryFor(20_001);
    assert.equal(first.buffer, memory.buffer);
    assert.notEqual(memoryFor(20_001).buffer, first.buffer);
  });

  it('keeps little, and frees what is large or too much', () => {
    const large = new Uint8Array(65_537);
    recycle(large.subarray(500, 600));
    assert.equal(large.buffer.byteLength, 0);
    const many = Array.from({ length: 30 }, () => new Uint8Array(20_002));
    for (const each of many) recycle(each);
    assert.ok(many.filter((each) => each.buffer.byteLength > 0).length <= 8);
    assert.equal(many.at(-1)?.buffer.byteLength, 0);
  });

  it('keeps what it has where that is given back again while there is no room', () => {
    for (let i = 0; i < 8; i++) for (const size of [20_000, 20_001, 20_002]) memoryFor(size);
    const kept: ArrayBufferLike[] = [];
    for (let i = 0; i < 30; i++) {
      const each = new Uint8Array(20_003);
      recycle(each);
      if (each.buffer.byteLength > 0) kept.push(each.buffer);
    }
    assert.ok(kept.length > 0);
    for (const memory of kept) recycle(new Uint8Array(memory));
    for (const memory of kept) assert.equal(memory.byteLength, 20_003);
  });

  it('leaves few bytes alone', () => {
    const few = new Uint8Array(100).fill(7);
    recycle(few);
    assert.notEqual(memoryFor(100).buffer, few.buffer);
  });
});
