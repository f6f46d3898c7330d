/**
 * Triple DES in cipher block chaining mode: FIPS 46-3, SP 800-67, for peers and key files that have nothing newer. Its tables
 * are read at places that depend on key and data, so it is not constant-time.
 */

import { putUint32, uint32At } from '../../bytes/bytes.ts';

/** The eight substitution boxes, row by row, a hexadecimal digit for each value. */
const BOXES = [
  'e4d12fb83a6c59070f74e2d1a6cb953841e8d62bfc973a50fc8249175b3ea06d',
  'f18e6b34972dc05a3d47f28ec01a69b50e7ba4d158c6932fd8a13f42b67c05e9',
  'a09e63f51dc7b428d709346a285ecbf1d6498f30b12c5ae71ad069874fe3b52c',
  '7de3069a1285bc4fd8b56f03472c1ae9a690cb7df13e52843f06a1d8945bc72e',
  '2c417ab6853fd0e9eb2c47d150fa3986421bad78f9c5630eb8c71e2d6f09a453',
  'c1af92680d34e75baf427c9561de0b389ef528c3704a1db6432c95fabe17608d',
  '4b2ef08d3c975a61d0b7491ae35c2f8614bdc37eaf6805926bd814a7950fe23c',
  'd2846fb1a93e50c71fd8a374c56b0e927b419ce206adf35821e74a8dfc90356b',
];

const listed = (text: string): readonly number[] => text.split(' ').map(Number);

/** Bit positions, the first bit being 1: permutation P, permuted choices 1 and 2; and by how much the halves of a key turn. */
const P = '16 7 20 21 29 12 28 17 1 15 23 26 5 18 31 10 2 8 24 14 32 27 3 9 19 13 30 6 22 11 4 25';
const CHOICE_1 =
  '57 49 41 33 25 17 9 1 58 50 42 34 26 18 10 2 59 51 43 35 27 19 11 3 60 52 44 36 ' +
  '63 55 47 39 31 23 15 7 62 54 46 38 30 22 14 6 61 53 45 37 29 21 13 5 28 20 12 4';
const CHOICE_2 =
  '14 17 11 24 1 5 3 28 15 6 21 10 23 19 12 4 26 8 16 7 27 20 13 2 ' +
  '41 52 31 37 47 55 30 40 51 45 33 48 44 49 39 56 34 53 46 42 50 36 29 32';
const TURNS = '1 1 2 2 2 2 2 2 1 2 2 2 2 2 2 1';

const HALF = 28;
const ROUNDS = 16;
const BLOCK = 8;

let boxes: Int32Array | undefined;

/** Each box with permutation P behind it: 8 × 64 words, made when they are first needed. */
function makeBoxes(): Int32Array {
  const words = new Int32Array(8 * 64);
  const from = listed(P);
  for (let box = 0; box < 8; box++) {
    for (let input = 0; input < 64; input++) {
      // the outer two bits choose the row, the inner four the column
      const place = ((input >> 5) * 2 + (input & 1)) * 16 + ((input >> 1) & 15);
      const value = Number.parseInt((BOXES[box] as string)[place] as string, 16) << (28 - 4 * box);
      let word = 0;
      for (let bit = 0; bit < 32; bit++) word |= ((value >>> (32 - (from[bit] as number))) & 1) << (31 - bit);
      words[box * 64 + input] = word;
    }
  }
  return words;
}

/**
 * The sixteen round keys, two words each: six bits in every byte, for boxes 2, 4, 6, 8 and for boxes 1, 3, 5, 7, as the
 * round below wants them.
 */
function schedule(key: Uint8Array): Int32Array {
  const words = new Int32Array(2 * ROUNDS);
  const bit = (place: number): number => ((key[(place - 1) >> 3] as number) >> (7 - ((place - 1) & 7))) & 1;
  const chosen = listed(CHOICE_1).map(bit);
  const second = listed(CHOICE_2);
  let turned = 0;
  listed(TURNS).forEach((turn, round) => {
    turned += turn;
    const bits = second.map((place) => {
      const half = place > HALF ? HALF : 0;
      return chosen[half + ((place - 1 - half + turned) % HALF)] as number;
    });
    for (let box = 0; box < 8; box++) {
      const six = bits.slice(6 * box, 6 * box + 6).reduce((value, next) => value * 2 + next, 0);
      const word = 2 * round + (box % 2 === 1 ? 0 : 1);
      words[word] = (words[word] as number) | (six << (24 - 8 * (box >> 1)));
    }
  });
  return words;
}

/** Round keys backwards: what deciphers. */
function reversed(keys: Int32Array): Int32Array {
  const words = new Int32Array(keys.length);
  for (let round = 0; round < ROUNDS; round++) {
    words.set(keys.subarray(2 * round, 2 * round + 2), 2 * (ROUNDS - 1 - round));
  }
  return words;
}

