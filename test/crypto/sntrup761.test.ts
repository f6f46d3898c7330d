/** sntrup761: a published secret, what holds of every exchange, and the parts that it is built of. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat, equalBytes } from '../../src/bytes/bytes.ts';
import { bigintFromBytes, bytesFromBigint } from '../../src/bytes/mpint.ts';
import { fromHex, hex, utf8 } from '../../src/bytes/text.ts';
import { pureProvider } from '../../src/crypto/pure/index.ts';
import {
  decodePublic,
  decodeRounded,
  decodeSmall,
  encodePublic,
  encodeRounded,
  encodeSmall,
} from '../../src/crypto/pure/sntrup_code.ts';
import { invert3, invertTriple, mod3, modQ, multiply, newPoly, P, Q, W } from '../../src/crypto/pure/sntrup_poly.ts';
import { sortInt32 } from '../../src/crypto/pure/sort.ts';
import { seededRandom } from '../support/random.ts';
import { isThorough } from '../support/thorough.ts';
import { ownVectors, type VectorGroup } from '../support/vectors.ts';
import { sshError } from './tools.ts';

type Row = Readonly<Record<'id' | 'secret' | 'ciphertext' | 'shared' | 'sha256', string>>;

const kem = pureProvider.kems.sntrup761;
const groups = ownVectors<VectorGroup<Row> & { readonly about: string }>('crypto/sntrup761.json');
const rowsOf = (name: string) => groups.find(({ about }) => about === name)?.rows ?? assert.fail(name);
const rows = rowsOf('ciphertexts');

/** CTR_DRBG over AES-256 without a derivation function (SP 800-90A §10.2.1), as NIST's known answer tests draw with it. */
class CounterDrbg {
  #key: Uint8Array = new Uint8Array(32);
  #counter: Uint8Array = new Uint8Array(16);

  constructor(entropy: Uint8Array) {
    this.#update(entropy);
  }

  bytes(length: number): Uint8Array {
    const drawn = this.#blocks(Math.ceil(length / 16)).slice(0, length);
    this.#update(new Uint8Array(48));
    return drawn;
  }

