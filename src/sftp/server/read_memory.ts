/**
 * Memory for what is read from files, used again once its bytes have left: a file of a gibibyte would otherwise be made of as
 * much memory, which a runtime collects long after. Only for pipes that tell what has left. Knows no files.
 */

import type { BytePipe } from '../../io/pipe.ts';
import { READ_BATCH } from './limits.ts';

/** Pieces that are kept for later: what a full pipe has on the way, and a few that are being read. */
const KEPT = 8;

/** Memory whose bytes were handed to the pipe, all of them before `end`. */
interface Lent {
  readonly memory: Uint8Array;
  readonly end: number;
}

export class ReadMemory {
  readonly #pipe: Pick<BytePipe, 'unsent'>;
  readonly #free: Uint8Array[] = [];
  readonly #lent: Lent[] = [];

  constructor(pipe: Pick<BytePipe, 'unsent'>) {
    this.#pipe = pipe;
  }

  /** Memory of `READ_BATCH` bytes; nothing where it could not be used again. `written`: bytes that the pipe was handed. */
  take(written: number): Uint8Array | undefined {
    const { unsent } = this.#pipe;
    if (unsent === undefined) return undefined;
    const left = written - unsent;
    for (let first = this.#lent[0]; first !== undefined && first.end <= left; first = this.#lent[0]) {
      this.#lent.shift();
      this.give(first.memory);
    }
    return this.#free.pop() ?? new Uint8Array(READ_BATCH);
  }

  /** Memory that nobody needs. */
  give(memory: Uint8Array): void {
    if (this.#free.length < KEPT) this.#free.push(memory);
  }

  /** Memory whose bytes are among those before `end` of what the pipe is handed. */
  lend(memory: Uint8Array, end: number): void {
    this.#lent.push({ memory, end });
  }

  /** No file is open: nothing is kept. */
  forget(): void {
    this.#free.length = 0;
    this.#lent.length = 0;
  }
}
