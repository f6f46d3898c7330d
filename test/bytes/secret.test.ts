import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { equalSecret, isAllZero, wipe } from '../../src/bytes/secret.ts';

describe('equalSecret', () => {
  it('is true for the same bytes only, at every place and bit', () => {
    const bytes = Uint8Array.from({ length: 32 }, (_, i) => i * 7);
    assert.equal(equalSecret(bytes, bytes.slice()), true);
    for (let at = 0; at < bytes.length; at++) {
      for (let bit = 1; bit < 256; bit *= 2) {
        const other = bytes.slice();
        other[at] = (other[at] as number) ^ bit;
        assert.equal(equalSecret(bytes, other), false, `${at} ${bit}`);
      }
    }
  });

  it('is false for other lengths, also for a prefix', () => {
    assert.equal(equalSecret(Uint8Array.of(1, 2), Uint8Array.of(1)), false);
    assert.equal(equalSecret(Uint8Array.of(), Uint8Array.of(0)), false);
    assert.equal(equalSecret(Uint8Array.of(), Uint8Array.of()), true);
  });
});

describe('isAllZero', () => {
  it('sees a single set bit at any place', () => {
    assert.equal(isAllZero(new Uint8Array(32)), true);
    for (let at = 0; at < 32; at++) {
      const bytes = new Uint8Array(32);
      bytes[at] = 0x80;
      assert.equal(isAllZero(bytes), false, String(at));
    }
  });
});

describe('wipe', () => {
  it('overwrites a view and nothing around it', () => {
    const bytes = Uint8Array.of(1, 2, 3, 4);
    wipe(bytes.subarray(1, 3));
    assert.deepEqual([...bytes], [1, 0, 0, 4]);
  });
});
