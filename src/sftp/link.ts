/**
 * Ties the client core (`proto/requester.ts`) to a byte pipe: delivery, credit, what is written together, who may go on
 * when, and the one terminal state. Knows nothing of files and transfers.
 */

import { plain } from '../bytes/bytes.ts';
import { type SshError, toSshError } from '../errors.ts';
import type { Clock } from '../io/clock.ts';
import type { BytePipe, PipeSink, PipeStats } from '../io/pipe.ts';
import { ReadBudget } from './budget.ts';
import { OpenHandles } from './open_handles.ts';
import type { PacketOf, PacketRow } from './proto/packets.ts';
import { type Early, type ReplyHandler, Requester, type ServerExtensions } from './proto/requester.ts';
import type { Pump } from './pump.ts';

/** Requests are written together up to this many bytes: few writes for many small requests, early word of a full pipe. */
const FLUSH_AT = 64 * 1024;

export interface LinkOptions {
  readonly clock: Clock;
  readonly stallTimeout: number;
  readonly maxPacket?: number;
  /** What becomes of requests before VERSION. Default: `refuse`. */
  readonly early?: Early | undefined;
  /** Adds to an error that comes in place of VERSION what the caller knows of it. */
  readonly explain?: ((cause: SshError) => SshError) | undefined;
  /** Resolves when what is said reaches the server: until then it owes no answer. Default: it does from the start. */
  readonly reached?: Promise<void> | undefined;
  /** What the server takes, whatever it says. */
  readonly limits?: ServerLimits | undefined;
  /** Extended requests in place of what the server announces: a version, or `undefined` for one that it does wrong. */
  readonly extensions?: Readonly<Record<string, string | undefined>> | undefined;
}

/** What the server says it takes, in bytes; members that it leaves open are absent. */
export interface ServerLimits {
  readonly maxPacketLength?: number;
  readonly maxReadLength?: number;
  readonly maxWriteLength?: number;
  readonly maxOpenHandles?: number;
}

/** Further sessions with the same server. Those that are given by `take` have `pool` set. */
export interface LinkPool {
  /** One that nobody uses. Rejects where the server refuses it, or if `most` are in use. */
  take(most: number): Promise<Link>;
  /** It is not needed any more. */
  give(link: Link): void;
}

export class Link implements PipeSink {
  readonly clock: Clock;
  /** Default for operations that name none. */
  readonly stallTimeout: number;
  readonly budget: ReadBudget;
  /** Advertised by the server; empty before VERSION. */
  extensions: ServerExtensions = new Map();
  /** As far as they are known by now. */
  limits: ServerLimits;
  readonly handles: OpenHandles;
  /** Resolves when VERSION has come, and with it `extensions`; rejects with what came in its place. */
  ready: Promise<void> = Promise.resolve();
  /** Where further channels for an upload come from, and where those go back to. */
  pool: LinkPool | undefined;

  readonly #pipe: BytePipe;
  readonly #explain: (cause: SshError) => SshError;
  readonly #requester: Requester;
  readonly #pumps = new Set<Pump>();
  readonly #awake = new Set<Pump>();
  readonly #closers: (() => void)[] = [];
  readonly #mourners: ((cause: SshError) => void)[] = [];
  #onReady: (() => void) | undefined;
  #onFailed: ((cause: SshError) => void) | undefined;
  #cause: SshError | undefined;
  #heardAt = 0;
  #isReached: boolean;
  #closed = false;
  /** `ending`: instead of VERSION came something that ends the link at the end of this turn of events. */
  #greeting: 'awaited' | 'ending' | 'over' = 'awaited';
  /** Whether a turn is running: what is sent waits for its end. */
  #inTurn = false;
  #out: Uint8Array[] = [];
  #outLength = 0;
  #full = false;
  #kept = 0;
  /** Whether content was ever handed on where it was received: its consumers may keep that for good. */
  #inPlace = false;

