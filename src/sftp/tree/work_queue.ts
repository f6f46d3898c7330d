/**
 * What is to be done with the files of a tree: so many at once, and a bounded number that wait, so that whoever finds them
 * is held back. Large files take their turn, since many of them at once are not faster than a few. Knows no files.
 */

/** One piece of work. It must not reject. */
type Job = () => Promise<void>;

/**
 * Files that wait: enough that the totals of most trees are known early and a listing never keeps transfers waiting, at a few
 * hundred bytes each.
 */
export const MAX_WAITING = 4096;

/** Large files at once: while one is opened or renamed, the other keeps the line full. */
export const LARGE_AT_ONCE = 2;

export class WorkQueue {
  readonly #most: () => number;
  #small: Job[] = [];
  #large: Job[] = [];
  #running = 0;
  #largeRunning = 0;
  #blocked: (() => void)[] = [];
  #idlers: (() => void)[] = [];
  /** Most jobs that waited at once. */
  maxWaiting = 0;

  /** At most `most` jobs at once, which may change. */
  constructor(most: () => number) {
    this.#most = most;
  }

  get #waiting(): number {
    return this.#small.length + this.#large.length;
  }

  /** Has `job` run when its turn comes. Resolves when there is room for another one, which may be at once. */
  async add(job: Job, large: boolean): Promise<void> {
    (large ? this.#large : this.#small).push(job);
    this.#startWaiting();
    this.maxWaiting = Math.max(this.maxWaiting, this.#waiting);
    while (this.#waiting >= MAX_WAITING) await new Promise<void>((resolve) => this.#blocked.push(resolve));
  }

  /** Resolves when nothing waits and nothing runs. */
  async idle(): Promise<void> {
    while (this.#running > 0 || this.#waiting > 0) await new Promise<void>((resolve) => this.#idlers.push(resolve));
  }

  #startWaiting(): void {
    while (this.#running < this.#most()) {
      // what takes longest begins first
      const large = this.#largeRunning < LARGE_AT_ONCE ? this.#large.shift() : undefined;
      const job = large ?? this.#small.shift();
      if (job === undefined) return;
      this.#running++;
      if (large !== undefined) this.#largeRunning++;
      job().then(() => this.#ended(large !== undefined));
    }
  }

  #ended(large: boolean): void {
    this.#running--;
    if (large) this.#largeRunning--;
    this.#startWaiting();
    if (this.#waiting < MAX_WAITING) for (const go of this.#blocked.splice(0)) go();
    if (this.#running === 0 && this.#waiting === 0) for (const go of this.#idlers.splice(0)) go();
  }
}
