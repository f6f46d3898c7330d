/** The client as its callers see it: sessions, key exchange, facts, and the end. Must not know SFTP. */

import type { Negotiated } from '../core/events.ts';
import type { Quirks } from '../core/quirks.ts';
import type { ConnectionStats } from '../core/stats.ts';
import type { SshError } from '../errors.ts';
import type { ChannelPipe } from '../io/channel_pipe.ts';
import type { BytePipe } from '../io/pipe.ts';
import type { ConnectionInfo, Link } from './link.ts';
import { type RunOptions, type RunResult, run } from './run.ts';
import { Session, type SessionOptions } from './session.ts';
import { type ExitStatus, SessionChannel } from './session_channel.ts';
import { openTunnel, type TunnelOptions } from './tunnel.ts';

/** How to start a subsystem as a pipe. */
export interface SubsystemPipeOptions {
  /** What it writes to stderr. */
  readonly stderr: (data: Uint8Array) => void;
  /** Gives up opening the channel. */
  readonly signal?: AbortSignal | undefined;
  /** Whether not to wait for the channel where that can be done; see `ChannelOptions`. */
  readonly early?: boolean | undefined;
}

/** A subsystem that is being started. */
export interface SubsystemPipe {
  readonly pipe: ChannelPipe;
  /** Resolves when the server has started it. */
  readonly started: Promise<void>;
  /** How its program ended, as far as the server has told by now. */
  exit(): ExitStatus;
}

export class Client {
  readonly #link: Link;

  constructor(link: Link) {
    this.#link = link;
  }

  /** What is known about the connection, as of now. */
  get info(): ConnectionInfo {
    return this.#link.info;
  }

  /** What the connection has moved, as of now, and its round trip. */
  get stats(): ConnectionStats {
    return this.#link.stats;
  }

  /** Resolves when somebody is logged in, as is the case from the start unless `early` was set; else rejects with why not. */
  get loggedIn(): Promise<void> {
    return this.#link.loggedIn;
  }

  /** Resolves with why the connection ended, or with `undefined` when this side closed it. Never rejects. */
  get closed(): Promise<SshError | undefined> {
    return this.#link.closed;
  }

  /** Runs a command to its end; see `RunOptions`. The command is text for the server's shell: quoting is the caller's. */
  run(command: string, options?: RunOptions): Promise<RunResult> {
    return run(this.#link, command, options);
  }

  /** Runs a command with its streams. */
  exec(command: string, options?: SessionOptions): Promise<Session> {
    return this.#session((session) => session.exec(command), options);
  }

  /** Starts the user's shell, without a terminal. */
  shell(options?: SessionOptions): Promise<Session> {
    return this.#session((session) => session.shell(), options);
  }

  /** Starts a subsystem with its streams. */
  subsystem(name: string, options?: SessionOptions): Promise<Session> {
    return this.#session((session) => session.subsystem(name), options);
  }

  /** Opens a session on which nothing runs yet. Servers limit how many may be open (OpenSSH: MaxSessions 10). */
  openSession(options?: SessionOptions): Promise<Session> {
    return Session.open(this.#link, options);
  }

  /**
   * Has the server connect to `host` at `port`, as it knows that name, and gives the byte stream: another SSH connection can
   * run on it. Rejects with `channel-open-failed` when the server cannot, or may not. RFC 4254 §7.2.
   */
  openTunnel(host: string, port: number, options?: TunnelOptions): Promise<BytePipe> {
    return openTunnel(this.#link, host, port, options);
  }

  /** Exchanges keys now; resolves with what was settled. */
  rekey(): Promise<Negotiated> {
    return this.#link.rekey();
  }

  /**
   * Ends the connection and everything on it. Resolves once the last bytes have left, which takes no answer of the server; a
   * byte stream that the server does not end is cut two seconds later.
   */
  close(): Promise<void> {
    return this.#link.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** What the server is known to do differently. */
  protected get quirks(): Quirks {
    return this.#link.quirks;
  }

  /**
   * Starts a subsystem as a byte pipe. It resolves once the channel is open and does not wait for the server's answer: what
   * is written meanwhile leaves together with the request. If the server refuses, `started` rejects with `request-failed`
   * and the pipe is closed.
   */
  protected async openSubsystemPipe(name: string, options: SubsystemPipeOptions): Promise<SubsystemPipe> {
    const channel = await SessionChannel.open(this.#link, {
      signal: options.signal,
      early: options.early,
      stderr(data, pipe) {
        options.stderr(data);
        pipe.consumed(data.length);
      },
    });
    const { pipe } = channel;
    const started = channel.start({ request: 'subsystem', name });
    started.catch((error: SshError) => pipe.close(error));
    return { pipe, started, exit: () => channel.exit };
  }

  async #session(start: (session: Session) => Promise<void>, options?: SessionOptions): Promise<Session> {
    const session = await Session.open(this.#link, options);
    try {
      await start(session);
      return session;
    } catch (error) {
      session.close().catch(() => {});
      throw error;
    }
  }
}
