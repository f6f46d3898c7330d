/** The streams of a program on a session. RFC 4254 §5.2, §6. Must not know what started it. */

import type { Bytes } from '../bytes/bytes.ts';
import { SshError } from '../errors.ts';
import { ByteSink } from '../io/byte_sink.ts';
import { ByteSource } from '../io/byte_source.ts';
import type { ChannelPipe } from '../io/channel_pipe.ts';
import { EXTENDED_DATA_STDERR } from '../wire/connection.ts';

export class ProgramStreams {
  readonly #input: ByteSource;
  readonly #output: ByteSink;
  readonly #errors: ByteSink;

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

  /** Resolves when all that was written stands in the channel's queue. */
  async written(): Promise<void> {
    await this.#output.idle();
    await this.#errors.idle();
  }

  /** Nobody reads any more: what still comes is dropped. */
  drop(): void {
    const error = new SshError('channel-closed', 'The program has ended');
    this.#input.fail(error);
    this.#output.fail(error);
    this.#errors.fail(error);
  }
}
