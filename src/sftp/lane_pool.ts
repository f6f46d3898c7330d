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
    if (this.#opening + this.#used.size >= most) {
      throw new SshError('limit', `Further channels for uploads are limited to ${most}`);
    }
    this.#opening++;
    try {
      return await this.#another();
    } finally {
      this.#opening--;
    }
  }

  async #another(): Promise<Link> {
    const pipe = await this.#open();
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
      return link;
    } catch (error) {
      this.#used.delete(link);
      throw error;
    }
  }

  give(link: Link): void {
    this.#used.delete(link);
    if (link.cause !== undefined) return;
    if (this.#cause !== undefined) {
      link.fail(this.#cause);
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
