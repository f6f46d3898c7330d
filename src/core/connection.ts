/**
 * A connection as a value: bytes in, bytes and events out. Time, randomness and cryptography come in; no socket, no clock.
 *
 * Driving contract. After every call (input, answer, command, `takeOutput`) drain `nextEvent` until it gives nothing, take
 * output while the pipe has room, and set one timer for `nextTimeout`. Nothing here throws because of the peer: what goes wrong
 * becomes the terminal state, told once by the event `closed`, the last one.
 */

import type { CryptoProvider, MaybePromise, RandomSource } from '../crypto/provider.ts';
import { protocolError, SshError, toSshError } from '../errors.ts';
import { connection } from '../wire/connection.ts';
import { DisconnectReason } from '../wire/numbers.ts';
import type { AlgorithmLists } from './algorithms/lists.ts';
import type { Auth } from './auth/auth.ts';
import type { Event, Negotiated, Question } from './events.ts';
import { Keepalive, type KeepaliveConfig } from './keepalive.ts';
import type { Limits } from './limits.ts';
import { Mux } from './mux.ts';
import { type Quirks, quirksOf } from './quirks.ts';
import type { RekeyLimits } from './rekey.ts';
import { type ClientSide, type ServerSide, sideOf } from './side.ts';
import { Transport } from './transport.ts';

export type ConnectionConfig = CommonConfig & (ClientSide | ServerSide);

/** What both roles are told. */
export interface CommonConfig {
  readonly crypto: CryptoProvider;
  readonly random: RandomSource;
  readonly algorithms: AlgorithmLists;
  /** The software version of our identification. */
  readonly software: string;
  readonly rekey: RekeyLimits;
  readonly limits: Limits;
  readonly keepalive: KeepaliveConfig;
  /** Receive window of every channel at first, in bytes. */
  readonly window: number;
  /** The most that it may grow to. */
  readonly maxWindow: number;
  /** The most data bytes in one packet to us. */
  readonly maxPacket: number;
  /** In place of what the table of quirks says about the peer. */
  readonly quirks?: Partial<Quirks>;
}

interface OpenQuestion {
  readonly hold: boolean;
  readonly answered: (value: never) => void;
}

export class Connection {
  readonly #config: ConnectionConfig;
  readonly #transport: Transport;
  readonly #auth: Auth;
  readonly #mux: Mux;
  readonly #keepalive: Keepalive;
  readonly #questions = new Map<number, OpenQuestion>();
  #events: Event[] = [];
  #firstEvent = 0;
  #nextQuestion = 1;
  #holding = 0;
  #state: 'open' | 'closed' = 'open';
  #processing = false;

  constructor(config: ConnectionConfig) {
    this.#config = config;
    const context = {
      send: (payload: Uint8Array) => this.#transport.send(payload),
      emit: (event: Event) => this.#emit(event),
      ask: (question: Question, hold: boolean, answered: (value: never) => void) => this.#ask(question, hold, answered),
      settle: <T>(value: MaybePromise<T>, then: (value: T) => void) => this.#settle(value, then),
    };
    const { auth, ...side } = sideOf(config, context);
    this.#auth = auth;
    this.#mux = new Mux(config, context);
    this.#keepalive = new Keepalive(config.keepalive);
    this.#transport = new Transport(
      { ...config, ...side },
      {
        ...context,
        phase: () => auth.phase,
        payload: (payload) => this.#payload(payload),
        extInfo: (extensions) => auth.extInfo(extensions, this.quirks),
        ready: () => auth.start(this.#transport.kex.sessionId as Uint8Array),
        unimplemented: (number) => {
          auth.unimplemented(number);
          this.#mux.unimplemented(number);
        },
        bulk: () => this.#mux.bulk(),
        disconnected: (error) => this.#terminate(error),
      },
    );
  }

  // Facts

  get closed(): boolean {
    return this.#state === 'closed';
  }

  /** What the last key exchange settled. */
  get negotiated(): Negotiated | undefined {
    return this.#transport.kex.negotiated;
  }

  /** RFC 4253 §7.2; the same for the whole connection. */
  get sessionId(): Uint8Array | undefined {
    return this.#transport.kex.sessionId;
  }

  /** The host key that was verified and trusted. */
  get hostKey(): Uint8Array | undefined {
    return this.#transport.kex.hostKey;
  }

  /** The peer's identification line, sanitised. */
  get peerIdentification(): string | undefined {
    return this.#transport.peer?.text;
  }

