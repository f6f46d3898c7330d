/**
 * The write scheduler: keeps up to `requests` WRITEs pending at explicit offsets (draft-ietf-secsh-filexfer-02 §6.4), in
 * ascending order, for as long as the pipe takes them. Acknowledgements come in any order; what is acknowledged without a
 * gap is counted.
 */

import { ChunkQueue } from '../bytes/chunks.ts';
import { printable } from '../bytes/text.ts';
import { SshError } from '../errors.ts';
import { type Counters, newCounters } from './counters.ts';
import { Extents } from './extents.ts';
import type { Link } from './link.ts';
import type { RemotePath } from './options.ts';
import { packets } from './proto/packets.ts';
import type { ReplyHandler } from './proto/requester.ts';
import { Status, statusError } from './proto/status.ts';
import type { Pump } from './pump.ts';
import type { SourceEvents, WriteSource } from './source.ts';
import { StallGuard } from './stall.ts';

/** Bytes from the source that wait to be sent; below this, it is asked for more. */
const READ_AHEAD = 512 * 1024;

/** What is to be written. */
export interface WriteJob {
  readonly link: Link;
  readonly handle: Uint8Array;
  readonly path: RemotePath;
  readonly start: number;
  readonly requests: number;
  /** Bytes in one WRITE. */
  readonly requestSize: number;
  readonly stallTimeout: number;
  /** Most bytes that are sent beyond what is acknowledged without a gap: how far behind the end a hole may be. */
  readonly span: number;
  /**
   * Called once, in a turn, when the last of `bytes` bytes has been sent: what follows on the link comes behind all WRITEs.
   * Must not be called where some of them went another way.
   */
  readonly onSent?: (bytes: number) => void;
}

/** A pending WRITE. */
class Sent implements ReplyHandler {
  readonly expects: number = packets.status.number;
  readonly position: number;
  readonly length: number;
  readonly #pump: WritePump;

  constructor(pump: WritePump, position: number, length: number) {
    this.#pump = pump;
    this.position = position;
    this.length = length;
  }

  status(code: number, message: string): void {
    this.#pump.answered(this, code, message);
  }

  failed(cause: SshError): void {
    this.#pump.lost(cause);
  }
}

type State =
  | { readonly name: 'sending' }
  | { readonly name: 'draining' | 'done'; readonly failure: SshError | undefined };

export class WritePump implements Pump, SourceEvents {
  readonly counters: Counters = newCounters();
  readonly #job: WriteJob;
  readonly #source: WriteSource;
  readonly #progress: (bytes: number) => void;
  readonly #done: (failure: SshError | undefined) => void;
  readonly #guard: StallGuard;
  readonly #acknowledged = new Extents();
  #queue = new ChunkQueue();
  #state: State = { name: 'sending' };
  #pulling = false;
  #ended = false;
  #allSent = false;
  #next: number;
  #pending = 0;
  #inFlight = 0;
  #refusedAt = Number.POSITIVE_INFINITY;
  #heardAt = 0;

  /** `progress` hears how many bytes are acknowledged; `done` is called once, at the end. Nothing happens before `start`. */
  constructor(
    job: WriteJob,
    source: WriteSource,
    progress: (bytes: number) => void,
    done: (failure: SshError | undefined) => void,
  ) {
    this.#job = job;
    this.#source = source;
    this.#progress = progress;
    this.#done = done;
    this.#next = job.start;
    const heardAt = (): number => this.#heard();
    this.#guard = new StallGuard(job.link.clock, job.stallTimeout, heardAt, () => this.#stalled());
  }

  /** Up to where everything from the start is acknowledged. */
  get contiguous(): number {
    return this.#acknowledged.contiguousFrom(this.#job.start);
  }

