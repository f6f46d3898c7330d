/** Nonces of ECDSA: a few bits that are known of each give the key away (CVE-2024-31497, where nine bits of P-521's were zero). */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { p256, p384, p521 } from '@noble/curves/nist.js';
import { bigintFromBytes } from '../../src/bytes/mpint.ts';
import { hex, utf8 } from '../../src/bytes/text.ts';
import { nodeProvider } from '../../src/crypto/native/node.ts';
import type { CryptoProvider, CurveName } from '../../src/crypto/provider.ts';
import { pureProvider } from '../../src/crypto/pure/index.ts';
import { parsePrivateKey } from '../../src/keys/private_key.ts';
import { isThorough } from '../support/thorough.ts';
import { privateRow } from './tools.ts';

const curves = { p256, p384, p521 };
/** Bits that are looked at, from the top. */
const BITS = 9;

function scalarOf(name: string): Uint8Array {
  const secret = parsePrivateKey(privateRow(name).openssh ?? '', pureProvider).secret();
  assert.ok('scalar' in secret);
  return secret.scalar;
}

/** The nonce of a signature, which whoever has the key can compute: (z + r·d) / s. */
async function nonceOf(
  provider: CryptoProvider,
  curve: CurveName,
  scalar: Uint8Array,
  text: string,
): Promise<{ k: bigint; r: bigint }> {
  const { Fn } = curves[curve].Point;
  const { size, hash } = provider.ecdsa[curve];
  const message = utf8(text);
  const signature = await provider.ecdsa[curve].sign(scalar, message);
  const [r, s] = [bigintFromBytes(signature.subarray(0, size)), bigintFromBytes(signature.subarray(size))];
  // SHA-512 is shorter than P-521's order: nothing is cut
  const digest = bigintFromBytes(provider.hashes[hash].digest(message));
  const k = Fn.mul(Fn.add(Fn.create(digest), Fn.mul(r, bigintFromBytes(scalar))), Fn.inv(s));
  return { k, r };
}

const curveRows = [
  ['p256', 'ecdsa256'],
  ['p384', 'ecdsa384'],
  ['p521', 'ecdsa521'],
] as const;

for (const provider of [pureProvider, nodeProvider()]) {
  describe(`nonces of ${provider.name}`, () => {
    for (const [curve, name] of curveRows) {
      it(`have no bias in their top bits: ${curve}`, { timeout: 120_000 }, async () => {
        const scalar = scalarOf(name);
        const { Fn, BASE } = curves[curve].Point;
        const length = Fn.ORDER.toString(2).length;
        const count = isThorough && curve === 'p521' ? 200 : 32;
        const ones = new Array<number>(BITS).fill(0);
        const seen = new Set<bigint>();
        for (let i = 0; i < count; i++) {
          const { k, r } = await nonceOf(provider, curve, scalar, `message ${i}`);
          // that it is the nonce: r is the x coordinate of k·G
          if (i < 3) assert.equal(Fn.create(BASE.multiplyUnsafe(k).x), r);
          seen.add(k);
          for (let bit = 0; bit < BITS; bit++) {
            if ((k >> BigInt(length - 1 - bit)) & 1n) ones[bit] = (ones[bit] as number) + 1;
          }
        }
        assert.equal(seen.size, count);
        // six standard deviations: once in 10^8 runs a sound source fails
        const slack = 3 * Math.sqrt(count);
        for (const [bit, found] of ones.entries()) {
          assert.ok(Math.abs(found - count / 2) <= slack, `bit ${bit} from the top: ${found} of ${count}`);
        }
      });
    }
  });
}

describe('ECDSA of plain JavaScript', () => {
  it('has the same signature for the same message, as wide as the curve (RFC 6979)', async () => {
    for (const [curve, name] of curveRows) {
      const scalar = scalarOf(name);
      const [one, two] = [1, 2].map(() => pureProvider.ecdsa[curve].sign(scalar, utf8('the same')));
      assert.equal(hex((await one) as Uint8Array), hex((await two) as Uint8Array));
      assert.equal((await one)?.length, 2 * pureProvider.ecdsa[curve].size);
    }
  });
});
