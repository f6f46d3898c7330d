/** Requests about the connection as a whole: RFC 4254 §4. Replies carry no number: they come in the order of the requests. */

import { connection } from '../wire/connection.ts';
import { decode, encode } from '../wire/message.ts';
import type { Context } from './events.ts';
import type { Probe, RoundTrip } from './round_trip.ts';

/** A request of ours that waits for its reply. */
export interface PendingReply {
  readonly id: number;
  readonly probe: Probe;
}

export class GlobalRequests {
  readonly #context: Pick<Context, 'send' | 'emit'>;
  readonly #roundTrip: RoundTrip;
  readonly #pending: PendingReply[] = [];
  #next = 1;

  constructor(context: Pick<Context, 'send' | 'emit'>, roundTrip: RoundTrip) {
    this.#context = context;
    this.#roundTrip = roundTrip;
  }

  /** Sends a request; returns the id of the reply. */
  request(request: string, body: Uint8Array, wantReply: boolean): number {
    const id = this.#next++;
    const payload = encode(connection.globalRequest, { request, wantReply, body });
    if (wantReply) this.#pending.push({ id, probe: this.#roundTrip.watch(payload) });
    this.#context.send(payload);
    return id;
  }

  /** Answers the peer's oldest request that wanted a reply. */
  reply(ok: boolean, body: Uint8Array): void {
    this.#context.send(ok ? encode(connection.requestSuccess, { body }) : encode(connection.requestFailure, {}));
  }

  /** Takes a message, unless it belongs to channels. */
  receive(number: number, payload: Uint8Array): boolean {
    switch (number) {
      case connection.globalRequest.number:
        this.#context.emit({ type: 'global-request', ...decode(connection.globalRequest, payload) });
        return true;
      case connection.requestSuccess.number:
        this.#replied(true, decode(connection.requestSuccess, payload).body);
        return true;
      case connection.requestFailure.number:
        decode(connection.requestFailure, payload);
        this.#replied(false, new Uint8Array(0));
        return true;
      default:
        return false;
    }
  }

  /** The peer does not know a message: if it is GLOBAL_REQUEST, the oldest that waits has failed. */
  unimplemented(number: number): void {
    if (number === connection.globalRequest.number) this.#replied(false, new Uint8Array(0));
  }

  #replied(ok: boolean, body: Uint8Array): void {
    const pending = this.#pending.shift();
    // some servers answer requests that wanted no reply
    if (pending === undefined) return;
    this.#roundTrip.replied(pending.probe);
    this.#context.emit({ type: 'global-reply', id: pending.id, ok, body });
  }
}
