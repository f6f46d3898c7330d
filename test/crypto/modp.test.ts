/** Modular exponentiation of both providers against CPython, and what is refused. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fromHex } from '../../src/bytes/text.ts';
import { modularPowers } from '../../src/crypto/known_modp.ts';
import { modularPower as native } from '../../src/crypto/native/node_modp.ts';
import { ownVectors, type VectorGroup } from '../support/vectors.ts';
import { assertEach, isRefused, providers, reads } from './tools.ts';

interface Row {
  readonly id: string;
  readonly base: string;
  readonly exponent: string;
  readonly modulus: string;
  readonly power?: string;
  readonly result?: 'invalid';
}

const rows = ownVectors<VectorGroup<Row>>('crypto/modp.json').flatMap((group) => group.rows);
const powers = [...providers.map((provider) => ({ name: provider.name, modularPower: provider.modularPower }))];
// where the self test turns it down it must be right all the same
powers.push({ name: 'node', modularPower: native });

describe('modularPower', () => {
  for (const { name, modularPower } of powers) {
    it(`gives the expected power and refuses what is no modulus (${name})`, async () => {
      await assertEach(
        rows,
        (row) => row.id,
        ({ base, exponent, modulus, power }) => {
          const compute = () => modularPower(fromHex(base), fromHex(exponent), fromHex(modulus));
          return power === undefined ? isRefused(compute) : reads(compute(), power);
        },
      );
    });
  }

  it('leaves its inputs as they were', () => {
    for (const { modularPower } of powers) {
      const [row] = modularPowers;
      assert.ok(row);
      const inputs = [fromHex(row.base), fromHex(row.exponent), fromHex(row.modulus)] as const;
      modularPower(...inputs);
      assert.deepEqual(inputs, [fromHex(row.base), fromHex(row.exponent), fromHex(row.modulus)]);
    }
  });

  it('has every answer of the self test among the vectors', () => {
    for (const { base, exponent, power } of modularPowers) {
      assert.ok(rows.some((row) => row.base === base && row.exponent === exponent && row.power === power));
    }
  });
});
