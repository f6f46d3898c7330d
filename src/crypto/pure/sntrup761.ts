/**
 * Streamlined NTRU Prime with the parameter set sntrup761 (NTRU Prime round 3 specification; draft-josefsson-ntruprime-streamlined), as
 * OpenSSH has had it by default since 9.0. Written for this library, in time that does not depend on secrets as far as JavaScript
 * lets it (`sntrup_poly.ts`). A ciphertext that was tampered with gives a secret that nobody else has.
 */

import { concat } from '../../bytes/bytes.ts';
import { wipe } from '../../bytes/secret.ts';
import type { Kem, RandomSource } from '../provider.ts';
import { expectLength, expectPeerLength, refused } from '../refuse.ts';
import { hashes } from './hash.ts';
import {
  decodePublic,
  decodeRounded,
  decodeSmall,
  encodePublic,
  encodeRounded,
  encodeSmall,
  PUBLIC_SIZE,
  ROUNDED_SIZE,
  SMALL_SIZE,
} from './sntrup_code.ts';
import { invert3, invertTriple, mod3, modQ, multiply, newPoly, nonZeroMask, P, type Poly, W } from './sntrup_poly.ts';
import { sortInt32 } from './sort.ts';

const MAX_DRAWS = 16; // hardly any polynomial has no inverse: a second draw is rare

const HASH_SIZE = 32;
const CIPHERTEXT_SIZE = ROUNDED_SIZE + HASH_SIZE;
/** f, 1/g, the public key, ρ, the cached hash of the public key. */
const SECRET_SIZE = 2 * SMALL_SIZE + PUBLIC_SIZE + SMALL_SIZE + HASH_SIZE;

/** The first half of SHA-512 of a prefix byte and `parts` (§3.3.4). */
function hash(prefix: number, ...parts: readonly Uint8Array[]): Uint8Array {
  const message = concat(Uint8Array.of(prefix), ...parts);
  const digest = hashes.sha512.digest(message).slice(0, HASH_SIZE);
  wipe(message);
  return digest;
}

/** 761 random numbers of 32 bits, little-endian. */
function drawWords(random: RandomSource): Int32Array<ArrayBuffer> {
  const bytes = random(4 * P);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const words = newPoly();
  for (let i = 0; i < P; i++) words[i] = view.getInt32(4 * i, true);
  wipe(bytes);
  return words;
}

/** Coefficients that are each −1, 0 or 1, all as likely but for 2^−30. */
function drawSmall(random: RandomSource): Poly {
  const words = drawWords(random);
  for (let i = 0; i < P; i++) words[i] = ((((words[i] as number) & 0x3fffffff) * 3) >>> 30) - 1;
  return words;
}

/** A small polynomial with 286 coefficients that are not zero, each sequence as likely: shuffled by sorting. */
function drawShort(random: RandomSource): Poly {
  const words = drawWords(random);
  // the lowest two bits become the coefficient; the sign is turned so that signed comparison orders unsigned words
  for (let i = 0; i < P; i++) {
    const word = words[i] as number;
    words[i] = (i < W ? word & -2 : (word & -3) | 1) ^ -0x80000000;
  }
  sortInt32(words);
  for (let i = 0; i < P; i++) words[i] = ((words[i] as number) & 3) - 1;
  return words;
}

/** Coefficients rounded to the nearest multiple of 3. */
function round(poly: Poly): Poly {
  return poly.map((x) => x - mod3(x));
}

function encrypt(r: Poly, h: Poly): Uint8Array {
  return encodeRounded(round(multiply(h, r, modQ)));
}

/** −1 if the polynomial has 286 coefficients that are not zero, else 0. */
function weightMask(poly: Poly): number {
  let weight = 0;
  for (let i = 0; i < P; i++) weight += (poly[i] as number) & 1;
  return ~nonZeroMask(weight - W);
}

/** The r that was encrypted; of a ciphertext that encrypts none, another one of the right weight. */
function decrypt(ciphertext: Uint8Array, f: Poly, inverse: Poly): Poly {
  const product = multiply(decodeRounded(ciphertext), f, modQ);
  const e = product.map((x) => mod3(modQ(3 * x)));
  const r = multiply(e, inverse, mod3);
  const mask = weightMask(r);
  for (let i = 0; i < W; i++) r[i] = (((r[i] as number) ^ 1) & mask) ^ 1;
  for (let i = W; i < P; i++) r[i] = (r[i] as number) & mask;
  return r;
}

