/**
 * Pumps one `Connection` over one `BytePipe`: bytes in, events out, output while the pipe has room, one timer. Routes channel
 * events to whoever opened the channel, answers the questions that only wait for work, and brings everything to one end.
 * Must not know what a session, a login or a file is.
 */

import type { Connection } from '../core/connection.ts';
import type { Event, Question } from '../core/events.ts';
import type { MaybePromise } from '../crypto/provider.ts';
import { SshError, toSshError } from '../errors.ts';
import { type Clock, LONGEST_DELAY } from './clock.ts';
import type { BytePipe, PipeSink } from './pipe.ts';

/** Bytes that one `write` on the pipe is given at most: enough to fill a long fat pipe, few enough to stay responsive. */
const BATCH = 256 * 1024;
/** Milliseconds that the last bytes, and the peer's end of the stream, are waited for before the pipe is cut. */
const FAREWELL_TIME = 2000;

/** Events about one channel of ours. */
export type ChannelEvent = Exclude<Extract<Event, { channel: number }>, { type: 'channel-open-request' }>;
/** Events about the connection as a whole, and channels that the peer wants to open. */
export type ConnectionEvent = Exclude<Event, ChannelEvent | { type: 'question' } | { type: 'closed' }>;
/** Questions that somebody has to think about. */
export type OwnerQuestion = Exclude<Question, { kind: 'work' }>;

/** Whose connection it is. */
export interface DriverOwner {
  event(event: ConnectionEvent): void;
  /** The answer, of the kind that `Question` says; throwing or rejecting refuses, which ends the connection. */
  ask(question: OwnerQuestion): MaybePromise<unknown>;
  /** The terminal state, once, after every channel was told. `undefined`: this side closed in good order. */
  ended(cause: SshError | undefined): void;
}

/** Whose channel it is. */
export interface ChannelOwner {
  event(event: ChannelEvent): void;
  /** The connection ended, and the channel with it; nothing is called after it. */
  lost(cause: SshError): void;
}

