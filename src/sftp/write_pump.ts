/**
 * The write scheduler: keeps up to `requests` WRITEs pending on each of its lanes, at explicit offsets
 * (draft-ietf-secsh-filexfer-02 §6.4), in ascending order over all of them, for as long as the pipes take them.
 * Acknowledgements come in any order; what is acknowledged without a gap is counted.
 */

import { ChunkQueue } from '../bytes/chunks.ts';
import { printable } from '../bytes/text.ts';
import { SshError, toSshError } from '../errors.ts';
import { type Counters, newCounters } from './counters.ts';
import { Extents } from './extents.ts';
import { type Growing, LaneGrowth } from './lane_growth.ts';
import { closeHandle, closeQuietly, type OpenHandle } from './operations.ts';
import { Status, statusError } from './proto/status.ts';
import type { SourceEvents, WriteSource } from './source.ts';
import { StallGuard } from './stall.ts';
import { type LaneOwner, type SentWrite, WriteLane } from './write_lane.ts';

/** Bytes from the source that wait to be sent; below this, it is asked for more. */
const READ_AHEAD = 512 * 1024;

/** What is to be written. */
export interface WriteJob {
  readonly file: OpenHandle;
  readonly start: number;
  /** How many bytes there will be, as far as is known. */
  readonly total: number | undefined;
  /** Most WRITEs that are pending on a lane. */
  readonly requests: number;
  /** Most bytes in one WRITE to a handle of that length. */
  readonly requestSize: (handle: Uint8Array) => number;
  /** Most lanes. */
  readonly lanes: number;
  readonly stallTimeout: number;
  /** Most bytes that are sent beyond what is acknowledged without a gap: how far behind the end a hole may be. */
  readonly span: number;
  /**
   * Called once, in a turn, when the last of `bytes` bytes has been sent: what follows on the link comes behind all WRITEs.
   * Not called where some of them went over another lane.
   */
  readonly onSent: (bytes: number) => void;
}

/** `draining`: nothing more is sent, and what is pending may still be acknowledged. */
type State =
  | { readonly name: 'sending' }
  | { readonly name: 'draining' | 'done'; readonly failure: SshError | undefined };

export class WritePump implements LaneOwner, SourceEvents, Growing {
  readonly counters: Counters = newCounters();
  readonly #job: WriteJob;
  readonly #source: WriteSource;
  readonly #progress: (bytes: number) => void;
  readonly #done: (failure: SshError | undefined) => void;
  readonly #guard: StallGuard;
  readonly #growth: LaneGrowth;
  readonly #main: WriteLane;
  readonly #extents = new Extents();
  /** All that are in use, the file's own channel first. */
  #lanes: WriteLane[];
  #queue = new ChunkQueue();
  /** Bytes behind the queue that are not sent. */
  #hole = 0;
  #state: State = { name: 'sending' };
  /** Whether the source was asked, and whether it is just being asked. */
  #pulling = false;
  #asking = false;
  /** Whether it answered while it was being asked: lanes other than the one that asked do not know yet. */
  #news = false;
  #ended = false;
  #allSent = false;
  #next: number;
  #pending = 0;
  #inFlight = 0;
  #furthest: number;
  #refusedAt = Number.POSITIVE_INFINITY;
  /** From here on, what was acknowledged may not be there: a CLOSE failed. */
  #doubtfulFrom = Number.POSITIVE_INFINITY;

  /** `progress` hears how many bytes are acknowledged; `done` is called once, at the end. Nothing happens before `start`. */
  constructor(
    job: WriteJob,
    source: WriteSource,
    progress: (bytes: number) => void,
    done: (failure: SshError | undefined) => void,
  ) {
    const { file, start, requests, requestSize, lanes, stallTimeout } = job;
    this.#job = job;
    this.#source = source;
    this.#progress = progress;
    this.#done = done;
    this.#next = start;
    this.#furthest = start;
    this.#main = new WriteLane(this, file, requests, () => requestSize(file.handle));
    this.#lanes = [this.#main];
    this.#growth = new LaneGrowth(file, lanes, this);
    const heardAt = (): number => this.#heard();
    this.#guard = new StallGuard(file.link.clock, stallTimeout, heardAt, () => this.#stalled());
  }

