/** ML-KEM against Wycheproof and CCTV (C2SP): keys, shared secrets, moduli, implicit rejection, unlucky sampling. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { fromHex, hex } from '../../src/bytes/text.ts';
import { kemAnswers } from '../../src/crypto/known_kem.ts';
import type { Kem } from '../../src/crypto/provider.ts';
import { pureProvider } from '../../src/crypto/pure/index.ts';
import { seededRandom } from '../support/random.ts';
import { isThorough } from '../support/thorough.ts';
import { NO_SHARED_VECTORS, ownVectors, sharedFile, type VectorGroup } from '../support/vectors.ts';
import { assertEach, isRefused, providers, reads, sshError } from './tools.ts';
import { type Flat, wycheproof } from './wycheproof.ts';

const { mlkem768, mlkem1024 } = pureProvider.kems;

/** Draws exactly what it is given. */
const drawing = (bytes: string) => () => fromHex(bytes);

/** All rows that are not valid, and of the others one in ten where not all are tried. */
function some<Row extends { readonly tcId: number; readonly result: string }>(rows: readonly Row[]): readonly Row[] {
  return rows.filter(({ tcId, result }) => isThorough || result !== 'valid' || tcId % 10 === 0);
}

function check<Row>(
  name: string,
  rows: readonly Flat<object, Row>[] | undefined,
  count: number,
  holds: (row: Flat<object, Row>) => boolean | Promise<boolean>,
): void {
  it(name, { skip: rows === undefined && NO_SHARED_VECTORS }, async () => {
    assert.equal(rows?.length, count);
    await assertEach(some(rows), ({ tcId }) => tcId, holds);
  });
}

/** Whether `action` fails; a seed of the wrong length is a mistake of the caller. */
function fails(action: () => unknown): boolean {
  try {
    action();
    return false;
  } catch {
    return true;
  }
}

type Named = Readonly<Record<'seed' | 'ek' | 'dk' | 'c' | 'K' | 'm', string>>;

function decapsulates(kem: Kem, { seed, ek, c, K, result }: Flat<object, Named>): boolean | Promise<boolean> {
  if (seed.length !== 128) return fails(() => kem.generate(drawing(seed)));
  const { secret, publicValue } = kem.generate(drawing(seed));
  const decapsulate = () => kem.decapsulate(secret, fromHex(c));
  if (result === 'invalid') return isRefused(decapsulate);
  return reads(publicValue, ek) && reads(decapsulate() as Uint8Array, K);
}

describe('ML-KEM against Wycheproof', () => {
  for (const { name, kems } of providers) {
    const from = (title: string) => `${title}, ${name}`;
    check(from('768, from the seed'), wycheproof<object, Named>('mlkem_768'), 193, (row) =>
      decapsulates(kems.mlkem768, row),
    );
    check(from('1024, from the seed'), wycheproof<object, Named>('mlkem_1024'), 193, (row) =>
      decapsulates(kems.mlkem1024, row),
    );

    check(from('768, keys'), wycheproof<object, Named>('mlkem_768_keygen_seed'), 100, ({ seed, ek, dk }) => {
      const { secret, publicValue } = kems.mlkem768.generate(drawing(seed));
      // a runtime keeps the seed as its secret
      return reads(publicValue, ek) && reads(secret, kems.mlkem768.secretSize === 64 ? seed : dk);
    });

    check(from('768, encapsulation'), wycheproof<object, Named>('mlkem_768_encaps'), 265, ({ m, ek, c, K, result }) => {
      const encapsulate = () => kems.mlkem768.encapsulate(drawing(m), fromHex(ek));
      if (result === 'invalid') return isRefused(encapsulate);
      const made = encapsulate();
      return 'shared' in made && reads(made.ciphertext, c) && reads(made.shared, K);
    });
  }

  // only plain JavaScript takes a key that was made of a seed elsewhere
  check(
    '768, expanded keys',
    wycheproof<object, Named>('mlkem_768_semi_expanded_decaps'),
    9,
    ({ dk, c, K, result }) => {
      const decapsulate = () => mlkem768.decapsulate(fromHex(dk), fromHex(c)) as Uint8Array;
      return result === 'valid' ? reads(decapsulate(), K) : fails(decapsulate);
    },
  );
});

/** The values that a text of CCTV names, the last of each name. */
function named(path: string): Readonly<Record<string, string>> | undefined {
  const file = sharedFile(`cctv/mlkem/${path}`);
  if (file === undefined) return undefined;
  const lines = new TextDecoder().decode(file).matchAll(/^(\S+) = ([0-9a-f]+)$/gm);
  return Object.fromEntries([...lines].map(([, name, value]) => [name, value]));
}

/** Keys are as the files have them: they were made of seeds by a draft of FIPS 203. */
function encapsulates(kem: Kem, path: string): void {
  const { ek, dk, m, c, K } = named(path) as Named;
  const made = kem.encapsulate(drawing(m), fromHex(ek));
  assert.ok('shared' in made);
  assert.ok(reads(made.ciphertext, c) && reads(made.shared, K));
  assert.ok(reads(kem.decapsulate(fromHex(dk), fromHex(c)) as Uint8Array, K));
}