  /** What the peer is known to do differently. */
  get quirks(): Quirks {
    return quirksOf(this.peerIdentification ?? '', this.#config.quirks);
  }

  /** Whether strict key exchange is in force. */
  get strict(): boolean {
    return this.#transport.kex.strict;
  }

  /** Whether input is only kept, not processed: a question is open, or the peer does not read our answers. */
  get holdsInput(): boolean {
    return this.#holding > 0 || this.#congested;
  }

  // Input

  /** Queues the identification and the first KEXINIT. */
  start(): void {
    this.#guard(() => this.#transport.start());
  }

  /** Takes received bytes, which must not be touched again, and processes what it can. */
  receive(bytes: Uint8Array): void {
    if (this.closed) return;
    this.#keepalive.heard();
    this.#transport.push(bytes);
    this.#process();
  }

  /** The byte stream ended, or failed with `cause`. */
  endOfInput(cause?: SshError): void {
    if (this.closed) return;
    const { heard, phase, textError } = this.#transport;
    if (textError !== undefined && cause === undefined) {
      this.#terminate(textError);
      return;
    }
    if (this.#transport.peer === undefined && cause === undefined) {
      const said = heard === '' ? '' : `; it said: "${heard}"`;
      this.#terminate(
        new SshError('identification', `The peer closed before it identified itself as SSH${said}`, {
          fault: 'peer',
          phase: 'identification',
        }),
      );
      return;
    }
    const why = cause === undefined ? 'the peer closed without a DISCONNECT' : cause.message;
    this.#terminate(
      new SshError('connection-lost', `Connection lost in phase ${phase}: ${why}`, { fault: 'network', phase, cause }),
    );
  }

  /** Acts on timers; `now` in milliseconds on the clock of `nextTimeout`. */
  tick(now: number): void {
    this.#guard(() => {
      this.#transport.tick(now, this.#holding > 0);
      this.#auth.tick(now);
      this.#mux.tick(now);
      if (this.#auth.phase === 'open' && this.#keepalive.due(now)) {
        this.#keepalive.sent(this.#mux.requestGlobal('keepalive@openssh.com', new Uint8Array(0), true));
      }
    });
    this.#process();
  }

  /** Answers question `id`; what the value must be stands beside each question. */
  answer(id: number, value: unknown): void {
    const question = this.#questions.get(id);
    if (question === undefined) return;
    this.#questions.delete(id);
    if (question.hold) this.#holding--;
    this.#guard(() => question.answered(value as never));
    this.#process();
  }

  /** Refuses question `id`: the connection ends with `error`. */
  refuse(id: number, error: SshError): void {
    if (!this.#questions.delete(id)) return;
    this.#terminate(error);
  }

  // Output

  /** The next event, or nothing. */
  nextEvent(): Event | undefined {
    // not `shift`: it moves all that follow, and there may be tens of thousands
    const event = this.#events[this.#firstEvent++];
    if (this.#firstEvent >= this.#events.length) {
      this.#events = [];
      this.#firstEvent = 0;
    }
    return event;
  }

  /** Bytes to send, sealed now, about `budget` of them; call it only when the pipe has room. May cause events. */
  takeOutput(budget: number): Uint8Array[] {
    let output: Uint8Array[] = [];
    try {
      output = this.#transport.takeOutput(budget);
    } catch (error) {
      this.#terminate(asFailure(error, this.#transport.phase));
    }
    if (!this.closed) this.#process();
    return output;
  }

  /** When `tick` has to be called, at the latest. Timers that were started since the last call run from `now`. */
  nextTimeout(now: number): number | undefined {
    if (this.closed) return undefined;
    const due = Math.min(
      this.#transport.dueAt(now, this.#holding > 0),
      this.#auth.dueAt(now),
      this.#mux.dueAt(now),
      this.#auth.phase === 'open' ? this.#keepalive.dueAt(now) : Number.POSITIVE_INFINITY,
    );
    return due === Number.POSITIVE_INFINITY ? undefined : due;
  }

  // Commands. On a closed connection they do nothing.

  /** Asks for a channel; `channel-opened` or `channel-refused` follows. Returns its number. */
  openChannel(kind: string, body: Uint8Array): number {
    return this.#command(() => this.#mux.open(kind, body), -1);
  }

  acceptChannel(channel: number): void {
    this.#command(() => this.#mux.accept(channel), undefined);
  }

  /** `reason`: RFC 4254 §5.1. */
  refuseChannel(channel: number, reason: number, description: string): void {
    this.#command(() => this.#mux.refuse(channel, reason, description), undefined);
  }

  /** Queues data; the pieces must not be touched again. False: wait for `channel-drain`. `kind` 1 is stderr. */
  write(channel: number, pieces: readonly Uint8Array[], kind = 0): boolean {
    return this.#command(() => this.#mux.write(channel, pieces, kind), true);
  }

  /** Bytes of `write` that have not left yet: the memory of those that have is not needed any more. */
  queued(channel: number): number {
    return this.#mux.queued(channel);
  }

  /** EOF, after what is queued. */
  endChannel(channel: number): void {
    this.#command(() => this.#mux.end(channel), undefined);
  }

  /** CLOSE: at once, or, if `endChannel` came before and nothing is to be abandoned, after what is queued. */
  closeChannel(channel: number, abandon = false): void {
    this.#command(() => this.#mux.close(channel, abandon), undefined);
  }

  /** EOF, a last request (how a program ended) and CLOSE, after what is queued, however long that takes to leave. */
  finishChannel(channel: number, request: string, body: Uint8Array): void {
    this.#command(() => this.#mux.finish(channel, request, body), undefined);
  }

  /** Gives back `count` bytes that `channel-data` delivered. */
  consumed(channel: number, count: number): void {
    this.#command(() => this.#mux.consumed(channel, count), undefined);
  }

  /** Returns the id of the `channel-reply`. */
  requestChannel(channel: number, request: string, body: Uint8Array, wantReply: boolean): number {
    return this.#command(() => this.#mux.request(channel, request, body, wantReply), -1);
  }

  replyChannelRequest(channel: number, ok: boolean): void {
    this.#command(() => this.#mux.reply(channel, ok), undefined);
  }

  /** Returns the id of the `global-reply`. */
  requestGlobal(request: string, body: Uint8Array, wantReply: boolean): number {
    return this.#command(() => this.#mux.requestGlobal(request, body, wantReply), -1);
  }

  replyGlobalRequest(ok: boolean, body: Uint8Array = new Uint8Array(0)): void {
    this.#command(() => this.#mux.replyGlobal(ok, body), undefined);
  }

  /** Starts a key exchange, unless one is under way or nobody is logged in yet. */
  rekey(): void {
    if (this.#auth.phase === 'open') this.#command(() => this.#transport.rekey(), undefined);
  }

  /** Ends the connection in good order. */
  disconnect(description = 'closed by the application'): void {
    if (this.closed) return;
    this.#transport.disconnect(DisconnectReason.byApplication, description);
    this.#close(undefined);
  }

  // Inside

  #emit(event: Event): void {
    // keepalives are ours alone; nobody above waits for their replies
    if (!this.closed && !(event.type === 'global-reply' && this.#keepalive.answered(event.id)))
      this.#events.push(event);
  }

  #ask(question: Question, hold: boolean, answered: (value: never) => void): void {
    const id = this.#nextQuestion++;
    this.#questions.set(id, { hold, answered });
    if (hold) this.#holding++;
    this.#emit({ type: 'question', id, question });
  }

  #settle<T>(value: MaybePromise<T>, then: (value: T) => void): void {
    if (value instanceof Promise) this.#ask({ kind: 'work', promise: value }, true, then as (value: never) => void);
    else then(value);
  }

  #payload(payload: Uint8Array): void {
    if ((payload[0] as number) < connection.globalRequest.number) this.#auth.receive(payload);
    else this.#mux.receive(payload);
  }

  get #congested(): boolean {
    return this.#transport.gateOpen && this.#transport.queued > this.#config.limits.queuedReplies;
  }

  #process(): void {
    // a handler may call in from an event that is being made: the outer loop goes on with what it pushed
    if (this.#processing) return;
    this.#processing = true;
    this.#guard(() => {
      while (!this.closed && !this.holdsInput && this.#transport.step());
    });
    this.#processing = false;
  }

  /** Runs a command. A mistake of the caller is thrown; whatever else fails ends the connection. */
  #command<T>(work: () => T, otherwise: T): T {
    if (this.closed) return otherwise;
    try {
      return work();
    } catch (error) {
      if (error instanceof SshError && error.fault === 'local') throw error;
      this.#terminate(asFailure(error, this.#transport.phase));
      return otherwise;
    }
  }

  /** Runs `work`; what it throws ends the connection. */
  #guard(work: () => void): void {
    if (this.closed) return;
    try {
      work();
    } catch (error) {
      this.#terminate(asFailure(error, this.#transport.phase));
    }
  }

  #terminate(cause: SshError): void {
    if (this.closed) return;
    // what our own policy or files say is not for the peer
    const description = cause.fault === 'peer' ? cause.message : cause.code;
    if (cause.disconnect !== undefined) this.#transport.disconnect(cause.disconnect, description);
    else this.#transport.drop();
    this.#close(cause);
  }

  #close(cause: SshError | undefined): void {
    this.#emit({ type: 'closed', cause });
    this.#state = 'closed';
    this.#questions.clear();
    this.#holding = 0;
  }
}

/** An error as the reason of the terminal state: bytes of the peer that do not decode are a breach of the protocol. */
function asFailure(error: unknown, phase: string): SshError {
  if (error instanceof SshError && error.code === 'decode')
    return protocolError(error.message, { phase, cause: error });
  if (error instanceof SshError) return error;
  return toSshError(error, 'internal', { phase, disconnect: DisconnectReason.protocolError });
}
