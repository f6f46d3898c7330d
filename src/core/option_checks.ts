/**
 * What callers pass as options, looked at before anything is done: a misspelt name or a value of another type would leave the
 * default in force, although its caller has said something else. `undefined` counts as absent.
 */

import { printable } from '../bytes/text.ts';
import { SshError } from '../errors.ts';

/** What a value has to be, in words and as a test. */
export interface Check {
  readonly expected: string;
  readonly fits: (value: unknown) => boolean;
}

/** A check for each option of `O`, none left out. */
export type OptionTable<O> = { readonly [K in keyof Required<O>]: Check };

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

export const flag: Check = { expected: 'true or false', fits: (value) => typeof value === 'boolean' };
export const callback: Check = { expected: 'a function', fits: (value) => typeof value === 'function' };
export const text: Check = { expected: 'a text', fits: (value) => typeof value === 'string' };
export const object: Check = { expected: 'an object', fits: isObject };
/** What is looked at where it is used. */
export const elsewhere: Check = { expected: '', fits: () => true };
export const abortSignal: Check = {
  expected: 'an AbortSignal',
  fits: (value) => isObject(value) && typeof (value as Partial<AbortSignal>).addEventListener === 'function',
};

/** An integer in a range. */
export function integer(least: number, most: number = Number.MAX_SAFE_INTEGER): Check {
  const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
  return {
    expected: `a whole number ${range}`,
    fits: (value) => Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most,
  };
}

/** One of some words, or values that stand for themselves. */
export function oneOf(...choices: readonly (string | boolean)[]): Check {
  const words = choices.map(String);
  return {
    expected: `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`,
    fits: (value) => choices.includes(value as string),
  };
}

/** Throws `bad-argument` for options that `table` does not have, or that are not what they have to be. `subject`: whose they are. */
export function checkTable(subject: string, options: unknown, table: Readonly<Record<string, Check>>): void {
  if (!isObject(options)) throw wrong(subject, `the options must be an object, not ${shownValue(options)}`);
  for (const name of Object.keys(options)) {
    const value: unknown = options[name as keyof typeof options];
    if (value === undefined) continue;
    const check = Object.hasOwn(table, name) ? table[name] : undefined;
    if (check === undefined) {
      const there = Object.keys(table).join(', ');
      throw wrong(subject, `there is no option ${printable(name, 80)}; there are ${there}`);
    }
    if (!check.fits(value)) throw wrong(subject, `${name} must be ${check.expected}, not ${shownValue(value)}`);
  }
}

/** A value as a message names it: text in quotes, of an object only what it is. */
export function shownValue(value: unknown): string {
  if (typeof value === 'string') return `'${printable(value, 40)}'`;
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return String(value);
  if (typeof value === 'function') return 'a function';
  if (Array.isArray(value)) return 'a list';
  const name: unknown = value.constructor?.name;
  return typeof name === 'string' && name !== '' && name !== 'Object' ? `a ${printable(name, 40)}` : 'an object';
}

/** The error of an argument of `subject`. */
export function wrong(subject: string, what: string): SshError {
  return new SshError('bad-argument', `${subject}: ${what}`);
}
