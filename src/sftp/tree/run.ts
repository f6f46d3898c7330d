/**
 * What a tree needs in either direction: several directories listed at once, files in a bounded queue, what ends everything,
 * and which directory is through with all below it. Knows neither side's files.
 */

import { type SshError, toSshError } from '../../errors.ts';
import { forgetAbort, listenToAbort } from '../../io/abort.ts';
import { abortedError } from '../call.ts';
import type { Link } from '../link.ts';
import type { RemotePath, TransferStats } from '../options.ts';
import { whole } from '../transfer.ts';
import { DEFAULT_CONCURRENCY, type TreeEntry, type TreeOptions, type TreeResult } from './options.ts';
import { TreeReport } from './report.ts';
import { WorkQueue } from './work_queue.ts';

/** Directories that are listed at once: one takes three round trips and seldom names more files than pass in that time. */
const LISTINGS = 16;

/** A directory of the tree, until all below it is through. */
export class TreeDirectory {
  readonly parent: TreeDirectory | undefined;
  /** From the root of the tree; empty for the root. */
  readonly path: string;
  /** How many levels below the root. */
  readonly depth: number;
  /** Resolves when it is finished. */
  readonly finished: Promise<void>;
  #pending = 1;
  #through!: () => void;

  /**
   * When `release` was called for itself and once more for each `hold`, all in it is through: `finish`, which must not reject,
   * is called, then the directory above hears of it.
   */
  constructor(parent: TreeDirectory | undefined, path: string, finish: () => Promise<void>) {
    this.parent = parent;
    this.path = path;
    this.depth = parent === undefined ? 0 : parent.depth + 1;
    const through = new Promise<void>((resolve) => {
      this.#through = resolve;
    });
    this.finished = through.then(finish).then(() => parent?.release());
    parent?.hold();
  }

  hold(): void {
    this.#pending++;
  }

  release(): void {
    if (--this.#pending === 0) this.#through();
  }

  /** The path of `name` in it, from the root of the tree. */
  within(name: string): string {
    return this.path === '' ? name : `${this.path}/${name}`;
  }
}

/** What a job that moves a file is given, and what it gives: `undefined` where it left the file alone. */
type Move = (onProgress: (progress: { readonly bytes: number }) => void) => Promise<TransferStats | undefined>;

export class TreeRun {
  readonly link: Link;
  readonly report: TreeReport;
  readonly queue: WorkQueue;
  /** Fires when everything ends. */
  readonly signal: AbortSignal;
  readonly #options: TreeOptions;
  readonly #controller = new AbortController();
  #stopped: SshError | undefined;
  /** Directories whose listing has begun and not ended, and how many of those have somebody who goes on beside. */
  #visits = 0;
  #beside = 0;

