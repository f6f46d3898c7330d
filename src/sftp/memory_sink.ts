/** Gathers a file in memory: each part is copied once, to where it belongs. */

import type { Bytes } from '../bytes/bytes.ts';
import { SshError } from '../errors.ts';
import { Extents } from './extents.ts';
import type { ReadSink, SinkEvents } from './sink.ts';

/** A stated size is believed, and room made for it at once, up to here; beyond, room grows with what really comes. */
const BELIEVED = 64 * 1024 * 1024;
const FIRST_ROOM = 64 * 1024;

export class MemorySink implements ReadSink {
  readonly #start: number;
  readonly #max: number;
  readonly #here = new Extents();
  #bytes = new Uint8Array(0);
  #events: SinkEvents | undefined;

  /** Keeps the file from byte `start` on; more than `max` bytes are the error `limit`. */
  constructor(start: number, max: number) {
    this.#start = start;
    this.#max = max;
  }

  /** Makes room for a size that was stated. */
  expect(length: number): void {
    if (length <= Math.min(BELIEVED, this.#max)) this.#grow(length);
  }

  get contiguous(): number {
    return this.#here.contiguousFrom(this.#start);
  }

  /** What is there from the start without a gap. */
  get result(): Bytes {
    return this.#bytes.subarray(0, this.contiguous - this.#start);
  }

  start(events: SinkEvents): void {
    this.#events = events;
  }

  data(position: number, bytes: Uint8Array): boolean {
    const at = position - this.#start;
    const end = at + bytes.length;
    if (end > this.#max) {
      const message = `The file has more than the ${this.#max} bytes that may be held in memory: set maxBytes, or read it as a stream`;
      this.#events?.broken(new SshError('limit', message));
      return true;
    }
    if (end > this.#bytes.length) this.#grow(Math.min(this.#max, Math.max(end, FIRST_ROOM, 2 * this.#bytes.length)));
    this.#bytes.set(bytes, at);
    this.#here.add(position, position + bytes.length);
    this.#events?.taken(bytes.length);
    return true;
  }

  finish(): void {
    this.#events?.finished();
  }

  abandon(): void {
    this.#events = undefined;
  }

  #grow(length: number): void {
    if (length <= this.#bytes.length) return;
    const grown = new Uint8Array(length);
    grown.set(this.#bytes);
    this.#bytes = grown;
  }
}
