/**
 * What a server asks of a client beside the login: global requests and channels (RFC 4254 §4, §5.1); and the client's own global
 * requests, whose replies come in order. What nobody has announced is refused. Must not know what a request means.
 */

import type { SshError } from '../errors.ts';
import type { ConnectionEvent, Driver } from '../io/driver.ts';
import { OpenFailureReason } from '../wire/numbers.ts';

/** Whether a global request of the server is granted: that is the answer, if one is wanted. */
export type GlobalHandler = (body: Uint8Array) => boolean;

/** Takes a channel that the server wants to open: `Link.acceptChannel` or `Link.refuseChannel` must follow. */
export type ChannelHandler = (id: number, body: Uint8Array) => void;

/** The answer to a global request. */
export interface GlobalReply {
  readonly ok: boolean;
  readonly body: Uint8Array;
}

interface Waiting {
  readonly resolve: (reply: GlobalReply) => void;
  readonly reject: (error: SshError) => void;
}

export class PeerRequests {
  readonly #driver: Driver;
  readonly #globals = new Map<string, GlobalHandler>();
  readonly #channels = new Map<string, ChannelHandler>();
  readonly #waiting = new Map<number, Waiting>();

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  /** From now on `handler` has global requests called `name`; the function that is returned ends that. */
  onGlobal(name: string, handler: GlobalHandler): () => void {
    return register(this.#globals, name, handler);
  }

  /** From now on `handler` has the channels of this kind that the server wants; the function that is returned ends that. */
  onChannel(kind: string, handler: ChannelHandler): () => void {
    return register(this.#channels, kind, handler);
  }

  /** Sends a global request that wants a reply. Rejects with what ended the connection. */
  request(name: string, body: Uint8Array): Promise<GlobalReply> {
    return new Promise((resolve, reject) => {
      const ended = this.#driver.endedBy;
      if (ended !== undefined) {
        reject(ended);
        return;
      }
      this.#waiting.set(this.#driver.connection.requestGlobal(name, body, true), { resolve, reject });
      this.#driver.wake();
    });
  }

  channelAsked({ channel, kind, body }: Extract<ConnectionEvent, { type: 'channel-open-request' }>): void {
    const handler = this.#channels.get(kind);
    if (handler !== undefined) handler(channel, body);
    else {
      const reason = OpenFailureReason.administrativelyProhibited;
      this.#driver.connection.refuseChannel(channel, reason, 'not requested');
    }
  }

  globalAsked({ request, wantReply, body }: Extract<ConnectionEvent, { type: 'global-request' }>): void {
    const granted = this.#globals.get(request)?.(body) ?? false;
    if (wantReply) this.#driver.connection.replyGlobalRequest(granted);
  }

  replied({ id, ok, body }: Extract<ConnectionEvent, { type: 'global-reply' }>): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    waiting?.resolve({ ok, body });
  }

  ended(error: SshError): void {
    for (const waiting of this.#waiting.values()) waiting.reject(error);
    this.#waiting.clear();
  }
}

function register<T>(handlers: Map<string, T>, name: string, handler: T): () => void {
  handlers.set(name, handler);
  return () => {
    if (handlers.get(name) === handler) handlers.delete(name);
  };
}
