/**
 * The lane of an open directory: what READDIR answers (draft-ietf-secsh-filexfer-02 §6.7). First `.` and `..`, then the entries as
 * the backend gives them, about a hundred in a NAME.
 */

import { join } from '../../bytes/bytes.ts';
import { encodeName } from '../../bytes/name.ts';
import { encodeNames } from '../proto/names.ts';
import { namesReply, statusReply } from '../proto/replies.ts';
import { Status } from '../proto/status.ts';
import type { BackendEntry } from './backend.ts';
import { Lane, type Lanes } from './lanes.ts';
import { DIRECTORY_BYTES, DIRECTORY_NAMES } from './limits.ts';
import { longname } from './longname.ts';
import { parentOf } from './paths.ts';

type Entries = AsyncIterable<BackendEntry> | Iterable<BackendEntry>;

/** What a listing asks of its server. */
export interface DirectoryContext {
  /** What an entry tells of what a path leads to; no attributes where they are not to be had. */
  about(path: string): Promise<Omit<BackendEntry, 'name'>>;
  /** Seconds since 1970. */
  now(): number;
}

export class DirectoryLane extends Lane {
  readonly #context: DirectoryContext;
  /** Where it was. */
  readonly path: string;
  readonly #iterator: AsyncIterator<BackendEntry> | Iterator<BackendEntry>;
  /** An entry that was asked for and not answered yet, encoded. */
  #held: Uint8Array | undefined;
  #started = false;
  #done = false;
  #failure: { readonly error: unknown } | undefined;
  #released = false;

  constructor(lanes: Lanes, context: DirectoryContext, path: string, entries: Entries) {
    super(lanes);
    this.#context = context;
    this.path = path;
    this.#iterator =
      Symbol.asyncIterator in entries
        ? entries[Symbol.asyncIterator]()
        : (entries as Iterable<BackendEntry>)[Symbol.iterator]();
  }

  /** Asks for the first entry: an iterator that has not begun has not looked at its path. Throws what is wrong with it. */
  async begin(): Promise<void> {
    this.#held = await this.#next();
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /** The reply to READDIR: NAME, or STATUS EOF at the end. */
  async read(id: number): Promise<Uint8Array> {
    const names: Uint8Array[] = [];
    if (!this.#started) {
      this.#started = true;
      for (const [name, path] of [['.', this.path] as const, ['..', parentOf(this.path)] as const]) {
        names.push(this.#encode({ name, ...(await this.#context.about(path)) }));
      }
    }
    let bytes = 0;
    while (names.length < DIRECTORY_NAMES) {
      this.#held ??= await this.#next();
      if (this.#held === undefined) break;
      bytes += this.#held.length;
      if (bytes > DIRECTORY_BYTES && names.length > 0) break;
      names.push(this.#held);
      this.#held = undefined;
    }
    if (names.length > 0) return namesReply(id, names.length, join(names));
    if (this.#failure !== undefined) throw this.#failure.error;
    return statusReply(id, Status.eof);
  }

  /** Leaves the listing, once. */
  async release(): Promise<void> {
    if (this.#released) return;
    this.#released = true;
    if (!this.#done) await this.#iterator.return?.();
  }

  /** The next entry, encoded; `undefined` at the end, and where the listing failed. */
  async #next(): Promise<Uint8Array | undefined> {
    try {
      while (!this.#done && this.#failure === undefined) {
        const { done, value } = await this.#pull();
        if (done) this.#done = true;
        else if (isName(value.name)) return this.#encode(value);
      }
    } catch (error) {
      this.#failure = { error };
    }
    return undefined;
  }

  /** An iterator that throws has ended; one that gave what makes no sense has to be told. */
  async #pull(): Promise<IteratorResult<BackendEntry>> {
    try {
      return await this.#iterator.next();
    } catch (error) {
      this.#done = true;
      throw error;
    }
  }

  #encode(entry: BackendEntry): Uint8Array {
    const name = encodeName(entry.name);
    return encodeNames([
      { name, longname: longname(name, entry.attrs, entry, this.#context.now()), attrs: entry.attrs },
    ]);
  }
}

/** What is no last part of a path would lead clients elsewhere; `.` and `..` have their place before. */
function isName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !name.includes('/') && !name.includes('\0');
}
