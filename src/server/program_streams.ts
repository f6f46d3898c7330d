/** The streams of a program on a session. RFC 4254 §5.2, §6. Must not know what started it. */

import type { Bytes } from '../bytes/bytes.ts';
import { SshError } from '../errors.ts';
import { ByteSink } from '../io/byte_sink.ts';
import { ByteSource } from '../io/byte_source.ts';
import type { ChannelPipe } from '../io/channel_pipe.ts';
import { EXTENDED_DATA_STDERR } from '../wire/connection.ts';

/** Where a program writes. */
export type Output = 'stdout' | 'stderr';

export class ProgramStreams {
  readonly #input: ByteSource;
  readonly #output: ByteSink;
  readonly #errors: ByteSink;
  /** Settles, and never rejects, when the last `write` has. */
  readonly #writing: Record<Output, Promise<void>> = { stdout: Promise.resolve(), stderr: Promise.resolve() };

  /** Takes the channel over. */
  constructor(channel: ChannelPipe) {
    const close = (cause?: SshError): void => channel.close(cause);
    this.#input = new ByteSource((count) => channel.consumed(count));
    // EOF ends stdout and stderr together, so it leaves when the program has ended
    this.#output = new ByteSink({ write: (pieces) => channel.write(pieces), end: () => {}, close });
    this.#errors = new ByteSink({
      write: (pieces) => channel.write(pieces, EXTENDED_DATA_STDERR),
      end: () => {},
      close,
    });
    channel.open({
      data: (bytes) => this.#input.push(bytes),
      end: () => this.#input.end(),
      drain: () => {
        this.#output.drain();
        this.#errors.drain();
      },
      closed: (cause) => {
        const error = cause ?? new SshError('channel-closed', 'The client closed the session', { fault: 'peer' });
        if (cause === undefined) this.#input.end();
        else this.#input.fail(cause);
        this.#output.fail(error);
        this.#errors.fail(error);
      },
    });
  }

  get stdin(): ReadableStream<Bytes> {
    return this.#input.stream;
  }

  get stdout(): WritableStream<Uint8Array> {
    return this.#output.stream;
  }

  get stderr(): WritableStream<Uint8Array> {
    return this.#errors.stream;
  }

  /**
   * Writes, after what was written in this way before; resolves once there is room for more. Nobody has to wait for it: one
   * that fails because the client has gone harms nobody who does not look.
   */
  write(to: Output, bytes: Uint8Array): Promise<void> {
    const written = this.#writing[to].then(() => put(this[to], bytes));
    this.#writing[to] = written.catch(() => {});
    return written;
  }

  /** Resolves when all that was written stands in the channel's queue. */
  async written(): Promise<void> {
    await this.#writing.stdout;
    await this.#writing.stderr;
    await this.#output.idle();
    await this.#errors.idle();
  }

  /** Nobody reads any more: what still comes is dropped. */
  drop(): void {
    const error = new SshError('channel-closed', 'The program has ended');
    this.#input.stop();
    this.#output.fail(error);
    this.#errors.fail(error);
  }
}

async function put(stream: WritableStream<Uint8Array>, bytes: Uint8Array): Promise<void> {
  const writer = stream.getWriter();
  try {
    await writer.write(bytes);
  } finally {
    writer.releaseLock();
  }
}
