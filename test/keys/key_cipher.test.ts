import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { padBlocks, unpadBlocks } from '../../src/keys/key_cipher.ts';

describe('unpadBlocks', () => {
  it('takes off what padBlocks has added', () => {
    for (const blockSize of [8, 16]) {
      for (let length = 0; length <= 33; length++) {
        const data = new Uint8Array(length).fill(blockSize);
        const padded = padBlocks(data, blockSize);
        assert.ok(padded.length > length && padded.length % blockSize === 0);
        assert.deepEqual(unpadBlocks(padded, blockSize), data);
      }
    }
  });

  it('finds padding that is none', () => {
    const block = (...end: number[]) => Uint8Array.from([...new Array(16 - end.length).fill(0x61), ...end]);
    for (const data of [block(0), block(17), block(0xff), block(2, 3, 3), block(1, 2), new Uint8Array(0)]) {
      assert.equal(unpadBlocks(data, 16), undefined);
    }
    assert.equal(unpadBlocks(Uint8Array.of(9, 9, 9), 16), undefined); // longer than there is
    assert.equal(unpadBlocks(block(1), 16)?.length, 15);
  });
});
