/**
 * Patterns for paths, as shells have them: `*`, `?`, `[a-z]`, `[!a-z]`, `{a,b}`, `**`, and a backslash before what is meant as
 * it is. No regular expression is made of them: matching takes at most pattern times name steps. Knows no files.
 */

import { decodeName, encodeName } from '../bytes/name.ts';
import { printable } from '../bytes/text.ts';
import { SshError } from '../errors.ts';

/** Patterns that braces may stand for. */
const MAX_ALTERNATIVES = 1024;

/** Characters of a pattern: as long as a path may be on most systems. */
const MAX_LENGTH = 4096;

/** Characters of all that its braces stand for, and of what lies between. */
const MAX_EXPANDED = 64 * 1024;

/** One character of a name, or any number of them. */
type Token =
  | { readonly kind: 'character'; readonly code: number }
  | { readonly kind: 'any' }
  | { readonly kind: 'set'; readonly negated: boolean; readonly ranges: readonly (readonly [number, number])[] }
  | { readonly kind: 'star' };

/** One part of a path. */
export type Segment =
  | { readonly kind: 'literal'; readonly name: Uint8Array }
  | { readonly kind: 'wildcard'; readonly tokens: readonly Token[]; readonly takesHidden: boolean }
  /** `**`: any number of directories, also none. */
  | { readonly kind: 'globstar' };

/** One of the patterns that a pattern with braces stands for. */
export interface Alternative {
  /** Whether it begins at `/`. */
  readonly isAbsolute: boolean;
  readonly segments: readonly Segment[];
  /** Whether it ends in `/` and so means directories only. */
  readonly directoriesOnly: boolean;
}

/** Reads a pattern. Throws `bad-argument` for what is none, `limit` for one that stands for too many. */
export function parseGlob(pattern: string | Uint8Array): Alternative[] {
  if (typeof pattern !== 'string' && !(pattern instanceof Uint8Array)) {
    throw new SshError('bad-argument', 'A pattern is text or bytes');
  }
  const text = typeof pattern === 'string' ? pattern : decodeName(pattern);
  if (text === '' || text.includes('\0')) {
    throw new SshError('bad-argument', `Not a pattern for paths: "${printable(text)}"`);
  }
  return expandBraces([...text]).map(parseAlternative);
}

