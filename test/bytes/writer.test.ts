import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { minimalBytes } from '../../src/bytes/mpint.ts';
import { fromHex, hex } from '../../src/bytes/text.ts';
import { Writer } from '../../src/bytes/writer.ts';
import { root } from '../support/root.ts';

const vectors = JSON.parse(readFileSync(new URL('vectors/wire/rfc4251.json', root), 'utf8')) as {
  rows: { type: string; value: string; bytes: string }[];
};

const written = (write: (writer: Writer) => void, capacity?: number): string => {
  const writer = new Writer(capacity);
  write(writer);
  return hex(writer.finish());
};

describe('Writer', () => {
  it('writes every type of RFC 4251 §5', () => {
    assert.equal(
      written((w) => w.u8(0x2a)),
      '2a',
    );
    assert.equal(
      written((w) => w.bool(true).bool(false)),
      '0100',
    );
    assert.equal(
      written((w) => w.u32(699921578)),
      '29b7f4aa',
    );
    assert.equal(
      written((w) => w.u64(0x0102030405060708n)),
      '0102030405060708',
    );
    assert.equal(
      written((w) => w.raw(fromHex('c0ffee'))),
      'c0ffee',
    );
    assert.equal(
      written((w) => w.string(fromHex('61ff'))),
      '0000000261ff',
    );
    assert.equal(
      written((w) => w.string('ä€')),
      '00000005c3a4e282ac',
    );
    assert.equal(
      written((w) => w.mpint(fromHex('00000080'))),
      '000000020080',
    );
    assert.equal(
      written((w) => w.nameList(['zlib', 'none'])),
      '000000097a6c69622c6e6f6e65',
    );
  });

  it('grows from any capacity without losing a byte', () => {
    const expected = '01000000020000000000000003000000040405060700000003616263';
    for (let capacity = 0; capacity <= 40; capacity++) {
      const bytes = written((w) => w.u8(1).u32(2).u64(3n).string(fromHex('04050607')).string('abc'), capacity);
      assert.equal(bytes, expected, `capacity ${capacity}`);
    }
  });

  it('counts what it wrote', () => {
    const writer = new Writer(1);
    assert.equal(writer.length, 0);
    assert.equal(writer.u8(1).string('abc').length, 8);
    assert.equal(writer.finish().length, 8);
  });

  it('refuses what is no uint32', () => {
    for (const value of [-1, 4294967296, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      assert.throws(() => new Writer().u32(value), { code: 'bad-argument', fault: 'local' }, String(value));
    }
    assert.equal(
      written((w) => w.u32(4294967295).u32(0)),
      'ffffffff00000000',
    );
  });

  it('refuses what is no uint64', () => {
    for (const value of [-1n, 18446744073709551616n]) {
      assert.throws(() => new Writer().u64(value), { code: 'bad-argument' }, String(value));
    }
    assert.equal(
      written((w) => w.u64(18446744073709551615n)),
      'ffffffffffffffff',
    );
  });

  it('copies what it is given', () => {
    const bytes = fromHex('0102');
    const writer = new Writer().raw(bytes);
    bytes.fill(9);
    assert.equal(hex(writer.finish()), '0102');
  });

  for (const { type, value, bytes } of vectors.rows) {
    if (value.startsWith('-')) continue; // never written: mpint() takes the bytes of an unsigned integer
    it(`RFC 4251 §5: ${type} ${value}`, () => {
      const writes: Record<string, (writer: Writer) => void> = {
        uint32: (w) => w.u32(Number(value)),
        string: (w) => w.string(value),
        mpint: (w) => w.mpint(minimalBytes(BigInt(`0x${value}`))),
        'name-list': (w) => w.nameList(value === '' ? [] : value.split(',')),
      };
      assert.equal(written(writes[type] as (writer: Writer) => void), bytes);
    });
  }
});
