/**
 * Writes to a local file, each part where it belongs, as it comes. One write runs at a time; what comes meanwhile is
 * gathered, so that a slow disk gets few large writes and a fast one is never waited for. A fast disk gets large ones, too: what
 * keeps coming is gathered for some milliseconds. It is copied, once, to memory that
 * is used again: a copy costs less than to collect as much memory as the file is long. Knows no SFTP.
 */

import { type SshError, toSshError } from '../errors.ts';
import { type Clock, systemClock } from '../io/clock.ts';
import type { LocalFile } from '../io/local_files.ts';
import { Extents } from './extents.ts';
import type { ReadSink, SinkEvents } from './sink.ts';
import { denseRuns } from './zeros.ts';

/** Bytes in one write at most, and at first: a small file needs no more. What comes out of order gets no more than it fills. */
const LARGEST = 512 * 1024;
const FIRST = 32 * 1024;

/** Bytes that are worth a write at once; fewer wait for more, but not where nothing more would come. */
const WORTHWHILE = LARGEST / 2;
/** They wait no longer than this: what is lost when the process is killed, and what `progress` is behind, stays small. */
const PATIENCE_MS = 5;

/** Pieces of memory kept to be used again: a write, what is gathered meanwhile, and as much out of order. */
const SPARE = 4;

/** Zeros are looked for in blocks of this many bytes. */
const ZERO_BLOCK = 16 * 1024;

/** Where the bytes of the remote file go in the local one. */
export interface Placement {
  /** Byte of the remote file that stands at the start of the local one. */
  readonly origin: number;
  /** First byte that comes. Default: `origin`. */
  readonly start?: number;
  /** Whether the file cannot seek. Default: false. */
  readonly inOrder?: boolean;
  /** Most bytes that are written beyond what is there without a gap. Default: no limit. */
  readonly span?: number;
  /** Length of the local file: zeros that would go behind it are left out. Default: all are written. */
  readonly holesFrom?: number | undefined;
}

/** Consecutive bytes of the file: the first `length` in `memory`. */
interface Run {
  readonly position: number;
  readonly memory: Uint8Array;
  length: number;
  /** Bytes that came one behind the other, up to the end of this. */
  stretch: number;
}

export class FileSink implements ReadSink {
  readonly #file: LocalFile;
  readonly #origin: number;
  readonly #start: number;
  readonly #span: number;
  readonly #holesFrom: number;
  readonly #written = new Extents();
  /** Waiting to be written, in order of arrival. */
  #runs: Run[] = [];
  /** The same, by where they end. */
  readonly #ends = new Map<number, Run>();
  /** Where the bytes that came last end, and how many came one behind the other up to there. */
  #tail: number;
  #stretch = 0;
  #end: number;
  /** Memory of the largest size that nobody uses. */
  readonly #spare: Uint8Array[] = [];
  #writing: Promise<void> | undefined;
  #clock: Clock = systemClock;
  /** Ends the wait for more. */
  #patience: (() => void) | undefined;
  #events: SinkEvents | undefined;
  #finishing = false;

  constructor(file: LocalFile, placement: Placement) {
    const { origin, start = origin, inOrder = false } = placement;
    this.#file = file;
    this.#origin = origin;
    this.#start = start;
    this.#tail = start;
    this.#end = start;
    this.#span = inOrder ? 0 : (placement.span ?? Number.POSITIVE_INFINITY);
    this.#holesFrom = placement.holesFrom ?? Number.POSITIVE_INFINITY;
  }

  get contiguous(): number {
    return this.#written.contiguousFrom(this.#start);
  }

  /** Where what was written ends, with gaps before it or not. */
  get end(): number {
    return this.#end;
  }

  start(events: SinkEvents, clock: Clock = systemClock): void {
    this.#events = events;
    this.#clock = clock;
  }

  data(position: number, bytes: Uint8Array): boolean {
    for (let done = 0; done < bytes.length; ) {
      const at = position + done;
      const run = this.#runAt(at, bytes.length - done);
      const count = Math.min(bytes.length - done, run.memory.length - run.length);
      run.memory.set(count === bytes.length ? bytes : bytes.subarray(done, done + count), run.length);
      run.length += count;
      run.stretch += count;
      done += count;
      this.#ends.delete(at);
      this.#ends.set(at + count, run);
      this.#tail = at + count;
      this.#stretch = run.stretch;
    }
    this.#nextIfWorthwhile();
    return true;
  }

