/**
 * ssh_config(5) text into lines of keyword and arguments. What the keywords mean, and which lines count for a host, is decided
 * in `resolve.ts`. Must not read files: who can, puts those that Include names into `included`.
 */

import { printable } from '../bytes/text.ts';
import { SshError } from '../errors.ts';
import { splitArguments, takeWord } from './words.ts';

/** Characters of a file and of a line; no configuration written by people comes near. */
export const MAX_CONFIG_FILE: number = 1024 * 1024;
export const MAX_CONFIG_LINE: number = 16 * 1024;

/** One line that says something. */
export interface ConfigLine {
  /** In lower case. */
  readonly keyword: string;
  readonly args: readonly string[];
  /** What follows the keyword, as it is written. */
  readonly rest: string;
  /** From 1; 0 where there is no file. */
  readonly line: number;
  /** For Include: the files that it names, in their order. */
  readonly included?: readonly ConfigFile[];
}

/** A file, or options that stand in for one. */
export interface ConfigFile {
  /** For messages: its path. */
  readonly source: string;
  /** `options` are single lines from elsewhere, which come before any file and choose no hosts. */
  readonly kind: 'file' | 'options';
  readonly lines: readonly ConfigLine[];
}

/** Lines of a file; throws `bad-config` with the place. */
export function parseConfig(text: string, source: string): ConfigFile {
  if (text.length > MAX_CONFIG_FILE) throw badConfig({ source, line: 0 }, `is larger than ${MAX_CONFIG_FILE} bytes`);
  const lines: ConfigLine[] = [];
  for (const [index, each] of text
    .replace(/^\uFEFF/, '')
    .split('\n')
    .entries()) {
    const line = parseLine(each, { source, line: index + 1 });
    if (line !== undefined) lines.push(line);
  }
  return { source, kind: 'file', lines };
}

/** Options that are given one by one, each as a line of a file would be, such as `Port=2222`; throws `bad-config`. */
export function parseConfigOptions(options: readonly string[], source = '-o'): ConfigFile {
  const lines: ConfigLine[] = [];
  for (const each of options) {
    const line = parseLine(each, { source, line: 0 });
    if (line === undefined)
      throw badConfig({ source, line: 0 }, `'${printable(each)}' is no option: write Keyword=value`);
    lines.push(line);
  }
  return { source, kind: 'options', lines };
}

/** Where a line stands. */
export interface ConfigPlace {
  readonly source: string;
  readonly line: number;
}

/** `file:line`, or only the file where there is no line. */
export function placeName({ source, line }: ConfigPlace): string {
  return line === 0 ? printable(source) : `${printable(source)}:${line}`;
}

export function badConfig(place: ConfigPlace, what: string): SshError {
  return new SshError('bad-config', `${placeName(place)}: ${what}`);
}

function parseLine(text: string, place: ConfigPlace): ConfigLine | undefined {
  if (text.length > MAX_CONFIG_LINE) throw badConfig(place, `the line is longer than ${MAX_CONFIG_LINE} characters`);
  if (text.includes('\0')) throw badConfig(place, 'the line holds a null byte');
  const line = withoutEnd(text);
  let taken = takeWord(line);
  if (taken?.word === '' && taken.rest !== undefined) taken = takeWord(taken.rest);
  if (taken === undefined) throw badConfig(place, 'a quotation mark is not closed');
  const { word, rest = '' } = taken;
  if (word === '' || word.startsWith('#')) return undefined;
  const args = splitArguments(rest);
  if (args === undefined) throw badConfig(place, `${printable(word, 40)}: a quotation mark is not closed`);
  if (rest === '') throw badConfig(place, `${printable(word, 40)} has no value`);
  return { keyword: word.toLowerCase(), args, rest, line: place.line };
}

/** The line without the blanks at its end; a loop, since a pattern would look at each run of blanks in it. */
function withoutEnd(text: string): string {
  let end = text.length;
  while (end > 0 && ' \t\r\n\f'.includes(text[end - 1] as string)) end--;
  return text.slice(0, end);
}
