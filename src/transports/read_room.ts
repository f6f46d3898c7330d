/**
 * Memory for a stream that reads into what it is given: what has come lies side by side, so that a packet that two reads
 * brought need not be copied together. What is not used any more is read into again, so that a gibibyte leaves nothing to
 * collect; what may be in use for ever never is. It grows while reads fill it and shrinks when they bring little, since a read
 * that waits needs its memory all the while: a thousand idle connections must not hold a thousand large pieces.
 */

import { SpentMemory } from './spent_memory.ts';

/** Memory that is taken at a time, at most. */
const LARGEST = 256 * 1024;
/** A room this many times smaller than what is taken at a time is not worth a read. */
const REST = 4;
/** A read of so few bytes is small; as many in a row are no bulk transfer. */
const SMALL_READ = 2048;
const SMALL_READS = 8;
/** Pieces of memory kept: what a packet in the middle of which a read ended needs, and one more. */
const SPARE = 2;

export class ReadRoom {
  readonly #least: number;
  readonly #memory = new SpentMemory<Uint8Array>((slab) => this.#free(slab));
  readonly #spare: Uint8Array[] = [];
  #size: number;
  #slab: Uint8Array;
  #used = 0;
  /** Whether something in the slab may be in use for ever. */
  #lost = false;
  #told = false;
  #smallReads = 0;

  /** Takes `least` bytes at a time at first, and again when the stream has become quiet. */
  constructor(least: number = LARGEST) {
    this.#least = least;
    this.#size = least;
    this.#slab = new Uint8Array(least);
  }

  /** Where to read to. */
  room(): Uint8Array {
    if (this.#slab.length - this.#used < this.#size / REST) this.#renew();
    return this.#slab.subarray(this.#used);
  }

  /**
   * Gives `to` the first `count` bytes of the room, which a read has filled. They are its own from now on, unless it calls
   * `spent` before it returns.
   */
  deliver(count: number, to: (bytes: Uint8Array) => void): void {
    const bytes = this.#slab.subarray(this.#used, this.#used + count);
    this.#used += count;
    if (this.#lost) this.#memory.pass(count);
    else this.#memory.deliver(this.#slab, count);
    this.#fit(count);
    this.#told = false;
    to(bytes);
    if (this.#told) return;
    this.#memory.forget();
    this.#lost = true;
  }

  /** Of all that was delivered, none but the last `kept` bytes are in use. */
  spent(kept: number): void {
    this.#told = true;
    this.#memory.spent(kept);
  }

  #free(slab: Uint8Array): void {
    if (slab === this.#slab) this.#used = 0;
    else if (slab.length === LARGEST && this.#size === LARGEST && this.#spare.length < SPARE) this.#spare.push(slab);
  }

  #fit(count: number): void {
    if (this.#used === this.#slab.length) this.#size = Math.min(LARGEST, this.#size * 2);
    this.#smallReads = count <= SMALL_READ ? this.#smallReads + 1 : 0;
    if (this.#smallReads < SMALL_READS || this.#size === this.#least) return;
    this.#size = this.#least;
    this.#spare.length = 0;
    this.#renew();
  }

  #renew(): void {
    this.#slab = (this.#size === LARGEST ? this.#spare.pop() : undefined) ?? new Uint8Array(this.#size);
    this.#used = 0;
    this.#lost = false;
  }
}