  constructor(link: Link, options: TreeOptions) {
    const most = whole('concurrency', options.concurrency ?? DEFAULT_CONCURRENCY, 1);
    this.link = link;
    this.#options = options;
    this.queue = new WorkQueue(() => Math.min(most, this.#handles(2)));
    this.report = new TreeReport(link.clock, options.onProgress && ((progress) => this.#tell(progress)));
    this.signal = this.#controller.signal;
  }

  /** A part of the files and directories that the server lets be open, where it tells. It may tell late. */
  #handles(share: number): number {
    return Math.max(1, Math.floor((this.link.limits.maxOpenHandles ?? Number.POSITIVE_INFINITY) / share));
  }

  #tell(progress: Parameters<NonNullable<TreeOptions['onProgress']>>[0]): void {
    if (this.stopped) return;
    try {
      this.#options.onProgress?.(progress);
    } catch (error) {
      this.stop(toSshError(error, 'bad-argument', { operation: 'onProgress' }));
    }
  }

  /** Whether nothing more is to be begun. */
  get stopped(): boolean {
    return this.#stopped !== undefined;
  }

  /** Ends everything; the first error is the one to tell. */
  stop(error: SshError): void {
    if (this.#stopped !== undefined) return;
    this.#stopped = error;
    this.#controller.abort(error);
  }

  /**
   * Goes through a tree: `begin` visits its root, which it gives. Rejects with what ended it early. `shown`: the source, for
   * errors.
   */
  async through(shown: RemotePath, begin: () => TreeDirectory): Promise<TreeResult> {
    const { signal } = this.#options;
    const onAbort = (): void => this.stop(abortedError('transfer', shown, signal as AbortSignal));
    if (signal !== undefined) listenToAbort(signal, onAbort);
    try {
      if (signal?.aborted) onAbort();
      else await begin().finished;
    } finally {
      if (signal !== undefined) forgetAbort(signal, onAbort);
    }
    if (this.#stopped !== undefined) throw this.#stopped;
    return this.report.result();
  }

  /** A directory whose `finish` is called when all below it is through, unless everything has ended by then. */
  directory(parent: TreeDirectory | undefined, path: string, finish: () => Promise<void>): TreeDirectory {
    return new TreeDirectory(parent, path, async () => {
      try {
        if (!this.stopped) await finish();
      } catch (error) {
        this.failed(path, error);
      }
    });
  }

  /**
   * Lists a directory: beside others while they are few, else before this resolves, so that whoever lists its parent waits. A
   * failure is that of the directory; that of the root ends everything.
   */
  visit(directory: TreeDirectory, list: () => Promise<void>): Promise<void> | undefined {
    const visited = async (): Promise<void> => {
      try {
        if (!this.stopped) await list();
      } catch (error) {
        if (directory.parent === undefined) this.stop(this.link.cause ?? toSshError(error, 'internal'));
        else this.failed(directory.path, error);
      }
      if (--this.#visits === 0) this.report.listed = true;
      directory.release();
    };
    this.#visits++;
    if (this.#beside >= Math.min(LISTINGS, this.#handles(4))) return visited();
    this.#beside++;
    visited().then(() => {
      this.#beside--;
    });
    return undefined;
  }

  /** Whether the caller wants an entry. What its filter throws ends everything. */
  async wants(entry: TreeEntry): Promise<boolean> {
    const { filter } = this.#options;
    if (filter === undefined) return true;
    try {
      return (await filter(entry)) && !this.stopped;
    } catch (error) {
      this.stop(toSshError(error, 'bad-argument', { operation: 'filter' }));
      return false;
    }
  }

  /** Has `work` done for an entry of `directory`; resolves when there is room for more. */
  entry(directory: TreeDirectory, path: string, work: () => Promise<void>, bytes = 0): Promise<void> {
    directory.hold();
    const job = async (): Promise<void> => {
      try {
        if (!this.stopped) await work();
      } catch (error) {
        this.failed(path, error);
      } finally {
        directory.release();
      }
    };
    return this.queue.add(job, bytes);
  }

  /** Has a file moved, likewise. `size`: as far as it is known. */
  file(directory: TreeDirectory, path: string, size: number | undefined, move: Move): Promise<void> {
    const { report } = this;
    const expected = size ?? 0;
    report.expect(expected);
    const work = async (): Promise<void> => {
      let before = 0;
      let stats: TransferStats | undefined;
      try {
        stats = await move(({ bytes }) => {
          report.moved(path, bytes, before);
          before = bytes;
        });
      } finally {
        if (stats === undefined) {
          report.dropped(before);
          report.unexpect(expected);
        }
      }
      if (stats !== undefined) report.whole(path, stats, before);
    };
    return this.entry(directory, path, work, expected);
  }

  /** Something did not work: that of one entry alone, unless the session is at its end or the caller wants no more. */
  failed(path: string, error: unknown): void {
    if (this.stopped) return;
    const failure = toSshError(error, 'internal');
    if (this.link.cause !== undefined) this.stop(this.link.cause);
    else if (this.#options.stopOnError) this.stop(failure);
    else this.report.fail(path, failure);
  }
}
