/** ECDSA of both providers against RFC 6979, and for what FIPS 186-5 §6.4.2 refuses. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fromHex, hex, utf8 } from '../../src/bytes/text.ts';
import type { CurveName } from '../../src/crypto/provider.ts';
import { pureProvider } from '../../src/crypto/pure/index.ts';
import { ownVectors, type VectorGroup } from '../support/vectors.ts';
import { assertEach, providers, reads, sshError } from './tools.ts';

interface Row {
  readonly id: string;
  readonly curve: CurveName;
  readonly scalar?: string;
  readonly publicKey: string;
  readonly message: string;
  readonly signature: string;
  readonly result: 'valid' | 'invalid';
}
interface PointRow {
  readonly id: string;
  readonly curve: CurveName;
  readonly public: string;
  readonly result: 'valid' | 'invalid';
}

const groups = ownVectors<VectorGroup<Row>>('crypto/ecdsa.json');
const rows = groups.flatMap((group) => group.rows);
const signed = rows.filter((row): row is Row & { scalar: string } => row.scalar !== undefined);
const points = ownVectors<VectorGroup<PointRow>>('crypto/ecdh.json').flatMap((group) => group.rows);
const curves = [['p256', 32, 'sha256'] as const, ['p384', 48, 'sha384'] as const, ['p521', 66, 'sha512'] as const];

describe('ecdsa of pure', () => {
  it('makes the signatures of RFC 6979', async () => {
    await assertEach(
      signed,
      (row) => row.id,
      async (row) => {
        const signature = await pureProvider.ecdsa[row.curve].sign(fromHex(row.scalar), fromHex(row.message));
        return reads(signature, row.signature);
      },
    );
  });
});

for (const provider of providers) {
  describe(`ecdsa of ${provider.name}`, () => {
    for (const group of groups) {
      it(`verifies and refuses as it must: ${group.section}`, async () => {
        await assertEach(
          group.rows,
          (row) => row.id,
          async ({ curve, publicKey, message, signature, result }) => {
            const verdict = provider.ecdsa[curve].verify(fromHex(publicKey), fromHex(message), fromHex(signature));
            return (await verdict) === (result === 'valid');
          },
        );
      });
    }

    it('makes signatures of full width that the other provider verifies', async () => {
      for (const { curve, scalar, publicKey } of signed) {
        for (const verifier of providers) {
          const message = utf8(`${curve} of ${provider.name}`);
          const signature = await provider.ecdsa[curve].sign(fromHex(scalar), message);
          assert.equal(signature.length, 2 * provider.ecdsa[curve].size);
          assert.equal(await verifier.ecdsa[curve].verify(fromHex(publicKey), message, signature), true);
        }
      }
    });

    it('derives public keys', async () => {
      await assertEach(
        signed,
        (row) => row.id,
        (row) => reads(provider.ecdsa[row.curve].publicKey(fromHex(row.scalar)), row.publicKey),
      );
    });

    it('knows an uncompressed point of the curve from everything else', async () => {
      await assertEach(
        points,
        (row) => row.id,
        (row) => provider.ecdsa[row.curve].isPublicKey(fromHex(row.public)) === (row.result === 'valid'),
      );
    });

    it('says the width and the hash of RFC 5656', () => {
      const said = curves.map(([curve]) => [curve, provider.ecdsa[curve].size, provider.ecdsa[curve].hash]);
      assert.deepEqual(said, curves);
    });

    it('refuses scalars that are none', () => {
      for (const [curve, size] of curves) {
        const ecdsa = provider.ecdsa[curve];
        for (const scalar of [new Uint8Array(size), new Uint8Array(size).fill(0xff)]) {
          assert.throws(() => ecdsa.publicKey(scalar), sshError('crypto', 'local'));
          assert.throws(() => ecdsa.sign(scalar, utf8('x')), sshError('crypto', 'local'));
        }
        for (const length of [0, size - 1, size + 1]) {
          const scalar = new Uint8Array(length).fill(1);
          assert.throws(() => ecdsa.publicKey(scalar), sshError('bad-argument', 'local'));
          assert.throws(() => ecdsa.sign(scalar, utf8('x')), sshError('bad-argument', 'local'));
        }
      }
    });

    it('only reads what it is given', async () => {
      for (const { curve, scalar, message, publicKey, signature } of signed) {
        const given = [scalar, message, publicKey, signature].map(fromHex) as [
          Uint8Array,
          Uint8Array,
          Uint8Array,
          Uint8Array,
        ];
        await provider.ecdsa[curve].sign(given[0], given[1]);
        await provider.ecdsa[curve].verify(given[2], given[1], given[3]);
        assert.deepEqual(given.map(hex), [scalar, message, publicKey, signature]);
      }
    });
  });
}
