/**
 * Signature algorithms and signature blobs: RFC 4253 §6.6, RFC 5656 §3.1.2, RFC 8332 §3, RFC 8709 §6. One row per
 * algorithm; negotiation, host keys and user authentication all read this table. Must not know key files, nor what is signed.
 */

import { resizeInteger } from '../bytes/mpint.ts';
import { DecodeError, Reader } from '../bytes/reader.ts';
import { printable } from '../bytes/text.ts';
import { Writer } from '../bytes/writer.ts';
import type { CryptoProvider, HashName, MaybePromise } from '../crypto/provider.ts';
import { SshError } from '../errors.ts';
import type { PrivateKeySecret } from './key_pair.ts';
import { type EcdsaKeyType, ecdsaCurves, type KeyType, type PublicKey } from './public_key.ts';

/** One signature algorithm. `body` is the second string of a signature blob, what follows the name. */
export interface SignatureAlgorithm {
  readonly name: string;
  /** Type of the keys that it works with. */
  readonly keyType: KeyType;
  /** False for a malformed body and for a key of another type. */
  verify(crypto: CryptoProvider, key: PublicKey, message: Uint8Array, body: Uint8Array): MaybePromise<boolean>;
  /** The body of a signature; throws `bad-argument` for a key of another type. */
  sign(crypto: CryptoProvider, secret: PrivateKeySecret, message: Uint8Array): MaybePromise<Uint8Array>;
}

/** Something that signs with one key: a key file, an agent, hardware. */
export interface Signer {
  /** The key blob. */
  readonly publicKey: Uint8Array;
  readonly keyType: string;
  /** Signature algorithms that it can use, best first. */
  readonly algorithms: readonly string[];
  readonly comment?: string;
  /** The signature blob over `message`, made with `algorithm`, one of `algorithms`. */
  sign(message: Uint8Array, algorithm: string): MaybePromise<Uint8Array>;
}

const ed25519: SignatureAlgorithm = {
  name: 'ssh-ed25519',
  keyType: 'ssh-ed25519',
  verify: (crypto, key, message, body) =>
    key.type === 'ssh-ed25519' && body.length === 64 && crypto.ed25519.verify(key.publicKey, message, body),
  sign(crypto, secret, message) {
    if (secret.type !== 'ssh-ed25519') throw otherKey(this, secret);
    return crypto.ed25519.sign(secret.seed, message);
  },
};

function ecdsa(name: EcdsaKeyType): SignatureAlgorithm {
  const { curve, size } = ecdsaCurves[name];
  return {
    name,
    keyType: name,
    verify(crypto, key, message, body) {
      const signature = fixedWidth(body, size);
      if (key.type !== name || signature === undefined) return false;
      return crypto.ecdsa[curve].verify(key.point, message, signature);
    },
    sign(crypto, secret, message) {
      if (secret.type !== name) throw otherKey(this, secret);
      return whenReady(crypto.ecdsa[curve].sign(secret.scalar, message), (signature) =>
        new Writer().mpint(signature.subarray(0, size)).mpint(signature.subarray(size)).finish(),
      );
    },
  };
}

/**
 * r ‖ s, each `size` bytes, from two mpints (RFC 5656 §3.1.2). Superfluous leading zeros are accepted, because some
 * switches send them; negative and too large numbers are not.
 */
function fixedWidth(body: Uint8Array, size: number): Uint8Array | undefined {
  const halves = ifDecodes(() => {
    const reader = new Reader(body);
    const pair = [reader.mpint(), reader.mpint()] as const;
    reader.expectEnd('signature');
    return pair;
  });
  const r = halves && resizeInteger(halves[0], size);
  const s = halves && resizeInteger(halves[1], size);
  if (r === undefined || s === undefined) return undefined;
  const signature = new Uint8Array(2 * size);
  signature.set(r);
  signature.set(s, size);
  return signature;
}

function rsa(name: string, hash: HashName): SignatureAlgorithm {
  return {
    name,
    keyType: 'ssh-rsa',
    verify(crypto, key, message, body) {
      if (key.type !== 'ssh-rsa' || body.length > key.key.modulus.length) return false;
      // RFC 8332 §3 wants the length of the modulus; peers that drop leading zeros are met as OpenSSH meets them.
      const signature = resizeInteger(body, key.key.modulus.length);
      return signature !== undefined && crypto.rsa.verify(key.key, hash, message, signature);
    },
    sign(crypto, secret, message) {
      if (secret.type !== 'ssh-rsa') throw otherKey(this, secret);
      return crypto.rsa.sign(secret.key, hash, message);
    },
  };
}

/** Every algorithm that puressh verifies and makes, by name; for each key type the best stands first. */
export const signatureAlgorithms: ReadonlyMap<string, SignatureAlgorithm> = new Map(
  [
    ed25519,
    ecdsa('ecdsa-sha2-nistp256'),
    ecdsa('ecdsa-sha2-nistp384'),
    ecdsa('ecdsa-sha2-nistp521'),
    rsa('rsa-sha2-512', 'sha512'),
    rsa('rsa-sha2-256', 'sha256'),
  ].map((row) => [row.name, row]),
);

/** Names of the algorithms for keys of one type, best first; none for a type that puressh does not know. */
export function algorithmsOf(keyType: string): string[] {
  return [...signatureAlgorithms.values()].filter((row) => row.keyType === keyType).map((row) => row.name);
}

/** A signature blob. */
export function encodeSignature(algorithm: string, body: Uint8Array): Uint8Array {
  return new Writer(algorithm.length + body.length + 8).string(algorithm).string(body).finish();
}

/**
 * Whether `blob` is a signature of `message` under `key`, made with `algorithm`: the blob has to name that algorithm and
 * no other. Malformed blobs, unknown algorithms and keys of another type are false, never errors.
 */
export function verifySignature(
  crypto: CryptoProvider,
  algorithm: string,
  key: PublicKey,
  message: Uint8Array,
  blob: Uint8Array,
): MaybePromise<boolean> {
  const row = signatureAlgorithms.get(algorithm);
  const body = ifDecodes(() => {
    const reader = new Reader(blob);
    const found = reader.name();
    const rest = reader.string();
    reader.expectEnd('signature blob');
    return found === algorithm ? rest : undefined;
  });
  return row !== undefined && body !== undefined && row.verify(crypto, key, message, body);
}

/** What `read` gives; `undefined` when the bytes do not have the shape it wants. */
function ifDecodes<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof DecodeError) return undefined;
    throw error;
  }
}

/** `next` of the value, now if it is there and later if it is a promise. */
export function whenReady<T, U>(value: MaybePromise<T>, next: (value: T) => U): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}

function otherKey(row: SignatureAlgorithm, secret: PrivateKeySecret): SshError {
  const name = printable(row.name, 64);
  return new SshError('bad-argument', `${name} signs with keys of type ${row.keyType}, not with ${secret.type}`);
}