  /** Begins; in a turn of the link. */
  start(): void {
    this.#job.link.attach(this);
    if (this.#state.name !== 'sending') return;
    this.#guard.start();
    this.#job.link.wake(this);
  }

  /** Ends at once with `error`; answers still to come are taken note of by nobody. */
  abort(error: SshError): void {
    if (this.#state.name !== 'done') this.#end(error);
  }

  lost(cause: SshError): void {
    this.abort(cause);
  }

  run(): void {
    const { link, requests, requestSize, span } = this.#job;
    while (this.#state.name === 'sending' && this.#pending < requests && !link.full) {
      if (this.#next + requestSize > this.contiguous + span && this.#pending > 0) break;
      if (!this.#ended && this.#queue.length < READ_AHEAD) this.#pull();
      // Small pieces are gathered for as long as an answer is still due, as Nagle's algorithm does.
      if (this.#queue.length < requestSize && !this.#ended && this.#pending > 0) break;
      if (this.#queue.length === 0 || this.#state.name !== 'sending') break;
      this.#send(Math.min(this.#queue.length, requestSize));
    }
    const isThrough = this.#state.name === 'sending' && this.#ended && this.#queue.length === 0;
    if (isThrough && !this.#allSent) {
      this.#allSent = true;
      this.#job.onSent?.(this.#next - this.#job.start);
    }
    if (this.#pending > 0) return;
    if (this.#state.name === 'draining') this.#end(this.#state.failure);
    else if (isThrough) this.#end(undefined);
  }

  #pull(): void {
    if (this.#pulling) return;
    this.#pulling = true;
    this.#source.pull(this);
  }

  push(bytes: Uint8Array): void {
    this.#pulling = false;
    if (this.#state.name !== 'sending') return;
    this.#queue.push(bytes);
    this.#job.link.turn(() => this.#job.link.wake(this));
  }

  end(): void {
    this.#pulling = false;
    this.#ended = true;
    this.#job.link.turn(() => this.#job.link.wake(this));
  }

  broken(error: SshError): void {
    this.#pulling = false;
    this.#refuse(error, Number.MAX_SAFE_INTEGER);
    this.#job.link.turn(() => this.#job.link.wake(this));
  }

  #send(length: number): void {
    const { link, handle } = this.#job;
    const { counters } = this;
    const pieces: Uint8Array[] = [];
    for (let left = length; left > 0; ) {
      const piece = this.#queue.takeSome(left) as Uint8Array;
      pieces.push(piece);
      left -= piece.length;
    }
    const position = this.#next;
    if (this.#pending === 0) this.#heardAt = link.clock.now();
    this.#next += length;
    this.#pending++;
    this.#inFlight += length;
    counters.requests++;
    counters.maxRequestsInFlight = Math.max(counters.maxRequestsInFlight, this.#pending);
    counters.maxBytesInFlight = Math.max(counters.maxBytesInFlight, this.#inFlight);
    link.write(handle, position, length, pieces, new Sent(this, position, length));
  }

  /** The answer to one WRITE. */
  answered(sent: Sent, code: number, message: string): void {
    this.#pending--;
    this.#inFlight -= sent.length;
    this.#heardAt = this.#job.link.heardAt;
    if (code === Status.ok) {
      this.#acknowledged.add(sent.position, sent.position + sent.length);
      this.counters.bytes += sent.length;
      if (this.#state.name !== 'done') this.#progress(this.counters.bytes);
    } else {
      this.#refuse(statusError(code, message, 'write', this.#job.path), sent.position);
    }
    this.#job.link.wake(this);
  }

  /** Nothing more is sent; what is pending may still be acknowledged. The failure nearest to the start counts. */
  #refuse(failure: SshError, position: number): void {
    if (this.#state.name === 'done' || position >= this.#refusedAt) return;
    this.#refusedAt = position;
    this.#state = { name: 'draining', failure };
  }

  /** When the server was last heard of, for the guard: now, as long as nothing is expected of it. */
  #heard(): number {
    const { link } = this.#job;
    if (link.budget.holdsBackReplies) return link.clock.now();
    if (this.#pending > 0) return this.#heardAt;
    return link.full ? link.heardAt : link.clock.now();
  }

  #stalled(): void {
    const { stallTimeout, link, requests } = this.#job;
    const path = printable(this.#job.path, 1024);
    const pending = `${this.#pending} WRITEs pending, the first for byte ${this.contiguous}`;
    const advice = requests > 1 ? '; a server that cannot take so many at once wants requests: 1' : '';
    const message = `write ${path}: no answer for ${stallTimeout / 1000} s, ${pending}${advice}`;
    const error = new SshError('timeout', message, { fault: 'peer', operation: 'write', path });
    link.turn(() => this.abort(error));
  }

  #end(failure: SshError | undefined): void {
    this.#state = { name: 'done', failure };
    this.#guard.stop();
    this.#queue = new ChunkQueue();
    this.#job.link.detach(this);
    this.#done(failure);
  }
}
