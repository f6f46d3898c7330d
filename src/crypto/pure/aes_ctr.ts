/**
 * AES in counter mode (SP 800-38A §6.5) as a stream that keeps its position. The only file that uses noble's `unsafe`
 * part: noble's own `ctr` is one-shot and expands the key at every call.
 */

import { unsafe } from '@noble/ciphers/aes.js';
import type { Stream, StreamName, StreamPrimitive } from '../provider.ts';
import { expectLength } from '../refuse.ts';
import { aligned } from './aligned.ts';

const BLOCK = 16;
const LOW_WORD = 12; // where the low 32 bits of the counter stand
const WRAP = 2 ** 32; // noble's fast path counts with the low word alone, so runs of blocks end where it wraps

class CounterStream implements Stream {
  readonly #roundKeys: Uint32Array;
  readonly #counter: Uint8Array;
  readonly #counterView: DataView;
  readonly #rest = new Uint8Array(BLOCK); // the key stream block of which only `#used` bytes were used
  #used = BLOCK;

  constructor(key: Uint8Array, counter: Uint8Array) {
    this.#roundKeys = unsafe.expandKeyLE(key);
    this.#counter = new Uint8Array(counter);
    this.#counterView = new DataView(this.#counter.buffer);
  }

  apply(data: Uint8Array): Uint8Array {
    const start = this.#useRest(data, 0);
    const end = start + Math.floor((data.length - start) / BLOCK) * BLOCK;
    if (end > start) {
      const blocks = data.subarray(start, end);
      const words = aligned(blocks);
      this.#blocks(words);
      if (words !== blocks) blocks.set(words);
    }
    if (end < data.length) {
      this.#rest.fill(0);
      this.#blocks(this.#rest);
      this.#used = 0;
      this.#useRest(data, end);
    }
    return data;
  }

  #useRest(data: Uint8Array, from: number): number {
    let at = from;
    while (at < data.length && this.#used < BLOCK) {
      data[at] = (data[at] as number) ^ (this.#rest[this.#used] as number);
      at += 1;
      this.#used += 1;
    }
    return at;
  }

  /** Whole blocks, 4-byte aligned. */
  #blocks(blocks: Uint8Array): void {
    for (let at = 0; at < blocks.length; ) {
      const untilWrap = (WRAP - this.#counterView.getUint32(LOW_WORD)) * BLOCK;
      const run = blocks.subarray(at, at + Math.min(untilWrap, blocks.length - at));
      unsafe.ctr32(this.#roundKeys, false, this.#counter, run, run);
      if (run.length === untilWrap) this.#carry();
      at += run.length;
    }
  }

  /** Adds one to the upper 96 bits. */
  #carry(): void {
    for (let i = LOW_WORD - 1; i >= 0; i--) {
      const next = ((this.#counter[i] as number) + 1) & 0xff;
      this.#counter[i] = next;
      if (next !== 0) return;
    }
  }
}

function counterMode(keySize: number): StreamPrimitive {
  return {
    keySize,
    create(key, counter) {
      expectLength(key, keySize, 'AES key');
      expectLength(counter, BLOCK, 'AES counter block');
      return new CounterStream(key, counter);
    },
  };
}

export const streams: Readonly<Record<StreamName, StreamPrimitive>> = {
  'aes128-ctr': counterMode(16),
  'aes192-ctr': counterMode(24),
  'aes256-ctr': counterMode(32),
};
