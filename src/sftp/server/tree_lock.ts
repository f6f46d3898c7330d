/**
 * A readers/writer lock: many may look at a tree of files and use what they found, or one may move its parts. Whoever comes
 * first goes first, so that neither kind waits for ever. Knows no files.
 */

interface Waiting {
  readonly exclusive: boolean;
  readonly start: () => void;
}

export class TreeLock {
  #sharing = 0;
  #exclusive = false;
  readonly #queue: Waiting[] = [];

  /** Runs `work` while no exclusive work runs. */
  async shared<T>(work: () => Promise<T>): Promise<T> {
    if (this.#exclusive || this.#queue.length > 0) await this.#turn(false);
    else this.#sharing++;
    try {
      return await work();
    } finally {
      this.#sharing--;
      this.#admit();
    }
  }

  /** Runs `work` while no other work runs. */
  async exclusive<T>(work: () => Promise<T>): Promise<T> {
    if (this.#exclusive || this.#sharing > 0 || this.#queue.length > 0) await this.#turn(true);
    else this.#exclusive = true;
    try {
      return await work();
    } finally {
      this.#exclusive = false;
      this.#admit();
    }
  }

  #turn(exclusive: boolean): Promise<void> {
    return new Promise((start) => this.#queue.push({ exclusive, start }));
  }

  /** Lets in who may go now. They count from here on, not from when their promise settles: nobody slips in between. */
  #admit(): void {
    for (let first = this.#queue[0]; first !== undefined && !this.#exclusive; first = this.#queue[0]) {
      if (first.exclusive && this.#sharing > 0) return;
      this.#queue.shift();
      if (first.exclusive) this.#exclusive = true;
      else this.#sharing++;
      first.start();
    }
  }
}
