/** A TCP connection of Bun as a byte pipe. */

import { join, plain } from '../bytes/bytes.ts';
import { releaseMemory } from '../bytes/release.ts';
import type { SshError } from '../errors.ts';
import { onAbort } from '../io/abort.ts';
import type { DialOptions } from '../io/dial.ts';
import type { BytePipe, PipeSink } from '../io/pipe.ts';
import { connectFailed, connectionLost, connectTimeout } from './connect_error.ts';
import { SpentChunks } from './spent_memory.ts';

/** Bytes delivered and not consumed at which reading pauses. */
const READ_BOUND = 1024 * 1024;
/** Bytes that the system has not taken at which `write` says no. */
const WRITE_BOUND = 1024 * 1024;

/** The part of a socket of Bun that is used here. */
export interface BunSocket {
  /** How many bytes were taken, or -1 when the socket is closed; the rest has to wait for `drain`. */
  write(bytes: Uint8Array): number;
  /** Ends our half. */
  shutdown(): void;
  end(): void;
  terminate(): void;
  pause(): void;
  resume(): void;
  setNoDelay(on: boolean): boolean;
}

/** What Bun calls with what comes for a socket. */
export interface BunHandlers<Socket extends BunSocket = BunSocket> {
  open(socket: Socket): void;
  data(socket: Socket, bytes: Uint8Array): void;
  drain(socket: Socket): void;
  end(socket: Socket): void;
  error(socket: Socket, error: unknown): void;
  close(socket: Socket, error?: unknown): void;
}

interface BunApi {
  connect(options: { hostname: string; port: number; allowHalfOpen: boolean; socket: BunHandlers }): Promise<BunSocket>;
}

/** Connects; rejects with `connect-failed`, `timeout` or `aborted`. */
export function dialBun(options: DialOptions): Promise<BytePipe> {
  const { host, port, timeout, signal } = options;
  const bun = (globalThis as unknown as { readonly Bun: BunApi }).Bun;
  const pipe = new BunSocketPipe();
  return new Promise((resolve, reject) => {
    let settled = false;
    let forget = (): void => {};
    const settle = (): boolean => {
      if (settled) return false;
      settled = true;
      clearTimeout(timer);
      forget();
      return true;
    };
    const giveUp = (error: SshError): void => {
      if (settle()) reject(error);
    };
    const timer = setTimeout(() => giveUp(connectTimeout(host, port, timeout)), timeout);
    if (signal !== undefined) forget = onAbort(signal, giveUp, 'Connecting');
    if (settled) return;
    bun.connect({ hostname: host, port, allowHalfOpen: true, socket: pipe.handlers }).then(
      (socket) => {
        if (settle()) resolve(pipe);
        else socket.terminate(); // too late
      },
      (error) => giveUp(connectFailed(host, port, error)),
    );
  });
}

/** A pipe over the socket whose handlers are `handlers`, which is told by `open`. */
export class BunSocketPipe implements BytePipe {
  readonly #early: ((sink: PipeSink) => void)[] = [];
  readonly #chunks = new SpentChunks();
  readonly #deliver = (chunk: Uint8Array): void => this.#sink?.data(chunk);
  #socket: BunSocket | undefined;
  #sink: PipeSink | undefined;
  /** What the system has not taken. */
  #rest: Uint8Array[] = [];
  #unconsumed = 0;
  #paused = false;
  #queued = 0;
  #full = false;
  #ending = false;
  #writeEnded = false;
  #readEnded = false;
  #closed = false;

  readonly handlers: BunHandlers = {
    open: (socket) => {
      this.#socket = socket;
      socket.setNoDelay(true);
    },
    data: (_, bytes) => this.#received(bytes),
    drain: () => this.#flush(),
    end: () => {
      this.#endRead();
      this.#finishIfEnded();
    },
    error: (_, error) => this.#finish(connectionLost(error)),
    close: (_, error) => {
      // once our half has ended, the end of the other comes as this alone
      const good = error === undefined && this.#writeEnded;
      if (good) this.#endRead();
      this.#finish(good ? undefined : connectionLost(error ?? new Error('the connection was closed')));
    },
  };

