import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat, copy, equalBytes, plain, putUint32, uint32At } from '../../src/bytes/bytes.ts';
import { fromHex, hex } from '../../src/bytes/text.ts';

describe('copy', () => {
  it('shares no memory, not even with a Buffer', () => {
    for (const bytes of [fromHex('0102'), Buffer.from([1, 2])]) {
      const copied = copy(bytes);
      bytes[0] = 9;
      assert.equal(hex(copied), '0102');
      assert.equal(copied.constructor, Uint8Array);
    }
  });
});

describe('plain', () => {
  it('is the same memory without the subclass', () => {
    const buffer = Buffer.from([1, 2, 3, 4]).subarray(1, 3);
    const bytes = plain(buffer);
    assert.equal(bytes.constructor, Uint8Array);
    assert.equal(hex(bytes), '0203');
    buffer[0] = 9;
    assert.equal(bytes[0], 9);
  });

  it('leaves a plain array as it is', () => {
    const bytes = fromHex('01');
    assert.equal(plain(bytes), bytes);
  });
});

describe('concat', () => {
  it('joins any number of parts in order', () => {
    assert.equal(hex(concat()), '');
    assert.equal(hex(concat(fromHex('01'), fromHex(''), fromHex('0203'))), '010203');
  });

  it('copies even a single part', () => {
    const part = fromHex('01');
    const joined = concat(part);
    part[0] = 9;
    assert.equal(hex(joined), '01');
  });
});

describe('equalBytes', () => {
  it('compares content and length', () => {
    assert.equal(equalBytes(fromHex('0102'), fromHex('0102')), true);
    assert.equal(equalBytes(fromHex('0102'), fromHex('0103')), false);
    assert.equal(equalBytes(fromHex('01'), fromHex('0100')), false);
    assert.equal(equalBytes(fromHex(''), fromHex('')), true);
  });
});

describe('putUint32 and uint32At', () => {
  const rows: readonly [number, string][] = [
    [0, '00000000'],
    [1, '00000001'],
    [0x01020304, '01020304'],
    [0x80000000, '80000000'],
    [0xffffffff, 'ffffffff'],
  ];
  for (const [value, bytes] of rows) {
    it(`${value} is ${bytes}, unsigned and big-endian`, () => {
      const room = fromHex('ee ee ee ee ee ee');
      putUint32(room, 1, value);
      assert.equal(hex(room), `ee${bytes}ee`);
      assert.equal(uint32At(room, 1), value);
    });
  }
});
