/**
 * How polynomials of sntrup761 are written as bytes (NTRU Prime round 3 specification, §3.2.4–3.2.6): coefficients of any size as digits in a
 * mixed radix, and small ones in two bits each. What is secret is only ever encoded; decoding divides, which no secret may see,
 * but for small polynomials.
 */

import { HALF_Q, newPoly, P, type Poly, Q } from './sntrup_poly.ts';

/** Below this a digit waits to be joined with the next; from it on bytes leave. */
const LIMIT = 16384;

/** Appends to `out` the digits, each below its radix. Digits are consumed. */
function encodeDigits(digits: number[], radices: readonly number[], out: number[]): void {
  let values = digits;
  let limits = radices;
  while (values.length > 1) {
    const nextValues: number[] = [];
    const nextLimits: number[] = [];
    for (let i = 0; i + 1 < values.length; i += 2) {
      const radix = limits[i] as number;
      let value = (values[i] as number) + (values[i + 1] as number) * radix;
      let limit = (limits[i + 1] as number) * radix;
      while (limit >= LIMIT) {
        out.push(value & 0xff);
        value >>= 8;
        limit = (limit + 255) >> 8;
      }
      nextValues.push(value);
      nextLimits.push(limit);
    }
    if (values.length % 2 === 1) {
      nextValues.push(values.at(-1) as number);
      nextLimits.push(limits.at(-1) as number);
    }
    values = nextValues;
    limits = nextLimits;
  }
  let value = values[0] as number;
  for (let limit = limits[0] as number; limit > 1; limit = (limit + 255) >> 8) {
    out.push(value & 0xff);
    value >>= 8;
  }
}

/** One level of the way back: what each pair of digits was joined to, and the bytes that left then. */
interface Level {
  readonly radices: readonly number[];
  /** For each pair: the bytes that left, as a number, and 256^(how many they were). */
  readonly low: readonly number[];
  readonly scale: readonly number[];
}

/** The digits that `bytes` hold; each is reduced by its radix. `bytes` has the length that the radices ask for. */
function decodeDigits(bytes: Uint8Array, radices: readonly number[]): number[] {
  const levels: Level[] = [];
  let at = 0;
  let limits = radices;
  while (limits.length > 1) {
    const next: number[] = [];
    const low: number[] = [];
    const scale: number[] = [];
    for (let i = 0; i + 1 < limits.length; i += 2) {
      let limit = (limits[i] as number) * (limits[i + 1] as number);
      let value = 0;
      let unit = 1;
      while (limit >= LIMIT) {
        value += (bytes[at++] as number) * unit;
        unit *= 256;
        limit = (limit + 255) >> 8;
      }
      low.push(value);
      scale.push(unit);
      next.push(limit);
    }
    if (limits.length % 2 === 1) next.push(limits.at(-1) as number);
    levels.push({ radices: limits, low, scale });
    limits = next;
  }
  let top = 0;
  let unit = 1;
  for (let limit = limits[0] as number; limit > 1; limit = (limit + 255) >> 8) {
    top += (bytes[at++] as number) * unit;
    unit *= 256;
  }
  let digits = [top % (limits[0] as number)];
  for (const level of levels.reverse()) digits = splitDigits(digits, level);
  return digits;
}

function splitDigits(joined: readonly number[], { radices, low, scale }: Level): number[] {
  const digits: number[] = [];
  for (let i = 0; i < low.length; i++) {
    const value = (low[i] as number) + (scale[i] as number) * (joined[i] as number);
    const radix = radices[2 * i] as number;
    digits.push(value % radix, Math.floor(value / radix) % (radices[2 * i + 1] as number));
  }
  if (radices.length % 2 === 1) digits.push(joined.at(-1) as number);
  return digits;
}

const radices = (radix: number): readonly number[] => new Array<number>(P).fill(radix);
const PUBLIC_RADICES = radices(Q);
/** Rounded coefficients are the multiples of 3 among the centred ones. */
const ROUNDED_RADICES = radices((Q + 2) / 3);

export const PUBLIC_SIZE = 1158;
export const ROUNDED_SIZE = 1007;
export const SMALL_SIZE = 191;

/** A polynomial modulo q, in 1158 bytes. */
export function encodePublic(poly: Poly): Uint8Array {
  const out: number[] = [];
  encodeDigits(
    Array.from(poly, (x) => x + HALF_Q),
    PUBLIC_RADICES,
    out,
  );
  return Uint8Array.from(out);
}

export function decodePublic(bytes: Uint8Array): Poly {
  return Int32Array.from(decodeDigits(bytes, PUBLIC_RADICES), (x) => x - HALF_Q);
}

/** A rounded polynomial modulo q, in 1007 bytes. x + 2295 is a multiple of 3 up to 4590: 10923 / 2^15 divides it exactly. */
export function encodeRounded(poly: Poly): Uint8Array {
  const out: number[] = [];
  encodeDigits(
    Array.from(poly, (x) => ((x + HALF_Q) * 10923) >> 15),
    ROUNDED_RADICES,
    out,
  );
  return Uint8Array.from(out);
}

export function decodeRounded(bytes: Uint8Array): Poly {
  return Int32Array.from(decodeDigits(bytes, ROUNDED_RADICES), (x) => 3 * x - HALF_Q);
}

/** A small polynomial, in 191 bytes: coefficient + 1 in two bits, four a byte, the first in the lowest; the last byte holds one. */
export function encodeSmall(poly: Poly): Uint8Array {
  const bytes = new Uint8Array(SMALL_SIZE);
  for (let i = 0; i < P; i++) bytes[i >> 2] = (bytes[i >> 2] as number) | (((poly[i] as number) + 1) << (2 * (i & 3)));
  return bytes;
}

export function decodeSmall(bytes: Uint8Array): Poly {
  const poly = newPoly();
  for (let i = 0; i < P; i++) poly[i] = (((bytes[i >> 2] as number) >> (2 * (i & 3))) & 3) - 1;
  return poly;
}
