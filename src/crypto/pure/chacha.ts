/** ChaCha20 with a 64-bit nonce, as D. J. Bernstein defined it, and Poly1305 (RFC 8439 §2.5), by noble. */

import { poly1305 as noblePoly1305 } from '@noble/ciphers/_poly1305.js';
import { chacha20orig } from '@noble/ciphers/chacha.js';
import { memoryFor } from '../../bytes/release.ts';
import type { ChaCha } from '../provider.ts';
import { expectLength } from '../refuse.ts';

const CHACHA_KEY = 32;
const CHACHA_NONCE = 8;
const ONE_TIME_KEY = 32;

export const chacha20: ChaCha = {
  apply(key, nonce, counter, data) {
    expectLength(key, CHACHA_KEY, 'ChaCha20 key'); // noble would take 16 bytes too
    expectLength(nonce, CHACHA_NONCE, 'ChaCha20 nonce');
    // a copy lies on a word boundary, as noble's fast path wants it, and has memory of its own, which can be used again
    const words = memoryFor(data.length);
    words.set(data);
    chacha20orig(key, nonce, words, words, counter);
    return words;
  },
  authenticate(key, nonce, first, second) {
    return poly1305(chacha20.apply(key, nonce, 0, new Uint8Array(ONE_TIME_KEY)), first, second);
  },
};

/** The tag, of 16 bytes, of `first` ‖ `second` under a key for one use (RFC 8439 §2.5). */
export function poly1305(key: Uint8Array, first: Uint8Array, second: Uint8Array): Uint8Array {
  expectLength(key, ONE_TIME_KEY, 'Poly1305 key');
  return noblePoly1305.create(key).update(first).update(second).digest();
}
