/**
 * The encryption of older PEM files: DEK-Info (RFC 1421 §4.6.1.3), with the key that OpenSSL's EVP_BytesToKey makes from one round of
 * MD5 over passphrase and vector. Must not know what is encrypted, but that it is one SEQUENCE.
 */

import { concat } from '../bytes/bytes.ts';
import { wipe } from '../bytes/secret.ts';
import { fromHex } from '../bytes/text.ts';
import type { CbcName, CryptoProvider } from '../crypto/provider.ts';
import { isSequence } from './der.ts';
import { keyCipher, unpadBlocks } from './key_cipher.ts';
import type { Opening } from './key_file.ts';
import type { PemEncryption } from './pem.ts';

const ciphers: Readonly<Record<string, CbcName>> = {
  'AES-128-CBC': 'aes128-cbc',
  'AES-192-CBC': 'aes192-cbc',
  'AES-256-CBC': 'aes256-cbc',
  'DES-EDE3-CBC': '3des-cbc',
};

/** As many bytes of the vector as are the salt of the key too. */
const SALT = 8;

/** What is in the block, in memory of its own. */
export function openDekInfo(bytes: Uint8Array, encryption: PemEncryption, opening: Opening): Uint8Array {
  const { crypto, errors } = opening;
  const { cipher: dek, vector: digits } = encryption;
  if (dek === undefined) throw errors.corrupt('it is encrypted, but has no DEK-Info');
  const name = Object.hasOwn(ciphers, dek) ? ciphers[dek] : undefined;
  if (name === undefined) {
    const advice = `\`openssl pkcs8 -topk8 -v2 aes256 -in ${errors.file} -out NEW\` encrypts it anew`;
    throw errors.cipherUnsupported(dek, advice);
  }
  const cipher = keyCipher(name);
  if (digits?.length !== 2 * cipher.vectorSize) {
    throw errors.corrupt(`its initialization vector is not of ${cipher.vectorSize} bytes`);
  }
  if (bytes.length === 0 || bytes.length % cipher.blockSize !== 0) throw errors.corrupt('its ciphertext is cut off');
  const vector = fromHex(digits);
  const key = bytesToKey(crypto, opening.passphrase(dek), vector.subarray(0, SALT), cipher.keySize);
  const padded = cipher.decrypt(crypto, key, vector, bytes);
  wipe(key);
  const plain = padded && unpadBlocks(padded, cipher.blockSize);
  if (plain === undefined || !isSequence(plain)) throw errors.passphraseWrong(dek);
  return plain;
}

/** D₁ ‖ D₂ …, each the MD5 of the one before, the passphrase and the salt. */
function bytesToKey({ md5 }: CryptoProvider, password: Uint8Array, salt: Uint8Array, size: number): Uint8Array {
  const key = new Uint8Array(size);
  let digest: Uint8Array = new Uint8Array(0);
  for (let at = 0; at < size; at += digest.length) {
    const input = concat(digest, password, salt);
    digest = md5.digest(input);
    wipe(input);
    key.set(digest.subarray(0, size - at), at);
  }
  wipe(digest);
  return key;
}
