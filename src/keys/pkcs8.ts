/**
 * Private keys in PKCS#8 (RFC 5958), without passphrase: Ed25519 (RFC 8410 §7), EC keys on named curves (RFC 5915) and
 * RSA (RFC 8017 §A.1.2). Must not know its armour, nor other formats.
 */

import { equalBytes } from '../bytes/bytes.ts';
import type { CryptoProvider } from '../crypto/provider.ts';
import { DerReader, wholeBytes } from './der.ts';
import type { KeyFileErrors } from './key_file_errors.ts';
import { ecdsaSecret, keyPairOf, type PrivateKey, type PrivateKeySecret } from './key_pair.ts';
import type { EcdsaKeyType, PublicKey } from './public_key.ts';

const ED25519 = '1.3.101.112';
const EC = '1.2.840.10045.2.1';
const RSA = '1.2.840.113549.1.1.1';

const curves: Readonly<Record<string, EcdsaKeyType>> = {
  '1.2.840.10045.3.1.7': 'ecdsa-sha2-nistp256',
  '1.3.132.0.34': 'ecdsa-sha2-nistp384',
  '1.3.132.0.35': 'ecdsa-sha2-nistp521',
};

/** Names of algorithms and curves that people do have keys of, but that SSH or puressh does not use. */
const strangers: Readonly<Record<string, string>> = {
  '1.2.840.10040.4.1': 'DSA',
  '1.2.840.113549.1.1.10': 'RSASSA-PSS',
  '1.3.101.110': 'X25519',
  '1.3.101.111': 'X448',
  '1.3.101.113': 'Ed448',
  '1.3.132.0.10': 'secp256k1',
};

/** A secret, and the public half that the file gives beside it. */
interface Found {
  readonly secret: PrivateKeySecret;
  readonly publicHalf?: Uint8Array | undefined;
}

/** The key in the bytes of a `PRIVATE KEY` block. Throws what `errors` makes, `decode` or `crypto`. */
export function parsePkcs8(bytes: Uint8Array, crypto: CryptoProvider, errors: KeyFileErrors): PrivateKey {
  const info = only(bytes, (reader) => reader.sequence());
  const version = info.smallInteger();
  const algorithm = info.sequence();
  const oid = algorithm.oid();
  const found = readKey(oid, algorithm, info.octetString(), errors);
  algorithm.expectEnd('the algorithm');
  info.context(0, 'constructed'); // attributes: nothing in them is about the key's numbers
  const bits = info.context(1, 'primitive');
  info.expectEnd('PrivateKeyInfo');
  if (version > 1) throw errors.unsupported(`PKCS#8 of version ${version}`, 'write it anew with `openssl pkey`');
  const key = keyPairOf(crypto, found.secret);
  for (const half of [found.publicHalf, bits && wholeBytes(bits)]) {
    if (half !== undefined && !isPublicHalf(key.publicKey, half)) {
      throw errors.corrupt('its public and its private half do not belong together');
    }
  }
  return key;
}

function readKey(oid: string, algorithm: DerReader, content: Uint8Array, errors: KeyFileErrors): Found {
  switch (oid) {
    case ED25519:
      return { secret: readEd25519(content) };
    case EC:
      return readEc(algorithm.oid(), content, errors);
    case RSA:
      if (!algorithm.done) algorithm.null();
      return { secret: readRsa(content, errors) };
    default:
      throw unsupportedKey(oid, errors);
  }
}

function unsupportedKey(oid: string, errors: KeyFileErrors): Error {
  return errors.unsupported(`a key of kind ${strangers[oid] ?? oid}`, 'use an Ed25519, RSA or NIST P-256/384/521 key');
}

/** RFC 8410 §7: an OCTET STRING in the OCTET STRING. */
function readEd25519(content: Uint8Array): PrivateKeySecret {
  return { type: 'ssh-ed25519', seed: only(content, (reader) => reader.octetString()).slice() };
}

/** RFC 5915 §3. Writers exist that drop leading zeros of the scalar; those are put back. */
function readEc(curve: string, content: Uint8Array, errors: KeyFileErrors): Found {
  const type = curves[curve];
  if (type === undefined) throw unsupportedKey(curve, errors);
  const key = only(content, (reader) => reader.sequence());
  if (key.smallInteger() !== 1) throw errors.corrupt('its ECPrivateKey is not of version 1');
  const secret = ecdsaSecret(type, key.octetString());
  const parameters = key.context(0, 'constructed');
  if (parameters !== undefined && only(parameters, (reader) => reader.oid()) !== curve) {
    throw errors.corrupt('it names two different curves');
  }
  const publicKey = key.context(1, 'constructed');
  key.expectEnd('ECPrivateKey');
  return { secret, publicHalf: publicKey && only(publicKey, (reader) => reader.bitString()) };
}

/** RFC 8017 §A.1.2. The two reduced private exponents are not kept: they follow from the rest. */
function readRsa(content: Uint8Array, errors: KeyFileErrors): PrivateKeySecret {
  const key = only(content, (reader) => reader.sequence());
  if (key.smallInteger() !== 0) throw errors.unsupported('a multi-prime RSA key', 'use a key with two primes');
  const integer = () => key.integer().slice();
  const [modulus, exponent, privateExponent] = [integer(), integer(), integer()];
  const [prime1, prime2] = [integer(), integer()];
  integer(); // d mod (p − 1)
  integer(); // d mod (q − 1)
  const coefficient = integer();
  key.expectEnd('RSAPrivateKey');
  return { type: 'ssh-rsa', key: { modulus, exponent, privateExponent, prime1, prime2, coefficient } };
}

/** The one element that `bytes` consists of. */
function only<T>(bytes: Uint8Array, read: (reader: DerReader) => T): T {
  const reader = new DerReader(bytes);
  const value = read(reader);
  reader.expectEnd('an element');
  return value;
}

/** `half` is what PKCS#8 and RFC 5915 call the public key: the bytes of a point. RSA keys do not carry one. */
function isPublicHalf(key: PublicKey, half: Uint8Array): boolean {
  if (key.type === 'ssh-rsa') return false;
  return equalBytes('point' in key ? key.point : key.publicKey, half);
}
