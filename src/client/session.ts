/**
 * A program on the server with its streams: a command, a shell, or a subsystem. RFC 4254 §6. That the program ended is known
 * whether or not anybody reads its output.
 */

import { SshError } from '../errors.ts';
import { onAbort } from '../io/abort.ts';
import { ByteSink } from '../io/byte_sink.ts';
import { ByteSource } from '../io/byte_source.ts';
import type { ChannelPipe } from '../io/channel_pipe.ts';
import type { Link } from './link.ts';
import { type ExitStatus, SessionChannel } from './session_channel.ts';

/** Bytes of stderr that are kept for a program whose stderr nobody reads. */
export const KEPT_STDERR: number = 1024 * 1024;

/** Options of a session. */
export interface SessionOptions {
  /** Ends the session: its program is sent TERM, where the server forwards signals, and its channel is closed. */
  readonly signal?: AbortSignal | undefined;
  /** Environment variables; servers silently drop what they do not allow. */
  readonly env?: Readonly<Record<string, string>> | undefined;
}

export class Session {
  /**
   * What the program reads; closing it is its end of input. A write resolves once there is room, so that a writer that
   * waits is as fast as the program.
   */
  readonly stdin: WritableStream<Uint8Array>;
  /** What the program writes. It is held up as long as nobody reads. */
  readonly stdout: ReadableStream<Uint8Array>;
  /**
   * What the program writes to stderr. It is held up only once somebody has begun to read: before that a mebibyte is
   * kept, and if there was more, the stream fails with `limit` behind it.
   */
  readonly stderr: ReadableStream<Uint8Array>;
  /**
   * How the program ended, once its channel is closed. Rejects with what ended the channel or the connection before. It need
   * not be waited for.
   */
  readonly exit: Promise<ExitStatus>;
  readonly #channel: SessionChannel;

  private constructor(channel: SessionChannel, stderr: ByteSource) {
    const { pipe } = channel;
    const stdout = new ByteSource((count) => pipe.consumed(count));
    const stdin = new ByteSink(pipe);
    this.#channel = channel;
    this.stdin = stdin.stream;
    this.stdout = stdout.stream;
    this.stderr = stderr.stream;
    this.exit = new Promise((resolve, reject) => {
      pipe.open({
        data: (data) => stdout.push(data),
        end: () => {
          stdout.end();
          stderr.end();
        },
        drain: () => stdin.drain(),
        closed: (cause) => {
          stdin.fail(cause ?? new SshError('channel-closed', 'The program has ended'));
          for (const source of [stdout, stderr]) {
            if (cause === undefined) source.end();
            else source.fail(cause);
          }
          if (cause === undefined) resolve(channel.exit);
          else reject(cause);
        },
      });
    });
    this.exit.catch(() => {});
  }

  /** Opens a session on which nothing runs yet. */
  static async open(link: Link, options: SessionOptions = {}): Promise<Session> {
    const { signal, env = {} } = options;
    let pipe: ChannelPipe | undefined;
    const stderr = new ByteSource((count) => pipe?.consumed(count), { keepUnread: KEPT_STDERR });
    const channel = await SessionChannel.open(link, {
      signal,
      stderr(data, from) {
        pipe = from;
        stderr.push(data);
      },
    });
    const session = new Session(channel, stderr);
    for (const [name, value] of Object.entries(env)) session.env(name, value);
    if (signal !== undefined) {
      const forget = onAbort(signal, (error) => {
        session.signal('TERM');
        channel.pipe.close(error);
      });
      session.exit.then(forget, forget);
    }
    return session;
  }

  /** Sets a variable for the program that will be started; servers silently drop what they do not allow. */
  env(name: string, value: string): void {
    this.#channel.env(name, value);
  }

  /** Runs a command. One program a session; rejects with `request-failed` when the server refuses. */
  exec(command: string): Promise<void> {
    return this.#channel.start({ request: 'exec', command });
  }

  /** Starts the user's shell. */
  shell(): Promise<void> {
    return this.#channel.start({ request: 'shell' });
  }

  /** Starts a subsystem, such as `netconf`. */
  subsystem(name: string): Promise<void> {
    return this.#channel.start({ request: 'subsystem', name });
  }

  /** Sends the program a signal, named without `SIG`, such as `INT`; many servers ignore it. */
  signal(name: string): void {
    this.#channel.signal(name);
  }

  /** Closes the channel, whatever the program does. Resolves once the server has closed it too, or has had its time. */
  async close(): Promise<void> {
    this.#channel.pipe.close(new SshError('channel-closed', 'This side closed the session'));
    await this.#channel.pipe.freed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
