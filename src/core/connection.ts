/**
 * A connection as a value: bytes in, bytes and events out. Time, randomness and cryptography come in; no socket, no clock.
 *
 * Driving contract. After every call (input, answer, command, `takeOutput`) drain `nextEvent` until it gives nothing, take
 * output while the pipe has room, and set one timer for `nextTimeout`. Nothing here throws because of the peer: what goes wrong
 * becomes the terminal state, told once by the event `closed`, the last one.
 */

import { SshError } from '../errors.ts';
import { connection } from '../wire/connection.ts';
import { DisconnectReason } from '../wire/numbers.ts';
import { transport } from '../wire/transport.ts';
import { Ahead } from './ahead.ts';
import type { Auth } from './auth/auth.ts';
import type { ChannelView } from './channel.ts';
import type { ConnectionConfig } from './config.ts';
import type { Context, Event, Negotiated } from './events.ts';
import { asFailure } from './failure.ts';
import { Keepalive } from './keepalive.ts';
import { Mux } from './mux.ts';
import { Questions } from './questions.ts';
import { type Quirks, quirksOf } from './quirks.ts';
import { type Probe, RoundTrip } from './round_trip.ts';
import { sideOf } from './side.ts';
import type { ConnectionStats } from './stats.ts';
import { Transport } from './transport.ts';

export class Connection {
  readonly #config: ConnectionConfig;
  readonly #transport: Transport;
  readonly #auth: Auth;
  readonly #ahead: Ahead;
  readonly #mux: Mux;
  readonly #keepalive: Keepalive;
  readonly #questions: Questions;
  readonly #roundTrip = new RoundTrip();
  #events: Event[] = [];
  #firstEvent = 0;
  #service: Probe | undefined;
  #state: 'open' | 'closed' = 'open';
  #processing = false;

