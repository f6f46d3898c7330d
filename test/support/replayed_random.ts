/** Seeded randomness that is computed once per seed and then replayed: hundreds of links begin with the same bytes. */

import type { RandomSource } from '../../src/crypto/provider.ts';
import { seededRandom } from './random.ts';

const SIZE = 16384;

const beginnings = new Map<string, { readonly bytes: Uint8Array; readonly rest: () => RandomSource }>();

/** A stream of its own for `seed`, from its beginning. */
export function replayedRandom(seed: string): RandomSource {
  let beginning = beginnings.get(seed);
  if (beginning === undefined) {
    const bytes = seededRandom(seed)(SIZE);
    beginning = { bytes, rest: () => seededRandom(`${seed}, going on`) };
    beginnings.set(seed, beginning);
  }
  const { bytes, rest } = beginning;
  let at = 0;
  let more: RandomSource | undefined;
  return (length) => {
    if (at + length > SIZE) {
      more ??= rest();
      return more(length);
    }
    at += length;
    return bytes.slice(at - length, at);
  };
}
