/**
 * A line of the shell as words, with the quotes and escapes of OpenSSH's sftp: `'…'`, `"…"` and `\`. Text in, words out:
 * knows no command and no file.
 */

import { bad } from '../arg_values.ts';

/** One word of a line. */
export interface Word {
  /** What it says, without quotes and escapes. */
  readonly text: string;
  /** Where it has wildcards that are not quoted: the same as a pattern, in which `\` makes what follows it mean itself. */
  readonly pattern?: string;
}

/** A word that may not be whole, with where it stands. */
export interface ScannedWord extends Word {
  /** Where it begins in the line, its quotes included. */
  readonly start: number;
  /** What is still open at its end; only the last word of a line can have that. */
  readonly open: Open;
}

/** A quote without its end, or a `\` with nothing behind it. */
export type Open = '' | "'" | '"' | '\\';

/** What means something else than itself in a pattern. */
const SPECIAL = /[*?[\]{}!,\\^-]/;
const WILDCARD = /[*?[{]/;

/** The words of a line that is whole; what follows a `#` at the start of a word is a comment. Throws `bad-argument`. */
export function splitWords(line: string): Word[] {
  const words = scanWords(line);
  const open = words.at(-1)?.open ?? '';
  if (open === '\\') throw bad('The line ends with a \\ that has nothing behind it');
  if (open !== '') throw bad(`A ${open} has no end on this line`);
  return words.map(({ text, pattern }) => (pattern === undefined ? { text } : { text, pattern }));
}

/** The words of a line as far as it is written; the last is empty where the line ends between two words. */
export function scanWords(line: string, trailing: 'word' | 'none' = 'none'): ScannedWord[] {
  const words: ScannedWord[] = [];
  let at = 0;
  for (;;) {
    while (isBlank(line[at])) at++;
    if (at >= line.length || line[at] === '#') break;
    const scanner = new WordScanner(line, at);
    words.push(scanner.word());
    at = scanner.at;
    if (at >= line.length) return words;
  }
  if (trailing === 'word' && at >= line.length) words.push({ text: '', start: at, open: '' });
  return words;
}

class WordScanner {
  at: number;
  readonly #line: string;
  readonly #start: number;
  #text = '';
  #pattern = '';
  #hasWildcard = false;

  constructor(line: string, at: number) {
    this.#line = line;
    this.#start = at;
    this.at = at;
  }

  word(): ScannedWord {
    let open: Open = '';
    while (open === '' && this.at < this.#line.length && !isBlank(this.#line[this.at])) open = this.#next();
    const word = { text: this.#text, start: this.#start, open };
    return this.#hasWildcard ? { ...word, pattern: this.#pattern } : word;
  }

  /** One character, or all between two quotes. */
  #next(): Open {
    const character = this.#line[this.at++] as string;
    if (character === "'" || character === '"') return this.#quoted(character);
    if (character === '\\') {
      const escaped = this.#line[this.at++];
      if (escaped === undefined) return '\\';
      this.#literal(escaped);
      return '';
    }
    this.#text += character;
    this.#pattern += character;
    this.#hasWildcard ||= WILDCARD.test(character);
    return '';
  }

  /** Between quotes `\` is itself, but before the quote and before another. */
  #quoted(quote: "'" | '"'): Open {
    while (this.at < this.#line.length) {
      const character = this.#line[this.at++] as string;
      if (character === quote) return '';
      const next = this.#line[this.at];
      if (character === '\\' && (next === quote || next === '\\')) {
        this.at++;
        this.#literal(next);
      } else {
        this.#literal(character);
      }
    }
    return quote;
  }

  #literal(character: string): void {
    this.#text += character;
    this.#pattern += SPECIAL.test(character) ? `\\${character}` : character;
  }
}

function isBlank(character: string | undefined): boolean {
  return character === ' ' || character === '\t' || character === '\r' || character === '\n';
}

/** `text` written so that a line says it, for use outside quotes or inside those of `open`. */
export function escapeText(text: string, open: Open = ''): string {
  if (open === "'" || open === '"') return text.replace(open === "'" ? /['\\]/g : /["\\]/g, '\\$&');
  return text.replace(/[\s'"\\*?[{#]/g, '\\$&');
}
