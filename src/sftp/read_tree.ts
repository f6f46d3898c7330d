/**
 * Reads many directories, some of them ahead of whoever takes the entries: what walking, matching and removing have in common.
 * Follows no symbolic link by itself, hands on no name that leads elsewhere, and holds a bounded number of open directories.
 */

import { decodeLenient, printable } from '../bytes/text.ts';
import { SshError, toSshError } from '../errors.ts';
import type { Link } from './link.ts';
import { type DirectoryEntry, Listing } from './list.ts';
import { isDots, nameFault } from './names.ts';
import { isMissing, stat } from './operations.ts';
import type { CallOptions, RemotePath } from './options.ts';
import { joinPath } from './path.ts';
import { type FileKind, fileKind } from './proto/attrs.ts';
import { packets } from './proto/packets.ts';
import { isStatusError } from './proto/status.ts';

/** Directories that are read at once. Each is a handle of the server, which as a rule allows some hundred. */
const AHEAD = 32;

/** A path with more parts is none that a server's system would take: a server that invents it would go on for ever. */
const DEEPEST = 1000;

/** Directories that were seen and not read yet. */
const MAX_WAITING = 1_000_000;

/** An entry of one of many directories. */
export interface WalkEntry extends DirectoryEntry {
  /** The directory's path and its own name; text where it is UTF-8. */
  readonly path: RemotePath;
  /** From its attributes; where the server sends none with a listing, those that LSTAT gives, or the first letter of `longname`. */
  readonly kind: FileKind;
  /** 1 in the directory in which the reading began. */
  readonly depth: number;
}

/** A directory to be read. */
export interface Place<S> {
  readonly path: RemotePath;
  /** Depth of what is in it, less one. */
  readonly depth: number;
  readonly state: S;
  /**
   * How sure it is that this is a directory and no symbolic link: `given` is followed if it is one; `listed` was called a
   * directory by a listing, and LSTAT must not contradict.
   */
  readonly trust: 'given' | 'listed';
  /** Only these names are looked up, in place of a listing. */
  readonly names?: readonly Uint8Array[];
}

/** What becomes of an entry. */
export interface Visit<S> {
  /** Whether it is handed on. */
  readonly yields: boolean;
  /** To read it as a directory. */
  readonly enter?: Pick<Place<S>, 'state' | 'trust' | 'names'>;
}

/** Who reads. What a function throws ends the reading. */
export interface TreeReader<S> {
  visit(entry: WalkEntry, place: Place<S>): Visit<S> | Promise<Visit<S>>;
  /** A name that is none, with the reason. */
  refused(place: Place<S>, name: Uint8Array, why: string): void;
  /** A place could not be read, or not to its end. */
  failed(place: Place<S>, error: SshError): void;
  /** A place was read to its end. */
  left?(place: Place<S>): void;
  /** A listed place is no directory by what LSTAT says, or, with `proof`, LSTAT does not say that it is. */
  contradicted?(place: Place<S>): void;
  /** Whether a listed place is entered only where LSTAT says that it is a directory. Default: false. */
  readonly proof?: boolean;
}

/** Entries by the batch. */
interface Batches {
  next(): Promise<readonly DirectoryEntry[] | undefined>;
  close(): void;
}

interface Reading<S> {
  readonly place: Place<S>;
  readonly batches: Batches;
  readonly entered: Promise<boolean>;
}

/**
 * Reads `starts` and whatever is entered from there. A directory comes before what is in it, and the entries of one come
 * together.
 */
export async function* readTree<S>(
  link: Link,
  starts: readonly Place<S>[],
  reader: TreeReader<S>,
  options: CallOptions,
): AsyncGenerator<WalkEntry> {
  const { maxOpenHandles = Number.POSITIVE_INFINITY } = link.limits;
  const ahead = Math.max(1, Math.min(AHEAD, Math.floor(maxOpenHandles / 2)));
  const waiting = [...starts].reverse();
  const open: Reading<S>[] = [];
  const fill = (): void => {
    for (let place = waiting.at(-1); place !== undefined && open.length < ahead; place = waiting.at(-1)) {
      waiting.pop();
      open.push(begin(link, place, reader, options));
    }
  };
  try {
    for (fill(); open[0] !== undefined; fill()) {
      const { place } = open[0];
      const entries = await nextOf(link, open[0], reader, options);
      if (entries === undefined) {
        open.shift()?.batches.close();
        continue;
      }
      for (const entry of entries) {
        const answer = reader.visit(entry, place);
        const { yields, enter } = answer instanceof Promise ? await answer : answer;
        if (enter !== undefined) {
          if (place.depth + 1 >= DEEPEST || waiting.length >= MAX_WAITING) throw tooMuch(entry.path, place.depth);
          waiting.push({ ...enter, path: entry.path, depth: place.depth + 1 });
        }
        if (yields) yield entry;
      }
    }
  } finally {
    for (const { batches } of open) batches.close();
  }
}

