/**
 * A `BytePipe`'s outgoing half as a Web `WritableStream`: a write resolves once the pipe has room again, so that a writer
 * that waits is as fast as the peer. Must not know what kind of pipe it is.
 */

import { copy } from '../bytes/bytes.ts';
import { SshError } from '../errors.ts';
import type { BytePipe } from './pipe.ts';

export class ByteSink {
  readonly stream: WritableStream<Uint8Array>;
  #failed: SshError | undefined;
  #controller: WritableStreamDefaultController | undefined;
  #waiting: { readonly resolve: () => void; readonly reject: (error: SshError) => void } | undefined;
  /** Chunks that the stream was given and the pipe has not taken yet. */
  #pending = 0;
  /** The pipe will take no more chunks, whatever the stream is given. */
  #over = false;
  #idle: (() => void)[] = [];

  constructor(pipe: Pick<BytePipe, 'write' | 'end' | 'close'>) {
    const sink: UnderlyingSink<Uint8Array> = {
      start: (controller) => {
        this.#controller = controller;
      },
      write: (chunk) => {
        if (!(chunk instanceof Uint8Array)) {
          this.#finish();
          throw new SshError('bad-argument', `Only Uint8Array can be written to this stream, not ${typeof chunk}`);
        }
        if (this.#failed !== undefined) throw this.#failed;
        // a copy, because writers may use their buffer again once the write has resolved
        const room = pipe.write([copy(chunk)]);
        this.#pending--;
        this.#tellIfIdle();
        if (room) return undefined;
        return new Promise((resolve, reject) => {
          this.#waiting = { resolve, reject };
        });
      },
      close: () => {
        this.#finish();
        pipe.end();
      },
      abort: (reason) => {
        this.#finish();
        pipe.close(new SshError('aborted', 'The writer aborted the stream', { cause: reason }));
      },
    };
    // runs for every chunk that a writer gives, also for one that the stream then refuses because it is closed
    const count = (): number => {
      this.#pending++;
      return 1;
    };
    this.stream = new WritableStream(sink, { highWaterMark: 1, size: count });
  }

  /** Resolves when the pipe has taken everything that was written so far, or will take nothing any more. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#idle.push(resolve);
      this.#tellIfIdle();
    });
  }

  /** The pipe has room again. */
  drain(): void {
    this.#waiting?.resolve();
    this.#waiting = undefined;
  }

  /** Fails the stream, and a write that waits; nothing happens to a stream that was closed or has failed. */
  fail(error: SshError): void {
    if (this.#failed !== undefined) return;
    this.#failed = error;
    this.#waiting?.reject(error);
    this.#waiting = undefined;
    this.#controller?.error(error);
    this.#finish();
  }

  #finish(): void {
    this.#over = true;
    this.#tellIfIdle();
  }

  #tellIfIdle(): void {
    if (this.#pending > 0 && !this.#over) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}
