/** A connection that does what a test says, for tests of what drives one. Only what a driver and a channel pipe use. */

import type { ChannelView } from '../../src/core/channel.ts';
import type { Connection } from '../../src/core/connection.ts';
import type { Event } from '../../src/core/events.ts';
import type { ConnectionStats } from '../../src/core/stats.ts';
import type { SshError } from '../../src/errors.ts';

export class FakeConnection {
  /** Calls in order, as text. */
  readonly calls: string[] = [];
  readonly events: Event[] = [];
  /** What `takeOutput` gives, one batch a call. */
  readonly output: Uint8Array[][] = [];
  readonly received: Uint8Array[] = [];
  readonly answers: [number, unknown][] = [];
  readonly refusals: [number, SshError][] = [];
  holdsInput = false;
  closed = false;
  due: number | undefined;
  /** What `write` returns. */
  room = true;
  /** Runs at every `receive`. */
  onReceive: (bytes: Uint8Array) => void = () => {};
  /** Of the connection. */
  stats: Partial<ConnectionStats> = {};
  /** Of every channel. */
  readonly view = {
    confirmed: true,
    window: 4096,
    stats: {
      window: 4096,
      granted: 4000,
      adjustments: 2,
      received: 96,
      sent: 17,
      peerWindow: 5000,
      windowLimited: true,
      windowWaits: 3,
    },
  };
  /** What the driver said the time is, with each call that tells it. */
  readonly times: (number | undefined)[] = [];
  #nextId = 0;

  /** As what the driver takes. */
  get connection(): Connection {
    return this as unknown as Connection;
  }

  start(): void {
    this.calls.push('start');
  }

  channel(_channel: number): ChannelView {
    return this.view;
  }

  receive(bytes: Uint8Array, now?: number): void {
    this.times.push(now);
    this.received.push(bytes);
    this.onReceive(bytes);
  }

  endOfInput(cause?: SshError): void {
    this.calls.push('endOfInput');
    this.close(cause);
  }

  tick(now: number): void {
    this.calls.push(`tick ${now}`);
    if (this.due !== undefined && this.due <= now) this.due = undefined;
  }

  answer(id: number, value: unknown): void {
    this.answers.push([id, value]);
  }

  refuse(id: number, error: SshError): void {
    this.refusals.push([id, error]);
    this.close(error);
  }

  nextEvent(): Event | undefined {
    return this.events.shift();
  }

  takeKept(): number | undefined {
    return undefined;
  }

  takeOutput(_budget: number, now?: number): Uint8Array[] {
    this.times.push(now);
    this.calls.push('takeOutput');
    return this.output.shift() ?? [];
  }

  nextTimeout(_now: number): number | undefined {
    return this.closed ? undefined : this.due;
  }

  disconnect(): void {
    this.calls.push('disconnect');
    this.close(undefined);
  }

  /** Enters the terminal state. */
  close(cause: SshError | undefined): void {
    if (this.closed) return;
    this.closed = true;
    this.events.push({ type: 'closed', cause });
  }

  openChannel(kind: string, body: Uint8Array): number {
    this.calls.push(`openChannel ${kind} ${body.length}`);
    return this.#nextId++;
  }

  acceptChannel(channel: number): void {
    this.calls.push(`acceptChannel ${channel}`);
  }

  finishChannel(channel: number, request: string, body: Uint8Array): void {
    this.calls.push(`finishChannel ${channel} ${request} ${body.length}`);
  }

  write(channel: number, pieces: readonly Uint8Array[]): boolean {
    this.calls.push(`write ${channel} ${pieces.map((piece) => piece.length).join('+')}`);
    return this.room;
  }

  endChannel(channel: number): void {
    this.calls.push(`endChannel ${channel}`);
  }

  closeChannel(channel: number): void {
    this.calls.push(`closeChannel ${channel}`);
  }

  consumed(channel: number, count: number): void {
    this.calls.push(`consumed ${channel} ${count}`);
  }

  requestChannel(channel: number, request: string, body: Uint8Array, wantReply: boolean): number {
    this.calls.push(`request ${channel} ${request} ${body.length} ${wantReply}`);
    return 100 + this.#nextId++;
  }

  replyChannelRequest(channel: number, ok: boolean): void {
    this.calls.push(`reply ${channel} ${ok}`);
  }

  /** The calls since the last time, without those that every turn makes. */
  takeCalls(): string[] {
    const calls = this.calls.filter((call) => call !== 'takeOutput');
    this.calls.length = 0;
    return calls;
  }
}

/** Lets everything that is ready in memory run. */
export async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}
