/**
 * A client `Connection` driven by a test: it drains events, answers questions from a script, and keeps everything that
 * happened. Time stands still unless the test moves it. Also checks, always, what must hold at every step: nothing after
 * `closed`, no timer after it, no timer that lies in the past for ever.
 */

import assert from 'node:assert/strict';
import { chooseAlgorithms } from '../../src/core/algorithms/lists.ts';
import { type CommonConfig, Connection, type ConnectionConfig } from '../../src/core/connection.ts';
import type { AuthAttempt, Event, Prompt, Question } from '../../src/core/events.ts';
import { defaultLimits } from '../../src/core/limits.ts';
import { defaultRekeyLimits } from '../../src/core/rekey.ts';
import type { ClientSide } from '../../src/core/side.ts';
import { SshError } from '../../src/errors.ts';
import { memoCrypto } from './memo_crypto.ts';
import { replayedRandom } from './replayed_random.ts';

type Answer<T> = T | SshError | 'later';

/** What the client does when it is asked. An error refuses; `later` leaves the question open. */
export interface ClientScript {
  /** What to try, one after the other; then it gives up. Default: `none` only. */
  readonly attempts?: readonly AuthAttempt[];
  readonly onCredentials?: (question: Extract<Question, { kind: 'credentials' }>) => Answer<AuthAttempt>;
  readonly onHostKey?: (question: Extract<Question, { kind: 'host-key' }>) => Answer<true>;
  readonly onPrompts?: (prompts: readonly Prompt[]) => Answer<readonly string[]>;
  /** Whether received data is given back at once. Default: true. */
  readonly consume?: boolean;
}

/** What came on one channel. */
export interface ChannelLog {
  readonly data: Uint8Array[];
  readonly stderr: Uint8Array[];
  bytes: number;
  stderrBytes: number;
}

export type EventOf<T extends Event['type']> = Extract<Event, { type: T }>;

export type ClientConfig = CommonConfig & ClientSide;

/** A core client with the defaults of the product, except that randomness is seeded and crypto remembers. */
export function clientConfig(changes: Partial<ClientConfig> = {}): ClientConfig {
  const crypto = changes.crypto ?? memoCrypto;
  return {
    role: 'client',
    crypto,
    random: replayedRandom('client'),
    algorithms: chooseAlgorithms(crypto),
    software: 'puressh_0.1.0',
    rekey: defaultRekeyLimits,
    limits: defaultLimits,
    username: 'ada',
    keepalive: { interval: Number.POSITIVE_INFINITY, count: 3 },
    window: 2 * 1024 * 1024,
    maxPacket: 32768,
    ...changes,
  };
}

export class CoreClient {
  readonly connection: Connection;
  readonly events: Event[] = [];
  readonly channels: Map<number, ChannelLog> = new Map();
  /** Questions that were left open. */
  readonly questions: EventOf<'question'>[] = [];
  now = 1000;
  /** What was thrown, by the connection or by a check here. Nothing may be: a script may fail for other reasons. */
  readonly thrown: unknown[] = [];
  readonly #script: ClientScript;
  readonly #attempts: AuthAttempt[];
  #closed = 0;

  constructor(config: ConnectionConfig = clientConfig(), script: ClientScript = {}) {
    this.connection = new Connection(config);
    this.#script = script;
    this.#attempts = [...(script.attempts ?? [{ method: 'none' }])];
    this.connection.start();
    this.settle();
  }

  receive(bytes: Uint8Array): void {
    this.#step(() => this.connection.receive(bytes));
  }

  /** What the client wants to send now. */
  takeOutput(budget = 262144): Uint8Array[] {
    return this.#step(() => this.connection.takeOutput(budget));
  }

  endOfInput(cause?: SshError): void {
    this.#step(() => this.connection.endOfInput(cause));
  }

