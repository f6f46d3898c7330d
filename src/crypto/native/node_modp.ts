/**
 * Modular exponentiation of `node:crypto`, which has it only as Diffie-Hellman: the public value of a private key that is the
 * exponent, in a group whose generator is the base. The runtime takes the time of a private exponent for it, whatever its bits.
 */

import { Buffer } from 'node:buffer';
import { createPrivateKey, createPublicKey } from 'node:crypto';
import { mpintBody, resizeInteger, trimZeros } from '../../bytes/mpint.ts';
import { fromHex } from '../../bytes/text.ts';
import { checkModulus } from '../modp_rule.ts';
import type { ModularPower } from '../provider.ts';
import { pureProvider } from '../pure/index.ts';

/** dhKeyAgreement (PKCS #3 §9), the whole OBJECT IDENTIFIER. */
const ALGORITHM = fromHex('06092a864886f70d010301');
const INTEGER = 0x02;
const OCTETS = 0x04;
const SEQUENCE = 0x30;

/** One DER value of at most 64 KiB. */
function der(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(content);
  const { length } = body;
  const head = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...head]), body]);
}

/** The DER of a positive integer; its content is the body of an mpint. */
const integer = (value: Uint8Array): Buffer => der(INTEGER, mpintBody(value));

/** The PrivateKeyInfo (RFC 5208 §5) of a private value. */
function privateKeyInfo(base: Uint8Array, exponent: Uint8Array, modulus: Uint8Array): Buffer {
  const group = der(SEQUENCE, ALGORITHM, der(SEQUENCE, integer(modulus), integer(base)));
  const secret = integer(exponent);
  const octets = der(OCTETS, secret);
  const info = der(SEQUENCE, der(INTEGER, Uint8Array.of(0)), group, octets);
  secret.fill(0);
  octets.fill(0);
  return info;
}

/** Where the content of the DER value at `at` stands. */
function content(bytes: Uint8Array, at: number): { readonly start: number; readonly end: number } {
  const first = bytes[at + 1] as number;
  const more = first < 0x80 ? 0 : first - 0x80;
  let length = more === 0 ? first : 0;
  for (let i = 0; i < more; i++) length = length * 0x100 + (bytes[at + 2 + i] as number);
  const start = at + 2 + more;
  return { start, end: start + length };
}

/** The public value in a SubjectPublicKeyInfo: SEQUENCE { algorithm, BIT STRING { INTEGER } }. */
function publicInteger(info: Uint8Array): Uint8Array {
  const algorithm = content(info, content(info, 0).start);
  const bits = content(info, algorithm.end);
  const value = content(info, bits.start + 1); // behind the count of unused bits
  return info.subarray(value.start, value.end);
}

const isAboveOne = (value: Uint8Array): boolean => {
  const minimal = trimZeros(value);
  return minimal.length > 1 || (minimal[0] ?? 0) > 1;
};

/** The power, or `undefined` where the runtime cannot tell. */
function nativePower(base: Uint8Array, exponent: Uint8Array, modulus: Uint8Array): Uint8Array | undefined {
  if (!isAboveOne(base) || !isAboveOne(exponent)) return undefined; // a runtime makes no such group
  const info = privateKeyInfo(base, exponent, modulus);
  try {
    const key = createPublicKey(createPrivateKey({ key: info, format: 'der', type: 'pkcs8' }));
    return resizeInteger(publicInteger(key.export({ format: 'der', type: 'spki' })), modulus.length);
  } catch {
    return undefined;
  } finally {
    info.fill(0);
  }
}

/** base^exponent mod modulus. See `CryptoProvider.modularPower`. */
export const modularPower: ModularPower = (base, exponent, modulus) => {
  checkModulus(modulus);
  return nativePower(base, exponent, modulus) ?? pureProvider.modularPower(base, exponent, modulus);
};
