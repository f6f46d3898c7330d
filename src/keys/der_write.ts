/** Writes the part of DER (X.690 §10) that key files use: each function gives one whole element. Knows no structure. */

import { concat } from '../bytes/bytes.ts';
import { trimZeros } from '../bytes/mpint.ts';

function element(tag: number, ...content: readonly Uint8Array[]): Uint8Array {
  const body = concat(...content);
  return concat(Uint8Array.of(tag, ...lengthOf(body.length)), body);
}

function lengthOf(length: number): number[] {
  if (length < 0x80) return [length];
  const digits: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) digits.unshift(rest % 256);
  return [0x80 | digits.length, ...digits];
}

/** SEQUENCE of elements. */
export function sequence(...elements: readonly Uint8Array[]): Uint8Array {
  return element(0x30, ...elements);
}

/** INTEGER: a number, or the unsigned one in big-endian bytes. */
export function integer(value: number | Uint8Array): Uint8Array {
  const bytes = typeof value === 'number' ? Uint8Array.from(base256(value)) : trimZeros(value);
  const [first] = bytes;
  return first === undefined || first >= 0x80 ? element(0x02, Uint8Array.of(0), bytes) : element(0x02, bytes);
}

function base256(value: number): number[] {
  const digits: number[] = [];
  for (let rest = value; rest > 0; rest = Math.floor(rest / 256)) digits.unshift(rest % 256);
  return digits;
}

/** OCTET STRING. */
export function octetString(bytes: Uint8Array): Uint8Array {
  return element(0x04, bytes);
}

/** BIT STRING of whole bytes. */
export function bitString(bytes: Uint8Array): Uint8Array {
  return element(0x03, Uint8Array.of(0), bytes);
}

/** NULL. */
export function nothing(): Uint8Array {
  return element(0x05);
}

/** OBJECT IDENTIFIER from its dotted form. */
export function oid(dotted: string): Uint8Array {
  const [first = 0, second = 0, ...others] = dotted.split('.').map(Number);
  return element(0x06, Uint8Array.from([first * 40 + second, ...others].flatMap(base128)));
}

/** X.690 §8.19.2: seven bits an octet, the top bit set in all but the last. */
function base128(arc: number): number[] {
  const digits = [arc % 128];
  for (let rest = Math.floor(arc / 128); rest > 0; rest = Math.floor(rest / 128)) digits.unshift(0x80 | (rest % 128));
  return digits;
}

/** The constructed context-specific element `[number]`. */
export function context(number: number, ...elements: readonly Uint8Array[]): Uint8Array {
  return element(0xa0 | number, ...elements);
}