  constructor(pipe: BytePipe, options: LinkOptions) {
    this.#pipe = pipe;
    this.#isReached = options.reached === undefined;
    const reached = (): void => {
      this.#heardAt = this.clock.now();
      this.#isReached = true;
    };
    options.reached?.then(reached, () => undefined); // whatever fails there ends the pipe
    this.#explain = options.explain ?? ((cause) => cause);
    this.clock = options.clock;
    this.stallTimeout = options.stallTimeout;
    this.limits = options.limits ?? {};
    this.handles = new OpenHandles(this.limits.maxOpenHandles);
    this.budget = new ReadBudget(pipe, (pump) => this.wake(pump));
    this.#requester = new Requester(
      {
        send: (pieces) => this.#send(pieces),
        ready: (extensions) => {
          this.extensions = corrected(extensions, options.extensions);
          this.#greeting = 'over';
          this.#onFailed = undefined;
          this.#onReady?.();
        },
      },
      { early: options.early, ...(options.maxPacket === undefined ? {} : { maxPacket: options.maxPacket }) },
    );
  }

  /** Opens the pipe and sends INIT. One of the two is called, once, for the VERSION that follows or does not. */
  start(onReady: () => void, onFailed: (cause: SshError) => void): void {
    this.#onReady = onReady;
    this.#onFailed = onFailed;
    this.#heardAt = this.clock.now();
    this.#pipe.open(this);
    this.turn(() => this.#requester.start());
  }

  /** When anything last came from the server, or it had no reason to say anything. */
  get heardAt(): number {
    return this.#isReached ? this.#heardAt : this.clock.now();
  }

  /** Whether VERSION has not come yet: nobody knows what the server offers. */
  get greeting(): boolean {
    return this.#greeting !== 'over';
  }

  /** Why the link ended, once it has. */
  get cause(): SshError | undefined {
    return this.#cause;
  }

  /** Whether the pipe needs memory no longer than until it was sent. */
  get tellsSent(): boolean {
    return this.#pipe.unsent !== undefined;
  }

  /** Whether the pipe has enough: WRITEs wait until pumps are woken again. */
  get full(): boolean {
    return this.#full;
  }

  /** Requests that wait for their answers. */
  get pending(): number {
    return this.#requester.pending;
  }

  /** What the pipe knows about itself. */
  get stats(): PipeStats | undefined {
    return this.#pipe.stats;
  }

  /** Sends a request; see `Requester`. */
  request<R extends PacketRow>(row: R, value: Omit<PacketOf<R>, 'id'>, handler: ReplyHandler): void {
    this.turn(() => this.#requester.request(row, value, handler));
  }

  /** Sends a READ; only from a pump's `run`. */
  read(handle: Uint8Array, offset: number, length: number, handler: ReplyHandler): void {
    this.#requester.read(handle, offset, length, handler);
  }

  /** Sends a WRITE; only from a pump's `run`. The pieces are the pipe's from now on. */
  write(
    handle: Uint8Array,
    offset: number,
    length: number,
    pieces: readonly Uint8Array[],
    handler: ReplyHandler,
  ): void {
    this.#requester.write(handle, offset, length, pieces, handler);
  }

  /**
   * Says that `count` bytes of the chunk being delivered are kept, or a copy of them; `budget.release` gives their credit back.
   */
  keep(count: number, copied: boolean): void {
    this.#kept += count;
    if (!copied) this.#inPlace = true;
  }

  /** Lets a pump take part from now on: it is told of the end. */
  attach(pump: Pump): void {
    if (this.#cause !== undefined) pump.lost(this.#cause);
    else this.#pumps.add(pump);
  }

  detach(pump: Pump): void {
    this.#pumps.delete(pump);
    this.#awake.delete(pump);
    this.budget.forget(pump);
  }

  /** Has `pump` run before the turn ends. */
  wake(pump: Pump): void {
    this.#awake.add(pump);
  }

  /** Does `run`, then what it woke, and writes all that came of it together. */
  turn(run: () => void): void {
    if (this.#inTurn) {
      run();
      return;
    }
    this.#inTurn = true;
    try {
      run();
    } finally {
      try {
        this.#runAwake();
      } finally {
        this.#inTurn = false;
      }
    }
  }

  #runAwake(): void {
    do {
      for (const pump of this.#awake) {
        this.#awake.delete(pump);
        pump.run();
      }
      this.#flush();
    } while (this.#awake.size > 0); // the pipe may have taken more than it said it would
  }

  #send(pieces: readonly Uint8Array[]): void {
    for (const piece of pieces) {
      this.#out.push(piece);
      this.#outLength += piece.length;
    }
    if (this.#outLength >= FLUSH_AT) this.#flush();
  }

  #flush(): void {
    if (this.#outLength === 0) return;
    const pieces = this.#out;
    this.#out = [];
    this.#outLength = 0;
    if (this.#cause !== undefined) return;
    const wasFull = this.#full;
    this.#full = !this.#pipe.write(pieces);
    if (wasFull && !this.#full) this.#wakeAll();
  }

  #wakeAll(): void {
    for (const pump of this.#pumps) this.wake(pump);
  }

  data(bytes: Uint8Array): void {
    if (this.#cause !== undefined || this.#greeting === 'ending') return;
    this.#heardAt = this.clock.now();
    this.#kept = 0;
    const { length } = bytes;
    try {
      this.turn(() => this.#requester.receive(plain(bytes)));
    } catch (error) {
      this.#failAfter(toSshError(error, 'internal'));
      return;
    }
    const kept = this.#requester.takeKept();
    if (kept !== undefined && !this.#inPlace) this.#pipe.spent?.(kept);
    const done = length - this.#kept;
    if (done > 0 && this.#cause === undefined) this.#pipe.consumed(done);
  }

  end(): void {
    this.#failAfter(this.#requester.ended());
  }

  /** In place of VERSION: how the program ended may be told right behind. */
  #failAfter(cause: SshError): void {
    if (this.#greeting === 'over') {
      this.fail(cause);
      return;
    }
    this.#greeting = 'ending';
    queueMicrotask(() => this.fail(cause));
  }

  drain(): void {
    this.#full = false;
    this.turn(() => this.#wakeAll());
  }

  closed(cause: SshError | undefined): void {
    this.#closed = true;
    this.#enterFailed(cause ?? this.#requester.ended());
    for (const closer of this.#closers.splice(0)) closer();
  }

  /** Ends the link: everything pending rejects with `cause`, and so does whatever is asked later. */
  fail(cause: SshError): void {
    if (this.#cause !== undefined) return;
    this.#enterFailed(cause);
    if (!this.#closed) this.#pipe.close(this.#cause);
  }

  #enterFailed(reason: SshError): void {
    if (this.#cause !== undefined) return;
    const cause = this.greeting ? this.#explain(reason) : reason;
    this.#cause = cause;
    this.#onFailed?.(cause);
    this.#requester.fail(cause);
    for (const pump of [...this.#pumps]) pump.lost(cause);
    this.#pumps.clear();
    this.#awake.clear();
    this.handles.lost(cause);
    for (const mourner of this.#mourners.splice(0)) mourner(cause);
  }

  /** Calls `run` when the link ends. */
  whenFailed(run: (cause: SshError) => void): void {
    this.#mourners.push(run);
  }

  /** Calls `run` once the pipe has closed, which it may have already. */
  whenClosed(run: () => void): void {
    if (this.#closed) run();
    else this.#closers.push(run);
  }
}

/** What a server offers, where more is known of it than it says. */
function corrected(
  announced: ServerExtensions,
  known: Readonly<Record<string, string | undefined>> = {},
): ServerExtensions {
  const offered = new Map(announced);
  for (const [name, version] of Object.entries(known)) {
    if (version === undefined) offered.delete(name);
    else offered.set(name, version);
  }
  return offered;
}