  /** Drains events and looks at the timer, as the driving contract asks after every call. */
  settle(): void {
    for (let event = this.connection.nextEvent(); event !== undefined; event = this.connection.nextEvent()) {
      assert.equal(this.#closed, 0, `nothing may happen after closed, but there is ${event.type}`);
      this.events.push(event);
      this.#handle(event);
    }
    const due = this.connection.nextTimeout(this.now);
    if (this.connection.closed) assert.equal(due, undefined, 'a closed connection must want no timer');
  }

  /** Lets time pass; `step` runs after every timer. Fails when a timer is due again and again at the same moment. */
  advance(milliseconds: number, step: () => void = () => {}): void {
    const end = this.now + milliseconds;
    for (let idle = 0; ; ) {
      const due = this.connection.nextTimeout(this.now);
      if (due === undefined || due > end) break;
      if (due <= this.now) assert.ok(++idle < 10, 'a timer that has ended must not stay due');
      else idle = 0;
      this.now = Math.max(this.now, due);
      this.connection.tick(this.now);
      this.settle();
      step();
    }
    this.now = end;
    this.settle();
  }

  // What happened

  of<T extends Event['type']>(type: T): EventOf<T>[] {
    return this.events.filter((event): event is EventOf<T> => event.type === type);
  }

  /** The only event of this type. */
  only<T extends Event['type']>(type: T): EventOf<T> {
    const found = this.of(type);
    assert.equal(found.length, 1, `one ${type} event`);
    return found[0] as EventOf<T>;
  }

  has(type: Event['type']): boolean {
    return this.of(type).length > 0;
  }

  /** The cause of the end; fails while the connection is open. */
  get cause(): SshError | undefined {
    return this.only('closed').cause;
  }

  /** Asserts that the connection ended with this code, and gives the error. */
  failed(code: SshError['code']): SshError {
    assert.ok(this.connection.closed, `the connection must have ended with ${code}, but is open`);
    const { cause } = this;
    assert.ok(cause instanceof SshError, 'the cause must be an SshError');
    assert.equal(cause.code, code, cause.message);
    return cause;
  }

  /** Asserts that all is well. */
  alive(): void {
    if (this.connection.closed) throw this.cause ?? new Error('the connection is closed');
  }

  channel(id: number): ChannelLog {
    let log = this.channels.get(id);
    if (log === undefined) {
      log = { data: [], stderr: [], bytes: 0, stderrBytes: 0 };
      this.channels.set(id, log);
    }
    return log;
  }

  /** One call and what the contract asks for after it. */
  #step<T>(call: () => T): T {
    try {
      const result = call();
      this.settle();
      return result;
    } catch (error) {
      this.thrown.push(error);
      throw error;
    }
  }

  #handle(event: Event): void {
    switch (event.type) {
      case 'closed':
        this.#closed++;
        return;
      case 'question':
        this.#answer(event);
        return;
      case 'channel-data':
        this.#data(event);
        return;
      case 'channel-open-request':
        this.connection.refuseChannel(event.channel, 1, 'not asked for');
        return;
      case 'channel-request':
        if (event.wantReply) this.connection.replyChannelRequest(event.channel, false);
        return;
      case 'global-request':
        if (event.wantReply) this.connection.replyGlobalRequest(false);
    }
  }

  #data({ channel, kind, data }: EventOf<'channel-data'>): void {
    const log = this.channel(channel);
    // a view of the input: copied, because giving it back ends our right to it
    (kind === 0 ? log.data : log.stderr).push(data.slice());
    if (kind === 0) log.bytes += data.length;
    else log.stderrBytes += data.length;
    if (this.#script.consume !== false) this.connection.consumed(channel, data.length);
  }

  #answer(event: EventOf<'question'>): void {
    const { id, question } = event;
    const answer = this.#decide(question);
    if (answer === 'later') this.questions.push(event);
    else if (answer instanceof SshError) this.connection.refuse(id, answer);
    else this.connection.answer(id, answer);
  }

  #decide(question: Question): unknown {
    const { onCredentials, onHostKey, onPrompts } = this.#script;
    switch (question.kind) {
      case 'work':
        // left to the test: a promise settles outside of virtual time
        return 'later';
      case 'host-key':
        return onHostKey?.(question) ?? true;
      case 'credentials':
        return (
          onCredentials?.(question) ?? this.#attempts.shift() ?? new SshError('auth-failed', 'nothing left to try')
        );
      case 'prompts':
        return onPrompts?.(question.prompts) ?? question.prompts.map(() => 'answer');
      case 'new-password':
        return new SshError('auth-failed', 'no new password');
    }
  }
}