/** What r becomes under a public key: the ciphertext with its confirmation. `encoded` is r in bytes. */
function hide(r: Poly, encoded: Uint8Array, publicKey: Uint8Array, cached: Uint8Array): Uint8Array {
  const inner = hash(3, encoded);
  const confirmation = hash(2, inner, cached);
  wipe(inner);
  return concat(encrypt(r, decodePublic(publicKey)), confirmation);
}

/** The session key; `prefix` 1, or 0 where the ciphertext is rejected. */
function session(prefix: number, encoded: Uint8Array, ciphertext: Uint8Array): Uint8Array {
  const inner = hash(3, encoded);
  const shared = hash(prefix, inner, ciphertext);
  wipe(inner);
  return shared;
}

/** A small polynomial and its inverse modulo 3. That a draw has none tells nothing of the one that is used. */
function drawInvertible(random: RandomSource): { readonly g: Poly; readonly inverse: Poly } {
  for (let draw = 0; draw < MAX_DRAWS; draw++) {
    const g = drawSmall(random);
    const { inverse, invertible } = invert3(g);
    if (invertible !== 0) return { g, inverse };
  }
  throw refused(`The random source gave nothing invertible in ${MAX_DRAWS} draws: it is broken`, 'local');
}

function generate(random: RandomSource): ReturnType<Kem['generate']> {
  const { g, inverse } = drawInvertible(random);
  const f = drawShort(random);
  const publicValue = encodePublic(multiply(invertTriple(f), g, modQ));
  const rho = random(SMALL_SIZE);
  const secret = concat(encodeSmall(f), encodeSmall(inverse), publicValue, rho, hash(4, publicValue));
  for (const poly of [f, g, inverse]) poly.fill(0);
  wipe(rho);
  return { secret, publicValue };
}

export const sntrup761: Kem = {
  publicSize: PUBLIC_SIZE,
  secretSize: SECRET_SIZE,
  ciphertextSize: CIPHERTEXT_SIZE,
  sharedSize: HASH_SIZE,
  generate,
  encapsulate(random, publicValue) {
    expectPeerLength(publicValue, PUBLIC_SIZE, 'sntrup761 public key');
    const r = drawShort(random);
    const encoded = encodeSmall(r);
    const ciphertext = hide(r, encoded, publicValue, hash(4, publicValue));
    const shared = session(1, encoded, ciphertext);
    r.fill(0);
    wipe(encoded);
    return { ciphertext, shared };
  },
  decapsulate(secret, ciphertext) {
    expectLength(secret, SECRET_SIZE, 'sntrup761 secret');
    expectPeerLength(ciphertext, CIPHERTEXT_SIZE, 'sntrup761 ciphertext');
    const part = (start: number, size: number): Uint8Array => secret.subarray(start, start + size);
    const [f, inverse] = [decodeSmall(part(0, SMALL_SIZE)), decodeSmall(part(SMALL_SIZE, SMALL_SIZE))];
    const publicKey = part(2 * SMALL_SIZE, PUBLIC_SIZE);
    const rho = part(2 * SMALL_SIZE + PUBLIC_SIZE, SMALL_SIZE);
    const r = decrypt(ciphertext.subarray(0, ROUNDED_SIZE), f, inverse);
    const encoded = encodeSmall(r);
    const again = hide(r, encoded, publicKey, part(SECRET_SIZE - HASH_SIZE, HASH_SIZE));
    let difference = 0;
    for (let i = 0; i < CIPHERTEXT_SIZE; i++) difference |= (again[i] as number) ^ (ciphertext[i] as number);
    const rejected = nonZeroMask(difference); // −1 or 0
    for (let i = 0; i < SMALL_SIZE; i++) {
      encoded[i] = (encoded[i] as number) ^ (rejected & ((encoded[i] as number) ^ (rho[i] as number)));
    }
    const shared = session(1 + rejected, encoded, ciphertext);
    for (const poly of [f, inverse, r]) poly.fill(0);
    wipe(encoded);
    return shared;
  },
};
