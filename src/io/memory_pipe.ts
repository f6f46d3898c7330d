/**
 * Two byte pipes back to back in memory: for tests, and for a client and a server in one program. What one end writes is
 * delivered by the other in a microtask, in order, so that a run with the same input is the same run.
 */

import { join } from '../bytes/bytes.ts';
import { SshError } from '../errors.ts';
import type { BytePipe, PipeSink } from './pipe.ts';

/** How the pair behaves. */
export interface MemoryPipeOptions {
  /** Cuts what one `write` was given into the pieces to deliver. Default: the pieces as they were written. */
  readonly chunk?: (bytes: Uint8Array) => Iterable<Uint8Array>;
  /** Bytes of one direction, waiting or delivered and not consumed, at which `write` returns false. Default: 1 MiB. */
  readonly bound?: number;
}

const BOUND = 1024 * 1024;

/** Chunks that were delivered are dropped once this many have piled up: to shift each moves all that follow. */
const COMPACT_AT = 1024;

/** A connected pair. Ending in good order ends the other end too; closing with a cause is a lost connection there. */
export function memoryPipes(options: MemoryPipeOptions = {}): readonly [BytePipe, BytePipe] {
  const left = new MemoryEnd(options);
  const right = new MemoryEnd(options);
  left.join(right);
  right.join(left);
  return [left, right];
}

class MemoryEnd implements BytePipe {
  readonly #bound: number;
  readonly #chunk: ((bytes: Uint8Array) => Iterable<Uint8Array>) | undefined;
  #incoming: Uint8Array[] = [];
  /** How many of them were delivered. */
  #delivered = 0;
  #peer: MemoryEnd = this;
  #sink: PipeSink | undefined;
  #scheduled = false;
  /** Bytes in `incoming`, and bytes delivered and not consumed. */
  #waiting = 0;
  #unconsumed = 0;
  #peerEnded = false;
  #endTold = false;
  #ended = false;
  #wantsRoom = false;
  /** `closing`: the sink is about to be told. */
  #state: 'open' | 'closing' | 'closed' = 'open';
  #cause: SshError | undefined;

  constructor(options: MemoryPipeOptions) {
    this.#bound = options.bound ?? BOUND;
    this.#chunk = options.chunk;
  }

  join(peer: MemoryEnd): void {
    this.#peer = peer;
  }

  open(sink: PipeSink): void {
    this.#sink = sink;
    this.#schedule();
  }

  write(pieces: readonly Uint8Array[]): boolean {
    if (this.#state !== 'open' || this.#ended || this.#peer.#state !== 'open') return true;
    const chunks = this.#chunk === undefined ? pieces : this.#chunk(join(pieces));
    for (const chunk of chunks) {
      if (chunk.length === 0) continue;
      this.#peer.#incoming.push(chunk);
      this.#peer.#waiting += chunk.length;
    }
    this.#peer.#schedule();
    if (this.#peer.#load < this.#bound) return true;
    this.#wantsRoom = true;
    return false;
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#peer.#peerEnded = true;
    this.#peer.#schedule();
    this.#schedule();
  }

  consumed(count: number): void {
    this.#unconsumed -= count;
    this.#schedule();
    if (this.#peer.#wantsRoom) this.#peer.#schedule();
  }

  close(cause?: SshError): void {
    if (this.#state !== 'open') return;
    this.#finish(cause);
    if (cause === undefined) this.end();
    else this.#peer.#finish(new SshError('connection-lost', 'The other end of the pipe is gone', { fault: 'network' }));
  }

  get #load(): number {
    return this.#waiting + this.#unconsumed;
  }

  #finish(cause: SshError | undefined): void {
    if (this.#state !== 'open') return;
    this.#state = 'closing';
    this.#cause = cause;
    this.#incoming = [];
    this.#delivered = 0;
    this.#waiting = 0;
    this.#schedule();
    this.#peer.#schedule();
  }

  #next(): Uint8Array | undefined {
    const chunk = this.#incoming[this.#delivered];
    if (chunk !== undefined) this.#delivered++;
    if (chunk === undefined || this.#delivered >= COMPACT_AT) {
      this.#incoming = this.#incoming.slice(this.#delivered);
      this.#delivered = 0;
    }
    return chunk;
  }

  #schedule(): void {
    const sink = this.#sink;
    if (this.#scheduled || sink === undefined) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      this.#deliver(sink);
    });
  }

  #deliver(sink: PipeSink): void {
    while (this.#state === 'open' && this.#unconsumed < this.#bound) {
      const chunk = this.#next();
      if (chunk === undefined) break;
      this.#waiting -= chunk.length;
      this.#unconsumed += chunk.length;
      sink.data(chunk);
    }
    if (this.#state === 'open' && this.#wantsRoom && (this.#peer.#load < this.#bound || this.#peer.#state !== 'open')) {
      this.#wantsRoom = false;
      sink.drain();
    }
    if (this.#state === 'open' && this.#peerEnded && !this.#endTold && this.#waiting === 0) {
      this.#endTold = true;
      sink.end();
    }
    if (this.#state === 'open' && this.#endTold && this.#ended) this.#state = 'closing';
    if (this.#state !== 'closing') return;
    this.#state = 'closed';
    sink.closed(this.#cause);
  }
}
