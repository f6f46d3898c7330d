/** What was read comes back once everything delivered after it is all that is in use. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SpentMemory } from '../../src/transports/spent_memory.ts';

/** Delivers, and says what comes back. */
function freed(memory: SpentMemory<string>, kept: number): string[] {
  const names: string[] = [];
  memory.spent(kept, (name) => names.push(name));
  return names;
}

describe('SpentMemory', () => {
  it('gives back what came before the bytes in use, each once, in order', () => {
    const memory = new SpentMemory<string>();
    memory.deliver('a', 100);
    assert.deepEqual(freed(memory, 1), []);
    memory.deliver('b', 50);
    assert.deepEqual(freed(memory, 51), []);
    assert.deepEqual(freed(memory, 50), ['a']);
    memory.deliver('c', 10);
    assert.deepEqual(freed(memory, 0), ['b', 'c']);
    assert.deepEqual(freed(memory, 0), []);
  });

  it('counts several deliveries in one memory as one', () => {
    const memory = new SpentMemory<string>();
    memory.deliver('a', 100);
    memory.deliver('a', 100);
    assert.deepEqual(freed(memory, 100), []);
    assert.deepEqual(freed(memory, 0), ['a']);
  });

  it('never gives back what it was told to forget, or to pass over', () => {
    const memory = new SpentMemory<string>();
    memory.deliver('a', 100);
    memory.forget();
    memory.pass(30);
    memory.deliver('b', 10);
    assert.deepEqual(freed(memory, 10), []);
    assert.deepEqual(freed(memory, 0), ['b']);
  });
});
