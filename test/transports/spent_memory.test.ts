/** What was read comes back once everything delivered after it is all that is in use. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SpentMemory } from '../../src/transports/spent_memory.ts';

function watched(): { memory: SpentMemory<string>; freed: (kept: number) => string[] } {
  const names: string[] = [];
  const memory = new SpentMemory<string>((name) => names.push(name));
  const freed = (kept: number): string[] => {
    memory.spent(kept);
    return names.splice(0);
  };
  return { memory, freed };
}

describe('SpentMemory', () => {
  it('gives back what came before the bytes in use, each once, in order', () => {
    const { memory, freed } = watched();
    memory.deliver('a', 100);
    assert.deepEqual(freed(1), []);
    memory.deliver('b', 50);
    assert.deepEqual(freed(51), []);
    assert.deepEqual(freed(50), ['a']);
    memory.deliver('c', 10);
    assert.deepEqual(freed(0), ['b', 'c']);
    assert.deepEqual(freed(0), []);
  });

  it('counts several deliveries in one memory as one', () => {
    const { memory, freed } = watched();
    memory.deliver('a', 100);
    memory.deliver('a', 100);
    assert.deepEqual(freed(100), []);
    assert.deepEqual(freed(0), ['a']);
  });

  it('never gives back what it was told to forget, or to pass over', () => {
    const { memory, freed } = watched();
    memory.deliver('a', 100);
    memory.forget();
    memory.pass(30);
    memory.deliver('b', 10);
    assert.deepEqual(freed(10), []);
    assert.deepEqual(freed(0), ['b']);
  });
});
