/** Multiple-precision integers: bytes ↔ bigint ↔ mpint of RFC 4251 §5. */

import { DecodeError } from './reader.ts';
import { hex } from './text.ts';

/** The unsigned big-endian integer in `bytes`. */
export function bigintFromBytes(bytes: Uint8Array): bigint {
  return bytes.length === 0 ? 0n : BigInt(`0x${hex(bytes)}`);
}

/** `value` (not negative) as exactly `length` big-endian bytes; leading zeros are kept. Throws if it does not fit. */
export function bytesFromBigint(value: bigint, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let rest = value;
  for (let i = length - 1; i >= 0; i--) {
    bytes[i] = Number(rest & 0xffn);
    rest >>= 8n;
  }
  if (rest !== 0n) throw new DecodeError(`Integer needs more than ${length} bytes`);
  return bytes;
}

/** `value` (not negative) in as few big-endian bytes as hold it; zero is no bytes. */
export function minimalBytes(value: bigint): Uint8Array {
  const digits = value === 0n ? '' : value.toString(16);
  return bytesFromBigint(value, Math.ceil(digits.length / 2));
}

/** The integer in `bytes` without leading zero bytes, as a view; zero is no bytes. */
export function trimZeros(bytes: Uint8Array): Uint8Array {
  let start = 0;
  while (start < bytes.length && bytes[start] === 0) start++;
  return bytes.subarray(start);
}

/** Bits of the integer in `bytes`; 0 for zero. */
export function bitLength(bytes: Uint8Array): number {
  const minimal = trimZeros(bytes);
  return minimal.length === 0 ? 0 : minimal.length * 8 - Math.clz32(minimal[0] as number) + 24;
}

/** The integer in `bytes` as exactly `length` bytes; `undefined` when it needs more. */
export function resizeInteger(bytes: Uint8Array, length: number): Uint8Array | undefined {
  const minimal = trimZeros(bytes);
  if (minimal.length > length) return undefined;
  const resized = new Uint8Array(length);
  resized.set(minimal, length - minimal.length);
  return resized;
}

/** The body of an mpint that holds the unsigned integer in `bytes`: no needless zeros, 00 before a set top bit. */
export function mpintBody(bytes: Uint8Array): Uint8Array {
  const minimal = trimZeros(bytes);
  if (minimal.length === 0 || (minimal[0] as number) < 0x80) return minimal;
  const padded = new Uint8Array(minimal.length + 1);
  padded.set(minimal, 1);
  return padded;
}
