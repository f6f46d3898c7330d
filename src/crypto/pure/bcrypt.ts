/**
 * bcrypt_pbkdf, the key derivation of openssh-key-v1 (OpenSSH PROTOCOL.key §3): PBKDF2's structure over a bcrypt of 256 bits,
 * whose password and salt are SHA-512 digests. Its bytes of output are spread over the key, not laid one block after another.
 */

import { sha512 } from '@noble/hashes/sha2.js';
import { concat } from '../../bytes/bytes.ts';
import { utf8 } from '../../bytes/text.ts';
import { Blowfish, type Words16 } from './blowfish.ts';

const DIGEST = 32; // bytes that one bcrypt gives
const SCHEDULES = 64; // what bcrypt calls cost 6
const ENCRYPTIONS = 64;
const MAGIC = utf8('OxychromaticBlowfishSwatDynamite');

/** `size` bytes from a passphrase; each block of 32 of them costs `rounds` bcrypts of some 5 ms. */
export function bcryptPbkdf(password: Uint8Array, salt: Uint8Array, rounds: number, size: number): Uint8Array {
  const blocks = Math.ceil(size / DIGEST);
  const key = new Uint8Array(size);
  const state = new Blowfish();
  const passwordDigest = sha512(password);
  const secret = words(passwordDigest);
  for (let block = 0; block < blocks; block++) {
    const output = blockOf(state, secret, salt, block + 1, rounds);
    for (let i = 0, at = block; i < DIGEST && at < size; i++, at += blocks) key[at] = output[i] as number;
    output.fill(0);
  }
  passwordDigest.fill(0);
  secret.fill(0);
  state.wipe();
  return key;
}

function blockOf(state: Blowfish, secret: Words16, salt: Uint8Array, number: number, rounds: number): Uint8Array {
  const counter = Uint8Array.of(number >>> 24, number >>> 16, number >>> 8, number);
  let digest = bcrypt(state, secret, words(sha512(concat(salt, counter))));
  const output = digest.slice();
  for (let round = 1; round < rounds; round++) {
    digest = bcrypt(state, secret, words(sha512(digest)));
    for (let i = 0; i < DIGEST; i++) output[i] = (output[i] as number) ^ (digest[i] as number);
  }
  digest.fill(0);
  return output;
}

/** One bcrypt: 32 bytes, little-endian words as OpenBSD writes them. */
function bcrypt(state: Blowfish, secret: Words16, salt: Words16): Uint8Array {
  state.reset();
  state.expand(secret, salt);
  for (let i = 0; i < SCHEDULES; i++) {
    state.expand(salt);
    state.expand(secret);
  }
  const magic = new DataView(MAGIC.buffer, MAGIC.byteOffset, DIGEST);
  const block = new Int32Array(DIGEST / 4);
  for (let i = 0; i < block.length; i++) block[i] = magic.getInt32(4 * i);
  for (let at = 0; at < block.length; at += 2) {
    for (let i = 0; i < ENCRYPTIONS; i++) state.encrypt(block, at);
  }
  const output = new Uint8Array(DIGEST);
  const view = new DataView(output.buffer);
  for (let i = 0; i < block.length; i++) view.setInt32(4 * i, block[i] as number, true);
  return output;
}

function words(digest: Uint8Array): Words16 {
  const view = new DataView(digest.buffer, digest.byteOffset, digest.length);
  return Uint32Array.from({ length: 16 }, (_, i) => view.getUint32(4 * i));
}
