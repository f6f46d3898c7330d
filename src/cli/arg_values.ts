/** Values of options as they are written, and what is said about those that cannot be used. */

import { printable } from '../bytes/text.ts';
import { SshError } from '../errors.ts';

/** Options by their long names. */
export interface Values {
  readonly [name: string]: string | boolean | readonly (string | boolean)[] | undefined;
}

export function whole(option: string, value: unknown, least: number, most: number): number {
  const text = String(value);
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (number >= least && number <= most) return number;
  throw bad(`${option} takes a whole number from ${least} to ${most}, not '${printable(text)}'`);
}

const SUFFIXES: Readonly<Record<string, number>> = { '': 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30 };

/** Bytes: a whole number, with `k`, `M` or `G` behind it for powers of 1024. */
export function byteCount(option: string, value: unknown, least: number, most: number): number {
  const text = String(value);
  const [, digits, suffix] = /^(\d+)([kmg]?)$/i.exec(text) ?? [];
  const bytes = Number(digits) * (SUFFIXES[(suffix ?? '').toLowerCase()] as number);
  if (bytes >= least && bytes <= most) return bytes;
  throw bad(`${option} takes bytes from ${least} to ${most}, as 65536, 64k, 8M or 1G, not '${printable(text)}'`);
}

/** The value of an option that takes one of some words. */
export function oneOf<T extends string>(option: string, value: unknown, words: readonly T[]): T {
  const text = String(value);
  const word = words.find((each) => each === text);
  if (word !== undefined) return word;
  throw bad(`${option} is ${words.slice(0, -1).join(', ')} or ${words.at(-1)}, not '${printable(text)}'`);
}

/** A day: beyond it a limit limits nothing. */
const MAX_TIMEOUT_SECONDS = 86400;

/** Milliseconds. */
export function seconds(option: string, value: unknown): number {
  const text = String(value);
  const number = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (number > 0 && number <= MAX_TIMEOUT_SECONDS) return number * 1000;
  throw bad(`${option} takes seconds, more than 0 and at most ${MAX_TIMEOUT_SECONDS}, not '${printable(text)}'`);
}

export function cryptoOf(values: Values): 'pure' | 'auto' {
  const crypto = values.crypto ?? 'auto';
  if (crypto === 'pure' || crypto === 'auto') return crypto;
  throw bad(`--crypto is pure or auto, not ${printable(String(crypto))}`);
}

/** The value of an option that takes a text, which must not be empty. */
export function filled(values: Values, name: string, what: string): string | undefined {
  const value = values[name] as string | undefined;
  if (value === '') throw bad(`--${name} needs ${what}`);
  return value;
}

export function bad(message: string): SshError {
  return new SshError('bad-argument', message);
}
