/**
 * Byte pipes and Web Streams, each as the other: any pair of streams can carry a connection, and any pipe can be handed to
 * code that wants streams. Must not know SSH.
 */

import { type Bytes, join } from '../bytes/bytes.ts';
import { SshError, toSshError } from '../errors.ts';
import { ByteSink } from './byte_sink.ts';
import { ByteSource } from './byte_source.ts';
import type { BytePipe, PipeSink } from './pipe.ts';

/** Two streams of bytes, one for each direction. */
export interface ByteStreams {
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array>;
}

/** Bytes read and not consumed at which reading pauses. */
const READ_BOUND = 1024 * 1024;
/** Bytes handed to a `WritableStream` and not taken by it at which `write` says no. */
const WRITE_BOUND = 1024 * 1024;

/**
 * A pipe as streams. Reading gives credit as chunks are taken; a write resolves once the pipe has room. Cancelling the
 * readable side drops what still comes; aborting the writable side closes the pipe.
 */
export function streamsFromPipe(pipe: BytePipe): ByteStreams & { readonly readable: ReadableStream<Bytes> } {
  const source = new ByteSource((count) => pipe.consumed(count));
  const sink = new ByteSink(pipe);
  pipe.open({
    data: (bytes) => source.push(bytes),
    end: () => source.end(),
    drain: () => sink.drain(),
    closed: (cause) => {
      if (cause === undefined) source.end();
      else source.fail(cause);
      sink.fail(cause ?? new SshError('channel-closed', 'The other side closed the stream', { fault: 'peer' }));
    },
  });
  return { readable: source.stream, writable: sink.stream };
}

/** A pair of streams as a pipe. The streams are locked; what they fail with becomes `connection-lost`. */
export function pipeFromStreams(streams: ByteStreams): BytePipe {
  return new StreamPipe(streams);
}

/** A pipe, or streams as one; throws `bad-argument`, with `whose` as the subject and verb, for what is neither. */
export function asPipe(given: BytePipe | ByteStreams, whose: string): BytePipe {
  if (typeof given === 'object' && given !== null) {
    if ('readable' in given && 'writable' in given) return pipeFromStreams(given);
    const { open, write, end, consumed, close } = given as Partial<BytePipe>;
    if ([open, write, end, consumed, close].every((member) => typeof member === 'function')) return given as BytePipe;
  }
  throw new SshError('bad-argument', `${whose} a BytePipe or { readable, writable }, not ${typeof given}`);
}

class StreamPipe implements BytePipe {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  #sink: PipeSink | undefined;
  #unconsumed = 0;
  #queued = 0;
  #reading = false;
  #full = false;
  #readEnded = false;
  #writeEnded = false;
  #closed = false;

  constructor(streams: ByteStreams) {
    this.#reader = streams.readable.getReader();
    this.#writer = streams.writable.getWriter();
  }

  open(sink: PipeSink): void {
    this.#sink = sink;
    this.#writer.closed.catch((error) => this.#lost(error));
    this.#read();
  }

  write(pieces: readonly Uint8Array[]): boolean {
    if (this.#closed || this.#writeEnded) return true;
    const bytes = pieces.length === 1 ? (pieces[0] as Uint8Array) : join(pieces);
    this.#queued += bytes.length;
    this.#writer.write(bytes).then(
      () => this.#written(bytes.length),
      (error) => this.#lost(error),
    );
    this.#full ||= this.#queued >= WRITE_BOUND;
    return !this.#full;
  }

  end(): void {
    if (this.#closed || this.#writeEnded) return;
    this.#writeEnded = true;
    this.#writer.close().then(
      () => this.#finishIfEnded(),
      (error) => this.#lost(error),
    );
  }

  consumed(count: number): void {
    this.#unconsumed -= count;
    queueMicrotask(() => this.#read());
  }

  close(cause?: SshError): void {
    if (this.#closed) return;
    this.#closed = true;
    const reason = cause ?? new SshError('connection-closed', 'This side closed the stream');
    this.#reader.cancel(reason).catch(() => {});
    if (!this.#writeEnded) this.#writer.abort(reason).catch(() => {});
    queueMicrotask(() => this.#sink?.closed(cause));
  }

  /** Reads until enough waits to be consumed. */
  async #read(): Promise<void> {
    if (this.#reading || this.#readEnded) return;
    this.#reading = true;
    try {
      while (!this.#closed && this.#unconsumed < READ_BOUND) {
        const { done, value } = await this.#reader.read();
        if (this.#closed) return;
        if (done) {
          this.#readEnded = true;
          this.#sink?.end();
          this.#finishIfEnded();
          return;
        }
        if (!(value instanceof Uint8Array)) {
          throw new SshError('bad-argument', `The readable side gave ${typeof value}, not Uint8Array`);
        }
        if (value.length === 0) continue;
        this.#unconsumed += value.length;
        this.#sink?.data(value);
      }
    } catch (error) {
      this.#lost(error);
    } finally {
      this.#reading = false;
    }
  }

  #written(count: number): void {
    this.#queued -= count;
    if (!this.#full || this.#closed || this.#queued > WRITE_BOUND / 2) return;
    this.#full = false;
    this.#sink?.drain();
  }

  #lost(error: unknown): void {
    if (this.#closed) return;
    this.#closed = true;
    const cause = toSshError(error, 'connection-lost', { fault: 'network' });
    this.#reader.cancel(cause).catch(() => {});
    this.#writer.abort(cause).catch(() => {});
    this.#sink?.closed(cause);
  }

  /** Both directions have ended in good order. */
  #finishIfEnded(): void {
    if (this.#closed || !this.#readEnded || !this.#writeEnded) return;
    this.#closed = true;
    this.#sink?.closed(undefined);
  }
}
