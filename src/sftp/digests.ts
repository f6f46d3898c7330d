/**
 * Content as digests of its blocks, to compare two files of which each is read only once, or where only one can be read.
 * Blocks are counted from the first byte that is compared. SHA-256 (FIPS 180-4) is the runtime's.
 */

import { equalBytes } from '../bytes/bytes.ts';
import { SshError } from '../errors.ts';

/** Bytes in a block: large enough that a promise for each is cheap, and 100 GiB are 13 MB of digests. */
export const BLOCK: number = 256 * 1024;

/** SHA-256 of `bytes`. `not-supported` where the runtime has none, as browsers on pages without HTTPS. */
export async function sha256(bytes: Uint8Array): Promise<Uint8Array> {
  const { subtle } = crypto;
  if (subtle === undefined) throw new SshError('not-supported', 'SHA-256 wants a page that was loaded with HTTPS');
  return new Uint8Array(await subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>));
}

/** Takes the digests of what is given piece by piece, in order. */
export class BlockDigests {
  readonly digests: Uint8Array[] = [];
  readonly #block = new Uint8Array(BLOCK);
  #used = 0;

  /** Adds bytes, which may change once the promise has settled. One call at a time. */
  async add(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      const piece = bytes.subarray(at, at + BLOCK - this.#used);
      this.#block.set(piece, this.#used);
      this.#used += piece.length;
      at += piece.length;
      if (this.#used === BLOCK) await this.end();
    }
  }

  /** Ends a block that is not full. */
  async end(): Promise<void> {
    if (this.#used === 0) return;
    this.digests.push(await sha256(this.#block.subarray(0, this.#used)));
    this.#used = 0;
  }
}

/** Digests of blocks: `length` bytes from `position` on, both counted from the first byte that is compared. */
export type DigestsOf = (position: number, length: number) => Promise<readonly Uint8Array[]>;

/** Those of what can be read at any position; `origin` is where the first byte that is compared stands. */
export function digestsOfReader(
  read: (target: Uint8Array, position: number) => Promise<number>,
  origin: number,
  signal: AbortSignal | undefined,
): DigestsOf {
  return async (position, length) => {
    const blocks = new BlockDigests();
    const room = new Uint8Array(BLOCK);
    let left = length;
    for (let at = origin + position; left > 0 && !signal?.aborted; ) {
      const count = await read(room.subarray(0, Math.min(BLOCK, left)), at);
      if (count === 0) break; // shorter than it should be: the digests tell
      await blocks.add(room.subarray(0, count));
      at += count;
      left -= count;
    }
    await blocks.end();
    return blocks.digests;
  };
}

/** Those that were taken before, of all blocks. `position` is that of a block. */
export function digestsTaken(digests: readonly Uint8Array[]): DigestsOf {
  return async (position, length) => digests.slice(position / BLOCK, Math.ceil((position + length) / BLOCK));
}

/** Number of the first block that differs; `undefined`: none does. */
export function firstDifference(ours: readonly Uint8Array[], theirs: readonly Uint8Array[]): number | undefined {
  const count = Math.max(ours.length, theirs.length);
  for (let i = 0; i < count; i++) {
    const [own, their] = [ours[i], theirs[i]];
    if (own === undefined || their === undefined || !equalBytes(own, their)) return i;
  }
  return undefined;
}