export class Driver {
  /** Commands may be called at any time; `wake` must follow. */
  readonly connection: Connection;
  /** Resolves once the pipe is down, some time after the terminal state. Never rejects. */
  readonly down: Promise<void>;
  /** Resolves once the pipe has taken the last bytes with ease, or is down. Never rejects. */
  readonly left: Promise<void>;
  readonly #pipe: BytePipe;
  readonly #clock: Clock;
  readonly #owner: DriverOwner;
  readonly #channels = new Map<number, ChannelOwner>();
  readonly #pumpLater = (): void => {
    this.#scheduled = false;
    this.#pump();
  };
  #resolveDown: () => void = () => {};
  #resolveLeft: () => void = () => {};
  #pumping = false;
  #scheduled = false;
  #room = true;
  /** Bytes received and not given back to the pipe. */
  #owed = 0;
  #armedFor = Number.POSITIVE_INFINITY;
  #disarm: () => void = () => {};
  #reason: SshError | undefined;
  #end: { readonly error: SshError } | undefined;
  #pipeDown = false;

  constructor(connection: Connection, pipe: BytePipe, clock: Clock, owner: DriverOwner) {
    this.connection = connection;
    this.#pipe = pipe;
    this.#clock = clock;
    this.#owner = owner;
    this.down = new Promise((resolve) => {
      this.#resolveDown = resolve;
    });
    this.left = new Promise((resolve) => {
      this.#resolveLeft = resolve;
    });
  }

  /** Starts both the pipe and the connection; called once. */
  start(): void {
    this.connection.start();
    this.#pipe.open(this.#sink());
    this.#pump();
  }

  /** Why nothing can be done any more, once the connection has ended. */
  get endedBy(): SshError | undefined {
    return this.#end?.error;
  }

  /** Pumps once the code that runs now is through, so that many commands in a row leave together. */
  wake(): void {
    if (this.#pumping || this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(this.#pumpLater);
  }

  /** Opens a channel; its events go to `owner`. Throws `limit` when too many are open. */
  openChannel(kind: string, body: Uint8Array, owner: ChannelOwner, early = false): number {
    const channel = this.connection.openChannel(kind, body, early);
    this.attach(channel, owner);
    this.wake();
    return channel;
  }

  /** Sends the events of `channel` to `owner` from now on, or `lost` alone if the connection has ended. */
  attach(channel: number, owner: ChannelOwner): void {
    const error = this.endedBy;
    if (error === undefined) this.#channels.set(channel, owner);
    else queueMicrotask(() => owner.lost(error));
  }

  /** Ends the connection with a DISCONNECT. Everything pending fails with `cause`, or as closed by this side. */
  close(cause?: SshError): void {
    if (this.#end !== undefined) return;
    this.#reason ??= cause;
    this.connection.disconnect();
    this.wake();
  }

  #sink(): PipeSink {
    return {
      data: (bytes) => {
        this.#owed += bytes.length;
        if (this.#end === undefined) this.connection.receive(bytes, this.#clock.now());
        this.#pump();
        const kept = this.connection.takeKept();
        if (kept !== undefined) this.#pipe.spent?.(kept);
      },
      end: () => {
        if (this.#end === undefined) this.connection.endOfInput();
        else this.#pipe.close();
        this.#pump();
      },
      drain: () => {
        this.#room = true;
        this.#pump();
      },
      closed: (cause) => {
        this.#pipeDown = true;
        this.connection.endOfInput(cause);
        this.#pump();
        this.#disarm();
        this.#resolveDown();
        this.#resolveLeft();
      },
    };
  }

  /** Works until nothing is left to do now. A handler that calls in meanwhile only adds to it. */
  #pump(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    try {
      while (this.#handleEvents() || this.#write());
      this.#giveBack();
      this.#arm();
    } catch (error) {
      // A handler threw, so nobody knows what it has missed.
      this.close(toSshError(error, 'internal'));
      this.#pumping = false;
      this.wake();
    } finally {
      this.#pumping = false;
    }
  }

  /** False: there was no event. */
  #handleEvents(): boolean {
    let any = false;
    for (let event = this.connection.nextEvent(); event !== undefined; event = this.connection.nextEvent()) {
      any = true;
      this.#handle(event);
    }
    return any;
  }

  #handle(event: Event): void {
    switch (event.type) {
      case 'question':
        this.#ask(event.id, event.question);
        return;
      case 'closed':
        this.#terminate(this.#reason ?? event.cause);
        return;
      case 'channel-opened':
      case 'channel-data':
      case 'channel-drain':
      case 'channel-eof':
      case 'channel-request':
      case 'channel-reply':
        this.#channels.get(event.channel)?.event(event);
        return;
      case 'channel-refused':
      case 'channel-closed': {
        const owner = this.#channels.get(event.channel);
        this.#channels.delete(event.channel);
        owner?.event(event);
        return;
      }
      default:
        this.#owner.event(event);
    }
  }

  #ask(id: number, question: Question): void {
    const work = question.kind === 'work' ? question.promise : this.#askOwner(question);
    work
      .then(
        (value) => this.connection.answer(id, value),
        (error) => this.connection.refuse(id, toSshError(error, question.kind === 'work' ? 'crypto' : 'aborted')),
      )
      .finally(() => this.wake());
  }

  async #askOwner(question: OwnerQuestion): Promise<unknown> {
    return this.#owner.ask(question);
  }

  /** False: nothing can leave now. */
  #write(): boolean {
    if (!this.#room || this.#end !== undefined) return false;
    const pieces = this.connection.takeOutput(BATCH, this.#clock.now());
    if (pieces.length === 0) return false;
    this.#room = this.#pipe.write(pieces);
    return true;
  }

  /** Lets the pipe deliver more, unless the connection only keeps what it gets. */
  #giveBack(): void {
    if (this.#owed === 0 || this.connection.holdsInput) return;
    const count = this.#owed;
    this.#owed = 0;
    this.#pipe.consumed(count);
  }

  /**
   * One timer. A time limit that moves on, as the keepalive's does with every packet, leaves the timer as it is: when it
   * fires too early, it is only set again.
   */
  #arm(): void {
    if (this.#end !== undefined) return;
    const now = this.#clock.now();
    const due = this.connection.nextTimeout(now);
    if (due === undefined || due >= this.#armedFor) return;
    this.#disarm();
    this.#armedFor = due;
    const delay = Math.min(LONGEST_DELAY, Math.max(0, Math.ceil(due - now)));
    this.#disarm = this.#clock.after(delay, () => {
      this.#armedFor = Number.POSITIVE_INFINITY;
      this.connection.tick(this.#clock.now());
      this.#pump();
    });
  }

  /** Tells everyone, then sends what is left and ends the pipe. */
  #terminate(cause: SshError | undefined): void {
    const error = cause ?? new SshError('connection-closed', 'This side closed the connection');
    this.#end = { error };
    this.#disarm();
    const owners = [...this.#channels.values()];
    this.#channels.clear();
    // one that throws must not keep the others from being told, nor the pipe from its end
    for (const owner of owners) attempt(() => owner.lost(error));
    attempt(() => this.#owner.ended(cause));
    if (this.#pipeDown) return;
    for (;;) {
      const pieces = this.connection.takeOutput(BATCH);
      if (pieces.length === 0) break;
      this.#room = this.#pipe.write(pieces);
    }
    this.#pipe.end();
    const disarm = this.#clock.after(FAREWELL_TIME, () => this.#pipe.close());
    // a pipe that is not full has nothing to wait for: what it took goes out in this turn of events
    const forget = this.#room ? this.#clock.after(0, this.#resolveLeft) : () => {};
    this.#disarm = () => {
      disarm();
      forget();
    };
  }
}

function attempt(work: () => void): void {
  try {
    work();
  } catch {
    // nobody is left who could be told
  }
}
