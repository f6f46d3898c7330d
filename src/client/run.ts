/**
 * Running a command to its end: its whole output, and how it ended. Both streams are drained whatever else happens, so a
 * command is never held up by output that nobody reads. RFC 4254 §6.5, §6.10.
 */

import type { Agent } from '../agent/agent.ts';
import { type Bytes, copy } from '../bytes/bytes.ts';
import { ChunkQueue } from '../bytes/chunks.ts';
import { utf8 } from '../bytes/text.ts';
import { SshError, toSshError } from '../errors.ts';
import { onAbort } from '../io/abort.ts';
import { ByteSink } from '../io/byte_sink.ts';
import type { ChannelPipe } from '../io/channel_pipe.ts';
import type { Link } from './link.ts';
import { type ExitStatus, SessionChannel } from './session_channel.ts';

/** The most output that `run` keeps by default, of stdout and stderr together; 16 MiB. */
const DEFAULT_MAX_OUTPUT = 16 * 1024 * 1024;

/** What a command can be fed. */
export type ByteInput = string | Uint8Array | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

/** Options of `run`. */
export interface RunOptions {
  /** Ends the command: it is sent TERM, where the server forwards signals, and its channel is closed. */
  readonly signal?: AbortSignal | undefined;
  /** What the command reads. Default: nothing, its input ends at once. */
  readonly stdin?: ByteInput | undefined;
  /** `ignore`: not kept, and not counted. Default: `collect`. */
  readonly stdout?: 'collect' | 'ignore' | undefined;
  readonly stderr?: 'collect' | 'ignore' | undefined;
  /** Bytes of stdout and stderr together at which the command is ended with `limit`. Default: 16 MiB. */
  readonly maxOutput?: number | undefined;
  /** Environment variables; servers silently drop what they do not allow. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Forwarded while the command runs: see `SessionOptions`. */
  readonly agent?: Agent | undefined;
}

/** What a command left behind. A code other than 0 is no error of `run`. */
export interface RunResult extends ExitStatus {
  readonly stdout: Bytes;
  readonly stderr: Bytes;
}

/** Largest piece of input that is copied at once. */
const INPUT_STEP = 256 * 1024;

/**
 * Runs `command` and resolves once the channel is closed and all output is there. Rejects with `limit` above `maxOutput`,
 * `request-failed` when the server refuses, `aborted`, or with what ended the channel or the connection.
 */
export async function run(link: Link, command: string, options: RunOptions = {}): Promise<RunResult> {
  const { signal, env, agent } = options;
  const output = new Output(options);
  const session = await SessionChannel.open(link, {
    signal,
    env,
    agent,
    stderr: (data, channel) => output.take(channel, 'stderr', data),
  });
  const { pipe } = session;
  const stdin = new ByteSink(pipe);
  const started = session.start({ request: 'exec', command });
  started.catch((error) => output.fail(pipe, error));
  feed(stdin.stream, options.stdin).catch((error) => output.fail(pipe, toSshError(error, 'bad-argument')));
  const end = (error: SshError): void => {
    session.signal('TERM');
    output.fail(pipe, error);
  };
  const forget = signal === undefined ? () => {} : onAbort(signal, end);
  pipe.open({
    data: (data) => output.take(pipe, 'stdout', data),
    end: () => {},
    drain: () => stdin.drain(),
    closed: (cause) => {
      stdin.fail(cause ?? new SshError('channel-closed', 'The command has ended'));
      output.closed(cause);
    },
  });
  try {
    await output.complete;
    await started;
  } finally {
    forget();
  }
  return { ...output.result(), ...session.exit };
}

/** What a command prints, and whether that is all of it. */
class Output {
  /** Resolves when the channel has closed in good order; rejects with the first failure, and does not wait for the server. */
  readonly complete: Promise<void>;
  readonly #kept = { stdout: new ChunkQueue(), stderr: new ChunkQueue() };
  readonly #options: RunOptions;
  readonly #max: number;
  #size = 0;
  #resolve: () => void = () => {};
  #reject: (error: SshError) => void = () => {};

  constructor(options: RunOptions) {
    this.#options = options;
    this.#max = options.maxOutput ?? DEFAULT_MAX_OUTPUT;
    this.complete = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.complete.catch(() => {});
  }

  take(channel: ChannelPipe, stream: 'stdout' | 'stderr', data: Uint8Array): void {
    channel.consumed(data.length);
    if (this.#options[stream] === 'ignore') return;
    this.#size += data.length;
    if (this.#size > this.#max) {
      const hint = `raise maxOutput, ignore ${stream}, or read it as a stream with exec()`;
      this.fail(channel, new SshError('limit', `The command printed more than ${this.#max} bytes: ${hint}`));
      return;
    }
    this.#kept[stream].push(copy(data));
  }

  closed(cause: SshError | undefined): void {
    if (cause === undefined) this.#resolve();
    else this.#reject(cause);
  }

  fail(channel: ChannelPipe, error: SshError): void {
    this.#reject(error);
    channel.close(error);
  }

  result(): { readonly stdout: Bytes; readonly stderr: Bytes } {
    const { stdout, stderr } = this.#kept;
    return { stdout: stdout.takeAll() as Bytes, stderr: stderr.takeAll() as Bytes };
  }
}

/** Writes the whole input and ends it. Rejects when the source fails; a command that stops reading is no failure. */
async function feed(stream: WritableStream<Uint8Array>, input: ByteInput | undefined): Promise<void> {
  const writer = stream.getWriter();
  for await (const chunk of chunksOf(input)) {
    try {
      await writer.write(chunk);
    } catch (error) {
      if (error instanceof SshError && error.code === 'bad-argument') throw error;
      return;
    }
  }
  await writer.close().catch(() => {});
}

async function* chunksOf(input: ByteInput | undefined): AsyncGenerator<Uint8Array> {
  if (input === undefined) return;
  if (typeof input === 'string' || input instanceof Uint8Array) {
    const bytes = typeof input === 'string' ? utf8(input) : input;
    for (let at = 0; at < bytes.length; at += INPUT_STEP) yield bytes.subarray(at, at + INPUT_STEP);
  } else if ('getReader' in input) {
    yield* readAll(input.getReader());
  } else {
    yield* input;
  }
}

/** Not every runtime can iterate a `ReadableStream`. */
async function* readAll(reader: ReadableStreamDefaultReader<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
  } finally {
    reader.cancel().catch(() => {});
  }
}
