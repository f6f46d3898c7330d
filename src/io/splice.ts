/**
 * Two byte pipes joined: what one delivers is written to the other, and given back once the other has room. Each direction
 * ends on its own. Must not know what kind of pipes they are.
 */

import { ChunkQueue } from '../bytes/chunks.ts';
import type { SshError } from '../errors.ts';
import { type Clock, systemClock } from './clock.ts';
import type { BytePipe } from './pipe.ts';

/** Milliseconds that one end, told that no more comes, has to end itself after the other is gone. */
const FAREWELL_TIME = 10_000;
/** The same while it has no room: it may be slow, and what was written is not to be lost. */
const SLOW_FAREWELL_TIME = 600_000;

/** Joins `left` and `right`, which nobody else uses from now on. Resolves once both are closed; never rejects. */
export function splice(left: BytePipe, right: BytePipe, clock: Clock = systemClock): Promise<void> {
  return new Promise((resolve) => {
    let open = 2;
    const ends = [new End(left, clock), new End(right, clock)] as const;
    ends[0].join(ends[1]);
    ends[1].join(ends[0]);
    for (const end of ends) {
      end.start(() => {
        open--;
        if (open === 0) resolve();
      });
    }
  });
}

class End {
  readonly #pipe: BytePipe;
  readonly #clock: Clock;
  #other: End = this;
  #room = true;
  /** Bytes taken from the other end that this one had no room for. */
  #owed = 0;
  /** Of those, what was not written yet: packed here, since byte by byte they would cost a pipe a hundred times as much. */
  readonly #waiting = new ChunkQueue();
  #closed = false;
  /** The other end is gone, in good order. */
  #leaving = false;
  #stopWaiting: () => void = () => {};

  constructor(pipe: BytePipe, clock: Clock) {
    this.#pipe = pipe;
    this.#clock = clock;
  }

  join(other: End): void {
    this.#other = other;
  }

  start(closed: () => void): void {
    this.#pipe.open({
      data: (bytes) => this.#other.#write(bytes),
      end: () => this.#other.#end(),
      drain: () => this.#drain(),
      closed: (cause) => {
        this.#closed = true;
        this.#stopWaiting();
        this.#other.#lose(cause);
        closed();
      },
    });
  }

  #write(bytes: Uint8Array): void {
    if (this.#closed) {
      this.#other.#pipe.consumed(bytes.length);
      return;
    }
    if (this.#room) this.#room = this.#pipe.write([bytes]);
    else this.#waiting.push(bytes);
    if (this.#room) this.#other.#pipe.consumed(bytes.length);
    else this.#owed += bytes.length;
  }

  #drain(): void {
    this.#room = true;
    this.#flush();
    if (!this.#room) return;
    const count = this.#owed;
    this.#owed = 0;
    if (count > 0) this.#other.#pipe.consumed(count);
    if (this.#leaving) this.#leave();
  }

  #flush(): void {
    const waiting = this.#waiting.takeChunks();
    if (waiting.length > 0) this.#room = this.#pipe.write(waiting);
  }

  #end(): void {
    this.#flush();
    this.#pipe.end();
  }

  /** The other end is gone: what was written still leaves, unless the line failed. */
  #lose(cause: SshError | undefined): void {
    if (this.#closed) return;
    if (cause !== undefined) {
      this.#pipe.close(cause);
      return;
    }
    this.#leaving = true;
    this.#end();
    this.#leave();
  }

  #leave(): void {
    this.#stopWaiting();
    this.#stopWaiting = this.#clock.after(this.#room ? FAREWELL_TIME : SLOW_FAREWELL_TIME, () => this.#pipe.close());
  }
}
