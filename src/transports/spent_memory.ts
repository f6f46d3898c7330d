/**
 * Which of the memory that a transport read into is free again. What was read last is used last, so that of everything
 * delivered only the end is ever in use: `spent` of a pipe says how much that is.
 */

import { releaseMemory } from '../bytes/release.ts';

interface Filled<M> {
  readonly memory: M;
  /** How many bytes had been delivered when the last one in this memory was. */
  end: number;
}

export class SpentMemory<M> {
  readonly #free: (memory: M) => void;
  readonly #filled: Filled<M>[] = [];
  #delivered = 0;

  /** `free` takes what is not in use any more. */
  constructor(free: (memory: M) => void) {
    this.#free = free;
  }

  /** `count` bytes in `memory` are about to be delivered, behind what is in it already. */
  deliver(memory: M, count: number): void {
    this.#delivered += count;
    const last = this.#filled[this.#filled.length - 1];
    if (last?.memory === memory) last.end = this.#delivered;
    else this.#filled.push({ memory, end: this.#delivered });
  }

  /** `count` bytes are about to be delivered that are in memory which must not come back. */
  pass(count: number): void {
    this.#delivered += count;
  }

  /** Only the last `kept` bytes are in use: all memory whose bytes came before them is free. */
  spent(kept: number): void {
    const used = this.#delivered - kept;
    for (let first = this.#filled[0]; first !== undefined && first.end <= used; first = this.#filled[0]) {
      this.#filled.shift();
      this.#free(first.memory);
    }
  }

  /** Nobody says what is in use: none of it comes back. */
  forget(): void {
    this.#filled.length = 0;
  }
}

/** Chunks that have memory of their own, freed once they are not used any more. */
export class SpentChunks {
  readonly #memory = new SpentMemory<Uint8Array>(releaseMemory);
  #told = false;

  /** Gives `to` the chunk, which is its own from now on, unless it calls `spent` before it returns. */
  deliver(chunk: Uint8Array, to: (chunk: Uint8Array) => void): void {
    this.#memory.deliver(chunk, chunk.length);
    this.#told = false;
    to(chunk);
    if (!this.#told) this.#memory.forget();
  }

  /** Of all that was delivered, none but the last `kept` bytes are in use. */
  spent(kept: number): void {
    this.#told = true;
    this.#memory.spent(kept);
  }
}
