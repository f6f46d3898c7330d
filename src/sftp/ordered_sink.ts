/**
 * Hands a file on in order, at the pace of one consumer: behind streams and iterators. What came too early waits; how
 * much that can be is bounded by what was asked for.
 */

import { ChunkQueue } from '../bytes/chunks.ts';
import type { SshError } from '../errors.ts';
import type { ReadSink, SinkEvents } from './sink.ts';

/** The next bytes, or the end, or why there are none. */
export type Next = { readonly bytes: Uint8Array } | { readonly end: true } | { readonly error: SshError };

export class OrderedSink implements ReadSink {
  /** Bytes that came before those in front of them, by position. */
  readonly #early = new Map<number, Uint8Array>();
  /** In order and ready: the consumer's next bytes. */
  #ready = new ChunkQueue();
  /** Where what is in `ready` ends. */
  #readyTo: number;
  #contiguous: number;
  #events: SinkEvents | undefined;
  #outcome: { readonly end: true } | { readonly error: SshError } | undefined;
  #finishing = false;
  #consumer: ((next: Next) => void) | undefined;

  constructor(start: number) {
    this.#readyTo = start;
    this.#contiguous = start;
  }

  get contiguous(): number {
    return this.#contiguous;
  }

  start(events: SinkEvents): void {
    this.#events = events;
  }

  data(position: number, bytes: Uint8Array): boolean {
    if (position !== this.#readyTo) {
      this.#early.set(position, bytes);
      return false;
    }
    for (let next: Uint8Array | undefined = bytes; next !== undefined; next = this.#early.get(this.#readyTo)) {
      this.#early.delete(this.#readyTo);
      this.#ready.push(next);
      this.#readyTo += next.length;
    }
    this.#serve();
    return false;
  }

  finish(): void {
    this.#finishing = true;
    this.#serve();
  }

  /** Drops what is there: `settle` says what the consumer gets instead. */
  abandon(): void {
    this.#events = undefined;
    this.#ready = new ChunkQueue();
    this.#early.clear();
  }

  /** How it ended, for the consumer, after what is ready. */
  settle(error: SshError | undefined): void {
    this.#outcome ??= error === undefined ? { end: true } : { error };
    this.#serve();
  }

  /** Asks for the next bytes. One question at a time; `consumer` may be called at once. */
  next(consumer: (next: Next) => void): void {
    this.#consumer = consumer;
    this.#serve();
  }

  #serve(): void {
    const consumer = this.#consumer;
    const bytes = consumer === undefined ? undefined : this.#ready.takeSome(Number.MAX_SAFE_INTEGER);
    if (consumer !== undefined && bytes !== undefined) {
      this.#consumer = undefined;
      this.#contiguous += bytes.length;
      this.#events?.taken(bytes.length);
      consumer({ bytes });
      return;
    }
    if (this.#ready.length > 0) return;
    if (this.#finishing && this.#outcome === undefined) {
      this.#finishing = false;
      this.#events?.finished();
    }
    if (consumer !== undefined && this.#outcome !== undefined) {
      this.#consumer = undefined;
      consumer(this.#outcome);
    }
  }
}