/** Whether `pattern` has anything in it that a path does not mean as it is. */
export function isGlob(pattern: string): boolean {
  return /[*?[{\\]/.test(pattern);
}

/** `text` as a pattern that means just that. */
export function escapeGlob(text: string): string {
  return text.replace(/[*?[\]{},\\!-]/g, '\\$&');
}

/** All patterns that braces stand for, in order. A brace that is not closed, or has no comma, is a character. */
function expandBraces(pattern: readonly string[]): string[][] {
  let length = 0;
  const done: string[][] = [];
  const open: string[][] = [[...pattern]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    length += next.length;
    if (next.length > MAX_LENGTH || length > MAX_EXPANDED || done.length + open.length >= MAX_ALTERNATIVES) {
      const most = `at most ${MAX_LENGTH} characters, and stands for ${MAX_ALTERNATIVES} others`;
      throw new SshError('limit', `A pattern has ${most}`);
    }
    const group = firstBraces(next);
    if (group === undefined) {
      done.push(next);
      continue;
    }
    const before = next.slice(0, group.start);
    const after = next.slice(group.end + 1);
    for (const choice of group.choices.reverse()) open.push([...before, ...choice, ...after]);
  }
  return done;
}

interface Braces {
  readonly start: number;
  readonly end: number;
  readonly choices: string[][];
}

/** The first pair of braces that has a comma between them. */
function firstBraces(pattern: readonly string[]): Braces | undefined {
  for (let start = 0; start < pattern.length; start++) {
    if (pattern[start] === '\\') start += 1;
    else if (pattern[start] === '{') {
      const found = bracesAt(pattern, start);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

function bracesAt(pattern: readonly string[], start: number): Braces | undefined {
  const choices: string[][] = [];
  let depth = 0;
  let from = start + 1;
  for (let at = start + 1; at < pattern.length; at++) {
    const character = pattern[at];
    if (character === '\\') at += 1;
    else if (character === '{') depth += 1;
    else if (character === '}' && depth > 0) depth -= 1;
    else if (depth === 0 && (character === ',' || character === '}')) {
      choices.push(pattern.slice(from, at));
      from = at + 1;
      if (character === '}') return choices.length > 1 ? { start, end: at, choices } : undefined;
    }
  }
  return undefined;
}

function parseAlternative(pattern: readonly string[]): Alternative {
  const parts: string[][] = [[]];
  for (let at = 0; at < pattern.length; at++) {
    const character = pattern[at] as string;
    if (character === '/') parts.push([]);
    else parts.at(-1)?.push(character);
    if (character === '\\' && at + 1 < pattern.length) {
      at += 1;
      parts.at(-1)?.push(pattern[at] as string);
    }
  }
  const isAbsolute = pattern[0] === '/';
  const directoriesOnly = parts.length > 1 && parts.at(-1)?.length === 0;
  const named = parts.filter((part) => part.length > 0 && !(part.length === 1 && part[0] === '.'));
  const segments: Segment[] = [];
  for (const part of named) {
    const segment = parseSegment(part);
    // Several in a row mean what one does.
    if (segment.kind !== 'globstar' || segments.at(-1)?.kind !== 'globstar') segments.push(segment);
  }
  if (segments.length === 0)
    throw new SshError('bad-argument', 'A pattern must name something beside directories to begin at');
  // Behind everything it means what is below, not the directory itself.
  if (segments.at(-1)?.kind === 'globstar')
    segments.push({ kind: 'wildcard', tokens: [{ kind: 'star' }], takesHidden: false });
  return { isAbsolute, segments, directoriesOnly };
}

function parseSegment(part: readonly string[]): Segment {
  if (part.length === 2 && part[0] === '*' && part[1] === '*') return { kind: 'globstar' };
  const tokens: Token[] = [];
  for (let at = 0; at < part.length; at++) {
    const character = part[at] as string;
    if (character === '*') {
      if (tokens.at(-1)?.kind !== 'star') tokens.push({ kind: 'star' });
    } else if (character === '?') tokens.push({ kind: 'any' });
    else {
      const set = character === '[' ? setAt(part, at) : undefined;
      if (set !== undefined) {
        tokens.push(set.token);
        at = set.end;
        continue;
      }
      if (character === '\\') at += 1;
      if (at >= part.length) throw new SshError('bad-argument', 'A pattern must not end in a lone backslash');
      tokens.push({ kind: 'character', code: codePointOf(part[at]) });
    }
  }
  if (tokens.every((token) => token.kind === 'character')) {
    return { kind: 'literal', name: encodeName(tokens.map(({ code }) => String.fromCodePoint(code)).join('')) };
  }
  const [first] = tokens;
  return { kind: 'wildcard', tokens, takesHidden: first?.kind === 'character' && first.code === DOT };
}

const DOT = 0x2e;

/** The set that begins with `[` at `start`; none where it is not closed. A `]` that stands first belongs to it. */
function setAt(part: readonly string[], start: number): { readonly token: Token; readonly end: number } | undefined {
  let at = start + 1;
  const negated = part[at] === '!' || part[at] === '^';
  if (negated) at += 1;
  const first = at;
  const ranges: (readonly [number, number])[] = [];
  const character = (): number => {
    if (part[at] === '\\' && at + 1 < part.length) at += 1;
    return codePointOf(part[at++]);
  };
  while (at < part.length) {
    if (part[at] === ']' && at > first) return { token: { kind: 'set', negated, ranges }, end: at };
    const from = character();
    if (part[at] === '-' && at + 1 < part.length && part[at + 1] !== ']') {
      at += 1;
      ranges.push([from, character()]);
    } else ranges.push([from, from]);
  }
  return undefined;
}

function codePointOf(character: string | undefined): number {
  return character?.codePointAt(0) ?? 0;
}

/** Whether a name that is `text` by `decodeName` matches a wildcard. `hidden`: a dot at the beginning is like any other. */
export function matches(segment: Segment & { readonly kind: 'wildcard' }, text: string, hidden: boolean): boolean {
  if (text.startsWith('.') && !segment.takesHidden && !hidden) return false;
  const { tokens } = segment;
  const name = [...text];
  let at = 0;
  let token = 0;
  // Where to go on when what follows the last star does not match: with one more character for the star.
  let star = -1;
  let starAt = 0;
  while (at < name.length) {
    const wanted = tokens[token];
    if (wanted?.kind === 'star') {
      star = token++;
      starAt = at;
    } else if (wanted !== undefined && takes(wanted, codePointOf(name[at]))) {
      at += 1;
      token += 1;
    } else if (star >= 0) {
      token = star + 1;
      starAt += 1;
      at = starAt;
    } else return false;
  }
  while (tokens[token]?.kind === 'star') token += 1;
  return token === tokens.length;
}

function takes(token: Token, code: number): boolean {
  switch (token.kind) {
    case 'character':
      return token.code === code;
    case 'set':
      return token.ranges.some(([from, to]) => from <= code && code <= to) !== token.negated;
    default:
      return token.kind === 'any';
  }
}
