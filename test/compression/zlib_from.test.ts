/** Streams of pako against zlib of CPython and of the runtime. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { constants, inflateSync } from 'node:zlib';
import * as pako from 'pako';
import { concat } from '../../src/bytes/bytes.ts';
import { fromHex, hex } from '../../src/bytes/text.ts';
import { type PakoLike, zlibFrom } from '../../src/compression/zlib_from.ts';
import { crypto, pattern, thrown, vectors } from '../core/tools.ts';

const MOST = 256 * 1024;
const library = zlibFrom(pako);

interface Row {
  readonly name: string;
  /** SHA-256 of each. */
  readonly payloads: readonly string[];
  readonly compressed: readonly string[];
}

const { rows } = vectors<{ readonly rows: readonly Row[] }>('ssh/compression.json');

/** Payloads as connections have them: small ones, long ones, some that repeat, some that cannot be compressed. */
const payloads: readonly Uint8Array[] = [
  Uint8Array.of(2),
  pattern(1000),
  new Uint8Array(35_000),
  crypto.random(40_000),
  ...Array.from({ length: 60 }, (_, i) => pattern(3 * i, i)),
  concat(crypto.random(20_000), pattern(50_000)),
];

/** `bytes` in up to four parts. */
function partsOf(bytes: Uint8Array, seed: number): Uint8Array[] {
  const [a, b, c] = [1, 2, 3].map((i) => (bytes.length * ((seed * i) % 7)) >> 3).sort((x, y) => x - y) as [
    number,
    number,
    number,
  ];
  return [bytes.slice(0, a), bytes.slice(a, b), bytes.slice(b, c), bytes.slice(c)];
}

describe('zlibFrom', () => {
  for (const row of rows) {
    it(`${row.name}: inflates what CPython deflated`, () => {
      const inflater = library.inflater();
      const found = row.compressed.map((each) => inflater.inflate(fromHex(each), MOST));
      assert.deepEqual(
        found.map((payload) => hex(crypto.hashes.sha256.digest(payload))),
        row.payloads,
      );
    });
  }

  it('deflates so that each payload can be inflated as soon as it is there', () => {
    for (const level of [1, 6, 9]) {
      const [deflater, inflater] = [zlibFrom(pako, { level }).deflater(), library.inflater()];
      const all: Uint8Array[] = [];
      for (const [i, payload] of payloads.entries()) {
        const compressed = deflater.deflate(partsOf(payload, i));
        all.push(compressed);
        assert.equal(hex(inflater.inflate(compressed.slice(), MOST)), hex(payload), `payload ${i}`);
      }
      const whole = inflateSync(concat(...all), { finishFlush: constants.Z_SYNC_FLUSH });
      assert.equal(hex(new Uint8Array(whole)), hex(concat(...payloads)));
    }
  });

  it('makes what repeats smaller, and what is random hardly larger', () => {
    const deflater = library.deflater();
    const noise = crypto.random(16_000);
    assert.ok(deflater.deflate([noise]).length < 16_000 + 100);
    assert.ok(deflater.deflate([noise.subarray(1)]).length < 1000, 'of the payload before');
    assert.ok(deflater.deflate([new Uint8Array(100_000)]).length < 300);
  });

  it('takes the parts as they are now, and leaves them as they were', () => {
    const [deflater, inflater] = [library.deflater(), library.inflater()];
    for (let i = 0; i < 5; i++) {
      const part = pattern(5000, i);
      const compressed = deflater.deflate([part]);
      assert.deepEqual(part, pattern(5000, i));
      part.fill(0);
      assert.deepEqual(inflater.inflate(compressed, MOST), pattern(5000, i));
    }
  });

  it('gives up a payload that grows beyond what is allowed, before all of it is there', () => {
    const bomb = library.deflater().deflate([new Uint8Array(4_000_000)]);
    assert.ok(bomb.length < 10_000);
    let chunks = 0;
    class Counting extends pako.Inflate {
      override push(data: Uint8Array, flush: 0 | 1 | 2): boolean {
        const take = this.onData.bind(this);
        this.onData = (chunk) => {
          chunks++;
          take(chunk);
        };
        return super.push(data, flush);
      }
    }
    const counting = zlibFrom({ Deflate: pako.Deflate, Inflate: Counting });
    chunks = 0;
    const error = thrown('limit', () => counting.inflater().inflate(bomb, MOST));
    assert.equal(error.message, 'A compressed packet holds more than 262144 bytes');
    assert.deepEqual([error.fault, error.disconnect], ['peer', 6]);
    assert.equal(chunks, 17);
    const exact = library.deflater().deflate([new Uint8Array(MOST)]);
    assert.equal(library.inflater().inflate(exact, MOST).length, MOST);
    thrown('limit', () => library.inflater().inflate(exact, MOST - 1));
  });

  it('refuses streams that are damaged, end, are no zlib, or are none at all', () => {
    const good = library.deflater().deflate([pattern(3000)]);
    const broken = good.slice();
    broken[2] = (broken[2] as number) | 0x06; // a kind of block that there is not
    const ended = pako.deflate(pattern(3000));
    const gzip = pako.gzip(pattern(3000));
    for (const bytes of [broken, ended, gzip, pattern(50), concat(ended, good)]) {
      const error = thrown('protocol', () => library.inflater().inflate(bytes, MOST));
      assert.match(error.message, /^The peer's compressed data is damaged: /);
      assert.deepEqual([error.fault, error.disconnect], ['peer', 6]);
    }
  });

  it('refuses each damaged byte, or gives something of its size; nothing else is thrown', () => {
    const good = library.deflater().deflate([pattern(300), crypto.random(30)]);
    for (let at = 0; at < good.length; at++) {
      for (const mask of [0x04, 0xff]) {
        const bad = good.slice();
        bad[at] = (bad[at] as number) ^ mask;
        try {
          assert.ok(library.inflater().inflate(bad, 4096).length <= 4096);
        } catch (error) {
          assert.match(String((error as { code?: string }).code), /^(protocol|limit)$/);
        }
      }
    }
  });

  it('refuses a level that there is not, and a library that keeps back what it has at a flush', () => {
    for (const level of [0, 10, 1.5]) thrown('bad-argument', () => zlibFrom(pako, { level }));
    class Late extends pako.Inflate {
      override push(data: Uint8Array): boolean {
        return super.push(data, false);
      }
    }
    const error = thrown('bad-argument', () => zlibFrom({ Deflate: pako.Deflate, Inflate: Late }));
    assert.match(error.message, /^zlibFrom needs pako 3/);
    thrown('bad-argument', () => zlibFrom({} as PakoLike));
  });
});
