/**
 * Blowfish (B. Schneier, 1993) as bcrypt uses it: the key schedule with a salt, and encryption. Its first state is the fraction
 * of π, computed once. Tables are read at secret indices, which is how the cipher is made: for key files only.
 */

import { piFraction } from '../pi.ts';

const SUBKEYS = 18;
const BOX = 256;
const BOXES = 4 * BOX;

let pi: Uint32Array | undefined;

/** The first 18 + 1024 words of the fraction of π. */
function firstState(): Uint32Array {
  if (pi !== undefined) return pi;
  const words = new Uint32Array(SUBKEYS + BOXES);
  const digits = piFraction(32 * words.length)
    .toString(16)
    .padStart(8 * words.length, '0');
  for (let i = 0; i < words.length; i++) words[i] = Number.parseInt(digits.slice(8 * i, 8 * i + 8), 16);
  pi = words;
  return words;
}

/** The big-endian words of 64 bytes. */
export type Words16 = Uint32Array;

const NO_SALT: Words16 = new Uint32Array(16);

/** A Blowfish state. Each of its methods mixes more into it. */
export class Blowfish {
  readonly #keys = new Int32Array(SUBKEYS);
  readonly #boxes = new Int32Array(BOXES);

  /** Goes back to the fraction of π. */
  reset(): void {
    const state = firstState();
    this.#keys.set(state.subarray(0, SUBKEYS));
    this.#boxes.set(state.subarray(SUBKEYS));
  }

  /** The key schedule: `key` into the subkeys, then everything replaced by encryptions, with `salt` mixed in if there is one. */
  expand(key: Words16, salt: Words16 = NO_SALT): void {
    const keys = this.#keys;
    for (let i = 0; i < SUBKEYS; i++) keys[i] = (keys[i] as number) ^ (key[i & 15] as number);
    const block = new Int32Array(2);
    this.#replace(keys, block, salt, 0);
    this.#replace(this.#boxes, block, salt, SUBKEYS);
  }

  /** `at` is the word of the salt to begin with. Where all the time of bcrypt goes: nothing here leaves its local variables. */
  #replace(target: Int32Array, block: Int32Array, salt: Words16, at: number): void {
    const keys = this.#keys;
    const boxes = this.#boxes;
    let left = block[0] as number;
    let right = block[1] as number;
    for (let i = 0; i < target.length; i += 2) {
      left ^= (salt[(at + i) & 15] as number) ^ (keys[0] as number);
      right ^= salt[(at + i + 1) & 15] as number;
      for (let round = 1; round < 16; round += 2) {
        right ^=
          ((((boxes[left >>> 24] as number) + (boxes[256 + ((left >>> 16) & 255)] as number)) ^
            (boxes[512 + ((left >>> 8) & 255)] as number)) +
            (boxes[768 + (left & 255)] as number)) ^
          (keys[round] as number);
        left ^=
          ((((boxes[right >>> 24] as number) + (boxes[256 + ((right >>> 16) & 255)] as number)) ^
            (boxes[512 + ((right >>> 8) & 255)] as number)) +
            (boxes[768 + (right & 255)] as number)) ^
          (keys[round + 1] as number);
      }
      const swapped = right ^ (keys[17] as number);
      right = left;
      left = swapped;
      target[i] = left;
      target[i + 1] = right;
    }
    block[0] = left;
    block[1] = right;
  }

  /** Encrypts the two words at `at` in place. */
  encrypt(words: Int32Array, at: number): void {
    const keys = this.#keys;
    let left = (words[at] as number) ^ (keys[0] as number);
    let right = words[at + 1] as number;
    for (let round = 1; round < 16; round += 2) {
      right ^= this.#mix(left) ^ (keys[round] as number);
      left ^= this.#mix(right) ^ (keys[round + 1] as number);
    }
    words[at] = right ^ (keys[17] as number);
    words[at + 1] = left;
  }

  #mix(half: number): number {
    const boxes = this.#boxes;
    const [a, b] = [boxes[half >>> 24] as number, boxes[256 + ((half >>> 16) & 255)] as number];
    return ((a + b) ^ (boxes[512 + ((half >>> 8) & 255)] as number)) + (boxes[768 + (half & 255)] as number);
  }

  /** Overwrites the state. */
  wipe(): void {
    this.#keys.fill(0);
    this.#boxes.fill(0);
  }
}
