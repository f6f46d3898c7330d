/** Blocks of zeros, which sparse files leave out. */

/** Whether all bytes are zero. */
export function isZero(bytes: Uint8Array): boolean {
  const { length } = bytes;
  // most content shows what it is at once
  if (length > 0 && (bytes[0] !== 0 || bytes[length - 1] !== 0)) return false;
  for (let i = 0; i < length; i++) if (bytes[i] !== 0) return false;
  return true;
}

/**
 * The pieces, which stand one behind the other from `position` on, as runs to be written: without those that are zeros
 * and lie behind `from`, where nothing is yet.
 */
export function denseRuns(
  pieces: readonly Uint8Array[],
  position: number,
  from: number,
): readonly (readonly [pieces: readonly Uint8Array[], position: number])[] {
  const runs: [Uint8Array[], number][] = [];
  let at = position;
  let open: Uint8Array[] | undefined;
  for (const piece of pieces) {
    if (at >= from && isZero(piece)) open = undefined;
    else if (open === undefined) {
      open = [piece];
      runs.push([open, at]);
    } else open.push(piece);
    at += piece.length;
  }
  return runs;
}
