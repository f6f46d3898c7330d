import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Reader } from '../../src/bytes/reader.ts';
import {
  decodeFields,
  encodeFields,
  type FieldType,
  type Layout,
  readFields,
  writeFields,
} from '../../src/bytes/schema.ts';
import { fromHex, hex } from '../../src/bytes/text.ts';
import { Writer } from '../../src/bytes/writer.ts';

/** Of every field type one value, and its bytes. */
const samples: Readonly<Record<FieldType, readonly [value: unknown, bytes: string]>> = {
  byte: [0x2a, '2a'],
  boolean: [true, '01'],
  uint32: [699921578, '29b7f4aa'],
  uint64: [0x0102030405060708n, '0102030405060708'],
  string: [fromHex('00ff'), '0000000200ff'],
  text: ['ä€', '00000005c3a4e282ac'],
  name: ['a\u00ff', '0000000261ff'],
  mpint: [fromHex('0080'), '000000020080'],
  'name-list': [['zlib', 'none'], '000000097a6c69622c6e6f6e65'],
  'byte[16]': [fromHex('000102030405060708090a0b0c0d0e0f'), '000102030405060708090a0b0c0d0e0f'],
  rest: [fromHex('dead'), 'dead'],
};

const all = {
  a: 'byte',
  b: 'boolean',
  c: 'uint32',
  d: 'uint64',
  e: 'string',
  f: 'text',
  g: 'name',
  h: 'mpint',
  i: 'name-list',
  j: 'byte[16]',
  k: 'rest',
} as const;

const allBytes = Object.values(all)
  .map((type) => samples[type][1])
  .join('');
const allValues = {
  a: 0x2a,
  b: true,
  c: 699921578,
  d: 0x0102030405060708n,
  e: fromHex('00ff'),
  f: 'ä€',
  g: 'a\u00ff',
  h: fromHex('0080'),
  i: ['zlib', 'none'],
  j: fromHex('000102030405060708090a0b0c0d0e0f'),
  k: fromHex('dead'),
};

describe('encodeFields and decodeFields', () => {
  for (const [type, [value, bytes]] of Object.entries(samples)) {
    it(`${type} both ways`, () => {
      const layout = { field: type as FieldType } as Layout;
      assert.equal(hex(encodeFields(layout, { field: value } as never)), bytes);
      assert.deepEqual(decodeFields(layout, fromHex(bytes)), { field: value });
    });
  }

  it('all types in the order of the layout, not of the value', () => {
    assert.equal(hex(encodeFields(all, allValues)), allBytes);
    const backwards = Object.fromEntries(Object.entries(allValues).reverse()) as unknown as typeof allValues;
    assert.equal(hex(encodeFields(all, backwards)), allBytes);
    assert.deepEqual(decodeFields(all, fromHex(allBytes)), allValues);
  });

  it('decodeFields refuses input cut anywhere', () => {
    const bytes = fromHex(allBytes);
    for (let length = 0; length < bytes.length - 2; length++) {
      assert.throws(() => decodeFields(all, bytes.subarray(0, length)), { code: 'decode', fault: 'peer' }, `${length}`);
    }
  });

  it('decodeFields refuses trailing bytes and names the structure', () => {
    const layout = { a: 'uint32', b: 'string' } as const;
    const error = { code: 'decode', message: /1 bytes too many at the end of thing/ };
    assert.throws(() => decodeFields(layout, fromHex('00000001 00000000 00'), 'thing'), error);
  });

  it('an empty layout is no bytes', () => {
    assert.equal(encodeFields({}, {}).length, 0);
    assert.deepEqual(decodeFields({}, new Uint8Array(0)), {});
    assert.throws(() => decodeFields({}, fromHex('00')), { code: 'decode' });
  });

  it('refuses a byte[16] of another length and a name with characters above U+00FF', () => {
    for (const length of [0, 15, 17]) {
      assert.throws(() => encodeFields({ a: 'byte[16]' }, { a: new Uint8Array(length) }), { code: 'bad-argument' });
    }
    assert.throws(() => encodeFields({ a: 'name' }, { a: 'a€' }), { code: 'bad-argument' });
    assert.throws(() => encodeFields({ a: 'name-list' }, { a: ['a', '€'] }), { code: 'bad-argument' });
  });

  it('a name-list of bytes above 7f survives both ways', () => {
    const bytes = fromHex('0000000361ff2c');
    assert.equal(hex(encodeFields({ a: 'name-list' }, decodeFields({ a: 'name-list' }, bytes))), hex(bytes));
  });
});

describe('readFields and writeFields', () => {
  it('leave what follows', () => {
    const reader = new Reader(fromHex('05 00000001 61 62'));
    assert.deepEqual(readFields(reader, { n: 'byte', s: 'text' }), { n: 5, s: 'a' });
    assert.equal(hex(reader.rest()), '62');
    const writer = new Writer().u8(9);
    writeFields(writer, { n: 'byte', s: 'text' }, { n: 5, s: 'a' });
    assert.equal(hex(writer.finish()), '09050000000161');
  });
});
