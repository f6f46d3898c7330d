/**
 * A first-in first-out queue of received chunks. Taking from it copies only where what is taken spans two chunks that do not
 * lie side by side in memory;
 * all work together is linear in the bytes that pass through. A peer that sends byte by byte costs no more memory than one
 * that does not: once many chunks wait, small ones are packed together.
 */

const COMPACT_AT = 64; // consumed chunks are dropped from the front once this many, and half of all, have piled up

/** Chunks that wait before small ones are packed: a queue that is taken from at once never copies. */
const PACK_FROM = 64;
/** An array costs some hundred bytes beside its content, so that a smaller chunk is mostly overhead. */
const SMALL = 1024;
/** Bytes that are packed into one chunk. */
const PACK_SIZE = 16 * 1024;

export class ChunkQueue {
  #chunks: Uint8Array[] = [];
  #first = 0;
  #offset = 0;
  #length = 0;
  #scanned = 0;
  /** What the last chunk is a view of, where there is room behind it. */
  #pack: Uint8Array | undefined;
  #packed = 0;

  /** Bytes in the queue. */
  get length(): number {
    return this.#length;
  }

  /** Arrays that hold them. */
  get chunks(): number {
    return this.#chunks.length - this.#first;
  }

  /** Appends `chunk`; the queue owns it from now on. */
  push(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    this.#length += chunk.length;
    if (chunk.length < SMALL && this.chunks >= PACK_FROM) {
      this.#append(chunk);
    } else if (!this.#extend(chunk)) {
      this.#chunks.push(chunk);
      this.#pack = undefined;
    }
  }

  /** The next `count` bytes without taking them, or `undefined` when there are fewer. */
  peek(count: number): Uint8Array | undefined {
    if (count > this.#length) return undefined;
    const head = this.#chunks[this.#first];
    if (head !== undefined && head.length - this.#offset >= count) {
      return head.subarray(this.#offset, this.#offset + count);
    }
    return this.#gather(count);
  }

  /** Takes exactly `count` bytes, or `undefined` when there are fewer. A view of the chunk where it can be. */
  take(count: number): Uint8Array | undefined {
    const bytes = this.peek(count);
    if (bytes !== undefined) this.#drop(count);
    return bytes;
  }

  /** Takes what the first chunk holds, at most `max` bytes, never copying; `undefined` when the queue is empty. */
  takeSome(max: number): Uint8Array | undefined {
    const head = this.#chunks[this.#first];
    if (head === undefined || max <= 0) return undefined;
    return this.take(Math.min(max, head.length - this.#offset));
  }

  /** Takes exactly `count` bytes as views of the arrays that hold them, or `undefined` when there are fewer. */
  takePieces(count: number): Uint8Array[] | undefined {
    if (count > this.#length) return undefined;
    const taken: Uint8Array[] = [];
    for (let left = count; left > 0; ) {
      const piece = this.takeSome(left) as Uint8Array;
      taken.push(piece);
      left -= piece.length;
    }
    return taken;
  }

  /** Everything, as the arrays that hold it. */
  takeChunks(): Uint8Array[] {
    return this.takePieces(this.#length) as Uint8Array[];
  }

  /** Everything, one array. */
  takeAll(): Uint8Array {
    return this.take(this.#length) ?? new Uint8Array(0);
  }

  /**
   * Index of the first `byte` in the queue, or -1. What was searched before is not searched again, so one
   * queue must be searched for one byte value until it is found.
   */
  indexOf(byte: number): number {
    let base = 0;
    for (let i = this.#first; i < this.#chunks.length; i++) {
      const chunk = this.#chunks[i] as Uint8Array;
      const start = i === this.#first ? this.#offset : 0;
      const size = chunk.length - start;
      if (base + size > this.#scanned) {
        const found = chunk.indexOf(byte, start + Math.max(0, this.#scanned - base));
        if (found >= 0) return base + found - start;
      }
      base += size;
    }
    this.#scanned = this.#length;
    return -1;
  }

  /** Makes one of the last chunk and this one, where a transport read both into one piece of memory, side by side. */
  #extend(chunk: Uint8Array): boolean {
    const index = this.#chunks.length - 1;
    const last = this.#chunks[index];
    if (last === undefined || last.buffer !== chunk.buffer) return false;
    if (last.byteOffset + last.length !== chunk.byteOffset) return false;
    this.#chunks[index] = new Uint8Array(chunk.buffer, last.byteOffset, last.length + chunk.length);
    return true;
  }

  /** Copies a small chunk behind the others in the last one. */
  #append(chunk: Uint8Array): void {
    let pack = this.#pack;
    if (pack === undefined || this.#packed + chunk.length > PACK_SIZE) {
      pack = new Uint8Array(PACK_SIZE);
      this.#pack = pack;
      this.#packed = 0;
      this.#chunks.push(pack);
    }
    pack.set(chunk, this.#packed);
    this.#packed += chunk.length;
    this.#chunks[this.#chunks.length - 1] = pack.subarray(0, this.#packed);
  }

  #gather(count: number): Uint8Array {
    const bytes = new Uint8Array(count);
    let at = 0;
    for (let i = this.#first; at < count; i++) {
      const chunk = this.#chunks[i] as Uint8Array;
      const start = i === this.#first ? this.#offset : 0;
      const piece = chunk.subarray(start, Math.min(chunk.length, start + count - at));
      bytes.set(piece, at);
      at += piece.length;
    }
    return bytes;
  }

  #drop(count: number): void {
    this.#length -= count;
    this.#scanned = Math.max(0, this.#scanned - count);
    let left = count;
    while (left > 0) {
      const available = (this.#chunks[this.#first] as Uint8Array).length - this.#offset;
      if (left < available) {
        this.#offset += left;
        return;
      }
      left -= available;
      this.#first++;
      this.#offset = 0;
    }
    if (this.#first === this.#chunks.length) {
      this.#chunks = [];
      this.#first = 0;
      this.#pack = undefined;
    } else if (this.#first >= COMPACT_AT && 2 * this.#first >= this.#chunks.length) {
      this.#chunks = this.#chunks.slice(this.#first);
      this.#first = 0;
    }
  }
}
