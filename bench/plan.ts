/** What a run is asked to do: the command line, and how large everything is. */

import { parseArgs } from 'node:util';

export const MEBI: number = 1024 * 1024;

const FULL_MEBI = 1024;
const FULL_ROUNDS = 3; // the least that has a median

export interface Plan {
  readonly quick: boolean;
  /** Whether anything is smaller or fewer than a full run has it, so that a full run goes before it in the document. */
  readonly partial: boolean;
  readonly long: boolean;
  readonly rounds: number;
  /** Names of suites; empty: all. */
  readonly suites: readonly string[];
  /** Parts of names of subjects; empty: all. */
  readonly only: readonly string[];
  /** Milliseconds; absent: those of the suites. */
  readonly delays: readonly number[] | undefined;
  /** Bytes of a large file. */
  readonly bytes: number;
  readonly writeDocs: boolean;
}

export function readPlan(args: readonly string[]): Plan {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      long: { type: 'boolean', default: false },
      suite: { type: 'string', multiple: true, default: [] },
      only: { type: 'string', multiple: true, default: [] },
      delay: { type: 'string', multiple: true },
      size: { type: 'string' },
      rounds: { type: 'string' },
      'write-docs': { type: 'boolean', default: false },
    },
  });
  const { quick, long } = values;
  const rounds = number('--rounds', values.rounds ?? (quick ? '1' : String(FULL_ROUNDS)));
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error(`--rounds takes a whole number, not ${rounds}`);
  const bytes = Math.round(number('--size', values.size ?? (quick ? '128' : String(FULL_MEBI))) * MEBI);
  const fewer = values.only.length > 0 || values.delay !== undefined || rounds < FULL_ROUNDS;
  return {
    partial: quick || fewer || bytes < FULL_MEBI * MEBI,
    ...{ quick, long, rounds, suites: values.suite, only: values.only, writeDocs: values['write-docs'] },
    delays: values.delay?.map((text) => number('--delay', text)),
    bytes,
  };
}

function number(option: string, text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= 0)) throw new Error(`${option} takes a number, not ${text}`);
  return value;
}
