/** A TCP connection of `node:net` as a byte pipe. */

import { connect, type Socket } from 'node:net';
import { plain } from '../bytes/bytes.ts';
import { packed } from '../bytes/pieces.ts';
import { releaseMemory } from '../bytes/release.ts';
import type { SshError } from '../errors.ts';
import { onAbort } from '../io/abort.ts';
import type { DialOptions } from '../io/dial.ts';
import type { BytePipe, PipeSink } from '../io/pipe.ts';
import { connectFailed, connectionLost, connectTimeout } from './connect_error.ts';
import { ReadRoom } from './read_room.ts';
import { SpentChunks } from './spent_memory.ts';

/** Bytes delivered and not consumed at which reading pauses. */
const READ_BOUND = 1024 * 1024;
/** Bytes that the socket has not taken at which `write` says no. */
const WRITE_BOUND = 1024 * 1024;

/** What one `write` counts as at least: what the socket keeps for it. */
const WRITE_COST = 512;

/** Connects; rejects with `connect-failed`, `timeout` or `aborted`. */
export function dialNode(options: DialOptions): Promise<BytePipe> {
  const { host, port, timeout, signal } = options;
  return new Promise((resolve, reject) => {
    let forget = (): void => {};
    const input = new RoomInput();
    const socket = connect({ host, port, noDelay: true, allowHalfOpen: true, onread: input });
    socket.pause(); // until the pipe is opened
    const timer = setTimeout(() => fail(connectTimeout(host, port, timeout)), timeout);
    const settle = (): void => {
      clearTimeout(timer);
      forget();
      socket.off('connect', connected);
    };
    const fail = (error: SshError): void => {
      settle();
      socket.destroy();
      reject(error);
    };
    const failed = (error: unknown): void => fail(connectFailed(host, port, error));
    const connected = (): void => {
      settle();
      socket.off('error', failed);
      resolve(new NodeSocketPipe(socket, input));
    };
    socket.on('error', failed); // stays after a failure: what comes later concerns nobody
    socket.once('connect', connected);
    if (signal !== undefined) forget = onAbort(signal, fail, 'Connecting');
  });
}

/**
 * A socket that a server has accepted, with `allowHalfOpen` and `pauseOnConnect`, as a pipe. Such a one cannot be told where
 * to read to: it gives each chunk memory of its own, of the size of the chunk, and holds none while it waits.
 */
export function acceptedNode(socket: Socket): BytePipe {
  const chunks = new SpentChunks();
  const input: Inlet = { deliver: () => {}, spent: (kept) => chunks.spent(kept) };
  socket.on('data', (chunk) => chunks.deliver(plain(chunk as Uint8Array), input.deliver));
  return new NodeSocketPipe(socket, input);
}

/** What a socket's bytes come through. */
interface Inlet {
  /** Takes what was read; set before the socket is read from. */
  deliver: (bytes: Uint8Array) => void;
  /** See `BytePipe`. */
  spent(kept: number): void;
}

/** Memory that the socket is told to read to. */
class RoomInput implements Inlet {
  deliver: (bytes: Uint8Array) => void = () => {};
  readonly #room = new ReadRoom();

  readonly buffer = (): Uint8Array => this.#room.room();

  readonly callback = (count: number): boolean => {
    this.#room.deliver(count, this.deliver);
    return true;
  };

  spent(kept: number): void {
    this.#room.spent(kept);
  }
}

export class NodeSocketPipe implements BytePipe {
  readonly #socket: Socket;
  readonly #input: Inlet;
  #sink: PipeSink | undefined;
  #cause: SshError | undefined;
  #unconsumed = 0;
  #queued = 0;
  #full = false;

  /** Takes a connected socket, made with `allowHalfOpen` and paused, whose bytes come through `input`; nobody else uses it. */
  constructor(socket: Socket, input: Inlet) {
    this.#socket = socket;
    this.#input = input;
    socket.on('error', (error) => {
      this.#cause ??= connectionLost(error);
    });
    socket.on('close', () => this.#sink?.closed(this.#cause));
  }

  open(sink: PipeSink): void {
    this.#sink = sink;
    const socket = this.#socket;
    if (socket.destroyed) {
      queueMicrotask(() => sink.closed(this.#cause));
      return;
    }
    this.#input.deliver = (bytes) => {
      this.#unconsumed += bytes.length;
      if (this.#unconsumed >= READ_BOUND) socket.pause();
      sink.data(bytes);
    };
    socket.on('end', () => sink.end());
    socket.resume();
  }

  write(pieces: readonly Uint8Array[]): boolean {
    const socket = this.#socket;
    if (socket.destroyed || socket.writableEnded || pieces.length === 0) return true;
    let size = 0;
    for (const piece of pieces) size += piece.length;
    // a peer that reads nothing must not make us keep a million pieces of a few bytes
    const few = packed(pieces, size);
    const cost = Math.max(size, WRITE_COST);
    socket.cork();
    for (let i = 0; i < few.length - 1; i++) socket.write(few[i] as Uint8Array);
    this.#queued += cost;
    socket.write(few[few.length - 1] as Uint8Array, () => {
      for (const piece of few) releaseMemory(piece);
      this.#written(cost);
    });
    socket.uncork();
    this.#full ||= this.#queued >= WRITE_BOUND;
    return !this.#full;
  }

  end(): void {
    this.#socket.end();
  }

  consumed(count: number): void {
    this.#unconsumed -= count;
    if (this.#unconsumed < READ_BOUND && this.#socket.isPaused()) this.#socket.resume();
  }

  spent(kept: number): void {
    this.#input.spent(kept);
  }

  close(cause?: SshError): void {
    if (this.#socket.destroyed) return;
    this.#cause ??= cause;
    this.#socket.destroy();
  }

  #written(count: number): void {
    this.#queued -= count;
    if (!this.#full || this.#queued > WRITE_BOUND / 2 || this.#socket.destroyed) return;
    this.#full = false;
    this.#sink?.drain();
  }
}
