/**
 * Further SFTP sessions with the server, for uploads that one channel cannot carry fast enough. Each carries one upload at a
 * time, is kept for a little while after it, and is then closed: servers count the sessions of a connection.
 */

import { SshError } from '../errors.ts';
import type { BytePipe } from '../io/pipe.ts';
import { greet } from './greet.ts';
import { Link, type LinkOptions, type LinkPool } from './link.ts';

/** Milliseconds that a session waits for another upload: the time between two large files in a row. */
const KEPT = 3000;

export class LanePool implements LinkPool {
  readonly #open: () => Promise<BytePipe>;
  readonly #options: LinkOptions;
  /** Those in use, and what ends those that wait. */
  readonly #used = new Set<Link>();
  readonly #idle = new Map<Link, () => void>();
  #opening = 0;
  /** Whether the server has just refused one, and the most that there may be since: one less than it allowed. */
  #refused = false;
  #ceiling = Number.POSITIVE_INFINITY;
  #cause: SshError | undefined;

  /** `open` opens a pipe to another session of the server that `main` leads to; all end with `main`. */
  constructor(open: () => Promise<BytePipe>, options: LinkOptions, main: Link) {
    this.#open = open;
    this.#options = options;
    main.whenFailed((cause) => this.#close(cause));
  }

  async take(most: number): Promise<Link> {
    if (this.#cause !== undefined) throw this.#cause;
    for (const [link, cancel] of this.#idle) {
      cancel();
      this.#idle.delete(link);
      if (link.cause !== undefined) continue;
      this.#used.add(link);
      return link;
    }
    const count = this.#opening + this.#used.size;
    if (count === 0) this.#ceiling = Number.POSITIVE_INFINITY;
    if (count >= Math.min(most, this.#ceiling)) throw tooMany();
    this.#opening++;
    try {
      return await this.#another();
    } finally {
      this.#opening--;
      if (this.#opening === 0 && this.#refused) this.#leaveOne();
    }
  }

  async #another(): Promise<Link> {
    const pipe = await this.#open().catch((error: unknown) => {
      this.#refused = true;
      throw error;
    });
    const link = new Link(pipe, this.#options);
    link.pool = this;
    this.#used.add(link);
    link.whenFailed(() => {
      this.#used.delete(link);
      this.#idle.get(link)?.();
      this.#idle.delete(link);
    });
    try {
      const greeting = greet(link, this.#options.stallTimeout, undefined);
      if (this.#cause !== undefined) link.fail(this.#cause);
      await greeting;
      if (!this.#refused) return link;
      // there are no more: then this one is for whatever else the caller wants to open
      this.#leaveOne();
      link.fail(tooMany());
      throw tooMany();
    } catch (error) {
      this.#used.delete(link);
      throw error;
    }
  }

  #leaveOne(): void {
    this.#refused = false;
    this.#ceiling = Math.max(0, this.#used.size + this.#idle.size - 1);
  }

  give(link: Link): void {
    this.#used.delete(link);
    if (link.cause !== undefined) return;
    if (this.#cause !== undefined || this.#used.size + this.#idle.size >= this.#ceiling) {
      link.fail(this.#cause ?? tooMany());
      return;
    }
    const cancel = this.#options.clock.after(KEPT, () => {
      this.#idle.delete(link);
      link.fail(new SshError('channel-closed', 'A channel for uploads was not needed any more'));
    });
    this.#idle.set(link, cancel);
  }

  /** Ends all of them. */
  #close(cause: SshError): void {
    this.#cause = cause;
    for (const [link, cancel] of this.#idle) {
      cancel();
      link.fail(cause);
    }
    this.#idle.clear();
    for (const link of [...this.#used]) link.fail(cause);
    this.#used.clear();
  }
}

function tooMany(): SshError {
  return new SshError('limit', 'There are as many further channels for uploads as there may be');
}