  open(sink: PipeSink): void {
    if (this.#early.length === 0) {
      this.#sink = sink;
      return;
    }
    // not from inside this call; what comes meanwhile queues up behind
    queueMicrotask(() => {
      for (const tell of this.#early) tell(sink);
      this.#sink = sink;
    });
  }

  write(pieces: readonly Uint8Array[]): boolean {
    if (this.#closed || this.#ending) return true;
    const bytes = pieces.length === 1 ? (pieces[0] as Uint8Array) : join(pieces);
    if (pieces.length > 1) for (const piece of pieces) releaseMemory(piece);
    this.#queued += bytes.length;
    this.#rest.push(bytes);
    if (this.#rest.length === 1) this.#send();
    this.#full ||= this.#queued >= WRITE_BOUND;
    return !this.#full;
  }

  end(): void {
    if (this.#ending || this.#closed) return;
    this.#ending = true;
    this.#endIfSent();
  }

  consumed(count: number): void {
    this.#unconsumed -= count;
    if (!this.#paused || this.#closed || this.#unconsumed >= READ_BOUND) return;
    this.#paused = false;
    this.#socket?.resume();
  }

  spent(kept: number): void {
    this.#chunks.spent(kept);
  }

  close(cause?: SshError): void {
    if (this.#closed) return;
    this.#finish(cause);
    this.#socket?.terminate();
  }

  #received(bytes: Uint8Array): void {
    if (this.#closed) return;
    this.#unconsumed += bytes.length;
    if (this.#unconsumed >= READ_BOUND && !this.#paused) {
      this.#paused = true;
      this.#socket?.pause();
    }
    const chunk = plain(bytes); // Bun gives every chunk memory of its own
    if (this.#sink !== undefined) this.#chunks.deliver(chunk, this.#deliver);
    else this.#early.push((sink) => this.#chunks.deliver(chunk, (each) => sink.data(each)));
  }

  /** Hands over what waits until the system has enough. */
  #send(): void {
    for (let bytes = this.#rest[0]; bytes !== undefined; bytes = this.#rest[0]) {
      const taken = Math.max(0, this.#socket?.write(bytes) ?? 0);
      this.#queued -= taken;
      if (taken < bytes.length) {
        this.#rest[0] = bytes.subarray(taken);
        return;
      }
      releaseMemory(bytes);
      this.#rest.shift();
    }
  }

  #flush(): void {
    if (this.#closed) return;
    this.#send();
    this.#endIfSent();
    if (!this.#full || this.#queued > WRITE_BOUND / 2) return;
    this.#full = false;
    this.#tell((sink) => sink.drain());
  }

  #endIfSent(): void {
    if (!this.#ending || this.#writeEnded || this.#queued > 0) return;
    this.#writeEnded = true;
    this.#socket?.shutdown();
    this.#finishIfEnded();
  }

  #finishIfEnded(): void {
    if (this.#closed || !this.#readEnded || !this.#writeEnded) return;
    this.#finish(undefined);
    this.#socket?.end();
  }

  #endRead(): void {
    if (this.#readEnded || this.#closed) return;
    this.#readEnded = true;
    queueMicrotask(() => this.#tell((sink) => sink.end()));
  }

  /** Bun may call back from inside a call that the sink's owner made, so the sink hears of it later. */
  #finish(cause: SshError | undefined): void {
    if (this.#closed) return;
    this.#closed = true;
    queueMicrotask(() => this.#tell((sink) => sink.closed(cause)));
  }

  #tell(notice: (sink: PipeSink) => void): void {
    if (this.#sink === undefined) this.#early.push(notice);
    else notice(this.#sink);
  }
}