  #blocks(count: number): Uint8Array {
    const next = bytesFromBigint((bigintFromBytes(this.#counter) + 1n) & MASK, 16);
    const stream = pureProvider.streams['aes256-ctr'].create(this.#key, next);
    this.#counter = bytesFromBigint((bigintFromBytes(next) + BigInt(count - 1)) & MASK, 16);
    return stream.apply(new Uint8Array(16 * count));
  }

  #update(data: Uint8Array): void {
    const state = this.#blocks(3).map((byte, i) => byte ^ (data[i] as number));
    this.#key = state.slice(0, 32);
    this.#counter = state.slice(32);
  }
}

const MASK = (1n << 128n) - 1n;

const decapsulate = (secret: Uint8Array, ciphertext: Uint8Array) => kem.decapsulate(secret, ciphertext) as Uint8Array;

function encapsulate(seed: string, publicValue: Uint8Array): { ciphertext: Uint8Array; shared: Uint8Array } {
  const made = kem.encapsulate(seededRandom(seed), publicValue);
  assert.ok('shared' in made);
  return made;
}

/** Half of SHA-512, as the specification of NTRU Prime has it. */
function half(prefix: number, ...parts: readonly Uint8Array[]): Uint8Array {
  return pureProvider.hashes.sha512.digest(concat(Uint8Array.of(prefix), ...parts)).slice(0, 32);
}

describe('sntrup761', () => {
  for (const row of rows) {
    it(`opens a ciphertext of another implementation: ${row.id}`, () => {
      assert.equal(hex(decapsulate(fromHex(row.secret), fromHex(row.ciphertext))), row.shared);
    });
  }

  it('makes the keys, ciphertext and secret of the known answer test', () => {
    const seed = new CounterDrbg(Uint8Array.from({ length: 48 }, (_, i) => i)).bytes(48);
    const drbg = new CounterDrbg(seed);
    const draw = (length: number) => drbg.bytes(length);
    const { secret, publicValue } = kem.generate(draw);
    const made = kem.encapsulate(draw, publicValue);
    assert.ok('shared' in made);
    const values = { seed, pk: publicValue, sk: secret, ct: made.ciphertext, ss: made.shared };
    const lines = Object.entries(values).map(([name, bytes]) => `${name} = ${hex(bytes).toUpperCase()}\n`);
    const digest = pureProvider.hashes.sha256.digest(utf8(`count = 0\n${lines.join('')}`));
    assert.equal(hex(digest), rowsOf('known answer test')[0]?.sha256);
  });

  it('gives both sides the same secret, and another one each time', () => {
    const seen = new Set<string>();
    const rounds = isThorough ? 8 : 2;
    for (let round = 0; round < rounds; round++) {
      const { secret, publicValue } = kem.generate(seededRandom(`pair ${round}`));
      assert.deepEqual([secret.length, publicValue.length], [kem.secretSize, kem.publicSize]);
      const { ciphertext, shared } = encapsulate(`peer ${round}`, publicValue);
      assert.deepEqual([ciphertext.length, shared.length], [kem.ciphertextSize, kem.sharedSize]);
      assert.deepEqual(decapsulate(secret, ciphertext), shared);
      for (const value of [secret, publicValue, ciphertext, shared]) seen.add(hex(value));
    }
    assert.equal(seen.size, 4 * rounds);
  });

  it('comes to an end with a random source that is broken', () => {
    const broken = (length: number): Uint8Array => new Uint8Array(length).fill(0xaa); // every coefficient is 1
    assert.throws(() => kem.generate(broken), sshError('crypto', 'local'));
  });

  it('rejects a ciphertext with any bit changed, without an error, in favour of a secret that is kept for that', () => {
    const row = rows[0] ?? assert.fail('no rows');
    const secret = fromHex(row.secret);
    const outcomes = new Set([row.shared]);
    const places = [0, 1, 500, 1006, 1007, 1020, 1038];
    for (const at of places) {
      const changed = fromHex(row.ciphertext);
      changed[at] = (changed[at] as number) ^ 0x04;
      const shared = decapsulate(secret, changed);
      const rho = secret.subarray(2 * 191 + kem.publicSize, 3 * 191 + kem.publicSize);
      assert.deepEqual(shared, half(0, half(3, rho), changed));
      outcomes.add(hex(shared));
    }
    assert.equal(outcomes.size, places.length + 1);
  });

  it('takes any bytes of the right length, and refuses every other length', () => {
    const random = seededRandom('any');
    const { secret } = kem.generate(random);
    const none = new Uint8Array(0);
    for (const fill of [0x00, 0xff]) {
      assert.equal(decapsulate(secret, new Uint8Array(kem.ciphertextSize).fill(fill)).length, 32);
      assert.equal(encapsulate('any', new Uint8Array(kem.publicSize).fill(fill)).shared.length, 32);
    }
    for (const bytes of [none, random(kem.ciphertextSize - 1), random(kem.ciphertextSize + 1)]) {
      assert.throws(() => decapsulate(secret, bytes), sshError('crypto', 'peer'));
    }
    for (const bytes of [none, random(kem.publicSize - 1), random(kem.publicSize + 1)]) {
      assert.throws(() => encapsulate('any', bytes), sshError('crypto', 'peer'));
    }
    assert.throws(() => decapsulate(none, random(kem.ciphertextSize)), sshError('bad-argument', 'local'));
  });
});

describe('the parts of sntrup761', () => {
  const random = seededRandom('parts');
  const word = () => new DataView(random(4).buffer).getInt32(0);

  it('reduces to centred remainders over the whole range', () => {
    const range = (most: number, step: number) => {
      const numbers: number[] = [];
      for (let x = -most; x <= most; x += step) numbers.push(x);
      return [...numbers, most];
    };
    const congruent = (value: number, x: number, q: number) => (value - x) % q === 0 && Math.abs(value) <= (q - 1) / 2;
    assert.deepEqual(
      range(16383, 1).filter((x) => !congruent(mod3(x), x, 3)),
      [],
    );
    assert.deepEqual(
      range(36_000_000, 4093).filter((x) => !congruent(modQ(x), x, Q)),
      [],
    );
    const ends = [-36_000_000, -2296, -2295, -1, 0, 1, 2295, 2296, Q, 2 * 2295 * 2295];
    assert.deepEqual(
      ends.filter((x) => !congruent(modQ(x), x, Q)),
      [],
    );
  });

  it('inverts modulo 3 and modulo q', () => {
    const one = newPoly();
    one[0] = 1;
    let inverted = 0;
    for (let round = 0; round < 4; round++) {
      const g = newPoly().map(() => mod3(word() >> 20));
      const { inverse, invertible } = invert3(g);
      if (invertible === 0) continue;
      inverted++;
      assert.deepEqual(multiply(g, inverse, mod3), one);
    }
    assert.ok(inverted > 0);
    assert.equal(invert3(newPoly()).invertible, 0);
    const f = newPoly().map((_, i) => (i < W ? (word() & 2) - 1 : 0));
    const triple = multiply(f, invertTriple(f), modQ).map((x) => modQ(3 * x));
    assert.deepEqual(triple, one);
  });

  it('writes and reads polynomials', () => {
    const any = newPoly().map(() => modQ(word() >> 6));
    assert.deepEqual(decodePublic(encodePublic(any)), any);
    const ends = newPoly().map((_, i) => (i % 2 === 0 ? 2295 : -2295));
    assert.deepEqual(decodePublic(encodePublic(ends)), ends);
    const rounded = any.map((x) => x - mod3(x));
    assert.deepEqual(decodeRounded(encodeRounded(rounded)), rounded);
    assert.deepEqual(decodeRounded(encodeRounded(ends)), ends);
    const small = any.map(mod3);
    assert.deepEqual(decodeSmall(encodeSmall(small)), small);
    assert.deepEqual(
      [encodePublic(any), encodeRounded(rounded), encodeSmall(small)].map((bytes) => bytes.length),
      [1158, 1007, 191],
    );
  });

  it('sorts numbers of any sign, in any number', () => {
    for (let length = 0; length <= 70; length++) {
      const values = new Int32Array(length).map(() => (length % 2 === 0 ? word() : word() >> 29));
      const sorted = values.slice().sort();
      sortInt32(values);
      assert.deepEqual(values, sorted);
    }
    const extremes = Int32Array.of(0x7fffffff, -0x80000000, 0, -1, 0x7fffffff, -0x80000000, 1);
    sortInt32(extremes);
    assert.deepEqual([...extremes], [-0x80000000, -0x80000000, -1, 0, 1, 0x7fffffff, 0x7fffffff]);
  });

  it('draws short polynomials of the right weight, and small ones with as many of each', () => {
    const { secret } = kem.generate(seededRandom('weight'));
    const g = invert3(decodeSmall(secret.subarray(191, 382))).inverse;
    for (const value of [-1, 0, 1]) {
      const count = g.filter((x) => x === value).length;
      assert.ok(count > 200 && count < 310, `${count} times ${value}`);
    }
    const f = decodeSmall(secret.subarray(0, 191));
    assert.equal(f.length, P);
    assert.equal(f.filter((x) => x !== 0).length, W);
    assert.ok(!equalBytes(secret.subarray(0, 191), secret.subarray(191, 382)));
  });
});
