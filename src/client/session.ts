/**
 * A program on the server with its streams: a command, a shell, or a subsystem. RFC 4254 §6. That the program ended is known
 * whether or not anybody reads its output.
 */

import type { Agent } from '../agent/agent.ts';
import type { Bytes } from '../bytes/bytes.ts';
import { SshError } from '../errors.ts';
import { onAbort } from '../io/abort.ts';
import { ByteSink } from '../io/byte_sink.ts';
import { ByteSource } from '../io/byte_source.ts';
import type { ChannelPipe } from '../io/channel_pipe.ts';
import type { PipeStats } from '../io/pipe.ts';
import type { Link } from './link.ts';
import { type ExitStatus, SessionChannel, type StartRequest } from './session_channel.ts';

/** Bytes of stderr that are kept for a program whose stderr nobody reads. */
const KEPT_STDERR = 1024 * 1024;

/** Options of a session. */
export interface SessionOptions {
  /** Ends the session: its program is sent TERM, where the server forwards signals, and its channel is closed. */
  readonly signal?: AbortSignal | undefined;
  /** Environment variables; servers silently drop what they do not allow. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /**
   * An agent that programs on the server can use while the session lives, such as `agent()`. Whoever is root there can use it too.
   * Servers silently drop what they do not allow. Of several on one connection the latest is used.
   */
  readonly agent?: Agent | undefined;
}

export class Session {
  /**
   * What the program reads; closing it is its end of input. A write resolves once there is room, so that a writer that
   * waits is as fast as the program.
   */
  readonly stdin: WritableStream<Uint8Array>;
  /** What the program writes. It is held up as long as nobody reads. */
  readonly stdout: ReadableStream<Bytes>;
  /**
   * What the program writes to stderr. It is held up only once somebody has begun to read: before that a mebibyte is
   * kept, and if there was more, the stream fails with `limit` behind it.
   */
  readonly stderr: ReadableStream<Bytes>;
  /**
   * How the program ended, once its channel is closed. Rejects with what ended the channel or the connection before. It need
   * not be waited for.
   */
  readonly exit: Promise<ExitStatus>;
  readonly #channel: SessionChannel;
  readonly #fail: (error: SshError) => void;
  #started = false;

  private constructor(channel: SessionChannel, stderr: ByteSource) {
    const { pipe } = channel;
    const stdout = new ByteSource((count) => pipe.consumed(count));
    const stdin = new ByteSink(pipe);
    this.#channel = channel;
    this.stdin = stdin.stream;
    this.stdout = stdout.stream;
    this.stderr = stderr.stream;
    let settle: { readonly resolve: (exit: ExitStatus) => void; readonly reject: (error: SshError) => void };
    this.exit = new Promise((resolve, reject) => {
      settle = { resolve, reject };
    });
    this.exit.catch(() => {});
    this.#fail = (error) => {
      stdin.fail(error);
      stdout.fail(error);
      stderr.fail(error);
      settle.reject(error);
    };
    const end = (): void => {
      stdout.end();
      stderr.end();
    };
    pipe.open({
      data: (data) => stdout.push(data),
      end,
      drain: () => stdin.drain(),
      closed: (cause) => {
        if (cause !== undefined) {
          this.#fail(cause);
          return;
        }
        stdin.fail(new SshError('channel-closed', 'The program has ended'));
        end();
        settle.resolve(channel.exit);
      },
    });
  }

  /** Opens a session on which nothing runs yet. */
  static async open(link: Link, options: SessionOptions = {}): Promise<Session> {
    const { signal, env, agent } = options;
    let pipe: ChannelPipe | undefined;
    const stderr = new ByteSource((count) => pipe?.consumed(count), { keepUnread: KEPT_STDERR });
    const channel = await SessionChannel.open(link, {
      signal,
      env,
      agent,
      stderr(data, from) {
        pipe = from;
        stderr.push(data);
      },
    });
    const session = new Session(channel, stderr);
    if (signal !== undefined) {
      const forget = onAbort(signal, (error) => {
        session.signal('TERM');
        session.#close(error);
      });
      session.exit.then(forget, forget);
    }
    return session;
  }

  /** What its channel has moved, as of now or of its end, and how its windows stand. */
  get stats(): PipeStats {
    return this.#channel.pipe.stats;
  }

  /** Sets a variable for the program that will be started; servers silently drop what they do not allow. */
  env(name: string, value: string): void {
    this.#channel.env(name, value);
  }

  /** Runs a command. One program a session; rejects with `request-failed` when the server refuses. */
  exec(command: string): Promise<void> {
    return this.#start({ request: 'exec', command });
  }

  /** Starts the user's shell. */
  shell(): Promise<void> {
    return this.#start({ request: 'shell' });
  }

  /** Starts a subsystem, such as `netconf`. */
  subsystem(name: string): Promise<void> {
    return this.#start({ request: 'subsystem', name });
  }

  /** Sends the program a signal, named without `SIG`, such as `INT`; many servers ignore it. */
  signal(name: string): void {
    this.#channel.signal(name);
  }

  /**
   * Closes the channel; what is pending fails with `channel-closed`. Resolves when the server has closed it too. Where a
   * program still runs it resolves at once, since servers then keep the channel until it has ended: `signal` may end it.
   */
  async close(): Promise<void> {
    this.#close(new SshError('channel-closed', 'This side closed the session'));
    const { code, signal } = this.#channel.exit;
    if (!this.#started || code !== undefined || signal !== undefined) await this.#channel.pipe.freed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #start(request: StartRequest): Promise<void> {
    await this.#channel.start(request);
    this.#started = true;
  }

  #close(error: SshError): void {
    this.#fail(error);
    this.#channel.pipe.close(error);
  }
}