function tooMuch(path: RemotePath, depth: number): SshError {
  const what = depth + 1 >= DEEPEST ? `${DEEPEST} directories deep` : `${MAX_WAITING} directories that wait`;
  return new SshError('limit', `The tree goes beyond ${what}: ${printable(path, 300)}`, { fault: 'peer' });
}

/** OPENDIR goes out, and beside it, where a listing may be wrong about what it is, LSTAT. */
function begin<S>(link: Link, place: Place<S>, reader: TreeReader<S>, options: CallOptions): Reading<S> {
  const { path, names, trust } = place;
  const entered = trust === 'given' ? Promise.resolve(true) : isDirectory(link, path, reader.proof ?? false, options);
  entered.catch(() => undefined); // told when its turn comes
  // An empty path is where the session starts, but servers do not take it for a directory.
  const listed = path.length === 0 ? '.' : path;
  const batches = names === undefined ? new Listing(link, listed, options) : new Lookup(link, path, names, options);
  return { place, batches, entered };
}

/** Whether LSTAT lets a directory be entered. */
async function isDirectory(link: Link, path: RemotePath, proof: boolean, options: CallOptions): Promise<boolean> {
  try {
    const kind = fileKind(await stat(link, packets.lstat, path, options));
    return kind === 'directory' || (kind === 'unknown' && !proof);
  } catch (error) {
    if (!isStatusError(error) || isMissing(error)) throw error;
    return !proof;
  }
}

/** Names that are looked up, all at once; those that are missing are left out. */
class Lookup implements Batches {
  #found: Promise<readonly DirectoryEntry[]> | undefined;

  constructor(link: Link, path: RemotePath, names: readonly Uint8Array[], options: CallOptions) {
    const entries = names.map(async (name): Promise<DirectoryEntry | undefined> => {
      try {
        const attrs = await stat(link, packets.lstat, joinPath(path, name), options);
        return { name: decodeLenient(name), nameBytes: name, longname: '', attrs };
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw error;
      }
    });
    this.#found = Promise.all(entries).then((all) => all.filter((entry) => entry !== undefined));
    this.#found.catch(() => undefined); // told when its turn comes
  }

  async next(): Promise<readonly DirectoryEntry[] | undefined> {
    const found = this.#found;
    this.#found = undefined;
    return found;
  }

  close(): void {}
}

/** The next entries of a place; `undefined` when it is done with, which the reader has been told then. */
async function nextOf<S>(
  link: Link,
  { place, batches, entered }: Reading<S>,
  reader: TreeReader<S>,
  options: CallOptions,
): Promise<WalkEntry[] | undefined> {
  let entries: readonly DirectoryEntry[] | undefined;
  let isContradicted: boolean;
  try {
    isContradicted = !(await entered);
    entries = isContradicted ? undefined : await batches.next();
  } catch (error) {
    reader.failed(place, toSshError(error, 'internal'));
    return undefined;
  }
  if (isContradicted) reader.contradicted?.(place);
  else if (entries === undefined) reader.left?.(place);
  return entries === undefined ? undefined : usable(link, entries, place, reader, options);
}

/** The entries whose names are names, with what they are. */
async function usable<S>(
  link: Link,
  entries: readonly DirectoryEntry[],
  place: Place<S>,
  reader: TreeReader<S>,
  options: CallOptions,
): Promise<WalkEntry[]> {
  const found: (WalkEntry | undefined)[] = [];
  const unknown: Promise<void>[] = [];
  for (const entry of entries) {
    if (isDots(entry.nameBytes)) continue;
    const why = nameFault(entry.nameBytes);
    if (why !== undefined) {
      reader.refused(place, entry.nameBytes, why);
      continue;
    }
    const path = joinPath(place.path, entry.nameBytes);
    const kind = fileKind(entry.attrs);
    const here = { ...entry, path, kind, depth: place.depth + 1 };
    const at = found.push(here) - 1;
    if (kind !== 'unknown') continue;
    const identified = identify(link, here, options).then((known) => {
      found[at] = known;
    });
    unknown.push(identified);
  }
  await Promise.all(unknown);
  return found.filter((entry) => entry !== undefined);
}

const LETTERS: Readonly<Record<string, FileKind>> = { '-': 'file', d: 'directory', l: 'symlink' };

/** The entry as LSTAT has it; `undefined`: it is not there any more. */
async function identify(link: Link, entry: WalkEntry, options: CallOptions): Promise<WalkEntry | undefined> {
  try {
    const attrs = await stat(link, packets.lstat, entry.path, options);
    const kind = fileKind(attrs);
    return { ...entry, attrs, kind: kind === 'unknown' ? byLetter(entry) : kind };
  } catch (error) {
    if (!isStatusError(error)) throw error;
    return isMissing(error) ? undefined : { ...entry, kind: byLetter(entry) };
  }
}

function byLetter({ longname }: WalkEntry): FileKind {
  return LETTERS[longname[0] ?? ''] ?? 'unknown';
}