  constructor(config: ConnectionConfig) {
    this.#config = config;
    this.#questions = new Questions((event) => this.#emit(event));
    const context: Context = {
      send: (payload) => this.#send(payload),
      emit: (event) => this.#emit(event),
      ask: (question, hold, answered) => this.#questions.ask(question, hold, answered),
      settle: (value, then) => this.#questions.settle(value, then),
    };
    const { auth, ...side } = sideOf(config, context);
    this.#auth = auth;
    const takeBulk = (): readonly Uint8Array[] | undefined => this.#mux.bulk();
    this.#ahead = new Ahead(auth, { bears: () => this.#bearsAhead, send: context.send, takeBulk });
    const send = (payload: Uint8Array): void => this.#ahead.send(payload);
    this.#mux = new Mux(config, { ...context, send, roundTrip: this.#roundTrip, measure: () => this.#askForLife() });
    this.#keepalive = new Keepalive(config.keepalive);
    this.#transport = new Transport(
      { ...config, ...side },
      {
        ...context,
        phase: () => auth.phase,
        payload: (payload) => this.#payload(payload),
        extInfo: (extensions) => auth.extInfo(extensions, this.quirks),
        ready: () => auth.start(this.#transport.kex.sessionId as Uint8Array, this.quirks),
        left: (payload) => this.#roundTrip.left(payload),
        unimplemented: (number) => {
          auth.unimplemented(number);
          this.#mux.globals.unimplemented(number);
        },
        bulk: () => this.#ahead.bulk(),
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
    return this.#questions.holding || this.#congested;
  }

  get stats(): ConnectionStats {
    return { ...this.#roundTrip.stats, ...this.#transport.stats, channels: this.#mux.channels };
  }

  /** A channel as far as others may see it. */
  channel(channel: number): ChannelView | undefined {
    return this.#mux.channel(channel);
  }

  // Input

  /** Queues the identification and the first KEXINIT. */
  start(): void {
    this.#guard(() => this.#transport.start());
  }

  /**
   * Takes received bytes, which must not be touched again, and processes what it can. `now` in milliseconds: without it, here
   * and for `takeOutput`, round trips are not measured and windows do not grow.
   */
  receive(bytes: Uint8Array, now?: number): void {
    if (this.closed) return;
    this.#roundTrip.now = now;
    this.#keepalive.heard();
    this.#transport.push(bytes);
    this.#process();
  }

  /**
   * How many of the bytes last received are still in use; memory of all before them may be used again, once the events are
   * drained. `undefined`: nobody can tell, and what was received until now must be left alone for good.
   */
  takeKept(): number | undefined {
    return this.#transport.takeKept();
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
      this.#transport.tick(now, this.#questions.holding);
      this.#auth.tick(now);
      this.#mux.tick(now);
      if (this.#auth.phase === 'open' && this.#keepalive.due(now)) this.#askForLife();
    });
    this.#process();
  }

  /** Answers question `id`; what the value must be stands beside each question. */
  answer(id: number, value: unknown): void {
    const answered = this.#questions.take(id);
    if (answered === undefined) return;
    this.#guard(() => answered(value as never));
    this.#process();
  }

  /** Refuses question `id`: the connection ends with `error`. */
  refuse(id: number, error: SshError): void {
    if (this.#questions.take(id) !== undefined) this.#terminate(error);
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
  takeOutput(budget: number, now?: number): Uint8Array[] {
    this.#roundTrip.now = now;
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
      this.#transport.dueAt(now, this.#questions.holding),
      this.#auth.dueAt(now),
      this.#mux.dueAt(now),
      this.#auth.phase === 'open' ? this.#keepalive.dueAt(now) : Number.POSITIVE_INFINITY,
    );
    return due === Number.POSITIVE_INFINITY ? undefined : due;
  }

  // Commands. On a closed connection they do nothing.

  /** Asks for a channel; `channel-opened` or `channel-refused` follows, or, if `early` and known to be safe, both. Returns its number. */
  openChannel(kind: string, body: Uint8Array, early = false): number {
    return this.#command(() => this.#mux.open(kind, body, early ? this.quirks.firstChannel : undefined), -1);
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

  /** Returns the id of the `channel-reply`. `starts`: it starts a program, which may take data before WINDOW_ADJUST. */
  requestChannel(channel: number, request: string, body: Uint8Array, wantReply: boolean, starts = false): number {
    const ahead = starts ? this.quirks.sessionWindow : 0;
    return this.#command(() => this.#mux.request(channel, request, body, wantReply, ahead), -1);
  }

  replyChannelRequest(channel: number, ok: boolean): void {
    this.#command(() => this.#mux.reply(channel, ok), undefined);
  }

  /** Returns the id of the `global-reply`. */
  requestGlobal(request: string, body: Uint8Array, wantReply: boolean): number {
    return this.#command(() => this.#mux.globals.request(request, body, wantReply), -1);
  }

  replyGlobalRequest(ok: boolean, body: Uint8Array = new Uint8Array(0)): void {
    this.#command(() => this.#mux.globals.reply(ok, body), undefined);
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
    if (event.type === 'authenticated') this.#ahead.loggedIn();
    // keepalives are ours alone; nobody above waits for their replies
    if (!this.closed && !(event.type === 'global-reply' && this.#keepalive.answered(event.id)))
      this.#events.push(event);
  }

  #send(payload: Uint8Array): void {
    if (payload[0] === transport.serviceRequest.number) this.#service = this.#roundTrip.watch(payload);
    this.#transport.send(payload);
  }

  /** A request that any peer answers, if only by refusing it; it shows that the peer lives, and the round trip. */
  #askForLife(): void {
    this.#keepalive.sent(this.#mux.globals.request('keepalive@openssh.com', new Uint8Array(0), true));
  }

  get #bearsAhead(): boolean {
    return this.quirks.channelsBeforeSuccess && !this.#transport.compressionDelayed;
  }

  #payload(payload: Uint8Array): void {
    if (payload[0] === transport.serviceAccept.number && this.#service !== undefined) {
      this.#roundTrip.replied(this.#service);
    }
    if ((payload[0] as number) < connection.globalRequest.number) this.#auth.receive(payload);
    else this.#mux.receive(payload, this.#transport.exclusive);
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
    this.#roundTrip.end();
  }
}
