/** What the Tab key offers. Pure: a line in, what to look for out; names in, replacements out. */

import { printable } from '../../bytes/text.ts';
import type { Operand } from './command.ts';
import { escapeText, type Open, type ScannedWord, scanWords } from './words.ts';

/** What stands before the cursor, and what may go on there. */
export type Completion =
  | { readonly kind: 'command'; readonly typed: string }
  | {
      readonly kind: 'remote' | 'local';
      /** The word as it is typed, quotes and all. */
      readonly typed: string;
      /** The directory to look into as it is written, with its `/`; empty: where the shell stands. */
      readonly directory: string;
      /** How the name begins. */
      readonly prefix: string;
      readonly open: Open;
    }
  | { readonly kind: 'none' };

/** What the operands of a command are, by its name; `undefined` where there is no such command. */
export type OperandsOf = (name: string) => readonly Operand[] | undefined;

/** What the text before the cursor asks for. */
export function completionOf(line: string, operandsOf: OperandsOf): Completion {
  const marks = /^[\s@-]*/.exec(line)?.[0].length ?? 0;
  const words = scanWords(line.slice(marks), 'word');
  const [name, ...rest] = words;
  const last = words.at(-1);
  if (name === undefined || last === undefined || line[marks] === '!') return { kind: 'none' };
  const typed = line.slice(marks + last.start);
  if (rest.length === 0) return { kind: 'command', typed };
  const operands = operandsOf(name.text);
  const before = rest.slice(0, -1).filter(({ text }) => !text.startsWith('-')).length;
  const kind = operands?.[Math.min(before, operands.length - 1)];
  if (kind === 'command') return { kind, typed };
  if (kind !== 'remote' && kind !== 'local') return { kind: 'none' };
  return { kind, typed, ...pathParts(last) };
}

function pathParts({ text, open }: ScannedWord): { directory: string; prefix: string; open: Open } {
  const cut = text.lastIndexOf('/') + 1;
  return { directory: text.slice(0, cut), prefix: text.slice(cut), open };
}

/** A name to choose from. */
export interface Candidate {
  readonly name: string;
  readonly isDirectory: boolean;
}

/**
 * What may stand in place of `typed`: each begins with it, so that a line editor only has to add. A name that cannot be
 * typed is not offered, nor one that is hidden unless its dot is there.
 */
export function replacements(
  completion: Completion & { readonly kind: 'remote' | 'local' },
  candidates: readonly Candidate[],
): string[] {
  const { typed, prefix, open } = completion;
  const base = open === '\\' ? typed.slice(0, -1) : typed;
  const quote = open === '\\' ? '' : open;
  return candidates
    .filter(({ name }) => name.startsWith(prefix) && isTypable(name) && (prefix !== '' || !name.startsWith('.')))
    .map(({ name, isDirectory }) => {
      const rest = escapeText(name.slice(prefix.length), quote);
      return `${base}${rest}${isDirectory ? '/' : `${quote} `}`;
    })
    .filter((text) => text.startsWith(typed))
    .sort();
}

/** Names of commands that begin with what is typed. */
export function commandReplacements(typed: string, names: readonly string[]): string[] {
  return names.filter((name) => name.startsWith(typed)).map((name) => `${name} `);
}

/** What is not UTF-8 cannot be said in a line either. */
function isTypable(name: string): boolean {
  return name === printable(name, name.length) && !name.includes('\ufffd');
}
