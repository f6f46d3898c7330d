/** The paths that match a pattern, found with as few listings as it takes. */

import { equalBytes } from '../bytes/bytes.ts';
import { decodeName } from '../bytes/name.ts';
import { SshError } from '../errors.ts';
import { type Alternative, matches, parseGlob, type Segment } from './glob_pattern.ts';
import type { Link } from './link.ts';
import { isDots } from './names.ts';
import { isMissing } from './operations.ts';
import type { CallOptions, RemotePath } from './options.ts';
import { joinPath } from './path.ts';
import { type Place, readTree, type TreeReader, type Visit, type WalkEntry } from './read_tree.ts';

/** Options of `glob`. */
export interface GlobOptions extends CallOptions {
  /** Directory from which a pattern counts that does not begin with `/`. Default: where the session starts. */
  readonly from?: RemotePath | undefined;
  /** Whether wildcards match a dot at the beginning of a name. Default: false, only a dot in the pattern does. */
  readonly hidden?: boolean | undefined;
  /** Told of a directory that cannot be read, which is left out then. Default: the search ends with the error. */
  readonly onError?: ((error: SshError, directory: RemotePath) => void) | undefined;
}

/** How far an alternative has matched: its segments from `at` on are still to come. */
interface Position {
  readonly alternative: Alternative;
  readonly at: number;
  /** The same for the same two. */
  readonly key: number;
}

/** Above the parts of any pattern. */
const KEYS_OF_ONE = 65_536;

/** What a directory means for the search: the positions that its entries go on from. */
interface Search {
  readonly positions: readonly Position[];
  /** Whether it may be no directory at all, being a link to something. */
  readonly isGuess: boolean;
}

/**
 * The entries whose paths match `pattern`, each once, in the server's order. `*` and `?` match no `/`; `**` as a whole part
 * stands for any number of directories and follows no symbolic link. A pattern that nothing matches gives nothing.
 */
export function glob(link: Link, pattern: RemotePath, options: GlobOptions): AsyncGenerator<WalkEntry> {
  const alternatives = parseGlob(pattern);
  const starts = new Map<string, { path: RemotePath; positions: Position[] }>();
  for (const [i, alternative] of alternatives.entries()) {
    const path = alternative.isAbsolute ? '/' : (options.from ?? '');
    const key = alternative.isAbsolute ? '/' : '';
    const start = starts.get(key) ?? { path, positions: [] };
    starts.set(key, start);
    start.positions.push({ alternative, at: 0, key: i * KEYS_OF_ONE });
  }
  const places = [...starts.values()].map(({ path, positions }): Place<Search> => {
    const { prefix, positions: left } = common(positions);
    const whole = prefix.reduce<RemotePath>((base, name) => joinPath(base, name), path);
    return { path: whole, depth: 0, trust: 'given', ...enter(left, false) };
  });
  return readTree(link, places, new Searcher(options), options);
}

/** Names that all positions begin with and that need no looking at: not the last, whose entry is to be found. */
function common(positions: readonly Position[]): { prefix: Uint8Array[]; positions: Position[] } {
  const prefix: Uint8Array[] = [];
  let left = [...positions];
  for (;;) {
    const first = segmentOf(left[0]);
    if (first?.kind !== 'literal') break;
    const all = left.every(({ alternative, at }) => {
      const segment = alternative.segments[at];
      return (
        segment?.kind === 'literal' && equalBytes(segment.name, first.name) && at + 1 < alternative.segments.length
      );
    });
    if (!all) break;
    prefix.push(first.name);
    left = left.map(advanced);
  }
  for (const { alternative, at } of left) {
    if (alternative.segments.slice(at).some((segment) => segment.kind === 'literal' && isDots(segment.name))) {
      throw new SshError('bad-argument', 'In a pattern .. may stand only before the first wildcard');
    }
  }
  return { prefix, positions: left };
}

function advanced({ alternative, at, key }: Position): Position {
  return { alternative, at: at + 1, key: key + 1 };
}

function segmentOf(position: Position | undefined): Segment | undefined {
  return position?.alternative.segments[position.at];
}

/** How to read a directory: names are looked up where nothing but names is wanted. */
function enter(positions: readonly Position[], isGuess: boolean): Pick<Place<Search>, 'state' | 'names'> {
  const state = { positions, isGuess };
  const names = new Map<string, Uint8Array>();
  for (const position of positions) {
    const segment = segmentOf(position);
    if (segment?.kind !== 'literal') return { state };
    names.set(decodeName(segment.name), segment.name);
  }
  return { state, names: [...names.values()] };
}

class Searcher implements TreeReader<Search> {
  readonly #options: GlobOptions;

  constructor(options: GlobOptions) {
    this.#options = options;
  }

  visit(entry: WalkEntry, { state }: Place<Search>): Visit<Search> {
    const { hidden = false } = this.#options;
    const text = decodeName(entry.nameBytes);
    const isDirectory = entry.kind === 'directory';
    const next = new Map<number, Position>();
    let yields = false;
    const queue = [...state.positions];
    for (let position = queue.pop(); position !== undefined; position = queue.pop()) {
      const { alternative, at, key } = position;
      const segment = alternative.segments[at] as Segment;
      if (segment.kind === 'globstar') {
        // No directory at all; or this one, and then any number more.
        queue.push(advanced(position));
        if (isDirectory && (hidden || !text.startsWith('.'))) next.set(key, position);
        continue;
      }
      const isLiteral = segment.kind === 'literal';
      if (!(isLiteral ? equalBytes(segment.name, entry.nameBytes) : matches(segment, text, hidden))) continue;
      if (at + 1 < alternative.segments.length) next.set(key + 1, advanced(position));
      else yields ||= isDirectory || !alternative.directoriesOnly;
    }
    if (next.size === 0 || !(isDirectory || entry.kind === 'symlink' || entry.kind === 'unknown')) return { yields };
    const positions = [...next.values()];
    return { yields, enter: { ...enter(positions, !isDirectory), trust: isDirectory ? 'listed' : 'given' } };
  }

  /** A name that is none matches nothing. */
  refused(): void {}

  /** What is no directory, or not there (any more), holds nothing that matches. */
  failed({ path, state }: Place<Search>, error: SshError): void {
    if (isMissing(error) || (state.isGuess && error.code === 'sftp-status')) return;
    const { onError } = this.#options;
    if (onError === undefined || error.code !== 'sftp-status') throw error;
    onError(error, path);
  }
}
