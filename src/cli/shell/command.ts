/** What a command of the shell is, and how its options are read. */

import { printable } from '../../bytes/text.ts';
import { bad } from '../arg_values.ts';
import type { Shell } from './session.ts';
import type { Word } from './words.ts';

/** What an operand names, for completion. */
export type Operand = 'remote' | 'local' | 'command' | 'text';

/** One row of the table of commands. */
export interface ShellCommand {
  readonly name: string;
  readonly aliases?: readonly string[];
  /** Without the name, such as `[-r] path ...`. */
  readonly usage: string;
  /** One line, from the imperative. */
  readonly summary: string;
  /** Letters of the options, all without values. */
  readonly flags: string;
  /** How many operands it takes. */
  readonly least: number;
  readonly most: number;
  /** What each operand is; the last stands for all that follow. */
  readonly operands: readonly Operand[];
  run(shell: Shell, call: Call): Promise<void>;
}

/** A command as it was given. */
export interface Call {
  readonly flags: ReadonlySet<string>;
  readonly operands: readonly Word[];
  readonly signal: AbortSignal;
}

/** Reads options and operands. Throws `bad-argument` with how the command is written. */
export function readCall(command: ShellCommand, words: readonly Word[]): Omit<Call, 'signal'> {
  const flags = new Set<string>();
  let at = 0;
  for (; at < words.length; at++) {
    const text = (words[at] as Word).text;
    if (!text.startsWith('-') || text === '-') break;
    if (text === '--') {
      at++;
      break;
    }
    for (const letter of text.slice(1)) {
      if (!command.flags.includes(letter)) throw wrongUse(command, `has no option -${printable(letter)}`);
      flags.add(letter);
    }
  }
  const operands = words.slice(at);
  if (operands.length < command.least) throw wrongUse(command, 'needs more than that');
  const extra = operands[command.most];
  if (extra !== undefined) throw wrongUse(command, `does not take ${printable(extra.text)}`);
  return { flags, operands };
}

function wrongUse(command: ShellCommand, what: string): Error {
  return bad(`${command.name} ${what}: write ${usageOf(command)}`);
}

/** How a command is written. */
export function usageOf({ name, usage }: ShellCommand): string {
  return usage === '' ? name : `${name} ${usage}`;
}
