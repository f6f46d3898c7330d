import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { bigintFromBytes } from '../../src/bytes/mpint.ts';
import { DecodeError, Reader } from '../../src/bytes/reader.ts';
import { fromHex, hex } from '../../src/bytes/text.ts';
import { SshError } from '../../src/errors.ts';
import { root } from '../support/root.ts';

interface Vector {
  readonly type: 'uint32' | 'string' | 'mpint' | 'name-list';
  readonly value: string;
  readonly bytes: string;
}

const vectors = JSON.parse(readFileSync(new URL('vectors/wire/rfc4251.json', root), 'utf8')) as { rows: Vector[] };

/** Every type once, and what each read must return; 64 bytes. */
const sample = fromHex(
  '2a 01 00 29b7f4aa 0102030405060708 c0ffee 00000003 61 ff 62 00000006 c3a4 ff e282ac 00000002 c3a4' +
    '00000002 0080 00000009 7a6c69622c6e6f6e65 00000000 dead',
);
const steps: readonly [what: string, read: (reader: Reader) => unknown, expected: unknown][] = [
  ['u8', (r) => r.u8(), 0x2a],
  ['bool', (r) => r.bool(), true],
  ['bool', (r) => r.bool(), false],
  ['u32', (r) => r.u32(), 699921578],
  ['u64', (r) => r.u64(), 0x0102030405060708n],
  ['raw', (r) => hex(r.raw(3)), 'c0ffee'],
  ['string', (r) => hex(r.string()), '61ff62'],
  ['text', (r) => r.text(), 'ä\u{fffd}€'],
  ['name', (r) => r.name(), '\u00c3\u00a4'],
  ['mpint', (r) => hex(r.mpint()), '0080'],
  ['nameList', (r) => r.nameList(), ['zlib', 'none']],
  ['nameList', (r) => r.nameList(), []],
  ['rest', (r) => hex(r.rest()), 'dead'],
];

function isDecodeError(error: unknown): boolean {
  return error instanceof DecodeError && error instanceof SshError && error.code === 'decode' && error.fault === 'peer';
}

describe('Reader', () => {
  it('reads every type of RFC 4251 §5 and stands at the end', () => {
    const reader = new Reader(sample);
    for (const [what, read, expected] of steps) assert.deepEqual(read(reader), expected, what);
    assert.equal(reader.remaining, 0);
    assert.equal(reader.at, sample.length);
    reader.expectEnd();
  });

  it('refuses input that is cut anywhere, or reads less and then says what is missing', () => {
    for (let length = 0; length < sample.length - 2; length++) {
      const reader = new Reader(sample.subarray(0, length));
      assert.throws(() => steps.map(([, read]) => read(reader)), isDecodeError, `cut at ${length}`);
      assert.ok(reader.at <= length, 'never behind the end');
    }
  });

  it('names the bytes that a truncated read needs and has', () => {
    assert.throws(() => new Reader(fromHex('00000001')).u64(), {
      message: /uint64: 8 bytes needed at offset 0, 4 left/,
    });
  });

  it('does not move when a fixed-size read fails', () => {
    const reader = new Reader(fromHex('010203'));
    assert.throws(() => reader.u32(), isDecodeError);
    assert.equal(reader.at, 0);
    assert.equal(reader.u8(), 1);
  });

  it('refuses a length that reaches past the end before it allocates', () => {
    for (const length of ['00000001', '7fffffff', '80000000', 'ffffffff']) {
      for (const read of [(r: Reader) => r.string(), (r: Reader) => r.mpint(), (r: Reader) => r.nameList()]) {
        assert.throws(() => read(new Reader(fromHex(length))), isDecodeError, length);
      }
    }
  });

  it('reads the largest uint32 and uint64 unsigned', () => {
    assert.equal(new Reader(fromHex('ffffffff')).u32(), 4294967295);
    assert.equal(new Reader(fromHex('80000000')).u32(), 2147483648);
    assert.equal(new Reader(fromHex('ffffffffffffffff')).u64(), 18446744073709551615n);
    assert.equal(new Reader(fromHex('8000000000000000')).u64(), 9223372036854775808n);
  });

  it('takes any value but zero as true', () => {
    for (const byte of ['01', '02', '80', 'ff']) assert.equal(new Reader(fromHex(byte)).bool(), true);
  });

  it('expectEnd refuses trailing bytes, counts them and names the structure', () => {
    const reader = new Reader(fromHex('010203'));
    reader.u8();
    assert.throws(() => reader.expectEnd('SSH_MSG_PING'), {
      code: 'decode',
      message: /^2 bytes too many .*SSH_MSG_PING/,
    });
  });

  it('starts at the given offset and returns views', () => {
    const bytes = fromHex('ff 00000002 0102');
    const view = new Reader(bytes, 1).string();
    assert.equal(view.buffer, bytes.buffer);
    bytes[5] = 9;
    assert.equal(view[0], 9);
  });

  it('refuses a negative mpint, accepts superfluous zeros', () => {
    assert.throws(() => new Reader(fromHex('0000000180')).mpint(), { code: 'decode', message: /Negative mpint/ });
    assert.equal(hex(new Reader(fromHex('000000020001')).mpint()), '0001');
    assert.equal(new Reader(fromHex('00000000')).mpint().length, 0);
  });

  it('keeps empty names of a name-list visible', () => {
    assert.deepEqual(new Reader(fromHex('00000003 612c2c')).nameList(), ['a', '', '']);
  });

  for (const { type, value, bytes } of vectors.rows) {
    it(`RFC 4251 §5: ${type} ${value}`, () => {
      const reader = new Reader(fromHex(bytes));
      if (type === 'uint32') assert.equal(reader.u32(), Number(value));
      if (type === 'string') assert.equal(reader.text(), value);
      if (type === 'name-list') assert.equal(reader.nameList().join(','), value);
      if (type === 'mpint' && value.startsWith('-')) {
        // Nothing in SSH uses a negative number.
        assert.throws(() => reader.mpint(), { code: 'decode', message: /Negative mpint/ });
        return;
      }
      if (type === 'mpint') assert.equal(bigintFromBytes(reader.mpint()), BigInt(`0x${value}`));
      reader.expectEnd();
    });
  }
});
