/**
 * Forwarding for one client: channels to targets that the policy connects, and listeners that the policy opens. RFC 4254 §7.
 * Must not know sockets.
 */

import { DecodeError } from '../bytes/reader.ts';
import { decodeFields, encodeFields } from '../bytes/schema.ts';
import { printable } from '../bytes/text.ts';
import { SshError, toSshError } from '../errors.ts';
import { ChannelPipe } from '../io/channel_pipe.ts';
import { discard } from '../io/discard.ts';
import type { Driver } from '../io/driver.ts';
import type { Accepted, Listener } from '../io/listen.ts';
import { splice } from '../io/splice.ts';
import { asPipe } from '../io/streams.ts';
import { type ForwardOptions, permitsListen, permitsOpen } from '../keys/forward_permit.ts';
import { OpenFailureReason } from '../wire/numbers.ts';
import { channelOpen, forwardedPort, globalRequest } from '../wire/requests.ts';
import type { ForwardHandlers, ForwardTarget, Login } from './handlers.ts';

/** Connections forwarded at once for one client, and listeners. */
const MAX_CONNECTIONS = 256;
const MAX_LISTENERS = 64;

export interface ForwardingParts {
  readonly driver: Driver;
  readonly handlers: ForwardHandlers;
  readonly login: Login;
  readonly failed: (error: SshError) => void;
}

/** What is answered to a global request. */
export interface GlobalAnswer {
  readonly ok: boolean;
  readonly body: Uint8Array;
}

const NOTHING = new Uint8Array(0);
const NO: GlobalAnswer = { ok: false, body: NOTHING };

export class Forwarding {
  readonly #parts: ForwardingParts;
  readonly #abort = new AbortController();
  /** By the address that the client named and the port that was bound. */
  readonly #listeners = new Map<string, Listener>();
  #connections = 0;

  constructor(parts: ForwardingParts) {
    this.#parts = parts;
  }

