/** Memory for reads is used again when its bytes have left, and never before. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { BytePipe } from '../../../src/io/pipe.ts';
import { READ_BATCH } from '../../../src/sftp/server/limits.ts';
import { ReadMemory } from '../../../src/sftp/server/read_memory.ts';

/** A pipe that says what is told. */
function pipeOf(unsent: number | undefined): { unsent?: number } & Pick<BytePipe, 'unsent'> {
  return unsent === undefined ? {} : { unsent };
}

describe('ReadMemory', () => {
  it('gives nothing for a pipe that cannot tell what has left', () => {
    assert.equal(new ReadMemory(pipeOf(undefined)).take(0), undefined);
  });

  it('gives memory of a whole batch, and the same again once it was given back', () => {
    const memory = new ReadMemory(pipeOf(0));
    const first = memory.take(0) as Uint8Array;
    assert.equal(first.length, READ_BATCH);
    assert.notEqual(memory.take(0), first);
    memory.give(first);
    assert.equal(memory.take(0), first);
  });

  it('uses what was lent again when all bytes up to its end have left, in order', () => {
    const pipe = { unsent: 300 };
    const memory = new ReadMemory(pipe);
    const [first, second] = [memory.take(0) as Uint8Array, memory.take(0) as Uint8Array];
    memory.lend(first, 100);
    memory.lend(second, 200);
    const fresh = memory.take(300);
    assert.ok(fresh !== first && fresh !== second);
    pipe.unsent = 201;
    const other = memory.take(300);
    assert.ok(other !== first && other !== second);
    pipe.unsent = 200;
    assert.equal(memory.take(300), first);
    assert.notEqual(memory.take(300), second);
    pipe.unsent = 100;
    assert.equal(memory.take(300), second);
  });

  it('keeps only so much, and nothing when nothing is open', () => {
    const memory = new ReadMemory(pipeOf(0));
    const all = Array.from({ length: 20 }, () => memory.take(0) as Uint8Array);
    for (const each of all) memory.give(each);
    const again = Array.from({ length: 20 }, () => memory.take(0) as Uint8Array);
    assert.equal(again.filter((each) => all.includes(each)).length, 8);
    for (const each of again) memory.give(each);
    memory.forget();
    assert.ok(!again.includes(memory.take(0) as Uint8Array));
  });
});
