/**
 * The handles of a session: what is open, by the opaque strings that clients name it with (draft-ietf-secsh-filexfer-02 §6.3).
 * No handle is used twice, and none is valid in another session.
 */

import { equalBytes, putUint32, uint32At } from '../../bytes/bytes.ts';
import type { RandomSource } from '../../crypto/provider.ts';
import type { DirectoryLane } from './directory_lane.ts';
import type { FileLane } from './file_lane.ts';

/** What a handle stands for. */
export type OpenLane = FileLane | DirectoryLane;

/** A handle: what tells sessions apart, then a number. */
const TAG_LENGTH = 4;
const HANDLE_LENGTH = 8;

export class Handles {
  readonly #named = new Map<number, OpenLane>();
  /** Also what has no handle any more and is being closed. */
  readonly #open = new Set<OpenLane>();
  readonly #limit: number;
  readonly #tag: Uint8Array;
  #next = 0;

  constructor(limit: number, random: RandomSource) {
    this.#limit = limit;
    // a copy, because a random source may use its buffer again
    this.#tag = random(TAG_LENGTH).slice();
  }

  /** Whether one more may be open. */
  get room(): boolean {
    return this.#open.size < this.#limit;
  }

  /** Gives `lane` a handle. */
  add(lane: OpenLane): Uint8Array {
    while (this.#named.has(this.#next)) this.#next = (this.#next + 1) >>> 0;
    this.#named.set(this.#next, lane);
    this.#open.add(lane);
    const handle = new Uint8Array(HANDLE_LENGTH);
    handle.set(this.#tag);
    putUint32(handle, TAG_LENGTH, this.#next);
    this.#next = (this.#next + 1) >>> 0;
    return handle;
  }

  /** What is open under `handle`. */
  find(handle: Uint8Array): OpenLane | undefined {
    if (handle.length !== HANDLE_LENGTH || !equalBytes(handle.subarray(0, TAG_LENGTH), this.#tag)) return undefined;
    return this.#named.get(uint32At(handle, TAG_LENGTH));
  }

  /** Closes `lane`, whose handle is no more from now on, whatever comes of it. */
  async close(handle: Uint8Array, lane: OpenLane): Promise<void> {
    lane.closed = true;
    this.#named.delete(uint32At(handle, TAG_LENGTH));
    try {
      await lane.release();
    } finally {
      this.#open.delete(lane);
    }
  }

  get isEmpty(): boolean {
    return this.#open.size === 0;
  }

  /** Everything that is open. */
  get lanes(): readonly OpenLane[] {
    return [...this.#open];
  }
}
