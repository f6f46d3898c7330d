/** Cutting byte streams into chunks, the ways in which every wire test is fed. Knows no protocol. */

import type { RandomSource } from '../../src/crypto/provider.ts';

/** `whole`: everything that is there in one chunk; `bytes`: one byte at a time; `random`: mostly small pieces. */
export type Chunking = 'whole' | 'bytes' | 'random';

export const chunkings: readonly Chunking[] = ['whole', 'bytes', 'random'];

/** A number from 0 to `below` - 1; slightly uneven, which does not matter here. `below` is at most 65536. */
export function drawBelow(random: RandomSource, below: number): number {
  const [high = 0, low = 0] = random(2);
  return ((high << 8) | low) % below;
}

/** `bytes` as copies in pieces that together are the same. */
export function cut(bytes: Uint8Array, chunking: Chunking, random: RandomSource): Uint8Array[] {
  if (chunking === 'whole') return bytes.length === 0 ? [] : [bytes.slice()];
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const size = chunking === 'bytes' ? 1 : pieceSize(random);
    pieces.push(bytes.slice(at, at + size));
    at += size;
  }
  return pieces;
}

/** Half of the pieces are so small that they end inside headers; the others are up to two large packets. */
function pieceSize(random: RandomSource): number {
  const small = drawBelow(random, 2) === 0;
  return 1 + drawBelow(random, small ? 24 : 65536);
}
