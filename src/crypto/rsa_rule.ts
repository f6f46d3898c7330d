/**
 * What every provider asks of an RSA key before using it, and the encoding that RSASSA-PKCS1-v1_5 signs (RFC 8017 §9.2).
 * Does no modular arithmetic.
 */

import { bigintFromBytes } from '../bytes/mpint.ts';
import { fromHex } from '../bytes/text.ts';
import type { Fault } from '../errors.ts';
import type { HashName, RsaPublicKey } from './provider.ts';
import { refused } from './refuse.ts';

/** Smallest modulus in bits: shorter ones can be factored; OpenSSH's floor too. */
export const MIN_MODULUS_BITS = 1024;
/** Largest modulus in bits: what OpenSSH and OpenSSL take; bounds the time that a peer's key can cost. */
export const MAX_MODULUS_BITS = 16384;
/** Smallest modulus that is made in bits: shorter ones are read, but nobody should begin with one (SP 800-131A §3). */
export const MIN_NEW_BITS = 2048;
/** Largest public exponent in bits, as OpenSSL has it for long moduli: bounds the time of a verification. */
export const MAX_EXPONENT_BITS = 64;

/** A public key as numbers, proven to lie within the limits. */
export interface RsaNumbers {
  readonly n: bigint;
  readonly e: bigint;
  /** Bytes of the modulus, and of a signature. */
  readonly size: number;
}

function bitLength(value: bigint): number {
  return value === 0n ? 0 : value.toString(2).length;
}

/** The numbers of `key`; throws `crypto` for a key outside the limits. `fault` says whose key it is. */
export function rsaNumbers(key: RsaPublicKey, fault: Fault): RsaNumbers {
  const n = bigintFromBytes(key.modulus);
  const bits = bitLength(n);
  if (bits < MIN_MODULUS_BITS || bits > MAX_MODULUS_BITS) {
    throw refused(`RSA modulus of ${bits} bits: it must have ${MIN_MODULUS_BITS} to ${MAX_MODULUS_BITS}`, fault);
  }
  const e = bigintFromBytes(key.exponent);
  if (e < 3n || bitLength(e) > MAX_EXPONENT_BITS || (e & 1n) === 0n || (n & 1n) === 0n) {
    throw refused(
      `RSA key with an unusable exponent or modulus: the exponent must be odd, 3 or more, and of at most ${MAX_EXPONENT_BITS} bits, the modulus odd`,
      fault,
    );
  }
  return { n, e, size: Math.ceil(bits / 8) };
}

/** Throws `crypto` unless a new key may have a modulus of `bits` bits. */
export function checkNewBits(bits: number): void {
  if (Number.isInteger(bits) && bits >= MIN_NEW_BITS && bits <= MAX_MODULUS_BITS) return;
  throw refused(`New RSA keys have ${MIN_NEW_BITS} to ${MAX_MODULUS_BITS} bits, not ${bits}`, 'local');
}

/** DER of DigestInfo up to the digest itself (RFC 8017 §9.2 note 1), with the NULL parameters that it demands. */
const digestInfo: Readonly<Record<HashName, Uint8Array>> = {
  sha1: fromHex('3021300906052b0e03021a05000414'),
  sha256: fromHex('3031300d060960864801650304020105000420'),
  sha384: fromHex('3041300d060960864801650304020205000430'),
  sha512: fromHex('3051300d060960864801650304020305000440'),
};

/** EMSA-PKCS1-v1_5: 00 01 FF… 00 DigestInfo, `size` bytes. It always fits: the shortest modulus has 128 bytes. */
export function emsa(hash: HashName, digest: Uint8Array, size: number): Uint8Array {
  const encoded = new Uint8Array(size).fill(0xff);
  const prefix = digestInfo[hash];
  const start = size - prefix.length - digest.length;
  encoded[0] = 0x00;
  encoded[1] = 0x01;
  encoded[start - 1] = 0x00;
  encoded.set(prefix, start);
  encoded.set(digest, start + prefix.length);
  return encoded;
}
