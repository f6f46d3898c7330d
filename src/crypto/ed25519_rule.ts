/**
 * Which Ed25519 public keys and signatures are looked at, the same in every provider. RFC 8032 §5.1.7 leaves the edges
 * to implementations, and the runtimes differ there: all of them agree once this rule was applied. It is the rule of
 * libsodium and of the strictest runtime: S below the group order (no malleability), a canonical public key, and neither
 * the key nor R of small order; what then verifies is the equation without cofactor, as in OpenSSH. No honest signer
 * makes anything that it refuses.
 */

import { bigintFromBytes } from '../bytes/mpint.ts';

export const ED25519_KEY = 32;
const ED25519_SIGNATURE = 64;

const PRIME = 2n ** 255n - 19n;
/** Order of the base point. */
export const ED25519_ORDER: bigint = 2n ** 252n + 27742317777372353535851937790883648493n;

/** The y coordinate of two of the four points of order 8; the other two have its negative. */
const ORDER_8 = 0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n;
/** The y coordinates of the eight points of small order. */
const smallOrder: ReadonlySet<bigint> = new Set([0n, 1n, PRIME - 1n, ORDER_8, PRIME - ORDER_8]);

/** The unsigned little-endian integer in `bytes`. */
export function littleEndian(bytes: Uint8Array): bigint {
  return bigintFromBytes(new Uint8Array(bytes).reverse());
}

/** Whether `encoded` can stand for a point that is not of small order, in its only encoding (RFC 8032 §5.1.3). */
function isProper(encoded: Uint8Array): boolean {
  const y = BigInt.asUintN(255, littleEndian(encoded)); // the top bit is the sign of x
  return y < PRIME && !smallOrder.has(y);
}

/** Whether key and signature may go on to the verification equation. */
export function isAdmissible(publicKey: Uint8Array, signature: Uint8Array): boolean {
  if (publicKey.length !== ED25519_KEY || signature.length !== ED25519_SIGNATURE) return false;
  const s = littleEndian(signature.subarray(ED25519_KEY));
  return s < ED25519_ORDER && isProper(publicKey) && isProper(signature.subarray(0, ED25519_KEY));
}
