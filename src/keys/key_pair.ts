/**
 * A private key in memory, and the proof that its two halves belong together. Must not know file formats, nor what SSH
 * does with signatures.
 */

import { copy } from '../bytes/bytes.ts';
import { bigintFromBytes, resizeInteger } from '../bytes/mpint.ts';
import { isAllZero } from '../bytes/secret.ts';
import type { CryptoProvider, CurveName, RsaPrivateKey } from '../crypto/provider.ts';
import { SshError } from '../errors.ts';
import { type EcdsaKeyType, ecdsaCurves, encodePublicKey, type PublicKey, parsePublicKey } from './public_key.ts';

/** The secret numbers of a private key: a seed of 32 bytes, a scalar as wide as the curve, or the integers of RSA. */
export type PrivateKeySecret =
  | { readonly type: 'ssh-ed25519'; readonly seed: Uint8Array }
  | { readonly type: EcdsaKeyType; readonly curve: CurveName; readonly scalar: Uint8Array }
  | { readonly type: 'ssh-rsa'; readonly key: RsaPrivateKey };

/** A private key. What is secret is behind a method, so that showing or serialising the object does not reveal it. */
export class PrivateKey {
  readonly publicKey: PublicKey;
  readonly comment: string;
  readonly #secret: PrivateKeySecret;

  /** Takes a pair as it is; `keyPairOf` makes sure that it is one. */
  constructor(publicKey: PublicKey, secret: PrivateKeySecret, comment = '') {
    this.publicKey = publicKey;
    this.comment = comment;
    this.#secret = secret;
  }

  /** The secret numbers. Handle with care: they must not reach logs nor messages. */
  secret(): PrivateKeySecret {
    return this.#secret;
  }
}

/**
 * The private key with the secret numbers `secret`, its public half computed from them. Throws `crypto` or `decode`,
 * without the numbers, when they are no key.
 */
export function keyPairOf(crypto: CryptoProvider, secret: PrivateKeySecret, comment = ''): PrivateKey {
  return new PrivateKey(parsePublicKey(publicBlob(crypto, secret), crypto), secret, comment);
}

/** A new Ed25519 key. */
export function newEd25519Key(crypto: CryptoProvider, comment = ''): PrivateKey {
  // a copy, because a random source may use its buffer again
  return keyPairOf(crypto, { type: 'ssh-ed25519', seed: copy(crypto.random(32)) }, comment);
}

/** The secret of an ECDSA key whose scalar may be shorter or longer by zeros; throws `crypto` when it is too long. */
export function ecdsaSecret(type: EcdsaKeyType, scalar: Uint8Array): PrivateKeySecret {
  const { curve, size } = ecdsaCurves[type];
  const resized = resizeInteger(scalar, size);
  if (resized === undefined) throw unusable(`the private scalar has more than ${size} bytes`);
  return { type, curve, scalar: resized };
}

function publicBlob(crypto: CryptoProvider, secret: PrivateKeySecret): Uint8Array {
  switch (secret.type) {
    case 'ssh-ed25519':
      if (secret.seed.length !== 32) throw unusable(`an Ed25519 seed has 32 bytes, not ${secret.seed.length}`);
      return encodePublicKey({ type: secret.type, publicKey: crypto.ed25519.publicKey(secret.seed) });
    case 'ssh-rsa': {
      const { modulus, exponent } = secret.key;
      const blob = encodePublicKey({ type: secret.type, key: { modulus, exponent } });
      parsePublicKey(blob); // bounds the sizes before anything is computed with them
      checkRsaPair(secret.key);
      return blob;
    }
    default:
      return encodePublicKey({
        type: secret.type,
        curve: secret.curve,
        point: pointOf(crypto, secret.curve, secret.scalar),
      });
  }
}

function pointOf(crypto: CryptoProvider, curve: CurveName, scalar: Uint8Array): Uint8Array {
  if (isAllZero(scalar)) throw unusable('the private scalar is zero');
  try {
    return crypto.ecdsa[curve].publicKey(scalar);
  } catch {
    // The reason is dropped: a primitive's own message may quote what it was given.
    throw unusable('the private scalar is not below the order of the curve');
  }
}

/** RFC 8017 §3.2: n = p·q, e·d ≡ 1 modulo p − 1 and q − 1, q·qInv ≡ 1 modulo p. */
function checkRsaPair(key: RsaPrivateKey): void {
  for (const part of [key.privateExponent, key.prime1, key.prime2, key.coefficient]) {
    if (part.length > key.modulus.length) throw unusable('an RSA number is longer than the modulus');
  }
  const [n, e, d] = [bigintFromBytes(key.modulus), bigintFromBytes(key.exponent), bigintFromBytes(key.privateExponent)];
  const [p, q, inverse] = [bigintFromBytes(key.prime1), bigintFromBytes(key.prime2), bigintFromBytes(key.coefficient)];
  if (p <= 2n || q <= 2n || p * q !== n) throw unusable('the RSA primes do not give the modulus');
  if (d >= n || (e * d) % (p - 1n) !== 1n || (e * d) % (q - 1n) !== 1n) {
    throw unusable('the RSA private exponent does not fit the public one');
  }
  if (inverse >= p || (q * inverse) % p !== 1n) throw unusable('the RSA coefficient does not fit the primes');
}

function unusable(detail: string): SshError {
  return new SshError('crypto', detail);
}