/** Three keys of eight bytes, one after the other; of each byte the lowest bit is not used. Each call goes on where the last ended. */
export class TripleDes {
  readonly #encipher = new Int32Array(6 * ROUNDS);
  readonly #decipher = new Int32Array(6 * ROUNDS);
  readonly #tables: Int32Array;
  /** The block before, and the block that is worked on. */
  #left: number;
  #right: number;
  #high = 0;
  #low = 0;

  constructor(key: Uint8Array, iv: Uint8Array) {
    boxes ??= makeBoxes();
    this.#tables = boxes;
    const keys = [0, 8, 16].map((at) => schedule(key.subarray(at, at + 8))) as [Int32Array, Int32Array, Int32Array];
    this.#encipher.set(keys[0], 0);
    this.#encipher.set(reversed(keys[1]), 2 * ROUNDS);
    this.#encipher.set(keys[2], 4 * ROUNDS);
    this.#decipher.set(reversed(keys[2]), 0);
    this.#decipher.set(keys[1], 2 * ROUNDS);
    this.#decipher.set(reversed(keys[0]), 4 * ROUNDS);
    this.#left = uint32At(iv, 0) | 0;
    this.#right = uint32At(iv, 4) | 0;
  }

  /** Enciphers whole blocks in place. */
  encrypt(data: Uint8Array): void {
    for (let at = 0; at < data.length; at += BLOCK) {
      this.#high = uint32At(data, at) ^ this.#left;
      this.#low = uint32At(data, at + 4) ^ this.#right;
      this.#block(this.#encipher);
      this.#left = this.#high;
      this.#right = this.#low;
      putUint32(data, at, this.#high);
      putUint32(data, at + 4, this.#low);
    }
  }

  /** Deciphers whole blocks in place. */
  decrypt(data: Uint8Array): void {
    for (let at = 0; at < data.length; at += BLOCK) {
      const left = uint32At(data, at) | 0;
      const right = uint32At(data, at + 4) | 0;
      this.#high = left;
      this.#low = right;
      this.#block(this.#decipher);
      putUint32(data, at, this.#high ^ this.#left);
      putUint32(data, at + 4, this.#low ^ this.#right);
      this.#left = left;
      this.#right = right;
    }
  }

  /** Three times sixteen rounds on `#high` and `#low`. Between them final and initial permutation cancel out. */
  #block(keys: Int32Array): void {
    const tables = this.#tables;
    let l = this.#high;
    let r = this.#low;
    let swap: number;
    // the initial permutation, by exchanging bits of the two halves
    swap = ((l >>> 4) ^ r) & 0x0f0f0f0f;
    r ^= swap;
    l ^= swap << 4;
    swap = ((l >>> 16) ^ r) & 0x0000ffff;
    r ^= swap;
    l ^= swap << 16;
    swap = ((r >>> 2) ^ l) & 0x33333333;
    l ^= swap;
    r ^= swap << 2;
    swap = ((r >>> 8) ^ l) & 0x00ff00ff;
    l ^= swap;
    r ^= swap << 8;
    swap = ((l >>> 1) ^ r) & 0x55555555;
    r ^= swap;
    l ^= swap << 1;
    for (let i = 0; i < 6 * ROUNDS; i += 2) {
      // expansion: the six bits for box 8, 6, 4 and 2 are at the lower end of each byte of `odd`, those of the others of `even`
      const odd = ((r << 1) | (r >>> 31)) ^ (keys[i] as number);
      const even = ((r << 29) | (r >>> 3)) ^ (keys[i + 1] as number);
      const mixed =
        (tables[(even >>> 24) & 63] as number) ^
        (tables[64 + ((odd >>> 24) & 63)] as number) ^
        (tables[128 + ((even >>> 16) & 63)] as number) ^
        (tables[192 + ((odd >>> 16) & 63)] as number) ^
        (tables[256 + ((even >>> 8) & 63)] as number) ^
        (tables[320 + ((odd >>> 8) & 63)] as number) ^
        (tables[384 + (even & 63)] as number) ^
        (tables[448 + (odd & 63)] as number);
      swap = l ^ mixed;
      l = r;
      r = swap;
      if (i === 2 * ROUNDS - 2 || i === 4 * ROUNDS - 2) {
        swap = l;
        l = r;
        r = swap;
      }
    }
    // the halves change places, and the final permutation undoes the initial one
    swap = l;
    l = r;
    r = swap;
    swap = ((l >>> 1) ^ r) & 0x55555555;
    r ^= swap;
    l ^= swap << 1;
    swap = ((r >>> 8) ^ l) & 0x00ff00ff;
    l ^= swap;
    r ^= swap << 8;
    swap = ((r >>> 2) ^ l) & 0x33333333;
    l ^= swap;
    r ^= swap << 2;
    swap = ((l >>> 16) ^ r) & 0x0000ffff;
    r ^= swap;
    l ^= swap << 16;
    swap = ((l >>> 4) ^ r) & 0x0f0f0f0f;
    r ^= swap;
    l ^= swap << 4;
    this.#high = l;
    this.#low = r;
  }
}
