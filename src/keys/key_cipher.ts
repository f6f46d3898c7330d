/**
 * The ciphers that key files are encrypted with, as rows over the provider's primitives: OpenSSH's by its own names, which the
 * other formats translate theirs to. Must not know any format, nor where keys come from.
 */

import { copy } from '../bytes/bytes.ts';
import { equalSecret } from '../bytes/secret.ts';
import type { AeadName, CbcName, CryptoProvider, StreamName } from '../crypto/provider.ts';

/** One cipher. Sizes in bytes. */
export interface KeyCipher {
  readonly keySize: number;
  /** Of the initialization vector, initial counter or nonce. */
  readonly vectorSize: number;
  /** What is encrypted fills whole blocks. */
  readonly blockSize: number;
  /** Of the tag behind the ciphertext; 0 where there is none. */
  readonly tagSize: number;
  /** Plaintext in memory of its own; `undefined` when the tag does not match. */
  decrypt(crypto: CryptoProvider, key: Uint8Array, vector: Uint8Array, data: Uint8Array): Uint8Array | undefined;
  /** Ciphertext and tag, as pieces one after the other. */
  encrypt(crypto: CryptoProvider, key: Uint8Array, vector: Uint8Array, data: Uint8Array): readonly Uint8Array[];
}

function counterMode(name: StreamName, keySize: number): KeyCipher {
  const apply = (crypto: CryptoProvider, key: Uint8Array, vector: Uint8Array, data: Uint8Array) =>
    crypto.streams[name].create(key, vector).apply(copy(data));
  return {
    keySize,
    vectorSize: 16,
    blockSize: 16,
    tagSize: 0,
    decrypt: apply,
    encrypt: (...args) => [apply(...args)],
  };
}

function chaining(name: CbcName, keySize: number, blockSize: 8 | 16): KeyCipher {
  return {
    keySize,
    vectorSize: blockSize,
    blockSize,
    tagSize: 0,
    decrypt: (crypto, key, vector, data) => crypto.cbc[name].create(key, vector, 'decrypt').apply(copy(data)),
    encrypt: (crypto, key, vector, data) => [crypto.cbc[name].create(key, vector, 'encrypt').apply(copy(data))],
  };
}

function galois(name: AeadName, keySize: number): KeyCipher {
  return {
    keySize,
    vectorSize: 12,
    blockSize: 16,
    tagSize: 16,
    decrypt: (crypto, key, vector, data) => crypto.aeads[name].create(key).open(vector, new Uint8Array(0), copy(data)),
    encrypt: (crypto, key, vector, data) => crypto.aeads[name].create(key).seal(vector, new Uint8Array(0), copy(data)),
  };
}

/** Nonce of the one packet that a file is to this cipher (OpenSSH PROTOCOL.chacha20poly1305), whose second key is not used. */
const FIRST_PACKET = new Uint8Array(8);
const POLY_TAG = 16;

const chachaPoly: KeyCipher = {
  keySize: 64,
  vectorSize: 0,
  blockSize: 8,
  tagSize: POLY_TAG,
  decrypt({ chacha20 }, key, _vector, data) {
    const main = key.subarray(0, 32);
    const sealed = copy(data.subarray(0, data.length - POLY_TAG));
    const tag = chacha20.authenticate(main, FIRST_PACKET, sealed, new Uint8Array(0));
    if (!equalSecret(tag, data.subarray(sealed.length))) return undefined;
    return chacha20.apply(main, FIRST_PACKET, 1, sealed);
  },
  encrypt({ chacha20 }, key, _vector, data) {
    const main = key.subarray(0, 32);
    const sealed = chacha20.apply(main, FIRST_PACKET, 1, copy(data));
    return [sealed, chacha20.authenticate(main, FIRST_PACKET, sealed, new Uint8Array(0))];
  },
};

/** Every cipher that OpenSSH encrypts key files with, by its name. */
export const keyCiphers: ReadonlyMap<string, KeyCipher> = new Map<string, KeyCipher>([
  ['aes128-cbc', chaining('aes128-cbc', 16, 16)],
  ['aes192-cbc', chaining('aes192-cbc', 24, 16)],
  ['aes256-cbc', chaining('aes256-cbc', 32, 16)],
  ['3des-cbc', chaining('3des-cbc', 24, 8)],
  ['aes128-ctr', counterMode('aes128-ctr', 16)],
  ['aes192-ctr', counterMode('aes192-ctr', 24)],
  ['aes256-ctr', counterMode('aes256-ctr', 32)],
  ['aes128-gcm@openssh.com', galois('aes128-gcm', 16)],
  ['aes256-gcm@openssh.com', galois('aes256-gcm', 32)],
  ['chacha20-poly1305@openssh.com', chachaPoly],
]);

/** The row of a name; OpenSSH before 7.6 had another one for AES-256-CBC. */
export function namedCipher(name: string): KeyCipher | undefined {
  return keyCiphers.get(name === 'rijndael-cbc@lysator.liu.se' ? 'aes256-cbc' : name);
}

/** A row of the table that is known to be there. */
export function keyCipher(name: CbcName | 'aes256-ctr'): KeyCipher {
  return keyCiphers.get(name) as KeyCipher;
}

/** `data` filled up to whole blocks as PKCS#7 has it (RFC 5652 §6.3). */
export function padBlocks(data: Uint8Array, blockSize: number): Uint8Array {
  const count = blockSize - (data.length % blockSize);
  const padded = new Uint8Array(data.length + count).fill(count);
  padded.set(data);
  return padded;
}

/** What `padBlocks` was given, as a view; `undefined` if the padding is none. */
export function unpadBlocks(data: Uint8Array, blockSize: number): Uint8Array | undefined {
  const count = data.at(-1) ?? 0;
  if (count < 1 || count > blockSize || count > data.length) return undefined;
  const start = data.length - count;
  return data.subarray(start).every((byte) => byte === count) ? data.subarray(0, start) : undefined;
}
