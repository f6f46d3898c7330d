/**
 * RSASSA-PKCS1-v1_5 (RFC 8017 §8.2) on bigint. Verification builds the one right encoding and compares it whole: it
 * never parses padding, which is what let signatures be forged elsewhere. bigint takes time that depends on its values,
 * so what is raised to the private exponent is blinded first.
 */

import { invert, mod, pow } from '@noble/curves/abstract/modular.js';
import { equalBytes } from '../../bytes/bytes.ts';
import { bigintFromBytes, bytesFromBigint } from '../../bytes/mpint.ts';
import type { HashName, Rsa, RsaPrivateKey } from '../provider.ts';
import { refused } from '../refuse.ts';
import { emsa, rsaNumbers } from '../rsa_rule.ts';
import { hashes } from './hash.ts';
import { random } from './random.ts';
import { generate } from './rsa_generate.ts';

/** message^d mod n by the Chinese remainder theorem (RFC 8017 §5.1.2 2b), the factors being p and q. */
function privatePower(key: RsaPrivateKey, message: bigint): bigint {
  const d = bigintFromBytes(key.privateExponent);
  const p = bigintFromBytes(key.prime1);
  const q = bigintFromBytes(key.prime2);
  const atP = pow(message, d % (p - 1n), p);
  const atQ = pow(message, d % (q - 1n), q);
  return atQ + q * mod(bigintFromBytes(key.coefficient) * (atP - atQ), p);
}

/** The same, of a message multiplied by r^e; the factor r^d^e = r is divided out again. */
function blindedPower(key: RsaPrivateKey, n: bigint, e: bigint, message: bigint): bigint {
  const blind = mod(bigintFromBytes(random(key.modulus.length + 8)), n - 2n) + 2n;
  const power = privatePower(key, mod(message * pow(blind, e, n), n));
  return mod(power * invert(blind, n), n);
}

function sign(key: RsaPrivateKey, hash: HashName, message: Uint8Array): Uint8Array {
  const { n, e, size } = rsaNumbers(key, 'local');
  const encoded = bigintFromBytes(emsa(hash, hashes[hash].digest(message), size));
  let signature: bigint | undefined;
  try {
    signature = blindedPower(key, n, e, encoded);
  } catch {
    // a factor of 0 or 1: reported below
  }
  // A wrong result would give away a factor of the modulus (Boneh, DeMillo, Lipton 1997), so it never leaves.
  if (signature === undefined || pow(signature, e, n) !== encoded) {
    throw refused('RSA private key does not fit its public key: the key is damaged', 'local');
  }
  return bytesFromBigint(signature, size);
}

export const rsa: Rsa = {
  sign,
  generate,
  verify(key, hash, message, signature) {
    const { n, e, size } = rsaNumbers(key, 'peer');
    if (signature.length !== size) return false;
    const s = bigintFromBytes(signature);
    if (s >= n) return false;
    const expected = emsa(hash, hashes[hash].digest(message), size);
    return equalBytes(bytesFromBigint(pow(s, e, n), size), expected);
  },
};
