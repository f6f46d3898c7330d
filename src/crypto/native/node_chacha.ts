/**
 * ChaCha20 of `node:crypto`, and Poly1305 by way of its ChaCha20-Poly1305 (RFC 8439 §2.8), which is another construction than
 * SSH's: it pads what it authenticates to whole blocks and appends the lengths. Nothing here is trusted before its self test.
 *
 * Poly1305 is a polynomial in r over the integers modulo p = 2^130 − 5. Let h be its value after all whole blocks of the
 * message. Over the whole blocks alone the runtime computes v = (h + lengths)·r, and shows it modulo 2^128, behind the addition
 * of s. What SSH wants is (h + last block)·r = v + (last block − lengths)·r. Of v the two highest bits are missing, so up to
 * four values are possible; a second tag, over the message with its last block padded, says which it is. No runtime offers
 * Poly1305 itself, and two such tags cost a third of one in plain JavaScript.
 */

import { createCipheriv } from 'node:crypto';
import { plain } from '../../bytes/bytes.ts';
import type { ChaCha } from '../provider.ts';
import { chacha20 as pureChacha20 } from '../pure/chacha.ts';
import { expectLength } from '../refuse.ts';

/** Bytes of a message from which on the detour is faster than plain JavaScript. */
const WORTHWHILE = 4096;

const BLOCK = 16;
const P = 2n ** 130n - 5n;
const BIT_128 = 2n ** 128n;
/** What RFC 8439 §2.5 leaves of r. */
const CLAMP = 0x0ffffffc0ffffffc0ffffffc0fffffffn;
const ZEROS = new Uint8Array(32);
const NO_TEXT = { plaintextLength: 0 };

/** OpenSSL's `chacha20` takes counter and nonce as one value of 16 bytes, the counter little-endian (RFC 7539 order). */
const start = new Uint8Array(16);
const counterOfStart = new DataView(start.buffer);
/** The nonce of RFC 8439, which begins where the counter of 64 bits has its higher half. */
const aeadNonce = new Uint8Array(12);

export const chacha20: ChaCha = {
  apply(key, nonce, counter, data) {
    expectLength(key, 32, 'ChaCha20 key');
    expectLength(nonce, 8, 'ChaCha20 nonce');
    counterOfStart.setUint32(0, counter, true);
    start.set(nonce, 8);
    return plain(createCipheriv('chacha20', key, start).update(data));
  },

  authenticate(key, nonce, first, second) {
    const length = first.length + second.length;
    if (length < WORTHWHILE || second.length < BLOCK) return pureChacha20.authenticate(key, nonce, first, second);
    const oneTimeKey = chacha20.apply(key, nonce, 0, ZEROS);
    const r = integerAt(oneTimeKey, 0) & CLAMP;
    const s = integerAt(oneTimeKey, BLOCK);
    // 1 to 16 bytes
    const last = ((length - 1) % BLOCK) + 1;
    const before = second.subarray(0, second.length - last);
    const lastBlock = padded(second.subarray(before.length));
    const shown = modulo128(tagOver(key, nonce, first, before) - s);
    const shownOfAll = modulo128(tagOver(key, nonce, first, second) - s);
    for (let v = shown; v < P; v += BIT_128) {
      const hr = v - lengths(length - last) * r;
      if (modulo128(moduloP((hr + (lastBlock + BIT_128) * r + lengths(length)) * r)) !== shownOfAll) continue;
      return bytesOf(moduloP(hr + (lastBlock + (1n << BigInt(8 * last))) * r) + s);
    }
    return pureChacha20.authenticate(key, nonce, first, second);
  },
};

/** The tag of RFC 8439 §2.8 for no text and what is authenticated, as an integer. */
function tagOver(key: Uint8Array, nonce: Uint8Array, first: Uint8Array, second: Uint8Array): bigint {
  aeadNonce.set(nonce, 4);
  const cipher = createCipheriv('chacha20-poly1305', key, aeadNonce, { authTagLength: BLOCK });
  cipher.setAAD(first, NO_TEXT);
  cipher.setAAD(second, NO_TEXT);
  cipher.final();
  return integerAt(cipher.getAuthTag(), 0);
}

/** The block that ends the construction of RFC 8439, for no text. */
function lengths(authenticated: number): bigint {
  return BigInt(authenticated) + BIT_128;
}

/** 16 bytes, little-endian. */
function integerAt(bytes: Uint8Array, at: number): bigint {
  const view = new DataView(bytes.buffer, bytes.byteOffset + at, BLOCK);
  return view.getBigUint64(0, true) | (view.getBigUint64(8, true) << 64n);
}

/** At most 16 bytes, with zeros behind them. */
function padded(bytes: Uint8Array): bigint {
  const block = new Uint8Array(BLOCK);
  block.set(bytes);
  return integerAt(block, 0);
}

function bytesOf(value: bigint): Uint8Array {
  const tag = new Uint8Array(BLOCK);
  const view = new DataView(tag.buffer);
  view.setBigUint64(0, BigInt.asUintN(64, value), true);
  view.setBigUint64(8, BigInt.asUintN(64, value >> 64n), true);
  return tag;
}

function moduloP(value: bigint): bigint {
  const rest = value % P;
  return rest < 0n ? rest + P : rest;
}

function modulo128(value: bigint): bigint {
  return BigInt.asUintN(128, value);
}
