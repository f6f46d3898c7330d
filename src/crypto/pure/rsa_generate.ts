/**
 * New RSA keys on bigint: FIPS 186-5 A.1.3, with the search of C.3 sped up by a sieve. Takes a second for 2048 bits and some
 * ten for 4096; the time depends on the key, which nobody sees but who made it.
 */

import { invert, pow } from '@noble/curves/abstract/modular.js';
import { bigintFromBytes, minimalBytes } from '../../bytes/mpint.ts';
import type { RandomSource, RsaPrivateKey } from '../provider.ts';
import { refused } from '../refuse.ts';
import { checkNewBits } from '../rsa_rule.ts';

const EXPONENT = 65537n;
/** Primes below this are tried on all candidates at once; more would cost more than they spare. */
const SIEVE = 8192;
/** Odd numbers that are looked at from one random start. A prime of 8192 bits is among 2839 odd numbers on average. */
const WINDOW = 8192;
/** Rounds of Miller–Rabin: random candidates of 1024 bits pass as composites less often than 2^-112 (FIPS 186-5 table B.1). */
const ROUNDS = 5;
/** Draws of a start. Fifty windows without a prime do not happen. */
const MAX_DRAWS = 50;

let primes: readonly number[] | undefined;

/** The odd primes below `SIEVE`, made when they are needed. */
function smallPrimes(): readonly number[] {
  if (primes !== undefined) return primes;
  const composite = new Uint8Array(SIEVE);
  const found: number[] = [];
  for (let n = 3; n < SIEVE; n += 2) {
    if (composite[n] === 1) continue;
    found.push(n);
    for (let multiple = n * n; multiple < SIEVE; multiple += 2 * n) composite[multiple] = 1;
  }
  primes = found;
  return found;
}

/** An odd number of `bits` bits with both top bits set, so that a product of two has all its bits. */
function randomStart(bits: number, random: RandomSource): bigint {
  const size = Math.ceil(bits / 8);
  const drawn = bigintFromBytes(random(size)) & ((1n << BigInt(bits)) - 1n);
  return drawn | (3n << BigInt(bits - 2)) | 1n;
}

/** A number in 2..n-2. */
function randomBase(n: bigint, size: number, random: RandomSource): bigint {
  return (bigintFromBytes(random(size + 8)) % (n - 3n)) + 2n;
}

/** Miller–Rabin (FIPS 186-5 B.3.1). */
function isProbablePrime(n: bigint, size: number, random: RandomSource): boolean {
  let odd = n - 1n;
  let twos = 0;
  while ((odd & 1n) === 0n) {
    odd >>= 1n;
    twos++;
  }
  for (let round = 0; round < ROUNDS; round++) {
    let power = pow(randomBase(n, size, random), odd, n);
    if (power === 1n || power === n - 1n) continue;
    let left = twos - 1;
    while (left > 0 && power !== n - 1n) {
      power = (power * power) % n;
      left--;
    }
    if (power !== n - 1n) return false;
  }
  return true;
}

/** Which of start, start + 2, … have a small prime for a factor. */
function sieve(start: bigint): Uint8Array {
  const composite = new Uint8Array(WINDOW);
  for (const prime of smallPrimes()) {
    const rest = Number(start % BigInt(prime));
    // the first i with start + 2·i ≡ 0; (prime + 1) / 2 is the inverse of 2
    let i = (((prime - rest) % prime) * ((prime + 1) / 2)) % prime;
    for (; i < WINDOW; i += prime) composite[i] = 1;
  }
  return composite;
}

/** A prime p of `bits` bits such that p - 1 and the exponent have no common factor. */
function randomPrime(bits: number, random: RandomSource): bigint {
  const size = Math.ceil(bits / 8);
  for (let draw = 0; draw < MAX_DRAWS; draw++) {
    const start = randomStart(bits, random);
    const composite = sieve(start);
    for (let i = 0; i < WINDOW; i++) {
      if (composite[i] === 1) continue;
      const candidate = start + BigInt(2 * i);
      if (candidate >> BigInt(bits) !== 0n) break;
      if (candidate % EXPONENT !== 1n && isProbablePrime(candidate, size, random)) return candidate;
    }
  }
  throw refused(`The random source led to no prime in ${MAX_DRAWS} draws: it is broken`, 'local');
}

function gcd(a: bigint, b: bigint): bigint {
  let [x, y] = [a, b];
  while (y !== 0n) [x, y] = [y, x % y];
  return x;
}

/** A new key with a modulus of exactly `bits` bits; throws `crypto` for a size that there is not. */
export function generate(bits: number, random: RandomSource): RsaPrivateKey {
  checkNewBits(bits);
  const half = Math.ceil(bits / 2);
  for (let draw = 0; draw < MAX_DRAWS; draw++) {
    const p = randomPrime(half, random);
    const q = randomPrime(bits - half, random);
    // FIPS 186-5 A.1.3 step 5.5: primes close to each other are found by Fermat's method
    const distance = p > q ? p - q : q - p;
    if (distance === 0n) break;
    if (distance >> BigInt(half - 100) === 0n) continue;
    const lambda = ((p - 1n) / gcd(p - 1n, q - 1n)) * (q - 1n);
    const d = invert(EXPONENT, lambda);
    // step 3: a short exponent can be computed from the public key
    if (d >> BigInt(half) === 0n) continue;
    return {
      modulus: minimalBytes(p * q),
      exponent: minimalBytes(EXPONENT),
      privateExponent: minimalBytes(d),
      prime1: minimalBytes(p),
      prime2: minimalBytes(q),
      coefficient: minimalBytes(invert(q, p)),
    };
  }
  throw refused('The random source gives equal primes: it is broken', 'local');
}
