/**
 * Encrypted PKCS#8: PBES2 (RFC 8018 §6.2) with PBKDF2 or scrypt (RFC 7914 §7), and CBC. Must not know what is encrypted, but that
 * it is one SEQUENCE.
 */

import { wipe } from '../bytes/secret.ts';
import type { CbcName, HashName } from '../crypto/provider.ts';
import { type DerReader, isSequence, onlyElement } from './der.ts';
import { keyCipher, unpadBlocks } from './key_cipher.ts';
import type { Opening } from './key_file.ts';

/** Object identifiers of RFC 8018 §A, RFC 7914 §7 and NIST's of AES. */
export const PBES2 = '1.2.840.113549.1.5.13';
export const PBKDF2 = '1.2.840.113549.1.5.12';
const SCRYPT = '1.3.6.1.4.1.11591.4.11';

export const HMAC_SHA256 = '1.2.840.113549.2.9';
export const AES256_CBC = '2.16.840.1.101.3.4.1.42';

const prfs: Readonly<Record<string, HashName>> = {
  '1.2.840.113549.2.7': 'sha1',
  [HMAC_SHA256]: 'sha256',
  '1.2.840.113549.2.10': 'sha384',
  '1.2.840.113549.2.11': 'sha512',
};

const schemes: Readonly<Record<string, CbcName>> = {
  '2.16.840.1.101.3.4.1.2': 'aes128-cbc',
  '2.16.840.1.101.3.4.1.22': 'aes192-cbc',
  [AES256_CBC]: 'aes256-cbc',
  '1.2.840.113549.3.7': '3des-cbc',
};

/** What people do meet beside, so that messages name it. */
const strangers: Readonly<Record<string, string>> = {
  '1.2.840.113549.1.5.3': 'PBES1 with MD5 and DES',
  '1.2.840.113549.1.5.10': 'PBES1 with SHA-1 and DES',
  '1.2.840.113549.1.12.1.1': 'PKCS#12 RC4',
  '1.2.840.113549.1.12.1.3': 'PKCS#12 triple DES',
  '1.2.840.113549.1.12.1.6': 'PKCS#12 RC2',
  '1.3.14.3.2.7': 'DES',
  '1.2.840.113549.3.2': 'RC2',
  '1.2.840.113549.2.8': 'PBKDF2 with SHA-224',
};

type Derive = (password: Uint8Array, size: number) => Uint8Array;

/** The PrivateKeyInfo in an EncryptedPrivateKeyInfo (RFC 5958 §3), in memory of its own. */
export function openPbes2(bytes: Uint8Array, opening: Opening): Uint8Array {
  const { crypto, errors } = opening;
  const info = onlyElement(bytes, (reader) => reader.sequence());
  const algorithm = info.sequence();
  const data = info.octetString();
  info.expectEnd('EncryptedPrivateKeyInfo');
  const scheme = algorithm.oid();
  if (scheme !== PBES2) throw unsupported(scheme, opening);
  const parameters = algorithm.sequence();
  algorithm.expectEnd('the algorithm');
  const derivation = readDerivation(parameters.sequence(), opening);
  const encryption = parameters.sequence();
  parameters.expectEnd('the parameters of PBES2');
  const oid = encryption.oid();
  const name = schemes[oid];
  if (name === undefined) throw unsupported(oid, opening);
  const vector = encryption.octetString();
  encryption.expectEnd('the encryption scheme');
  const cipher = keyCipher(name);
  if (vector.length !== cipher.vectorSize) throw errors.corrupt(`its initialization vector has ${vector.length} bytes`);
  if (data.length === 0 || data.length % cipher.blockSize !== 0) throw errors.corrupt('its ciphertext is cut off');
  if (derivation.size !== undefined && derivation.size !== cipher.keySize) {
    throw errors.corrupt(`it derives ${derivation.size} bytes for a key of ${cipher.keySize}`);
  }
  const how = `PKCS#8, ${name}`;
  const key = derivation.derive(opening.passphrase(how), cipher.keySize);
  const padded = cipher.decrypt(crypto, key, vector, data);
  wipe(key);
  const plain = padded && unpadBlocks(padded, cipher.blockSize);
  // Nothing authenticates this: with a wrong key the padding is right once in 256 times, and a SEQUENCE of this length then hardly ever.
  if (plain === undefined || !isSequence(plain)) throw errors.passphraseWrong(how);
  return plain;
}

interface Derivation {
  readonly derive: Derive;
  /** keyLength, where it is given. */
  readonly size: number | undefined;
}

function readDerivation(algorithm: DerReader, opening: Opening): Derivation {
  const oid = algorithm.oid();
  if (oid !== PBKDF2 && oid !== SCRYPT) throw unsupported(oid, opening);
  const parameters = algorithm.sequence();
  algorithm.expectEnd('the key derivation');
  const salt = parameters.isNext('octetString') ? parameters.octetString() : undefined;
  if (salt === undefined) throw unsupported('a salt that is no octet string', opening);
  const derivation = oid === SCRYPT ? readScrypt(parameters, salt, opening) : readPbkdf2(parameters, salt, opening);
  parameters.expectEnd('the parameters of the key derivation');
  return derivation;
}

function readPbkdf2(parameters: DerReader, salt: Uint8Array, opening: Opening): Derivation {
  const iterations = parameters.number();
  const size = parameters.isNext('integer') ? parameters.number() : undefined;
  let hash: HashName = 'sha1';
  if (!parameters.done) {
    const prf = parameters.sequence();
    const oid = prf.oid();
    const found = prfs[oid];
    if (found === undefined) throw unsupported(oid, opening);
    if (!prf.done) prf.null();
    prf.expectEnd('the PRF');
    hash = found;
  }
  opening.bounds.pbkdf2(iterations, salt);
  const { kdfs } = opening.crypto;
  return { size, derive: (password, length) => kdfs.pbkdf2(hash, password, salt, iterations, length) };
}

function readScrypt(parameters: DerReader, salt: Uint8Array, opening: Opening): Derivation {
  const cost = { n: parameters.number(), r: parameters.number(), p: parameters.number() };
  const size = parameters.isNext('integer') ? parameters.number() : undefined;
  opening.bounds.scrypt(cost, salt);
  const { kdfs } = opening.crypto;
  return { size, derive: (password, length) => kdfs.scrypt(password, salt, cost, length) };
}

function unsupported(oid: string, { errors }: Opening): Error {
  const advice = `\`openssl pkcs8 -topk8 -v2 aes256 -in ${errors.file} -out NEW\` encrypts it anew`;
  return errors.cipherUnsupported(strangers[oid] ?? oid, advice);
}
