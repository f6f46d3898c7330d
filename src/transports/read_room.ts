/**
 * Memory for a stream that reads into what it is given, as Deno's do: what has come lies side by side, so that a packet that
 * two reads brought need not be copied together, and each part is used once, since what was delivered is not ours any more.
 * It grows while reads fill it and shrinks when they bring little, since a read that waits needs its memory all the while:
 * a thousand idle connections must not hold a thousand large pieces.
 */

/** Memory that is taken at a time, at most. */
const LARGEST = 256 * 1024;
/** A room this many times smaller than what is taken at a time is not worth a read. */
const REST = 4;
/** A read of so few bytes is small; as many in a row are no bulk transfer. */
const SMALL_READ = 2048;
const SMALL_READS = 8;

export class ReadRoom {
  readonly #least: number;
  #size: number;
  #room: Uint8Array;
  #smallReads = 0;

  /** Takes `least` bytes at a time at first, and again when the stream has become quiet. */
  constructor(least: number = LARGEST) {
    this.#least = least;
    this.#size = least;
    this.#room = new Uint8Array(least);
  }

  /** Where to read to. */
  room(): Uint8Array {
    if (this.#room.length < this.#size / REST) this.#room = new Uint8Array(this.#size);
    return this.#room;
  }

  /** The first `count` bytes of the room, which a read has filled; they are the caller's from now on. */
  take(count: number): Uint8Array {
    const taken = this.#room.subarray(0, count);
    this.#room = this.#room.subarray(count);
    if (this.#room.length === 0) this.#size = Math.min(LARGEST, this.#size * 2);
    this.#smallReads = count <= SMALL_READ ? this.#smallReads + 1 : 0;
    if (this.#smallReads >= SMALL_READS && this.#size > this.#least) {
      this.#size = this.#least;
      this.#room = new Uint8Array(this.#least);
    }
    return taken;
  }
}
