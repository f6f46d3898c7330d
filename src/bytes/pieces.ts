/** Bytes in several pieces, one behind the other. Copies none of them. */

/** The pieces without their first `count` bytes, and without empty ones in front. */
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
