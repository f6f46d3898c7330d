/** Patterns for whole paths on this side: what stays out of a tree, and which local files a word names. */

import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { equalBytes } from '../bytes/bytes.ts';
import { encodeName } from '../bytes/name.ts';
import { type Alternative, matches, parseGlob, type Segment } from '../sftp/glob_pattern.ts';
import type { TreeOptions } from '../sftp/tree/options.ts';
import { isLocalDirectory } from './local_directory.ts';

/** Whether a segment is the one for `name`. */
function fits(segment: Segment, name: string, hidden: boolean): boolean {
  if (segment.kind === 'literal') return equalBytes(segment.name, encodeName(name));
  return segment.kind === 'globstar' || matches(segment, name, hidden);
}

/** Whether the segments match the names, each one component. The number of steps is at most that of both multiplied. */
function matchesNames(segments: readonly Segment[], names: readonly string[]): boolean {
  let positions = new Set([0]);
  for (const name of names) {
    const next = new Set<number>();
    for (const at of withoutStars(segments, positions)) {
      const segment = segments[at];
      if (segment === undefined || !fits(segment, name, true)) continue;
      next.add(segment.kind === 'globstar' ? at : at + 1);
    }
    positions = next;
  }
  return withoutStars(segments, positions).has(segments.length);
}

/** The positions with those behind each `**`, which may stand for nothing. */
function withoutStars(segments: readonly Segment[], positions: ReadonlySet<number>): Set<number> {
  const all = new Set(positions);
  for (const at of all) if (segments[at]?.kind === 'globstar') all.add(at + 1);
  return all;
}

/**
 * A filter that leaves out what matches one of `patterns`: without a `/` names anywhere, with one paths from the top; at the
 * end it means directories only. `undefined` for no patterns. Throws `bad-argument` for what is no pattern.
 */
export function filterOf(patterns: readonly string[]): TreeOptions['filter'] {
  if (patterns.length === 0) return undefined;
  const rules = patterns.flatMap((pattern) => parseGlob(pattern));
  return ({ path, kind }) => {
    const names = path.split('/');
    return !rules.some((rule) => isExcluded(rule, names, kind === 'directory'));
  };
}

function isExcluded(
  { segments, isAbsolute, directoriesOnly }: Alternative,
  names: readonly string[],
  isDirectory: boolean,
) {
  if (directoriesOnly && !isDirectory) return false;
  const isForNames = segments.length === 1 && !isAbsolute;
  return matchesNames(segments, isForNames ? names.slice(-1) : names);
}

/** The local paths that match, sorted, each once. */
export async function localGlob(pattern: string, directory: string): Promise<string[]> {
  const found = new Set<string>();
  for (const { segments, isAbsolute, directoriesOnly } of parseGlob(pattern)) {
    for await (const path of below(isAbsolute ? '/' : directory, segments)) {
      if (!directoriesOnly || (await isLocalDirectory(path))) found.add(path);
    }
  }
  return [...found].sort();
}

/** Depth of directories that `**` goes down to: a link that leads up again must not go on for ever. */
const MAX_DEPTH = 64;

async function* below(directory: string, segments: readonly Segment[], depth = 0): AsyncGenerator<string> {
  const [segment, ...rest] = segments;
  if (segment === undefined) return;
  if (segment.kind === 'literal') {
    const path = join(directory, new TextDecoder().decode(segment.name));
    if (await exists(path)) yield* rest.length === 0 ? [path] : below(path, rest, depth);
    return;
  }
  if (segment.kind === 'globstar' && rest.length > 0) yield* below(directory, rest, depth);
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    const path = join(directory, entry.name);
    if (segment.kind === 'globstar') {
      if (entry.name.startsWith('.')) continue;
      if (rest.length === 0) yield path;
      // links are not followed, as in every `**`
      if (entry.isDirectory() && depth < MAX_DEPTH) yield* below(path, segments, depth + 1);
    } else if (fits(segment, entry.name, false)) {
      if (rest.length === 0) yield path;
      else if (await isLocalDirectory(path)) yield* below(path, rest, depth);
    }
  }
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}
