/** X25519 and ECDH of both providers against RFC 7748, RFC 5903, and for what they must refuse. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fromHex, hex } from '../../src/bytes/text.ts';
import type { AgreementName, CurveName } from '../../src/crypto/provider.ts';
import { x25519Over } from '../../src/crypto/pure/x25519.ts';
import { seededRandom } from '../support/random.ts';
import { isThorough } from '../support/thorough.ts';
import { ownVectors, type VectorGroup } from '../support/vectors.ts';
import { assertEach, isRefused, providers, reads, sshError } from './tools.ts';

interface Row {
  readonly id: string;
  readonly curve?: CurveName;
  readonly secret: string;
  readonly public: string;
  readonly result: 'valid' | 'invalid';
  /** Of valid rows. */
  readonly ownPublic: string;
  readonly shared: string;
}

const groups = [
  ...ownVectors<VectorGroup<Row>>('crypto/x25519.json'),
  ...ownVectors<VectorGroup<Row>>('crypto/ecdh.json'),
];
const sizes: Readonly<Record<AgreementName, { secret: number; public: number; shared: number }>> = {
  x25519: { secret: 32, public: 32, shared: 32 },
  p256: { secret: 32, public: 65, shared: 32 },
  p384: { secret: 48, public: 97, shared: 48 },
  p521: { secret: 66, public: 133, shared: 66 },
};
const names = Object.keys(sizes) as AgreementName[];

for (const provider of providers) {
  describe(`agreements of ${provider.name}`, () => {
    it('give the value of RFC 7748 §5.2 after a thousand turns', {
      skip: provider.name === 'pure' && !isThorough && 'in plain JavaScript they are tried in Node 24',
    }, async () => {
      let [scalar, point] = [new Uint8Array(32), new Uint8Array(32)];
      scalar[0] = 9;
      point[0] = 9;
      for (let turn = 0; turn < 1000; turn++) {
        const next = await provider.agreements.x25519.finish(scalar, point);
        [scalar, point] = [new Uint8Array(next), scalar];
      }
      assert.equal(hex(scalar), '684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51');
    });

    for (const group of groups) {
      it(`treat as they must: ${group.section} (${group.source})`, async () => {
        await assertEach(
          group.rows,
          (row) => row.id,
          async (row) => {
            const agreement = provider.agreements[row.curve ?? 'x25519'];
            const [secret, peer] = [fromHex(row.secret), fromHex(row.public)];
            if (row.result === 'invalid') {
              const finished = await isRefused(() => agreement.finish(secret, peer));
              return finished && (await isRefused(() => agreement.respond(() => fromHex(row.secret), peer)));
            }
            const responded = await agreement.respond(() => fromHex(row.secret), peer);
            return (
              reads(agreement.generate(() => fromHex(row.secret)).publicValue, row.ownPublic) &&
              reads(await agreement.finish(secret, peer), row.shared) &&
              reads(responded.shared, row.shared) &&
              reads(responded.publicValue, row.ownPublic) &&
              reads(secret, row.secret) &&
              reads(peer, row.public)
            );
          },
        );
      });
    }

    it('bring both sides to the same secret, in full width', async () => {
      for (const name of names) {
        const random = seededRandom(`agreement ${name}`);
        const initiator = provider.agreements[name].generate(random);
        const { publicValue, shared } = await provider.agreements[name].respond(random, initiator.publicValue);
        assert.equal(hex(await provider.agreements[name].finish(initiator.secret, publicValue)), hex(shared));
        assert.deepEqual(
          { secret: initiator.secret.length, public: publicValue.length, shared: shared.length },
          sizes[name],
        );
      }
    });

    it('draw another secret where the random source gives none of the curve', () => {
      for (const name of ['p256', 'p384', 'p521'] as const) {
        const size = sizes[name].secret;
        const good = new Uint8Array(size);
        good[size - 1] = 2;
        const draws = [new Uint8Array(size), new Uint8Array(size).fill(0xff), good];
        const { secret } = provider.agreements[name].generate(() => draws.shift() as Uint8Array);
        assert.equal(hex(secret), hex(good));
        assert.equal(draws.length, 0);
      }
    });

    it('leave nothing of the secret of a responder behind', async () => {
      for (const name of names) {
        const { publicValue } = provider.agreements[name].generate(seededRandom(name));
        const drawn: Uint8Array[] = [];
        const random = seededRandom(`wiped ${name}`);
        await provider.agreements[name].respond((length) => {
          drawn.push(random(length));
          return drawn.at(-1) as Uint8Array;
        }, publicValue);
        assert.deepEqual(drawn.map(hex), ['00'.repeat(sizes[name].secret)]);
      }
    });

    it('give up on a random source that gives zeros only', () => {
      for (const name of ['p256', 'p384', 'p521'] as const) {
        const action = () => provider.agreements[name].generate((length) => new Uint8Array(length));
        assert.throws(action, sshError('crypto', 'local'));
      }
    });

    it('refuse secrets of other lengths as the caller fault that they are', () => {
      for (const name of names) {
        const { publicValue, secret } = provider.agreements[name].generate(seededRandom(name));
        for (const wrong of [secret.subarray(1), new Uint8Array([...secret, 0]), new Uint8Array(0)]) {
          const action = () => provider.agreements[name].finish(wrong, publicValue);
          assert.throws(action, sshError('bad-argument', 'local'));
        }
      }
    });
  });
}

describe('x25519Over', () => {
  it('refuses a secret of zeros that the operations let through', async () => {
    const careless = x25519Over({ publicValue: () => new Uint8Array(32).fill(9), shared: () => new Uint8Array(32) });
    const peer = new Uint8Array(32).fill(9);
    assert.equal(await isRefused(() => careless.finish(new Uint8Array(32).fill(1), peer)), true);
    assert.equal(await isRefused(() => careless.respond((length) => new Uint8Array(length), peer)), true);
  });
});