  #nextIfWorthwhile(): void {
    if (this.#writing !== undefined) return;
    const [first, second] = this.#runs;
    if (first === undefined || second !== undefined || first.length >= WORTHWHILE || this.#finishing) this.#next();
    else this.#patience ??= this.#clock.after(PATIENCE_MS, () => this.#next());
  }

  push(): void {
    this.#next();
  }

  /** The run that ends at `position` and has room, or a new one. */
  #runAt(position: number, count: number): Run {
    const before = this.#ends.get(position);
    if (before !== undefined && before.length < before.memory.length) return before;
    const stretch = before?.stretch ?? (position === this.#tail ? this.#stretch : 0);
    const run = { position, memory: this.#memory(position, count, stretch), length: 0, stretch };
    this.#runs.push(run);
    return run;
  }

  /** As much again as has come in order: a server that answers in any order, or a byte at a time, must not cost many times that. */
  #memory(position: number, count: number, stretch: number): Uint8Array {
    const least = position === this.#tail ? FIRST : 0;
    const size = Math.min(LARGEST, Math.max(count, stretch, least));
    return (size === LARGEST ? this.#spare.pop() : undefined) ?? new Uint8Array(size);
  }

  finish(): void {
    this.#finishing = true;
    this.#next();
  }

  abandon(): void {
    this.#patience?.();
    this.#events = undefined;
    this.#runs = [];
    this.#ends.clear();
  }

  /** Resolves when no write is running: the file may be closed then. */
  async idle(): Promise<void> {
    await this.#writing;
  }

  /** Gives the file its length, where zeros at its end were left out. Nothing may be written after. */
  async lengthen(): Promise<void> {
    const length = this.contiguous - this.#origin;
    if ((await this.#file.size()) < length) await this.#file.truncate(length);
  }

  #next(): void {
    this.#patience?.();
    this.#patience = undefined;
    if (this.#writing !== undefined || this.#events === undefined) return;
    const at = this.#span === Number.POSITIVE_INFINITY ? 0 : this.#firstWithin(this.contiguous);
    const run = this.#runs[at];
    if (run !== undefined) {
      this.#runs.splice(at, 1);
      this.#ends.delete(run.position + run.length);
      this.#writing = this.#write(run);
    } else if (this.#finishing) {
      this.#events.finished();
    }
  }

  /** The first run that follows on what is there, or ends within the span. */
  #firstWithin(contiguous: number): number {
    const end = contiguous + this.#span;
    return this.#runs.findIndex((run) => run.position === contiguous || run.position + run.length <= end);
  }

  /** Writes one run; never rejects. */
  async #write({ position, memory, length }: Run): Promise<void> {
    this.#end = Math.max(this.#end, position + length);
    let error: SshError | undefined;
    try {
      const at = position - this.#origin;
      const bytes = memory.subarray(0, length);
      if (this.#holesFrom === Number.POSITIVE_INFINITY) await this.#file.write([bytes], at);
      else await this.#writeDense(blocksOf(bytes), at);
      this.#written.add(position, position + length);
    } catch (reason) {
      error = toSshError(reason, 'bad-local-file', { operation: 'write' });
    }
    this.#writing = undefined;
    if (memory.length === LARGEST && this.#spare.length < SPARE) this.#spare.push(memory);
    if (error !== undefined) this.#events?.broken(error);
    else this.#events?.taken(length);
    this.#nextIfWorthwhile();
  }

  /** A promise in any case, even if there is nothing to write. */
  async #writeDense(pieces: readonly Uint8Array[], at: number): Promise<void> {
    for (const run of denseRuns(pieces, at, this.#holesFrom)) await this.#file.write(...run);
  }
}

function blocksOf(bytes: Uint8Array): Uint8Array[] {
  const blocks: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += ZERO_BLOCK) blocks.push(bytes.subarray(at, at + ZERO_BLOCK));
  return blocks;
}
