/** Values of single keywords of ssh_config(5): arguments in, a typed value out. Throws what `bad` makes. */

import { printable } from '../bytes/text.ts';
import { parseIpAddress } from '../keys/ip_address.ts';
import type { JumpHost, StrictHostKeyChecking } from './host_config.ts';

/** Makes the error for a value. */
export type Bad = (what: string) => Error;

/** What a keyword's arguments mean. There is at least one, which is not empty. */
export type ReadValue<T> = (args: readonly string[], bad: Bad) => T;

type Args = readonly [string, ...string[]];

function one(args: readonly string[]): string {
  return (args as Args)[0];
}

function fromWords<T>(words: Readonly<Record<string, T>>): ReadValue<T> {
  return (args, bad) => {
    const text = one(args).toLowerCase();
    if (Object.hasOwn(words, text)) return words[text] as T;
    throw bad(`is one of ${Object.keys(words).join(', ')}, not '${printable(one(args), 60)}'`);
  };
}

export const text: ReadValue<string> = one;

export const texts: ReadValue<readonly string[]> = (args) => args;

const FLAG = { yes: true, no: false, true: true, false: false };

export const flag: ReadValue<boolean> = fromWords(FLAG);

/** `Compression`, which OpenSSH gives two words only. */
export const yesOrNo: ReadValue<boolean> = fromWords({ yes: true, no: false });

export const strictness: ReadValue<StrictHostKeyChecking> = fromWords<StrictHostKeyChecking>({
  yes: 'yes',
  true: 'yes',
  no: 'no',
  false: 'no',
  off: 'no',
  ask: 'ask',
  'accept-new': 'accept-new',
});

export const flagOrAsk: ReadValue<boolean | 'ask'> = fromWords<boolean | 'ask'>({ ...FLAG, ask: 'ask' });

/** `PubkeyAuthentication`; how OpenSSH binds keys to hosts is its own. */
export const publicKeyFlag: ReadValue<boolean> = fromWords({ ...FLAG, unbound: true, 'host-bound': true });

/** `ForwardAgent`: a flag, or where the agent is. */
export const flagOrPath: ReadValue<boolean | string> = (args) => {
  const value = one(args);
  return Object.hasOwn(FLAG, value.toLowerCase()) ? FLAG[value.toLowerCase() as keyof typeof FLAG] : value;
};

const MAX_COUNT = 0x7fffffff; // an int of OpenSSH

export const count: ReadValue<number> = (args, bad) => {
  const number = /^\d{1,10}$/.test(one(args)) ? Number(one(args)) : Number.NaN;
  if (number <= MAX_COUNT) return number;
  throw bad(`takes a whole number, not '${printable(one(args), 60)}'`);
};

export const port: ReadValue<number> = (args, bad) => {
  const number = portOf(one(args));
  if (number !== undefined) return number;
  throw bad(`takes a number from 1 to 65535, not '${printable(one(args), 60)}'`);
};

function portOf(value: string): number | undefined {
  const number = /^\d{1,5}$/.test(value) ? Number(value) : 0;
  return number >= 1 && number <= 65535 ? number : undefined;
}

const UNITS: Readonly<Record<string, number>> = { '': 1, s: 1, m: 60, h: 3600, d: 86400, w: 604800 };

/** Seconds as sshd_config(5), TIME FORMATS, has them: `90`, `1m30s`. 0 for `none`. */
export const time: ReadValue<number> = (args, bad) => {
  const value = one(args);
  if (value === 'none') return 0;
  const parts = /^(?:\d+[smhdw])*\d*$/i.test(value) ? [...value.matchAll(/(\d+)([smhdw]?)/gi)] : [];
  const seconds = parts.map(([, digits, unit]) => Number(digits) * (UNITS[(unit as string).toLowerCase()] as number));
  const sum = seconds.reduce((total, each) => total + each, 0);
  if (parts.length > 0 && sum <= MAX_COUNT) return sum;
  throw bad(`takes a time such as 90 or 1m30s, not '${printable(value, 60)}'`);
};

/** A list of names of algorithms, with `+`, `-` or `^` in front or without. */
export const algorithms: ReadValue<string> = (args, bad) => {
  const value = one(args);
  if (/^[-+^]?[^,\s]+(?:,[^,\s]+)*$/.test(value)) return value;
  throw bad(`takes names with commas between, not '${printable(value, 60)}'`);
};

/** `ProxyJump`: `[user@]host[:port]` or `ssh://…`, with commas between; `none` is the empty list. */
export const jumps: ReadValue<readonly JumpHost[]> = (args, bad) => {
  const value = one(args);
  return value.toLowerCase() === 'none' ? [] : value.split(',').map((each) => jump(each, bad));
};

function jump(spec: string, bad: Bad): JumpHost {
  const place = spec.replace(/^ssh:\/\/([^/]*)\/?$/i, '$1');
  const at = place.lastIndexOf('@');
  const user = place.slice(0, Math.max(0, at));
  const [, bracketed, bare, digits] = /^(?:\[([^[\]]+)\]|([^:[\]]+))(?::(\d+))?$/.exec(place.slice(at + 1)) ?? [];
  const host = bracketed ?? bare ?? (parseIpAddress(place.slice(at + 1)) && place.slice(at + 1));
  const number = digits === undefined ? undefined : portOf(digits);
  if (host === undefined || /[\s/]/.test(host) || at === 0 || (digits !== undefined && number === undefined)) {
    throw bad(`takes [user@]host[:port] with commas between, not '${printable(spec, 60)}'`);
  }
  return { ...(at > 0 ? { user } : {}), host, ...(number === undefined ? {} : { port: number }) };
}
