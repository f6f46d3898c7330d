/**
 * Received bytes as a Web `ReadableStream`. Bytes are given back, which lets the peer send more, when the reader takes them
 * and not before. Must not know where bytes come from.
 */

import type { Bytes } from '../bytes/bytes.ts';
import { ChunkQueue } from '../bytes/chunks.ts';
import { SshError } from '../errors.ts';

/** How a source treats what nobody reads. */
export interface ByteSourceOptions {
  /**
   * Until the first read, bytes are given back at once and this many are kept, so that an unread stream holds up nobody.
   * What comes beyond is dropped, and the stream fails with `limit` where it is missing. Default: nothing is given back.
   */
  readonly keepUnread?: number;
}

export class ByteSource {
  /** Cancelling it drops what waits and what still comes, and gives it back. */
  readonly stream: ReadableStream<Bytes>;
  readonly #consumed: (count: number) => void;
  readonly #keepUnread: number | undefined;
  #queue = new ChunkQueue();
  #controller: ReadableStreamDefaultController<Bytes> | undefined;
  /** Given back though nobody has read them. */
  #kept = 0;
  #started = false;
  #wanted = false;
  #ended = false;
  #state: 'open' | 'cut' | 'done' = 'open';

  /** `consumed` gives bytes back. */
  constructor(consumed: (count: number) => void, options: ByteSourceOptions = {}) {
    this.#consumed = consumed;
    this.#keepUnread = options.keepUnread;
    this.stream = new ReadableStream<Bytes>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => {
          this.#started = true;
          this.#wanted = true;
          this.#serve();
        },
        cancel: () => this.#finish(),
      },
      { highWaterMark: 0 }, // `pull` comes for a pending read only
    );
  }

  /** Bytes came; they are the source's own. */
  push(bytes: Uint8Array): void {
    if (this.#state === 'done') {
      this.#consumed(bytes.length);
      return;
    }
    if (!this.#started && this.#keepUnread !== undefined) {
      this.#consumed(bytes.length);
      if (this.#state === 'cut' || this.#kept + bytes.length > this.#keepUnread) {
        this.#state = 'cut';
        return;
      }
      this.#kept += bytes.length;
    }
    this.#queue.push(bytes);
    this.#serve();
  }

  /** No more bytes will come. */
  end(): void {
    this.#ended = true;
    this.#serve();
  }

  /** Ends the stream without the bytes that wait, and drops what still comes: nobody is meant to read on. */
  stop(): void {
    if (this.#state === 'done') return;
    this.#finish();
    this.#controller?.close();
  }

  /** Fails the stream; bytes that wait are dropped. */
  fail(error: SshError): void {
    if (this.#state === 'done') return;
    this.#finish();
    this.#controller?.error(error);
  }

  #serve(): void {
    if (this.#state === 'done') return;
    const bytes = this.#wanted ? this.#queue.takeSome(Number.MAX_SAFE_INTEGER) : undefined;
    if (bytes !== undefined) {
      this.#wanted = false;
      const free = Math.min(this.#kept, bytes.length);
      this.#kept -= free;
      this.#controller?.enqueue(bytes as Bytes);
      if (bytes.length > free) this.#consumed(bytes.length - free);
    }
    if (this.#queue.length > 0) return;
    if (this.#state === 'cut' && this.#started) {
      this.fail(
        new SshError('limit', `More than ${this.#keepUnread} bytes came before anybody read: the rest is lost`),
      );
    } else if (this.#ended && this.#state === 'open') {
      this.#finish();
      this.#controller?.close();
    }
  }

  #finish(): void {
    this.#state = 'done';
    const unread = this.#queue.length - this.#kept;
    this.#queue = new ChunkQueue();
    this.#kept = 0;
    if (unread > 0) this.#consumed(unread);
  }
}
