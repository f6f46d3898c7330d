import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  bigintFromBytes,
  bitLength,
  bytesFromBigint,
  minimalBytes,
  mpintBody,
  resizeInteger,
  trimZeros,
} from '../../src/bytes/mpint.ts';
import { fromHex, hex } from '../../src/bytes/text.ts';

describe('bitLength', () => {
  it('counts from the first bit that is set', () => {
    const rows: readonly [digits: string, bits: number][] = [
      ['', 0],
      ['0000', 0],
      ['01', 1],
      ['80', 8],
      ['0100', 9],
      ['00007f', 7],
    ];
    for (const [digits, bits] of rows) assert.equal(bitLength(fromHex(digits)), bits, digits);
  });
});

describe('mpintBody', () => {
  const rows: readonly [unsigned: string, body: string][] = [
    ['', ''],
    ['00', ''],
    ['000000', ''],
    ['01', '01'],
    ['7f', '7f'],
    ['80', '0080'],
    ['ff', '00ff'],
    ['0080', '0080'],
    ['00000080', '0080'],
    ['00007f', '7f'],
    ['0100', '0100'],
    ['ff00', '00ff00'],
    ['09a378f9b2e332a7', '09a378f9b2e332a7'],
  ];
  for (const [unsigned, body] of rows) {
    it(`of ${unsigned || 'no bytes'} is ${body || 'empty'}`, () =>
      assert.equal(hex(mpintBody(fromHex(unsigned))), body));
  }

  it('does not change its input', () => {
    const bytes = fromHex('0080');
    mpintBody(bytes)[0] = 0;
    assert.equal(hex(bytes), '0080');
  });
});

describe('bigintFromBytes', () => {
  it('is unsigned and big-endian', () => {
    assert.equal(bigintFromBytes(fromHex('')), 0n);
    assert.equal(bigintFromBytes(fromHex('ff')), 255n);
    assert.equal(bigintFromBytes(fromHex('0102')), 258n);
    assert.equal(bigintFromBytes(fromHex('8000000000000000000000000000000000')), 1n << 135n);
  });
});

describe('bytesFromBigint', () => {
  it('keeps leading zeros', () => {
    assert.equal(hex(bytesFromBigint(0n, 0)), '');
    assert.equal(hex(bytesFromBigint(0n, 3)), '000000');
    assert.equal(hex(bytesFromBigint(258n, 4)), '00000102');
    assert.equal(hex(bytesFromBigint(0xffffffffffffffffffn, 9)), 'ffffffffffffffffff');
  });

  it('refuses what does not fit', () => {
    assert.throws(() => bytesFromBigint(256n, 1), { code: 'decode', message: /more than 1 bytes/ });
    assert.throws(() => bytesFromBigint(1n, 0), { code: 'decode' });
  });
});

describe('minimalBytes', () => {
  it('holds no leading zero byte', () => {
    const rows: readonly [bigint, string][] = [
      [0n, ''],
      [1n, '01'],
      [15n, '0f'],
      [16n, '10'],
      [255n, 'ff'],
      [256n, '0100'],
      [0x9a378f9b2e332a7n, '09a378f9b2e332a7'],
    ];
    for (const [value, bytes] of rows) assert.equal(hex(minimalBytes(value)), bytes, String(value));
  });
});

describe('trimZeros', () => {
  it('drops leading zero bytes only', () => {
    assert.equal(hex(trimZeros(fromHex('00000100'))), '0100');
    assert.equal(hex(trimZeros(fromHex('0000'))), '');
    assert.equal(hex(trimZeros(fromHex(''))), '');
  });
});

describe('resizeInteger', () => {
  it('pads and trims to the length', () => {
    assert.equal(hex(resizeInteger(fromHex('0102'), 4) ?? fromHex('')), '00000102');
    assert.equal(hex(resizeInteger(fromHex('00000102'), 2) ?? fromHex('')), '0102');
    assert.equal(hex(resizeInteger(fromHex(''), 2) ?? fromHex('ff')), '0000');
  });

  it('is undefined for an integer that needs more bytes', () => {
    assert.equal(resizeInteger(fromHex('0100'), 1), undefined);
  });
});
