/** Directory listings: draft-ietf-secsh-filexfer-02 §6.7. */

import { decodeLenient } from '../bytes/text.ts';
import { protocolError } from '../errors.ts';
import { call } from './call.ts';
import type { Link } from './link.ts';
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

/** READDIRs pending at once: one at first, one more for each answer. Each answer holds about a hundred names. */
const MAX_AHEAD = 8;

/** Answers in a row without a name before the server is called broken: one or two are seen in practice. */
const MAX_EMPTY = 16;

/** The entries of a directory, in the server's order. A consumer that stops early closes the handle. */
export async function* list(link: Link, path: RemotePath, options: ListOptions): AsyncGenerator<DirectoryEntry> {
  const directory = await openDirectory(link, path, options);
  const pending: Promise<DirectoryEntry[] | undefined>[] = [];
  try {
    let ahead = 1;
    let empty = 0;
    for (;;) {
      while (pending.length < ahead) pending.push(readDirectory(directory, options));
      const entries = await pending.shift();
      if (entries === undefined) return;
      ahead = Math.min(ahead + 1, MAX_AHEAD);
      empty = entries.length === 0 ? empty + 1 : 0;
      if (empty >= MAX_EMPTY)
        throw protocolError('SFTP: the server answers READDIR with no names and without STATUS EOF');
      for (const entry of entries) {
        if (options.dots || (entry.name !== '.' && entry.name !== '..')) yield entry;
      }
    }
  } finally {
    closeQuietly(directory);
  }
}

/** One READDIR; `undefined` at the end. */
function readDirectory(directory: OpenHandle, options: CallOptions): Promise<DirectoryEntry[] | undefined> {
  const { link, handle, path } = directory;
  const answer = call<typeof packets.readdir, DirectoryEntry[] | undefined>(
    link,
    {
      row: packets.readdir,
      value: { handle },
      operation: 'readdir',
      path,
      expects: packets.name,
      decode: decodeEntries,
      atEof: undefined,
    },
    options,
  );
  answer.catch(() => undefined); // it may fail while nobody waits for it, or after the listing was left
  return answer;
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
