/**
 * The bytes of a file in memory, in pieces: growing at the end moves nothing that is there, and what was never written takes no
 * memory and reads as zeros. Knows no files.
 */

/** Bytes of a piece. */
const PIECE = 64 * 1024;

/** Smallest memory that a file takes once it has bytes. */
const SMALLEST = 64;

/** Takes `more` bytes of memory from what there is, or gives -`more` back; whether there were as many. */
export type Reserve = (more: number) => boolean;

export class SparseBytes {
  readonly #reserve: Reserve;
  readonly #pieces = new Map<number, Uint8Array>();
  #size = 0;

  constructor(reserve: Reserve) {
    this.#reserve = reserve;
  }

  get size(): number {
    return this.#size;
  }

  /** A copy of what is from `offset` on, at most `length` bytes; fewer only at the end. */
  read(offset: number, length: number): Uint8Array {
    const count = Math.max(0, Math.min(length, this.#size - offset));
    const bytes = new Uint8Array(count);
    for (let at = 0; at < count; ) {
      const start = (offset + at) % PIECE;
      const size = Math.min(PIECE - start, count - at);
      const piece = this.#pieces.get(Math.floor((offset + at) / PIECE));
      if (piece !== undefined && start < piece.length) bytes.set(piece.subarray(start, start + size), at);
      at += size;
    }
    return bytes;
  }

  /** Writes a copy of `bytes`. False when the memory is used up: what had room is written then. */
  write(offset: number, bytes: Uint8Array): boolean {
    for (let at = 0; at < bytes.length; ) {
      const start = (offset + at) % PIECE;
      const size = Math.min(PIECE - start, bytes.length - at);
      const piece = this.#room(Math.floor((offset + at) / PIECE), start + size);
      if (piece === undefined) return false;
      piece.set(bytes.subarray(at, at + size), start);
      at += size;
      this.#size = Math.max(this.#size, offset + at);
    }
    return true;
  }

  /** Cuts to `size` bytes, or lengthens with zeros. */
  resize(size: number): void {
    if (size < this.#size) {
      const last = Math.floor(size / PIECE);
      for (const [index, piece] of this.#pieces) {
        if (index > last || (index === last && size % PIECE === 0)) {
          this.#pieces.delete(index);
          this.#reserve(-piece.length);
        } else if (index === last) {
          piece.fill(0, size % PIECE); // should it grow again
        }
      }
    }
    this.#size = size;
  }

  /** A piece that holds at least `needed` bytes. */
  #room(index: number, needed: number): Uint8Array | undefined {
    const old = this.#pieces.get(index);
    if (old !== undefined && old.length >= needed) return old;
    const length = old?.length ?? 0;
    // Twice as much each time, so that many small writes copy little; a file past its first piece is no small one.
    const ample = index > 0 ? PIECE : Math.min(PIECE, Math.max(needed, 2 * length, SMALLEST));
    const chosen = this.#reserve(ample - length) ? ample : this.#reserve(needed - length) ? needed : undefined;
    if (chosen === undefined) return undefined;
    const piece = new Uint8Array(chosen);
    if (old !== undefined) piece.set(old);
    this.#pieces.set(index, piece);
    return piece;
  }
}
