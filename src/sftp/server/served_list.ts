/**
 * The entries of a served directory, some at a time, so that a large one takes little memory. Knows no paths: `directory.ts`
 * looks the names up.
 */

import type { BackendEntry } from './backend.ts';
import type { HostDirectory } from './host_files.ts';

/**
 * Names that are looked up at once: one after the other, 10,000 of them are 10,000 waits, and all at once they would hold up
 * everything else that wants the disk.
 */
const NAMES_AT_ONCE = 64;

/** The entries for some names; those that are gone are left out. */
export type LookUp = (names: readonly string[]) => Promise<readonly BackendEntry[]>;

/** Entries to the end, or to `return`. */
export class ServedList implements AsyncIterableIterator<BackendEntry> {
  readonly #directory: HostDirectory;
  readonly #lookUp: LookUp;
  #ready: readonly BackendEntry[] = [];
  #taken = 0;
  #ended = false;

  /** The list with its first entries: that is all of a small directory, and then there is nothing left to close. */
  static async start(directory: HostDirectory, lookUp: LookUp): Promise<ServedList> {
    const list = new ServedList(directory, lookUp);
    await list.#more();
    return list;
  }

  private constructor(directory: HostDirectory, lookUp: LookUp) {
    this.#directory = directory;
    this.#lookUp = lookUp;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<BackendEntry, undefined>> {
    while (this.#taken === this.#ready.length && !this.#ended) await this.#more();
    const value = this.#ready[this.#taken++];
    if (value !== undefined) return { value };
    await this.return();
    return { done: true, value };
  }

  async return(): Promise<IteratorResult<BackendEntry, undefined>> {
    this.#ready = [];
    this.#taken = 0;
    if (!this.#ended) {
      this.#ended = true;
      await this.#directory.close();
    }
    return { done: true, value: undefined };
  }

  async #more(): Promise<void> {
    try {
      const names = await this.#directory.next(NAMES_AT_ONCE);
      if (names.length === 0) {
        await this.return();
        return;
      }
      this.#ready = await this.#lookUp(names);
      this.#taken = 0;
    } catch (error) {
      await this.return().catch(() => {}); // the first failure is the one to tell
      throw error;
    }
  }
}