  /** Connects a channel of kind `direct-tcpip`, or refuses it. Never rejects. */
  async open(id: number, body: Uint8Array): Promise<void> {
    const { driver } = this.#parts;
    const refuse = (reason: number, why: string): void => {
      driver.connection.refuseChannel(id, reason, why);
      driver.wake();
    };
    const target = targetOf(body);
    const { connect } = this.#parts.handlers;
    if (target === undefined || connect === undefined || !permitsOpen(this.#options, target.host, target.port)) {
      refuse(OpenFailureReason.administrativelyProhibited, 'not permitted');
      return;
    }
    if (this.#connections >= MAX_CONNECTIONS) {
      refuse(OpenFailureReason.resourceShortage, 'too many forwarded connections');
      return;
    }
    this.#connections++;
    let channel: ChannelPipe | undefined;
    try {
      const given = await connect.call(this.#parts.handlers, target, this.#parts.login, this.#abort.signal);
      if (!given) {
        refuse(OpenFailureReason.administrativelyProhibited, 'not permitted');
        return;
      }
      const pipe = asPipe(given, 'forward.connect gives');
      if (this.#abort.signal.aborted) {
        discard(pipe);
        return;
      }
      channel = ChannelPipe.accept(driver, id, { closesItself: true });
      await splice(channel, pipe);
    } catch (error) {
      this.#failed(error);
      if (channel === undefined) refuse(OpenFailureReason.connectFailed, 'the target cannot be reached');
      else channel.close(toSshError(error, 'internal'));
    } finally {
      this.#connections--;
    }
  }

  /** `tcpip-forward` and `cancel-tcpip-forward`; anything else is refused. Never rejects. */
  async request(name: string, body: Uint8Array): Promise<GlobalAnswer> {
    try {
      if (name === 'tcpip-forward') return await this.#listen(body);
      if (name === 'cancel-tcpip-forward') return await this.#cancel(body);
    } catch (error) {
      // a request that is malformed is refused like any other that cannot be had
      if (!(error instanceof DecodeError)) this.#failed(error);
    }
    return NO;
  }

  /** The client has gone. */
  end(): void {
    this.#abort.abort(new SshError('connection-closed', 'The client has gone', { fault: 'peer' }));
    const listeners = [...this.#listeners.values()];
    this.#listeners.clear();
    for (const listener of listeners) this.#close(listener);
  }

  /** Never rejects. */
  async #close(listener: Listener): Promise<void> {
    try {
      await listener.close();
    } catch (error) {
      this.#parts.failed(asFailure(error));
    }
  }

  async #listen(body: Uint8Array): Promise<GlobalAnswer> {
    const { handlers, login } = this.#parts;
    const { host, port } = decodeFields(globalRequest['tcpip-forward'], body, 'tcpip-forward');
    const name = printable(host);
    if (handlers.listen === undefined || port > 65535 || !permitsListen(this.#options, name, port)) return NO;
    if (this.#listeners.size >= MAX_LISTENERS || this.#listeners.has(keyOf(name, port))) return NO;
    let bound = port;
    const listener = await handlers.listen({ host: name, port }, login, (accepted) => {
      this.#forward(name, bound, accepted).catch((error) => this.#failed(error));
    });
    if (!listener) return NO;
    bound = listener.address.port;
    if (this.#abort.signal.aborted) {
      await this.#close(listener);
      return NO;
    }
    this.#listeners.set(keyOf(name, bound), listener);
    // RFC 4254 §7.1: the port is told only to who let the server choose
    return { ok: true, body: port === 0 ? encodeFields(forwardedPort, { port: bound }) : NOTHING };
  }

  async #cancel(body: Uint8Array): Promise<GlobalAnswer> {
    const { host, port } = decodeFields(globalRequest['cancel-tcpip-forward'], body, 'cancel-tcpip-forward');
    const key = keyOf(printable(host), port);
    const listener = this.#listeners.get(key);
    if (listener === undefined) return NO;
    this.#listeners.delete(key);
    await listener.close();
    return { ok: true, body: NOTHING };
  }

  async #forward(host: string, port: number, { pipe, remote }: Accepted): Promise<void> {
    const { driver } = this.#parts;
    if (this.#abort.signal.aborted || this.#connections >= MAX_CONNECTIONS) {
      discard(pipe);
      return;
    }
    this.#connections++;
    let channel: ChannelPipe | undefined;
    try {
      const body = encodeFields(channelOpen['forwarded-tcpip'], {
        host,
        port,
        originHost: remote.address,
        originPort: remote.port,
      });
      const { signal } = this.#abort;
      const options = { body, closesItself: true, signal };
      channel = await ChannelPipe.connect(driver, 'forwarded-tcpip', options);
      await splice(channel, pipe);
    } catch (error) {
      if (channel === undefined) discard(pipe);
      else channel.close(toSshError(error, 'internal'));
      // that the client does not want it is no failure of this side
      if (!(error instanceof SshError && error.code === 'channel-open-failed')) this.#failed(error);
    } finally {
      this.#connections--;
    }
  }

  get #options(): ForwardOptions {
    const { permissions } = this.#parts.login;
    return { ...permissions, portForwarding: permissions.portForwarding ?? true };
  }

  /** Tells it, unless the client has gone: what fails then fails because of that. */
  #failed(error: unknown): void {
    if (!this.#abort.signal.aborted) this.#parts.failed(asFailure(error));
  }
}

function asFailure(error: unknown): SshError {
  return toSshError(error, 'internal', { phase: 'open' });
}

function targetOf(body: Uint8Array): ForwardTarget | undefined {
  try {
    const { host, port, originHost, originPort } = decodeFields(channelOpen['direct-tcpip'], body, 'direct-tcpip');
    if (port < 1 || port > 65535) return undefined;
    return { host: printable(host), port, originHost: printable(originHost), originPort };
  } catch (error) {
    if (error instanceof DecodeError) return undefined;
    throw error;
  }
}

function keyOf(host: string, port: number): string {
  return `${host}:${port}`;
}
