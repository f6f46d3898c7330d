/** Directory listings: draft-ietf-secsh-filexfer-02 §6.7. */

import { decodeLenient } from '../bytes/text.ts';
import { protocolError } from '../errors.ts';
import { call } from './call.ts';
import type { Link } from './link.ts';
import { isDots } from './names.ts';
import { closeQuietly, type OpenHandle, openDirectory } from './operations.ts';
import type { CallOptions, RemotePath } from './options.ts';
import type { Attributes } from './proto/attrs.ts';
import { decodeNames } from './proto/names.ts';
import { decodePacket, packets } from './proto/packets.ts';

/** What a directory holds. */
export interface DirectoryEntry {
  /** The name as text; bytes that are not UTF-8 show as U+FFFD, so use `nameBytes` to open such a file. */
  readonly name: string;
  /** The name exactly, as bytes. */
  readonly nameBytes: Uint8Array;
  /** A line for people in the manner of `ls -l`, not to be parsed, and not sanitised for a terminal. */
  readonly longname: string;
  /** Of the entry itself: symbolic links are not followed. Every member may be missing. */
  readonly attrs: Attributes;
}

export interface ListOptions extends CallOptions {
  /** Whether `.` and `..` are part of the listing. Default: false. */
  readonly dots?: boolean | undefined;
}

/** READDIRs pending at once at first: the answers to the two are the whole of most directories, names and then the end. */
const FIRST_AHEAD = 2;

/** Most READDIRs pending: one more for each answer until then. Each answer holds about a hundred names. */
const MAX_AHEAD = 64;

/** Bytes of answers that may be on the way or wait here, judged by the longest one: half of the usual receive window. */
const AHEAD_BYTES = 1024 * 1024;

/** Answers in a row without a name before the server is called broken: one or two are seen in practice. */
const MAX_EMPTY = 16;

/**
 * A directory that is being read: OPENDIR goes out when it is made, READDIRs ahead of whoever asks for entries. What waits
 * here is bounded whether anybody asks or not. Whoever makes one closes it.
 */
export class Listing {
  readonly #options: CallOptions;
  readonly #opening: Promise<OpenHandle>;
  readonly #pending: Promise<DirectoryEntry[] | undefined>[] = [];
  #ahead = FIRST_AHEAD;
  #longest = 0;
  #empty = 0;
  #state: 'open' | 'ended' | 'closed' = 'open';

  constructor(link: Link, path: RemotePath, options: CallOptions) {
    this.#options = options;
    this.#opening = openDirectory(link, path, options).then((directory) => {
      this.#ask(directory);
      return directory;
    });
    this.#opening.catch(() => undefined); // told to whoever asks for entries
  }

  /** More entries, in the server's order and at least one; `undefined` at the end. One call at a time. */
  async next(): Promise<DirectoryEntry[] | undefined> {
    const directory = await this.#opening;
    while (this.#state !== 'closed') {
      this.#ask(directory);
      const entries = await this.#pending.shift();
      if (entries === undefined) return undefined;
      this.#ahead = Math.min(this.#ahead + 1, MAX_AHEAD);
      if (entries.length > 0) {
        this.#empty = 0;
        return entries;
      }
      this.#empty += 1;
      if (this.#empty >= MAX_EMPTY) {
        throw protocolError('SFTP: the server answers READDIR with no names and without STATUS EOF');
      }
    }
    return undefined;
  }

  /** Gives the handle back. */
  close(): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    this.#opening.then(closeQuietly, () => undefined);
  }

  #ask(directory: OpenHandle): void {
    if (this.#state !== 'open') return;
    const most = Math.max(FIRST_AHEAD, Math.floor(AHEAD_BYTES / Math.max(1, this.#longest)));
    while (this.#pending.length < Math.min(this.#ahead, most)) this.#pending.push(this.#readdir(directory));
  }

  /** One READDIR; `undefined` at the end. */
  #readdir({ link, handle, path }: OpenHandle): Promise<DirectoryEntry[] | undefined> {
    const spec = {
      row: packets.readdir,
      value: { handle },
      operation: 'readdir',
      path,
      expects: packets.name,
      decode: (packet: Uint8Array): DirectoryEntry[] | undefined => {
        this.#longest = Math.max(this.#longest, packet.length);
        return decodeEntries(packet);
      },
      atEof: undefined,
    };
    const answer = call<typeof packets.readdir, DirectoryEntry[] | undefined>(link, spec, this.#options);
    // It may end or fail before anybody waits for it, or after the listing was left.
    answer.then(
      (entries) => {
        if (entries === undefined) this.#state = this.#state === 'open' ? 'ended' : this.#state;
      },
      () => undefined,
    );
    return answer;
  }
}

/** The entries of a directory, in the server's order. A consumer that stops early closes the handle. */
export async function* list(link: Link, path: RemotePath, options: ListOptions): AsyncGenerator<DirectoryEntry> {
  const listing = new Listing(link, path, options);
  try {
    for (let entries = await listing.next(); entries !== undefined; entries = await listing.next()) {
      for (const entry of entries) {
        if (options.dots || !isDots(entry.nameBytes)) yield entry;
      }
    }
  } finally {
    listing.close();
  }
}

function decodeEntries(packet: Uint8Array): DirectoryEntry[] {
  const { count, entries } = decodePacket(packets.name, packet);
  return decodeNames(count, entries).map(({ name, longname, attrs }) => ({
    name: decodeLenient(name),
    nameBytes: name.slice(),
    longname: decodeLenient(longname),
    attrs,
  }));
}