  /** Up to where everything from the start is acknowledged. */
  get contiguous(): number {
    return Math.min(this.#extents.contiguousFrom(this.#job.start), this.#doubtfulFrom);
  }

  // For its growth.

  get lanes(): number {
    return this.#lanes.length;
  }

  get left(): number {
    const { start, total } = this.#job;
    if (this.#through || !this.#sending) return 0;
    return total === undefined ? Number.POSITIVE_INFINITY : Math.max(0, start + total - this.#next);
  }

  get acknowledged(): number {
    return this.#furthest;
  }

  get sent(): number {
    return this.#next;
  }

  joined(file: OpenHandle): void {
    if (this.left === 0) {
      closeQuietly(file);
      file.link.pool?.give(file.link);
      return;
    }
    const { requests, requestSize } = this.#job;
    const lane = new WriteLane(this, file, requests, () => requestSize(file.handle));
    this.#lanes.push(lane);
    this.counters.lanes = Math.max(this.counters.lanes, this.#lanes.length);
    lane.start();
  }

  // From its owner.

  /** Begins; in a turn of the link. */
  start(): void {
    this.#job.file.link.attach(this.#main);
    if (this.#state.name !== 'sending') return;
    this.#guard.start();
    this.#main.nudge();
  }

  /** Ends at once with `error`; answers still to come are taken note of by nobody. */
  abort(error: SshError): void {
    if (this.#state.name !== 'done') this.#end(error);
  }

  // From its source.

  #readAhead(): void {
    if (this.#pulling || this.#ended || !this.#sending) return;
    if (this.#hole > 0 || this.#queue.length >= READ_AHEAD) return;
    this.#pulling = true;
    this.#asking = true;
    this.#source.pull(this);
    this.#asking = false;
  }

  push(bytes: Uint8Array): void {
    this.#pulling = false;
    if (this.#state.name !== 'sending') return;
    this.#queue.push(bytes);
    this.#tell();
  }

  skip(count: number): void {
    this.#pulling = false;
    if (this.#state.name !== 'sending') return;
    this.#hole += count;
    this.#tell();
  }

  end(): void {
    this.#pulling = false;
    this.#ended = true;
    this.#tell();
  }

  broken(error: SshError): void {
    this.#pulling = false;
    this.#refuse(error, Number.MAX_SAFE_INTEGER);
    this.#tell();
  }

  /** The source said something: to all lanes, once the one that asked for it has taken what it can. */
  #tell(): void {
    if (this.#asking) this.#news = true;
    else this.#nudgeAll();
  }

  #nudgeAll(): void {
    this.#news = false;
    for (const lane of [...this.#lanes]) lane.nudge();
  }

  // From its lanes.

  feed(lane: WriteLane): boolean {
    const { span } = this.#job;
    const { requestSize } = lane;
    if (!this.#sending) return false;
    if (this.#next + requestSize > this.contiguous + span && this.#pending > 0) return false;
    if (this.#hole > 0 && this.#queue.length === 0) this.#leap();
    this.#readAhead();
    // Small pieces are gathered for as long as an answer is still due, as Nagle's algorithm does.
    const isOpenEnded = !this.#ended && this.#hole === 0;
    if (this.#queue.length < requestSize && isOpenEnded && this.#pending > 0) return false;
    if (this.#queue.length === 0 || !this.#sending) return false;
    this.#send(lane, Math.min(this.#queue.length, requestSize));
    return true;
  }

  /** Goes on behind what is not sent, as if it were acknowledged. */
  #leap(): void {
    const end = this.#next + this.#hole;
    this.#extents.add(this.#next, end);
    this.#next = end;
    this.counters.bytes += this.#hole;
    this.#hole = 0;
    this.#progress(this.counters.bytes);
  }

  #send(lane: WriteLane, length: number): void {
    const { counters } = this;
    const pieces: Uint8Array[] = [];
    for (let left = length; left > 0; ) {
      const piece = this.#queue.takeSome(left) as Uint8Array;
      pieces.push(piece);
      left -= piece.length;
    }
    const position = this.#next;
    this.#next += length;
    this.#pending++;
    this.#inFlight += length;
    if (counters.requests++ === 0) this.#growth.begin();
    counters.maxRequestsInFlight = Math.max(counters.maxRequestsInFlight, this.#pending);
    counters.maxBytesInFlight = Math.max(counters.maxBytesInFlight, this.#inFlight);
    lane.write(position, length, pieces);
  }

  rested(lane: WriteLane): void {
    this.#readAhead(); // although all that may be pending is
    if (this.#news) this.#nudgeAll();
    if (this.#state.name === 'draining' && this.#pending === 0) this.#end(this.#state.failure);
    if (!this.#through || !this.#sending) return;
    if (!this.#allSent) {
      this.#allSent = true;
      this.#growth.stop();
      if (this.counters.lanes === 1) this.#job.onSent(this.#next - this.#job.start);
      for (const other of this.#lanes) if (other !== lane) this.#closeIfDone(other);
    }
    this.#closeIfDone(lane);
    if (this.#pending === 0 && this.#lanes.length === 1) this.#end(undefined);
  }

  get #sending(): boolean {
    return this.#state.name === 'sending';
  }

  /** Whether all that the source gave is on its way. */
  get #through(): boolean {
    return this.#ended && this.#queue.length === 0 && this.#hole === 0;
  }

  answered(sent: SentWrite, code: number, message: string): void {
    this.#pending--;
    this.#inFlight -= sent.length;
    if (code === Status.ok) {
      const end = sent.position + sent.length;
      this.#extents.add(sent.position, end);
      this.#furthest = Math.max(this.#furthest, end);
      // what is acknowledged has been sent, unless the server lies; then it gets what it deserves
      if (this.#main.link.tellsSent)
        this.#source.spent?.(this.#extents.contiguousFrom(this.#job.start) - this.#job.start);
      this.counters.bytes += sent.length;
      if (this.#state.name === 'done') return;
      this.#growth.acknowledged(sent.length);
      this.#progress(this.counters.bytes);
      if (this.#job.span !== Number.POSITIVE_INFINITY && this.#lanes.length > 1) this.#nudgeAll();
    } else {
      this.#refuse(statusError(code, message, 'write', this.#job.file.path), sent.position);
    }
  }

  unanswered(sent: SentWrite): void {
    this.#pending--;
    this.#inFlight -= sent.length;
  }

  laneLost(lane: WriteLane, cause: SshError): void {
    if (lane === this.#main) this.abort(cause);
    else this.#leave(lane, lane.first === Number.POSITIVE_INFINITY ? undefined : this.#cutOff(cause));
  }

  #cutOff(cause: SshError): SshError {
    const path = printable(this.#job.file.path, 1024);
    const message = `write ${path}: one of the channels of the upload has ended: ${cause.message}`;
    return new SshError(cause.code, message, { fault: cause.fault, operation: 'write', path, cause });
  }

  /** Nothing more is sent; what is pending may still be acknowledged. The failure nearest to the start counts. */
  #refuse(failure: SshError, position: number): void {
    if (this.#state.name === 'done' || position >= this.#refusedAt) return;
    this.#refusedAt = position;
    this.#state = { name: 'draining', failure };
    this.#growth.stop();
  }

  /** Errors of delayed writes come with CLOSE: until that was answered the content is not whole. */
  #closeIfDone(lane: WriteLane): void {
    if (lane === this.#main || lane.pending > 0 || lane.state === 'closing') return;
    lane.state = 'closing';
    closeHandle(lane.file, { stallTimeout: this.#job.stallTimeout }).then(
      () => this.#leave(lane, undefined),
      (error: unknown) => this.#leave(lane, toSshError(error, 'internal')),
    );
  }

  /** `lane` has ended; `failure`: what was acknowledged there may not be in the file. */
  #leave(lane: WriteLane, failure: SshError | undefined): void {
    if (!this.#lanes.includes(lane)) return;
    this.#lanes = this.#lanes.filter((each) => each !== lane);
    lane.link.detach(lane);
    lane.link.pool?.give(lane.link);
    if (failure !== undefined) {
      this.#doubtfulFrom = Math.min(this.#doubtfulFrom, lane.first);
      this.#refuse(failure, lane.first);
    }
    this.#main.nudge();
  }

  /** When the server was last heard of, for the guard: now, as long as nothing is expected of it. */
  #heard(): number {
    const { link } = this.#job.file;
    let heard = link.clock.now();
    if (link.budget.holdsBackReplies) return heard;
    for (const lane of this.#lanes) {
      if (lane.pending > 0) heard = Math.min(heard, lane.heardAt);
      else if (lane.link.full) heard = Math.min(heard, lane.link.heardAt);
    }
    return heard;
  }

  #stalled(): void {
    const { stallTimeout, file, requests } = this.#job;
    const path = printable(file.path, 1024);
    const pending = `${this.#pending} WRITEs pending, the first for byte ${this.contiguous}`;
    const advice = requests > 1 ? '; a server that cannot take so many at once wants requests: 1' : '';
    const message = `write ${path}: no answer for ${stallTimeout / 1000} s, ${pending}${advice}`;
    const error = new SshError('timeout', message, { fault: 'peer', operation: 'write', path });
    file.link.turn(() => this.abort(error));
  }

  #end(failure: SshError | undefined): void {
    this.#state = { name: 'done', failure };
    this.#guard.stop();
    this.#growth.stop();
    this.#queue = new ChunkQueue();
    const lanes = this.#lanes;
    this.#lanes = [];
    for (const lane of lanes) {
      lane.link.detach(lane);
      if (lane !== this.#main) letGo(lane, failure);
    }
    this.#done(failure);
  }
}

/** A lane whose upload failed: what it still has to send must not reach the file. */
function letGo(lane: WriteLane, failure: SshError | undefined): void {
  const { link } = lane;
  if (lane.pending > 0) link.fail(failure ?? new SshError('channel-closed', 'The upload over this channel has ended'));
  else if (lane.state === 'open') closeQuietly(lane.file);
  link.pool?.give(link);
}
