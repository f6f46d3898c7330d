/**
 * Wraps a byte pipe so that a distance is counted and takes no time: what either side has written when nothing more is ready
 * to run arrives together, half a round trip later.
 */

import { setImmediate } from 'node:timers';
import type { BytePipe, PipeSink } from '../../src/io/pipe.ts';

/** Turns of the event loop without a byte after which both sides are taken to wait for the line. */
const QUIET_TURNS = 6;

export class TripPipe implements BytePipe {
  /** Round trips so far. */
  get trips(): number {
    return this.#halves / 2;
  }
  readonly #inner: BytePipe;
  #halves = 0;
  #onTheWay: (() => void)[] = [];
  #quiet = 0;
  #running = false;

  constructor(inner: BytePipe) {
    this.#inner = inner;
  }

  open(sink: PipeSink): void {
    this.#inner.open({
      data: (bytes) => this.#later(() => sink.data(bytes)),
      end: () => this.#later(() => sink.end()),
      drain: () => sink.drain(),
      closed: (cause) => sink.closed(cause),
    });
  }

  write(pieces: readonly Uint8Array[]): boolean {
    this.#later(() => void this.#inner.write(pieces));
    return true;
  }

  end(): void {
    this.#later(() => this.#inner.end());
  }

  consumed(count: number): void {
    this.#inner.consumed(count);
  }

  close(cause?: Parameters<BytePipe['close']>[0]): void {
    this.#inner.close(cause);
  }

  #later(run: () => void): void {
    this.#onTheWay.push(run);
    this.#quiet = 0;
    if (this.#running) return;
    this.#running = true;
    this.#turn();
  }

  #turn(): void {
    setImmediate(() => {
      if (++this.#quiet < QUIET_TURNS) return this.#turn();
      this.#running = false;
      this.#halves++;
      for (const run of this.#onTheWay.splice(0)) run();
    });
  }
}