describe('ML-KEM against CCTV', () => {
  const skip = sharedFile('cctv/mlkem/strcmp-ML-KEM-768.txt') === undefined && NO_SHARED_VECTORS;

  for (const [kem, title] of [
    [mlkem768, '768'],
    [mlkem1024, '1024'],
  ] as const) {
    it(`${title}: ciphertext and secret of the worked example`, { skip }, () => {
      encapsulates(kem, `intermediate-ML-KEM-${title}.txt`);
    });
  }

  it('768: a ciphertext with a zero byte where it differs is rejected', { skip }, () => {
    const { dk, c, K } = named('strcmp-ML-KEM-768.txt') as Named;
    assert.equal(hex(mlkem768.decapsulate(fromHex(dk), fromHex(c)) as Uint8Array), K);
  });

  it('768: sampling that takes more than is usual', { skip }, () => {
    encapsulates(mlkem768, 'unluckysample-ML-KEM-768.txt');
  });

  it('768: keys with a coefficient that is not below the modulus are refused', { skip }, async () => {
    const lines = new TextDecoder().decode(gunzipSync(sharedFile('cctv/mlkem/modulus-ML-KEM-768.txt.gz') ?? '')).trim();
    const keys = lines.split('\n').map((key, tcId) => ({ key, tcId, result: tcId % 10 === 0 ? 'invalid' : 'valid' }));
    assert.equal(keys.length, 780);
    const random = seededRandom('modulus');
    await assertEach(
      some(keys),
      ({ tcId }) => tcId,
      ({ key }) => isRefused(() => mlkem768.encapsulate(random, fromHex(key))),
    );
  });
});

interface Row {
  readonly id: string;
  readonly kem: 'mlkem768' | 'mlkem1024';
  readonly seed: string;
  readonly publicKey: string;
  readonly ciphertext: string;
  readonly shared: string;
  readonly rejected: string;
}

const rows = ownVectors<VectorGroup<Row>>('crypto/mlkem.json').flatMap((group) => group.rows);

for (const { name, kems } of providers) {
  describe(`ML-KEM against another implementation, ${name}`, () => {
    it('makes the same keys of seeds, opens ciphertexts, and rejects those that were changed', () => {
      return assertEach(
        rows,
        ({ id }) => id,
        ({ kem, seed, publicKey, ciphertext, shared, rejected }) => {
          const { secret, publicValue } = kems[kem].generate(drawing(seed));
          const changed = fromHex(ciphertext);
          changed[0] = (changed[0] as number) ^ 1;
          return (
            secret.length === kems[kem].secretSize &&
            reads(publicValue, publicKey) &&
            reads(kems[kem].decapsulate(secret, fromHex(ciphertext)) as Uint8Array, shared) &&
            reads(kems[kem].decapsulate(secret, changed) as Uint8Array, rejected)
          );
        },
      );
    });
  });
}

describe('the answers of the self test', () => {
  it('are rows of the vectors', () => {
    for (const [kem, answer] of Object.entries(kemAnswers)) {
      const row = rows.find((each) => each.kem === kem && each.ciphertext === answer.ciphertext) ?? assert.fail(kem);
      assert.ok(row.publicKey.startsWith(answer.publicStart) && row.publicKey.endsWith(answer.publicEnd));
      assert.deepEqual([answer.shared, answer.rejected], [row.shared, row.rejected]);
    }
  });
});

for (const provider of providers) {
  const { mlkem768, mlkem1024 } = provider.kems;
  describe(`ML-KEM, ${provider.name}`, () => {
    for (const kem of [mlkem768, mlkem1024]) {
      it(`of ${kem.publicSize} bytes: both sides get the same, and nobody who changes a bit on the way`, () => {
        const random = seededRandom('both');
        const { secret, publicValue } = kem.generate(random);
        assert.deepEqual([secret.length, publicValue.length], [kem.secretSize, kem.publicSize]);
        const made = kem.encapsulate(random, publicValue);
        assert.ok('shared' in made);
        const { ciphertext, shared } = made;
        assert.deepEqual([ciphertext.length, shared.length], [kem.ciphertextSize, 32]);
        assert.deepEqual(kem.decapsulate(secret, ciphertext), shared);
        for (const at of [0, 500, ciphertext.length - 1]) {
          const changed = ciphertext.slice();
          changed[at] = (changed[at] as number) ^ 1;
          const other = kem.decapsulate(secret, changed) as Uint8Array;
          assert.notDeepEqual(other, shared);
          assert.deepEqual(kem.decapsulate(secret, changed), other, 'rejection is the same every time');
        }
        const wrong = (size: number) => [0, size - 1, size + 1].map((length) => new Uint8Array(length));
        for (const bytes of wrong(kem.ciphertextSize)) {
          assert.throws(() => kem.decapsulate(secret, bytes), sshError('crypto', 'peer'));
        }
        for (const bytes of wrong(kem.publicSize)) {
          assert.throws(() => kem.encapsulate(random, bytes), sshError('crypto', 'peer'));
        }
        assert.throws(() => kem.decapsulate(secret.subarray(1), ciphertext), sshError('bad-argument', 'local'));
      });
    }
  });
}
