/** Ed25519 of both providers against RFC 8032, and the edges where implementations differ. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat } from '../../src/bytes/bytes.ts';
import { fromHex, hex, utf8 } from '../../src/bytes/text.ts';
import { isAdmissible } from '../../src/crypto/ed25519_rule.ts';
import { NO_SHARED_VECTORS, ownVectors, sharedVectors, type VectorGroup } from '../support/vectors.ts';
import { assertEach, providers, reads, sshError } from './tools.ts';

interface Row {
  readonly id: string;
  readonly seed?: string;
  readonly publicKey: string;
  readonly message: string;
  readonly signature: string;
  readonly result: 'valid' | 'invalid';
}

/** C2SP/CCTV: every combination of odd A and R. `message` is text. */
interface EdgeRow {
  readonly number: number;
  readonly key: string;
  readonly sig: string;
  readonly msg: string;
  readonly flags: readonly string[] | null;
}

const groups = ownVectors<VectorGroup<Row>>('crypto/ed25519.json');
const rows = groups.flatMap((group) => group.rows);
const signed = rows.filter((row): row is Row & { seed: string } => row.seed !== undefined);
const edges = sharedVectors('cctv/ed25519/ed25519vectors.json') as readonly EdgeRow[] | undefined;

/** Any of these makes a signature one that `ed25519_rule.ts` refuses; all other edge rows verify. */
const refusing = ['low_order_residue', 'low_order_A', 'low_order_R', 'non_canonical_A', 'non_canonical_R'];

describe('isAdmissible', () => {
  const proper = fromHex('fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025');
  const order = fromHex('edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010');
  const below = (bytes: Uint8Array) => new Uint8Array([(bytes[0] as number) - 1, ...bytes.subarray(1)]);
  const withS = (s: Uint8Array) => concat(proper, s);

  it('takes S below the group order only', () => {
    assert.equal(isAdmissible(proper, withS(below(order))), true);
    assert.equal(isAdmissible(proper, withS(order)), false);
    assert.equal(isAdmissible(proper, withS(new Uint8Array(32).fill(0xff))), false);
  });

  it('takes no coordinate that is not below the prime, for the key nor for R', () => {
    // 2^255 - 19 + 3 stands for y = 3, and so on to 2^255 - 1; the top bit is the sign of x.
    for (let last = 0xf0; last <= 0xff; last++) {
      for (const top of ['7f', 'ff']) {
        const encoded = fromHex(`${last.toString(16)}${'ff'.repeat(30)}${top}`);
        assert.equal(isAdmissible(encoded, withS(new Uint8Array(32))), false);
        assert.equal(isAdmissible(proper, concat(encoded, new Uint8Array(32))), false);
      }
    }
    const largest = fromHex(`eb${'ff'.repeat(30)}7f`);
    assert.equal(isAdmissible(largest, withS(new Uint8Array(32))), true);
  });
});

for (const provider of providers) {
  const { ed25519 } = provider;

  describe(`ed25519 of ${provider.name}`, () => {
    for (const group of groups) {
      it(`verifies and refuses as it must: ${group.section}`, async () => {
        await assertEach(
          group.rows,
          (row) => row.id,
          async ({ publicKey, message, signature, result }) =>
            (await ed25519.verify(fromHex(publicKey), fromHex(message), fromHex(signature))) === (result === 'valid'),
        );
      });
    }

    it('makes the public keys and signatures of the standard', async () => {
      await assertEach(
        signed,
        (row) => row.id,
        async ({ seed, publicKey, message, signature }) =>
          reads(ed25519.publicKey(fromHex(seed)), publicKey) &&
          reads(await ed25519.sign(fromHex(seed), fromHex(message)), signature),
      );
    });

    it('applies one rule to keys and R of small order and to encodings that are not canonical', {
      skip: edges === undefined && NO_SHARED_VECTORS,
    }, async () => {
      assert.equal(edges?.length, 914);
      const verifies = (row: EdgeRow) => !refusing.some((flag) => row.flags?.includes(flag));
      assert.equal(edges.filter(verifies).length, 43);
      await assertEach(
        edges,
        (row) => row.number,
        async (row) => (await ed25519.verify(fromHex(row.key), utf8(row.msg), fromHex(row.sig))) === verifies(row),
      );
    });

    it('refuses seeds of other lengths', () => {
      for (const size of [0, 31, 33, 64]) {
        assert.throws(() => ed25519.publicKey(new Uint8Array(size)), sshError('bad-argument', 'local'));
        assert.throws(() => ed25519.sign(new Uint8Array(size), utf8('x')), sshError('bad-argument', 'local'));
      }
    });

    it('only reads what it is given', async () => {
      for (const { seed, message, publicKey, signature } of signed.slice(0, 3)) {
        const given = [seed, message, publicKey, signature].map(fromHex) as [
          Uint8Array,
          Uint8Array,
          Uint8Array,
          Uint8Array,
        ];
        await ed25519.sign(given[0], given[1]);
        await ed25519.verify(given[2], given[1], given[3]);
        assert.deepEqual(given.map(hex), [seed, message, publicKey, signature]);
      }
    });
  });
}
