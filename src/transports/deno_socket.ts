/** A TCP connection of Deno as a byte pipe. */

import { join } from '../bytes/bytes.ts';
import { packed } from '../bytes/pieces.ts';
import { releaseMemory } from '../bytes/release.ts';
import type { SshError } from '../errors.ts';
import { onAbort } from '../io/abort.ts';
import type { DialOptions } from '../io/dial.ts';
import type { BytePipe, PipeSink } from '../io/pipe.ts';
import { connectFailed, connectionLost, connectTimeout } from './connect_error.ts';
import { type DenoConn, deno } from './deno_api.ts';
import { ReadRoom } from './read_room.ts';

/** Bytes delivered and not consumed at which reading pauses. */
const READ_BOUND = 1024 * 1024;
/** Bytes that the system has not taken at which `write` says no. */
const WRITE_BOUND = 1024 * 1024;
/** Memory that an accepted connection reads into at first: most of those of a server are idle most of the time. */
const IDLE_ROOM = 16 * 1024;

/** Connects; rejects with `connect-failed`, `timeout` or `aborted`. */
export async function dialDeno(options: DialOptions): Promise<BytePipe> {
  const { host, port, timeout, signal } = options;
  const stop = new AbortController();
  let reason: SshError | undefined;
  const giveUp = (error: SshError): void => {
    reason ??= error;
    stop.abort();
  };
  const timer = setTimeout(() => giveUp(connectTimeout(host, port, timeout)), timeout);
  const forget = signal === undefined ? () => {} : onAbort(signal, giveUp, 'Connecting');
  try {
    const conn = await orStopped(deno().connect({ hostname: host, port, signal: stop.signal }), stop.signal);
    conn.setNoDelay(true);
    return new DenoSocketPipe(conn, new ReadRoom());
  } catch (error) {
    throw reason ?? connectFailed(host, port, withCode(error));
  } finally {
    clearTimeout(timer);
    forget();
  }
}

/** A connection that was accepted, as a pipe. */
export function acceptedDeno(conn: DenoConn): BytePipe {
  try {
    conn.setNoDelay(true);
  } catch {
    // Some systems refuse it once the peer is gone, as reading will tell.
  }
  return new DenoSocketPipe(conn, new ReadRoom(IDLE_ROOM));
}

/** Older versions of Deno do not know the signal: then a connection that comes too late is closed. */
function orStopped(connecting: Promise<DenoConn>, signal: AbortSignal): Promise<DenoConn> {
  return new Promise((resolve, reject) => {
    const stopped = (): void => reject(signal.reason);
    if (signal.aborted) stopped();
    signal.addEventListener('abort', stopped);
    connecting.then((conn) => {
      if (signal.aborted) conn.close();
      else resolve(conn);
    }, reject);
  });
}

/** Deno gives names that cannot be resolved no code. */
export function withCode(error: unknown): unknown {
  const message = error instanceof Error ? error.message : '';
  return message.includes('lookup address') ? Object.assign(new Error(message), { code: 'ENOTFOUND' }) : error;
}

class DenoSocketPipe implements BytePipe {
  readonly #conn: DenoConn;
  readonly #input: ReadRoom;
  readonly #batches: (readonly Uint8Array[])[] = [];
  #sink: PipeSink | undefined;
  #unconsumed = 0;
  #goOn: (() => void) | undefined;
  #queued = 0;
  #full = false;
  #writing = false;
  #readEnded = false;
  #ending = false;
  #writeEnded = false;
  #closed = false;

  constructor(conn: DenoConn, input: ReadRoom) {
    this.#conn = conn;
    this.#input = input;
  }

  open(sink: PipeSink): void {
    this.#sink = sink;
    this.#readAll(sink);
  }

  write(pieces: readonly Uint8Array[]): boolean {
    if (this.#closed || this.#ending) return true;
    let size = 0;
    for (const piece of pieces) size += piece.length;
    this.#queued += size;
    // a peer that reads nothing must not make us keep a million pieces of a few bytes
    this.#batches.push(packed(pieces, size));
    if (!this.#writing) this.#writeAll();
    this.#full ||= this.#queued >= WRITE_BOUND;
    return !this.#full;
  }

  end(): void {
    if (this.#ending || this.#closed) return;
    this.#ending = true;
    if (!this.#writing) this.#writeAll();
  }

  consumed(count: number): void {
    this.#unconsumed -= count;
    if (this.#unconsumed >= READ_BOUND) return;
    this.#goOn?.();
    this.#goOn = undefined;
  }

  spent(kept: number): void {
    this.#input.spent(kept);
  }

  close(cause?: SshError): void {
    if (this.#closed) return;
    this.#release();
    queueMicrotask(() => this.#sink?.closed(cause));
  }

  async #readAll(sink: PipeSink): Promise<void> {
    const deliver = (bytes: Uint8Array): void => sink.data(bytes);
    try {
      while (!this.#closed) {
        if (this.#unconsumed >= READ_BOUND) {
          await new Promise<void>((resolve) => {
            this.#goOn = resolve;
          });
          continue;
        }
        const count = await this.#conn.read(this.#input.room());
        if (this.#closed) return;
        if (count === null) {
          this.#readEnded = true;
          sink.end();
          this.#finishIfEnded();
          return;
        }
        this.#unconsumed += count;
        this.#input.deliver(count, deliver);
      }
    } catch (error) {
      this.#lost(error);
    }
  }

  async #writeAll(): Promise<void> {
    this.#writing = true;
    try {
      for (let batch = this.#batches.shift(); batch !== undefined; batch = this.#batches.shift()) {
        const bytes = join(batch);
        if (batch.length > 1) for (const piece of batch) releaseMemory(piece);
        const { length } = bytes;
        for (let at = 0; at < length; ) at += await this.#conn.write(bytes.subarray(at));
        releaseMemory(bytes);
        if (this.#closed) return;
        this.#queued -= length;
        if (this.#full && this.#queued <= WRITE_BOUND / 2) {
          this.#full = false;
          this.#sink?.drain();
        }
      }
      this.#writing = false;
      if (!this.#ending) return;
      await this.#conn.closeWrite();
      this.#writeEnded = true;
      this.#finishIfEnded();
    } catch (error) {
      this.#lost(error);
    }
  }

  #finishIfEnded(): void {
    if (this.#closed || !this.#readEnded || !this.#writeEnded) return;
    this.#release();
    this.#sink?.closed(undefined);
  }

  #lost(error: unknown): void {
    if (this.#closed) return;
    this.#release();
    this.#sink?.closed(connectionLost(error));
  }

  #release(): void {
    this.#closed = true;
    this.#conn.close();
    this.#goOn?.();
  }
}
