/**
 * Keys of `node:crypto` made of the plain bytes that SSH has. They are made anew for every operation, so nothing secret
 * outlives it. DER prefixes are those of RFC 8410 §7 and RFC 5915 in RFC 5958; RSA keys go in as JWK (RFC 7518 §6.3).
 */

import { Buffer } from 'node:buffer';
import { createPrivateKey, createPublicKey, generateKeyPair, type JsonWebKey, type KeyObject } from 'node:crypto';
import { plain } from '../../bytes/bytes.ts';
import { bigintFromBytes, minimalBytes } from '../../bytes/mpint.ts';
import { fromHex } from '../../bytes/text.ts';
import type { CurveName, RsaPrivateKey, RsaPublicKey } from '../provider.ts';

export type KeyKind = 'x25519' | 'ed25519' | CurveName;

interface Prefixes {
  /** What stands before the secret in a PKCS#8 PrivateKeyInfo that holds no public key. */
  readonly secret: Uint8Array;
  /** What stands before the public value in a SubjectPublicKeyInfo. */
  readonly public: Uint8Array;
}

function prefixes(secret: string, publicValue: string): Prefixes {
  return { secret: fromHex(secret), public: fromHex(publicValue) };
}

const ders: Readonly<Record<KeyKind, Prefixes>> = {
  x25519: prefixes('302e020100300506032b656e04220420', '302a300506032b656e032100'),
  ed25519: prefixes('302e020100300506032b657004220420', '302a300506032b6570032100'),
  p256: prefixes(
    '3041020100301306072a8648ce3d020106082a8648ce3d030107042730250201010420',
    '3059301306072a8648ce3d020106082a8648ce3d030107034200',
  ),
  p384: prefixes(
    '304e020100301006072a8648ce3d020106052b81040022043730350201010430',
    '3076301006072a8648ce3d020106052b81040022036200',
  ),
  p521: prefixes(
    '3060020100301006072a8648ce3d020106052b81040023044930470201010442',
    '30819b301006072a8648ce3d020106052b8104002303818600',
  ),
};

export function privateKey(kind: KeyKind, secret: Uint8Array): KeyObject {
  const der = Buffer.concat([ders[kind].secret, secret]);
  try {
    return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  } finally {
    der.fill(0);
  }
}

export function publicKey(kind: KeyKind, value: Uint8Array): KeyObject {
  return createPublicKey({ key: Buffer.concat([ders[kind].public, value]), format: 'der', type: 'spki' });
}

/** The public value of a secret. */
export function publicValue(kind: KeyKind, secret: Uint8Array): Uint8Array {
  const der = createPublicKey(privateKey(kind, secret)).export({ format: 'der', type: 'spki' });
  return plain(der.subarray(ders[kind].public.length));
}

function base64url(value: bigint): string {
  return Buffer.from(minimalBytes(value)).toString('base64url');
}

export function rsaPublicKey(key: RsaPublicKey): KeyObject {
  const n = base64url(bigintFromBytes(key.modulus));
  const e = base64url(bigintFromBytes(key.exponent));
  return createPublicKey({ key: { kty: 'RSA', n, e }, format: 'jwk' });
}

export function rsaPrivateKey(key: RsaPrivateKey): KeyObject {
  const d = bigintFromBytes(key.privateExponent);
  const p = bigintFromBytes(key.prime1);
  const q = bigintFromBytes(key.prime2);
  const jwk = {
    kty: 'RSA',
    n: base64url(bigintFromBytes(key.modulus)),
    e: base64url(bigintFromBytes(key.exponent)),
    d: base64url(d),
    p: base64url(p),
    q: base64url(q),
    dp: base64url(d % (p - 1n)),
    dq: base64url(d % (q - 1n)),
    qi: base64url(bigintFromBytes(key.coefficient)),
  };
  return createPrivateKey({ key: jwk, format: 'jwk' });
}

/** A new RSA key, made beside the thread that runs JavaScript. Rejects where the runtime cannot. */
export function newRsaKey(bits: number): Promise<RsaPrivateKey> {
  return new Promise((resolve, reject) => {
    const options = { modulusLength: bits, publicExponent: 65537 };
    generateKeyPair('rsa', options, (error, _, key) => {
      try {
        if (error) throw error;
        resolve(rsaParts(key.export({ format: 'jwk' })));
      } catch (failed) {
        reject(failed);
      }
    });
  });
}

function rsaParts(jwk: JsonWebKey): RsaPrivateKey {
  const part = (name: 'n' | 'e' | 'd' | 'p' | 'q' | 'qi'): Uint8Array =>
    plain(Buffer.from(jwk[name] ?? '', 'base64url'));
  return {
    modulus: part('n'),
    exponent: part('e'),
    privateExponent: part('d'),
    prime1: part('p'),
    prime2: part('q'),
    coefficient: part('qi'),
  };
}
