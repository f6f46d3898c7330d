/** The conditions of `Host` and `Match` (ssh_config(5)). Must not know what the lines below them say. */

import { printable } from '../bytes/text.ts';
import type { MaybePromise } from '../crypto/provider.ts';
import { lowerAscii, MAX_PATTERN, matchPattern, matchPatternList } from '../keys/host_pattern.ts';
import { takeWord } from './words.ts';

/** What conditions are compared with, as it stands when the line is reached. */
export interface MatchFacts {
  readonly host: string;
  readonly originalHost: string;
  readonly user: string;
  readonly localUser: string;
  readonly tag: string;
  /** Whether files are read for the second time, with the name of the host settled. */
  readonly final: boolean;
  /** Runs the command of `exec` and says whether it succeeded. Absent: there may be none. */
  exec?(command: string): MaybePromise<boolean>;
}

/** The result of `Match`. */
export interface MatchResult {
  readonly matches: boolean;
  /** Whether `final` was asked for, and so a second reading. */
  readonly asksFinal: boolean;
}

/** `Host`: whether one of the patterns is the host's and none with `!` is. Upper and lower case differ. */
export function hostMatches(host: string, patterns: readonly string[]): boolean {
  let matched = false;
  for (const each of patterns) {
    const negated = each.startsWith('!');
    if (!matchPattern(host, negated ? each.slice(1) : each)) continue;
    if (negated) return false;
    matched = true;
  }
  return matched;
}

/** A comma list of patterns in which upper and lower case differ. */
export function listMatches(name: string, list: string): boolean {
  const patterns = list.split(',');
  return !patterns.some((each) => each.length > MAX_PATTERN) && hostMatches(name, patterns);
}

/** How each condition that takes an argument is decided. */
const conditions: Readonly<Record<string, (facts: MatchFacts, list: string) => boolean>> = {
  host: ({ host }, list) => matchPatternList(lowerAscii(host), list),
  originalhost: ({ originalHost }, list) => matchPatternList(lowerAscii(originalHost), list),
  user: ({ user }, list) => listMatches(user, list),
  localuser: ({ localUser }, list) => listMatches(localUser, list),
  tagged: ({ tag }, list) => listMatches(tag, list),
};

/** `Match`: `text` is what follows the keyword. Throws what `bad` makes. */
export async function matchLine(text: string, facts: MatchFacts, bad: (what: string) => Error): Promise<MatchResult> {
  let matches = true;
  let asksFinal = false;
  let count = 0;
  let rest: string | undefined = text;
  const take = (): string => {
    if (rest === undefined) return '';
    const taken = takeWord(rest);
    if (taken === undefined) throw bad('Match has a quotation mark that is not closed');
    rest = taken.rest;
    return taken.word;
  };
  for (let word = take(); word !== '' && !word.startsWith('#'); word = take()) {
    const negated = word.startsWith('!');
    const name = (negated ? word.slice(1) : word).toLowerCase();
    if (name === 'all') {
      const next = take();
      if (count > 1 || (next !== '' && !next.startsWith('#'))) throw bad("'all' stands alone, or behind 'final' only");
      return { matches: matches && !negated, asksFinal };
    }
    count++;
    if (name === 'final' || name === 'canonical') {
      asksFinal ||= name === 'final';
      if (facts.final === negated) matches = false;
      continue;
    }
    const value = take();
    if (value === '' || value.startsWith('#')) throw bad(`Match ${printable(word, 40)} has no value`);
    if (name === 'exec') {
      // as OpenSSH: what does not apply anyway runs nothing
      if (matches && (await runs(value, facts, bad)) === negated) matches = false;
      continue;
    }
    const condition = Object.hasOwn(conditions, name) ? conditions[name] : undefined;
    if (condition === undefined) throw bad(unknownCondition(word));
    if (condition(facts, value) === negated) matches = false;
  }
  if (count === 0) throw bad('Match has no condition');
  return { matches, asksFinal };
}

async function runs(command: string, facts: MatchFacts, bad: (what: string) => Error): Promise<boolean> {
  if (facts.exec !== undefined) return (await facts.exec(command)) === true;
  throw bad('Match exec would run a command, which is not allowed here: write the line without it');
}

function unknownCondition(word: string): string {
  return (
    `Match ${printable(word, 40)} is no condition that puressh knows: it knows host, originalhost, user, localuser, tagged, ` +
    'exec, canonical, final and all'
  );
}
