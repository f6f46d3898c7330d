/**
 * What is to be done with the files of a tree: so many at once, and a bounded number that wait, so that whoever finds them
 * is held back. Large files take their turn: more of them than fill the line are not faster. Knows no files.
 */

/** One piece of work. It must not reject. */
type Job = () => Promise<void>;

/**
 * Files that wait: enough that the totals of most trees are known early and a listing never keeps transfers waiting, at a few
 * hundred bytes each.
 */
export const MAX_WAITING = 4096;

/** Bytes from which a file counts as large: fewer are through in about the round trips that any file takes. */
export const LARGE: number = 1024 * 1024;

/** Large files at once, whatever their size: while one is opened or renamed, the other keeps the line full. */
export const LARGE_AT_ONCE = 2;

/** Bytes of large files up to which more than those begin: the largest receive window, so that no line is left idle. */
export const LARGE_BYTES: number = 64 * 1024 * 1024;

interface Waiting {
  readonly job: Job;
  readonly bytes: number;
}

export class WorkQueue {
  readonly #most: () => number;
  readonly #small: Waiting[] = [];
  readonly #large: Waiting[] = [];
  #running = 0;
  #largeRunning = 0;
  #largeBytes = 0;
  readonly #blocked: (() => void)[] = [];

  /** At most `most` jobs at once, which may change. */
  constructor(most: () => number) {
    this.#most = most;
  }

  get #waiting(): number {
    return this.#small.length + this.#large.length;
  }

  /** Has `job`, which moves about `bytes`, run when its turn comes. Resolves when there is room for another one. */
  async add(job: Job, bytes: number): Promise<void> {
    (bytes >= LARGE ? this.#large : this.#small).push({ job, bytes });
    this.#startWaiting();
    while (this.#waiting >= MAX_WAITING) await new Promise<void>((resolve) => this.#blocked.push(resolve));
  }

  #startWaiting(): void {
    while (this.#running < this.#most()) {
      // what takes longest begins first
      const mayLarge = this.#largeRunning < LARGE_AT_ONCE || this.#largeBytes < LARGE_BYTES;
      const next = (mayLarge ? this.#large.shift() : undefined) ?? this.#small.shift();
      if (next === undefined) return;
      this.#count(next.bytes, 1);
      next.job().then(() => this.#ended(next.bytes));
    }
  }

  #count(bytes: number, one: 1 | -1): void {
    this.#running += one;
    if (bytes < LARGE) return;
    this.#largeRunning += one;
    this.#largeBytes += one * bytes;
  }

  #ended(bytes: number): void {
    this.#count(bytes, -1);
    this.#startWaiting();
    if (this.#waiting < MAX_WAITING) for (const go of this.#blocked.splice(0)) go();
  }
}
