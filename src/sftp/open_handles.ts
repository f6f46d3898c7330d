/**
 * The handles that a server has given and that were not closed. One that it gives for a second path would have the content of two
 * files mixed. Where it is known to bear only so many, whoever wants another waits for one to be closed.
 */

import { equalBytes } from '../bytes/bytes.ts';
import { latin1, printable } from '../bytes/text.ts';
import { protocolError, SshError } from '../errors.ts';
import { forgetAbort, listenToAbort } from '../io/abort.ts';
import { type Clock, LONGEST_DELAY } from '../io/clock.ts';

/** How somebody waits for room. */
export interface HandleWait {
  readonly clock: Clock;
  /** Milliseconds after which it is `limit`; 0: never. */
  readonly stallTimeout: number;
  readonly signal?: AbortSignal | undefined;
  /** The error where the signal fires. */
  readonly aborted: () => SshError;
}

interface Waiter {
  readonly take: () => void;
  readonly lost: (cause: SshError) => void;
}

export class OpenHandles {
  readonly #most: number;
  readonly #paths = new Map<string, Uint8Array>();
  /** Requests that will give one. */
  #asked = 0;
  readonly #waiting = new Set<Waiter>();

  /** `most`: how many the server bears. */
  constructor(most: number = Number.POSITIVE_INFINITY) {
    this.#most = most;
  }

  /** How many are open. */
  get size(): number {
    return this.#paths.size;
  }

  /** A handle came for `path`. Throws `protocol` where it is that of another path: the session is of no use then. */
  opened(handle: Uint8Array, path: Uint8Array): void {
    const key = latin1(handle);
    const other = this.#paths.get(key);
    if (other !== undefined && !equalBytes(other, path)) {
      const both = `${printable(other, 300)} and ${printable(path, 300)}`;
      throw protocolError(`SFTP: the server gave one handle for two files: ${both}; open fewer at a time`);
    }
    this.#paths.set(key, path);
  }

  /** CLOSE leaves. */
  closed(handle: Uint8Array): void {
    this.#paths.delete(latin1(handle));
    this.#serve();
  }

  /** Asks for a handle, once there is room for one. */
  async ask<T>(request: () => Promise<T>, wait: HandleWait): Promise<T> {
    if (this.#most === Number.POSITIVE_INFINITY) return request();
    if (this.#isFull || this.#waiting.size > 0) await this.#room(wait);
    else this.#asked += 1;
    try {
      return await request();
    } finally {
      this.#asked -= 1;
      this.#serve();
    }
  }

  /** The session has ended. */
  lost(cause: SshError): void {
    for (const waiter of [...this.#waiting]) waiter.lost(cause);
  }

  get #isFull(): boolean {
    return this.#paths.size + this.#asked >= this.#most;
  }

  /** Resolves when there is room, which is taken then. */
  #room({ clock, stallTimeout, signal, aborted }: HandleWait): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        this.#waiting.delete(waiter);
        stop?.();
        if (signal !== undefined) forgetAbort(signal, abort);
      };
      const lost = (cause: SshError): void => {
        settle();
        reject(cause);
      };
      const abort = (): void => lost(aborted());
      const take = (): void => {
        settle();
        this.#asked += 1;
        resolve();
      };
      const waiter = { take, lost };
      const late = (): void => {
        const message = `The server bears ${this.#most} open files at a time, and none was closed for ${stallTimeout / 1000} s`;
        lost(new SshError('limit', message, { operation: 'open' }));
      };
      const stop = stallTimeout > 0 ? clock.after(Math.min(stallTimeout, LONGEST_DELAY), late) : undefined;
      this.#waiting.add(waiter);
      if (signal?.aborted) abort();
      else if (signal !== undefined) listenToAbort(signal, abort);
    });
  }

  #serve(): void {
    for (const waiter of this.#waiting) {
      if (this.#isFull) return;
      waiter.take();
    }
  }
}
