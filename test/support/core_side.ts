/**
 * One `Connection`, of either role, driven by a test: it drains events, answers questions, and keeps everything that happened.
 * Time stands still unless the test moves it. Also checks, always, what must hold at every step: nothing after `closed`, no
 * timer after it, no timer that lies in the past for ever.
 */

import assert from 'node:assert/strict';
import type { ConnectionConfig } from '../../src/core/config.ts';
import { Connection } from '../../src/core/connection.ts';
import type { Event, Question } from '../../src/core/events.ts';
import { SshError } from '../../src/errors.ts';

/** What is said to a question: an error refuses; `later` leaves it open. */
export type Answer<T> = T | SshError | 'later';

/** What a side does by itself. */
export interface SideScript {
  /** Whether received data is given back at once. Default: true. */
  readonly consume?: boolean;
  /** Sees every event that is no question, before anything is done about it; true: nothing more is to be done. */
  readonly onEvent?: (event: Event, side: CoreSide) => boolean | undefined;
}

/** What came on one channel. */
export interface ChannelLog {
  readonly data: Uint8Array[];
  readonly stderr: Uint8Array[];
  bytes: number;
  stderrBytes: number;
}

export type EventOf<T extends Event['type']> = Extract<Event, { type: T }>;

/** What a role says to its questions, and whether it grants what the peer asks for. */
export interface SidePolicy {
  decide(question: Question): Answer<unknown>;
  readonly grants: boolean;
}

export class CoreSide {
  readonly connection: Connection;
  readonly events: Event[] = [];
  readonly channels: Map<number, ChannelLog> = new Map();
  /** Questions that were left open. */
  readonly questions: EventOf<'question'>[] = [];
  now = 1000;
  /** What was thrown, by the connection or by a check here. Nothing may be: a script may fail for other reasons. */
  readonly thrown: unknown[] = [];
  readonly #script: SideScript;
  readonly #policy: SidePolicy;
  #closed = 0;
  /** How often in a row a timer was due without time having passed. */
  #idleTicks = 0;

  constructor(config: ConnectionConfig, script: SideScript, policy: SidePolicy) {
    this.connection = new Connection(config);
    this.#script = script;
    this.#policy = policy;
    this.connection.start();
    this.settle();
  }

  receive(bytes: Uint8Array): void {
    this.#step(() => this.connection.receive(bytes));
  }

  /** What this side wants to send now. */
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

  /** When this side wants to be told the time. */
  get due(): number | undefined {
    return this.connection.nextTimeout(this.now);
  }

  /** It is `now`, not before what it was. Fails when a timer is due again and again at the same moment. */
  tick(now: number): void {
    this.#idleTicks = now > this.now ? 0 : this.#idleTicks + 1;
    assert.ok(this.#idleTicks < 10, 'a timer that has ended must not stay due');
    this.now = Math.max(this.now, now);
    this.connection.tick(this.now);
    this.settle();
  }

  /** It is `now`, and no timer is due. */
  passTo(now: number): void {
    if (now <= this.now) return;
    this.now = now;
    this.#idleTicks = 0;
    this.settle();
  }

  /** Lets time pass; `step` runs after every timer. */
  advance(milliseconds: number, step: () => void = () => {}): void {
    const end = this.now + milliseconds;
    for (let due = this.due; due !== undefined && due <= end; due = this.due) {
      this.tick(due);
      step();
    }
    this.passTo(end);
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
    if (event.type === 'question') {
      this.#answer(event);
      return;
    }
    if (event.type === 'closed') this.#closed++;
    if (event.type === 'channel-data') this.#data(event);
    if (this.#script.onEvent?.(event, this) === true) return;
    const { connection } = this;
    const { grants } = this.#policy;
    switch (event.type) {
      case 'channel-open-request':
        if (grants) connection.acceptChannel(event.channel);
        else connection.refuseChannel(event.channel, 1, 'not asked for');
        return;
      case 'channel-request':
        if (event.wantReply) connection.replyChannelRequest(event.channel, grants);
        return;
      case 'global-request':
        if (event.wantReply) connection.replyGlobalRequest(false);
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
    // a promise settles outside of virtual time: it is left to the test
    const answer = question.kind === 'work' ? 'later' : this.#policy.decide(question);
    if (answer === 'later') this.questions.push(event);
    else if (answer instanceof SshError) this.connection.refuse(id, answer);
    else this.connection.answer(id, answer);
  }
}
