/**
 * The read scheduler: keeps up to `requests` READs pending, never more bytes than the window takes, until the file has
 * ended (draft-ietf-secsh-filexfer-02 §6.4). Replies come in any order. A reply that is shorter than asked is followed by
 * a request for exactly what it lacks; only STATUS EOF ends a file, whatever size was stated for it.
 */

import { printable } from '../bytes/text.ts';
import { protocolError, SshError } from '../errors.ts';
import { type Counters, newCounters } from './counters.ts';
import type { Link } from './link.ts';
import type { RemotePath } from './options.ts';
import { DATA_HEADER, packets } from './proto/packets.ts';
import type { ReplyHandler } from './proto/requester.ts';
import { Status, statusError } from './proto/status.ts';
import type { Pump } from './pump.ts';
import { RequestSize } from './request_size.ts';
import type { ReadSink, SinkEvents } from './sink.ts';
import { StallGuard } from './stall.ts';

/** READs that are sent before the first reply; each reply adds one, so the number doubles in a round trip. */
const FIRST_REQUESTS = 16;

/** A sink may gather the part of the window of which this is the reciprocal: more would stand in the way of what is to come. */
const MOST_HELD = 4;

/** Replies without a byte in a row, which ask for nothing but being asked again, before the server is called broken. */
const MAX_EMPTY_REPLIES = 2;

/** What is to be read. */
export interface ReadJob {
  readonly link: Link;
  readonly handle: Uint8Array;
  readonly path: RemotePath;
  readonly start: number;
  /** The byte after the last one, or infinity for all there is. */
  readonly end: number;
  readonly requests: number;
  /** Most bytes that one READ may ask for. */
  readonly maxRequest: () => number;
  readonly trustEof: boolean;
  readonly stallTimeout: number;
}

/** A range of the file, of which at most one request is pending. */
class Block implements ReplyHandler {
  readonly expects: number = packets.data.number;
  readonly #pump: ReadPump;
  /** The first byte that is missing, and how many are. */
  position: number;
  missing: number;
  /** What the pending request asked for, and what of its reply is still to come. */
  asked = 0;
  coming = 0;
  /** Whether it reaches beyond the stated size. */
  beyond = false;

  constructor(pump: ReadPump, position: number, length: number) {
    this.#pump = pump;
    this.position = position;
    this.missing = length;
  }

  status(code: number, message: string): void {
    this.#pump.refused(this, code, message);
  }

  dataStart(length: number): void {
    this.#pump.dataStart(this, length);
  }

  data(bytes: Uint8Array): void {
    this.#pump.data(this, bytes);
  }

  dataEnd(): void {
    this.#pump.dataEnd(this);
  }

  failed(cause: SshError): void {
    this.#pump.lost(cause);
  }
}

/** `asking`: going on. `draining`: only what lies before a refusal is still wanted. `flushing`: the sink finishes. */
type State =
  | { readonly name: 'asking' }
  | { readonly name: 'draining' | 'flushing' | 'done'; readonly failure: SshError | undefined };

export class ReadPump implements Pump, SinkEvents {
  readonly counters: Counters = newCounters();
  readonly #job: ReadJob;
  readonly #sink: ReadSink;
  readonly #progress: (bytes: number) => void;
  readonly #done: (failure: SshError | undefined) => void;
  readonly #guard: StallGuard;
  readonly #size: RequestSize;
  #state: State = { name: 'asking' };
  /** What the server said is the size; `unasked` until it answered, which lets one READ go. */
  #hint: number | 'unknown' | 'unasked' = 'unasked';
  /** The last block that was asked for before the size was known. */
  #probe: Block | undefined;
  /** The next byte that no block covers. */
  #next: number;
  /** Where STATUS EOF said that the file ends. */
  #eof = Number.POSITIVE_INFINITY;
  /** Blocks of which something is missing and nothing pending. */
  #gaps: Block[] = [];
  #pending = 0;
  #inFlight = 0;
  #held = 0;
  #allowed = FIRST_REQUESTS;
  /** Whether a block beyond the stated size is there. */
  #beyond = false;
  #emptyReplies = 0;
  #received = 0;
  #refusedAt = Number.POSITIVE_INFINITY;
  #heardAt = 0;

  /** `progress` hears how many bytes are out; `done` is called once, at the end. Nothing happens before `start`. */
  constructor(
    job: ReadJob,
    sink: ReadSink,
    progress: (bytes: number) => void,
    done: (failure: SshError | undefined) => void,
  ) {
    this.#job = job;
    this.#sink = sink;
    this.#progress = progress;
    this.#done = done;
    this.#size = new RequestSize(job.maxRequest);
    this.#next = job.start;
    const heardAt = (): number => this.#heard();
    this.#guard = new StallGuard(job.link.clock, job.stallTimeout, heardAt, () => this.#stalled());
  }

