/**
 * Diffie-Hellman in groups of integers modulo a safe prime: the groups of RFC 2409 §6.2 and RFC 3526, computed when first used, and
 * any other that has passed its checks. Rules of RFC 8268 §4; holds no mathematics but what makes the primes.
 */

import { equalBytes } from '../bytes/bytes.ts';
import { bigintFromBytes, bitLength, bytesFromBigint, minimalBytes, mpintBody } from '../bytes/mpint.ts';
import { isAllZero, wipe } from '../bytes/secret.ts';
import { piFraction } from './pi.ts';
import type { Agreement, ModularPower, RandomSource } from './provider.ts';
import { expectLength, refused } from './refuse.ts';

/** A group; big-endian unsigned integers without leading zeros. */
export interface ModpGroup {
  readonly bits: number;
  readonly prime: Uint8Array;
  readonly generator: Uint8Array;
}

/** The sizes of the named groups: 1024 is group 2 of RFC 2409, which SSH calls group1; the others are 14 to 18 of RFC 3526. */
export type ModpBits = 1024 | 2048 | 3072 | 4096 | 6144 | 8192;

/** What the standards add to the bits of π in the middle, the least that makes a safe prime. */
const ADDENDS: Readonly<Record<ModpBits, bigint>> = {
  1024: 129093n,
  2048: 124476n,
  3072: 1690314n,
  4096: 240904n,
  6144: 929484n,
  8192: 4743158n,
};

/** 2^n − 2^(n−64) − 1 + 2^64 · (⌊2^(n−130) π⌋ + c). */
function primeOf(bits: ModpBits): bigint {
  const n = BigInt(bits);
  const pi = (3n << (n - 130n)) + piFraction(bits - 130);
  return (1n << n) - (1n << (n - 64n)) - 1n + ((pi + ADDENDS[bits]) << 64n);
}

const made = new Map<ModpBits, ModpGroup>();

/** A named group. The first call for one takes some milliseconds. */
export function modpGroup(bits: ModpBits): ModpGroup {
  let group = made.get(bits);
  if (group === undefined) {
    group = { bits, prime: bytesFromBigint(primeOf(bits), bits / 8), generator: Uint8Array.of(2) };
    made.set(bits, group);
  }
  return group;
}

/**
 * Bits of a private exponent by the bits of the prime: RFC 7919 §5.2 (twice the strength of the group, so that the exponent is not its
 * weaker part), in whole words, and as many as two keys of AES-128 at least. Longer ones are only slower (RFC 4419 §6.2).
 */
const EXPONENT_BITS: readonly (readonly [prime: number, exponent: number])[] = [
  [2048, 256],
  [3072, 288],
  [4096, 352],
  [6144, 384],
  [8192, 416],
];

function exponentBytes(bits: number): number {
  const row = EXPONENT_BITS.find(([most]) => bits <= most) ?? (EXPONENT_BITS.at(-1) as readonly [number, number]);
  return row[1] / 8;
}

/** The integer in the body of an mpint, if that is positive and has no needless zeros (RFC 4251 §5). */
export function positiveInteger(body: Uint8Array): bigint | undefined {
  const [first = 0x80, second = 0] = body;
  return first >= 0x80 || (first === 0 && second < 0x80) ? undefined : bigintFromBytes(body);
}

/**
 * Key agreement in `group`. Public values are bodies of mpints, so that the string which carries them is an mpint; what is not
 * between 2 and p − 2, or has needless zeros, is refused. Shared secrets are as wide as the prime.
 */
export function modpAgreement(power: ModularPower, { bits, prime, generator }: ModpGroup): Agreement {
  const size = exponentBytes(bits);
  const p = bigintFromBytes(prime);
  const publicValueOf = (secret: Uint8Array): Uint8Array => mpintBody(power(generator, secret, prime));
  const newSecret = (random: RandomSource): Uint8Array => {
    const secret = random(size);
    if (isAllZero(secret)) throw refused('The random source gave nothing but zeros: it is broken', 'local');
    return secret;
  };
  const sharedOf = (secret: Uint8Array, publicValue: Uint8Array): Uint8Array => {
    const value = positiveInteger(publicValue);
    if (value === undefined || value < 2n || value > p - 2n) {
      throw refused(`Public value for a group of ${bits} bits is not a number from 2 to p - 2`);
    }
    const shared = power(publicValue, secret, prime);
    // in a group with few elements, which nobody but its maker knows
    const s = bigintFromBytes(shared);
    if (s < 2n || s === p - 1n) throw refused(`Shared secret of a group of ${bits} bits is one that everyone knows`);
    return shared;
  };
  return {
    generate(random) {
      const secret = newSecret(random);
      return { secret, publicValue: publicValueOf(secret) };
    },
    respond(random, initiator) {
      const secret = newSecret(random);
      try {
        return { shared: sharedOf(secret, initiator), publicValue: publicValueOf(secret) };
      } finally {
        wipe(secret);
      }
    },
    finish(secret, responder) {
      expectLength(secret, size, 'Private exponent');
      return sharedOf(secret, responder);
    },
  };
}

const ROUNDS = 3; // each lets a composite pass with a probability of 1/4 at most, and of next to nothing if it was not made to

/** Above this a round takes too long for what it tells: half a second in JavaScript for 8192 bits. */
const MOST_TESTED_BITS = 4096;

/** Miller and Rabin's test of p ≡ 3 mod 4, where it needs one power a round (FIPS 186-5 B.3.1). */
function isProbablyPrime(power: ModularPower, random: RandomSource, p: Uint8Array): boolean {
  const value = bigintFromBytes(p);
  const half = bytesFromBigint((value - 1n) / 2n, p.length);
  for (let round = 0; round < ROUNDS; round++) {
    const base = random(p.length);
    base[0] = 0; // below p, whose first byte is not zero
    const result = bigintFromBytes(power(base, half, p));
    if (result !== 1n && result !== value - 1n) return false;
  }
  return true;
}

/**
 * The group of a peer: `prime` and `generator` are bodies of mpints. Throws `crypto`, fault peer, unless p has from `least` to `most`
 * bits, is 3 mod 4 as every safe prime is, is a named prime or passes for one, and 1 < g < p − 1.
 */
export function peerGroup(
  crypto: { readonly modularPower: ModularPower },
  random: RandomSource,
  prime: Uint8Array,
  generator: Uint8Array,
  { least, most }: { readonly least: number; readonly most: number },
): ModpGroup {
  const p = positiveInteger(prime) ?? 0n;
  const g = positiveInteger(generator) ?? 0n;
  const bits = p === 0n ? 0 : bitLength(prime);
  if (bits < least || bits > most) throw refused(`Prime of ${bits} bits: from ${least} to ${most} were asked for`);
  if ((p & 3n) !== 3n) throw refused(`Modulus of ${bits} bits is not a safe prime`);
  if (g <= 1n || g >= p - 1n) throw refused('Generator is not between 1 and p - 1');
  const group: ModpGroup = { bits, prime: minimalBytes(p), generator: minimalBytes(g) };
  if (bits > MOST_TESTED_BITS || isNamed(group) || isProbablyPrime(crypto.modularPower, random, group.prime)) {
    return group;
  }
  throw refused(`Modulus of ${bits} bits is not prime`);
}

function isNamed({ bits, prime }: ModpGroup): boolean {
  return Object.hasOwn(ADDENDS, bits) && equalBytes(modpGroup(bits as ModpBits).prime, prime);
}
