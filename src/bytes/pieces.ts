/** Bytes in several pieces, one behind the other. */

import { join } from './bytes.ts';

/** An array costs some hundred bytes beside its content: of shorter ones the most is that. */
const SHORT = 1024;

/** `pieces`, in one where they are short on average: for bytes that may wait long. `size`: of all together. */
export function packed(pieces: readonly Uint8Array[], size: number): readonly Uint8Array[] {
  return pieces.length > 1 && size < pieces.length * SHORT ? [join(pieces)] : pieces;
}

/** The pieces without their first `count` bytes, and without empty ones in front. Copies nothing. */
export function piecesAfter(pieces: readonly Uint8Array[], count: number): readonly Uint8Array[] {
  let left = count;
  let first = 0;
  while (first < pieces.length && left >= (pieces[first] as Uint8Array).length) {
    left -= (pieces[first] as Uint8Array).length;
    first++;
  }
  if (first === 0 && left === 0) return pieces;
  const rest = pieces.slice(first);
  if (left > 0) rest[0] = (rest[0] as Uint8Array).subarray(left);
  return rest;
}
