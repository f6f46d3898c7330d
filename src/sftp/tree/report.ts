/** What became of a tree so far: counts, lists that stay bounded, and progress. Knows no files. */

import type { SshError } from '../../errors.ts';
import type { Clock } from '../../io/clock.ts';
import { newCounters } from '../counters.ts';
import type { TransferStats } from '../options.ts';
import { perSecond, RateMeter } from '../rate.ts';
import {
  type FailedEntry,
  MAX_LISTED,
  type SkippedEntry,
  type TreeOptions,
  type TreeProgress,
  type TreeResult,
} from './options.ts';

/** A list whose end may be missing. */
class Listed<T> {
  readonly items: T[] = [];
  total = 0;

  add(item: T): void {
    this.total++;
    if (this.items.length < MAX_LISTED) this.items.push(item);
  }
}

export class TreeReport {
  files = 0;
  directories = 0;
  links = 0;
  /** Whether the whole source was listed. */
  listed = false;
  readonly #clock: Clock;
  readonly #onProgress: ((progress: TreeProgress) => void) | undefined;
  readonly #startedAt: number;
  readonly #meter: RateMeter;
  readonly #skipped = new Listed<SkippedEntry>();
  readonly #failed = new Listed<FailedEntry>();
  readonly #warnings = new Listed<string>();
  /** Bytes that were moved of files that are whole, all bytes of them, and, of those under way, what is through. */
  #bytes = 0;
  #through = 0;
  #under = 0;
  readonly #counters = newCounters();
  /** What the last file said of the channel. */
  #channel: Pick<TransferStats, 'roundTrip' | 'window' | 'adjustments'> = {};
  #total = 0;
  #filesTotal = 0;

  constructor(clock: Clock, onProgress: TreeOptions['onProgress']) {
    this.#clock = clock;
    this.#onProgress = onProgress;
    this.#startedAt = clock.now();
    this.#meter = new RateMeter(this.#startedAt);
  }

  skip(path: string, why: string): void {
    this.#skipped.add({ path, why });
  }

  fail(path: string, error: SshError): void {
    this.#failed.add({ path, error });
  }

  warn(warning: string): void {
    this.#warnings.add(warning);
  }

  /** Bytes still to move; infinity while not all files are known. */
  get left(): number {
    return this.listed ? this.#total - this.#through - this.#under : Number.POSITIVE_INFINITY;
  }

  /** A file was found that is wanted. */
  expect(size: number): void {
    this.#filesTotal++;
    this.#total += size;
  }

  /** A file that was wanted is not, or could not be had. */
  unexpect(size: number): void {
    this.#filesTotal--;
    this.#total -= size;
  }

  /** Of a file under way `bytes` are through, `before` were when it last said so. */
  moved(path: string, bytes: number, before: number): void {
    this.#under += bytes - before;
    this.#tell(path);
  }

  /** A file is whole. `before`: what was said of it last. */
  whole(path: string, stats: TransferStats, before: number): void {
    const all = this.#counters;
    this.#under -= before;
    this.#bytes += stats.bytes;
    this.#through += Math.max(before, stats.bytes); // what an earlier transfer had left counts as progress
    all.requests += stats.requests;
    all.shortReads += stats.shortReads;
    all.maxRequestsInFlight = Math.max(all.maxRequestsInFlight, stats.maxRequestsInFlight);
    all.maxBytesInFlight = Math.max(all.maxBytesInFlight, stats.maxBytesInFlight);
    this.channels(stats.lanes);
    const { roundTrip, window, adjustments } = stats;
    this.#channel = {
      ...(roundTrip === undefined ? {} : { roundTrip }),
      ...(window === undefined ? {} : { window }),
      ...(adjustments === undefined ? {} : { adjustments }),
    };
    this.files++;
    this.#tell(path);
  }

  /** So many channels carry files now. */
  channels(count: number): void {
    this.#counters.lanes = Math.max(this.#counters.lanes, count);
  }

  /** A file came to nothing. */
  dropped(before: number): void {
    this.#under -= before;
  }

  #tell(path: string): void {
    if (this.#onProgress === undefined) return;
    const bytes = this.#through + this.#under;
    this.#onProgress({
      path,
      bytes,
      total: this.#total,
      files: this.files,
      filesTotal: this.#filesTotal,
      listed: this.listed,
      rate: this.#meter.rate(bytes, this.#clock.now()),
    });
  }

  result(): TreeResult {
    const milliseconds = this.#clock.now() - this.#startedAt;
    return {
      files: this.files,
      directories: this.directories,
      links: this.links,
      ...this.#counters,
      ...this.#channel,
      bytes: this.#bytes,
      seconds: milliseconds / 1000,
      rate: perSecond(this.#bytes, milliseconds),
      skipped: this.#skipped.items,
      skippedTotal: this.#skipped.total,
      failed: this.#failed.items,
      failedTotal: this.#failed.total,
      warnings: this.#warnings.items,
    };
  }
}
