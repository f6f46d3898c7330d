/**
 * Ed25519 (RFC 8032 §5.1), signing by noble, verification by noble's point arithmetic: noble's own `verify` multiplies
 * by the cofactor, which OpenSSH and the runtimes do not. See `ed25519_rule.ts`.
 */

import { mulAddUnsafe } from '@noble/curves/abstract/curve.js';
import { ed25519 as noble } from '@noble/curves/ed25519.js';
import { concat, equalBytes } from '../../bytes/bytes.ts';
import { ED25519_KEY, ED25519_ORDER, isAdmissible, littleEndian } from '../ed25519_rule.ts';
import type { Ed25519 } from '../provider.ts';
import { expectLength } from '../refuse.ts';
import { hashes } from './hash.ts';

/** RFC 8032 §5.1.7 without the cofactor: whether R is the encoding of [S]B - [k]A. */
function satisfiesEquation(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  const r = signature.subarray(0, ED25519_KEY);
  const s = littleEndian(signature.subarray(ED25519_KEY));
  const k = littleEndian(hashes.sha512.digest(concat(r, publicKey, message))) % ED25519_ORDER;
  const { Point } = noble;
  // Both products at once: as fast as with tables of the base point, which cost 50 ms at their first use.
  const expected = mulAddUnsafe(Point, [Point.BASE, Point.fromBytes(publicKey).negate()], [s, k]);
  return equalBytes(expected.toBytes(), r);
}

export const ed25519: Ed25519 = {
  publicKey(seed) {
    expectLength(seed, ED25519_KEY, 'Ed25519 seed');
    return noble.getPublicKey(seed);
  },
  sign(seed, message) {
    expectLength(seed, ED25519_KEY, 'Ed25519 seed');
    return noble.sign(message, seed);
  },
  verify(publicKey, message, signature) {
    if (!isAdmissible(publicKey, signature)) return false;
    try {
      return satisfiesEquation(publicKey, message, signature);
    } catch {
      return false; // half of all strings of 32 bytes are no point
    }
  },
};