  /** Begins; in a turn of the link. */
  start(): void {
    this.#sink.start(this, this.#job.link.clock);
    this.#job.link.attach(this);
    if (this.#state.name !== 'asking') return;
    this.#guard.start();
    this.#job.link.wake(this);
  }

  /** What the server states as the size, or `unknown`. Beyond it, one READ at a time feels for the end. */
  stated(size: number | 'unknown'): void {
    this.#hint = size;
    if (this.#probe !== undefined && typeof size === 'number') this.#mark(this.#probe, size);
    this.#probe = undefined;
    this.#job.link.wake(this);
  }

  #mark(block: Block, hint: number): void {
    block.beyond = block.missing > 0 && block.position + block.missing > hint;
    if (block.beyond) this.#beyond = true;
  }

  /** Ends at once with `error`. What is still to come from the server is discarded as it comes. */
  abort(error: SshError): void {
    if (this.#state.name === 'done') return;
    this.#sink.abandon();
    this.#dropHeld();
    this.#end(error);
  }

  lost(cause: SshError): void {
    this.abort(cause);
  }

  run(): void {
    const { link, handle, requests } = this.#job;
    const { budget } = link;
    while (this.#wants && this.#pending < Math.min(this.#allowed, requests)) {
      if (this.#hint === 'unasked' && this.#pending > 0) break;
      const block = this.#gaps.pop() ?? (this.#state.name === 'asking' ? this.#nextBlock() : undefined);
      if (block === undefined) break;
      const length = Math.min(block.missing, budget.largest);
      if (!budget.take(this, length, this.#pending === 0 && this.#held === 0)) {
        this.#gaps.push(block);
        break;
      }
      this.#sent(block, length);
      link.read(handle, block.position, length, block);
    }
    if (this.#pending > 0) return;
    this.#settle();
    if (this.#wants) this.#sink.push?.();
  }

  /** Whether data is still of use. */
  get #wants(): boolean {
    return this.#state.name === 'asking' || this.#state.name === 'draining';
  }

  #sent(block: Block, length: number): void {
    const { counters } = this;
    if (this.#pending === 0) this.#heardAt = this.#job.link.clock.now();
    block.asked = length;
    this.#pending++;
    this.#inFlight += length;
    counters.requests++;
    counters.maxRequestsInFlight = Math.max(counters.maxRequestsInFlight, this.#pending);
    counters.maxBytesInFlight = Math.max(counters.maxBytesInFlight, this.#inFlight);
  }

  #nextBlock(): Block | undefined {
    const position = this.#next;
    const end = Math.min(this.#job.end, this.#eof);
    if (position >= end) return undefined;
    const hint = typeof this.#hint === 'number' ? this.#hint : Number.POSITIVE_INFINITY;
    if (position >= hint && this.#beyond) return undefined;
    const size = this.#size.next(this.#job.link.budget.limit, this.#job.requests);
    const length = Math.min(size, end - position, position < hint ? hint - position : size);
    const block = new Block(this, position, length);
    this.#next = position + length;
    this.#mark(block, hint);
    if (this.#hint === 'unasked') this.#probe = block;
    return block;
  }

  /** With nothing pending: goes over to the end if nothing is left to ask. */
  #settle(): void {
    if (!this.#wants || this.#gaps.length > 0) return;
    if (this.#state.name === 'draining') this.#flush(this.#state.failure);
    if (this.#state.name !== 'asking' || this.#hint === 'unasked') return;
    const end = Math.min(this.#job.end, this.#eof);
    if (this.#next < end) return;
    this.#flush(this.#shortfall(end));
  }

  #flush(failure: SshError | undefined): void {
    this.#state = { name: 'flushing', failure };
    this.#guard.stop();
    this.#sink.finish();
  }

  /** Why a file that ended at `end` is not whole, if it is not. */
  #shortfall(end: number): SshError | undefined {
    const { start, path, trustEof } = this.#job;
    const info = { fault: 'peer', operation: 'read', path: printable(path, 1024) } as const;
    if (this.#received !== end - start) {
      const message = `read ${info.path}: the file changed while it was read: it ended at byte ${end}, and yet more came from beyond`;
      return new SshError('incomplete', message, info);
    }
    const stated = Math.min(typeof this.#hint === 'number' ? this.#hint : 0, this.#job.end);
    if (trustEof || end >= stated) return undefined;
    const message = `read ${info.path}: the file ended at byte ${end}, the server stated ${stated}; set trustEof if that is right`;
    return new SshError('incomplete', message, info);
  }

  dataStart(block: Block, length: number): void {
    if (length > block.asked) {
      throw protocolError(`SFTP: ${length} bytes of data answer a READ of ${block.asked}`, { operation: 'read' });
    }
    block.coming = length;
    this.#inFlight -= block.asked - length;
    this.#free(block.asked - length);
  }

  data(block: Block, bytes: Uint8Array): void {
    const { link } = this.#job;
    this.#inFlight -= bytes.length;
    this.#heardAt = link.heardAt;
    if (this.#wants) {
      const position = block.position;
      block.position += bytes.length;
      block.missing -= bytes.length;
      this.#held += bytes.length;
      this.#received += bytes.length;
      const { length } = bytes;
      // before the sink hears of them: it may be done with them at once
      link.budget.hold(length);
      link.keep(length, this.#sink.data(position, bytes));
      if (this.#held > link.budget.limit / MOST_HELD) this.#sink.push?.();
    } else {
      this.#free(bytes.length);
    }
  }

  dataEnd(block: Block): void {
    this.#replied();
    if (this.#wants) {
      this.#size.answered(block.asked, block.coming);
      this.#emptyReplies = block.coming === 0 ? this.#emptyReplies + 1 : 0;
      if (block.coming < block.asked) this.counters.shortReads++;
      if (block.missing > 0 && block.position < Math.min(this.#eof, this.#refusedAt)) this.#gaps.push(block);
      else if (block.beyond) this.#beyond = false;
      if (this.#emptyReplies >= MAX_EMPTY_REPLIES) {
        this.#refuse(
          protocolError('SFTP: the server answers READ with no bytes and without STATUS EOF'),
          block.position,
        );
      }
    }
  }

  refused(block: Block, code: number, message: string): void {
    this.#inFlight -= block.asked;
    this.#free(block.asked);
    this.#replied();
    if (code !== Status.eof) this.#refuse(statusError(code, message, 'read', this.#job.path), block.position);
    else if (block.position < this.#eof) {
      this.#eof = block.position;
      this.#dropGaps(block.position);
    }
  }

  #replied(): void {
    this.#pending--;
    this.#allowed++;
    this.#heardAt = this.#job.link.heardAt;
    this.#free(DATA_HEADER);
    this.#job.link.wake(this);
  }

  /** Nothing is wanted from `position` on. */
  #dropGaps(position: number): void {
    this.#gaps = this.#gaps.filter((gap) => gap.position < position);
  }

  /** The server refused: all that lies before is still fetched, so that what a failure leaves is as much as there is. */
  #refuse(failure: SshError, position: number): void {
    if (!this.#wants || position >= this.#refusedAt) return;
    this.#refusedAt = position;
    this.#dropGaps(position);
    this.#state = { name: 'draining', failure };
  }

  /** When the server was last heard of, for the guard: now, as long as nothing is expected of it. */
  #heard(): number {
    const { link } = this.#job;
    return this.#pending === 0 || link.budget.holdsBackReplies ? link.clock.now() : this.#heardAt;
  }

  #stalled(): void {
    const { stallTimeout, link, requests } = this.#job;
    const path = printable(this.#job.path, 1024);
    const pending = `${this.#pending} READs pending, the first for byte ${this.#sink.contiguous} or after`;
    const advice = requests > 1 ? '; a server that cannot take so many at once wants requests: 1' : '';
    const message = `read ${path}: no answer for ${stallTimeout / 1000} s, ${pending}${advice}`;
    const error = new SshError('timeout', message, { fault: 'peer', operation: 'read', path });
    link.turn(() => this.abort(error));
  }

  taken(count: number): void {
    if (this.#state.name === 'done') return;
    this.#held -= count;
    this.counters.bytes += count;
    const { link } = this.#job;
    link.turn(() => {
      link.budget.release(count);
      link.wake(this);
      this.#progress(this.counters.bytes);
    });
  }

  broken(error: SshError): void {
    this.#job.link.turn(() => this.abort(error));
  }

  finished(): void {
    if (this.#state.name === 'flushing') {
      this.#dropHeld(); // what came from beyond a gap
      this.#end(this.#state.failure);
    }
  }

  /** Of what was asked for, `count` bytes are not kept or will not come. */
  #free(count: number): void {
    const { budget } = this.#job.link;
    if (this.#state.name === 'done') budget.discarded(count);
    else budget.free(count);
  }

  #dropHeld(): void {
    const { link } = this.#job;
    if (link.cause === undefined) link.budget.release(this.#held);
    this.#held = 0;
  }

  #end(failure: SshError | undefined): void {
    this.#state = { name: 'done', failure };
    this.#guard.stop();
    this.#gaps = [];
    this.#job.link.detach(this);
    this.#job.link.budget.abandon(this.#inFlight + this.#pending * DATA_HEADER);
    this.#done(failure);
  }
}
