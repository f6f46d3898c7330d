/**
 * The options before a key in authorized_keys: sshd(8), AUTHORIZED_KEYS FILE FORMAT. Options take rights away, so nothing
 * of them may be lost: what is unknown, malformed or not supported is a reason to refuse the key. Must not know keys, nor
 * what a server does with an option.
 */

import { printable } from '../bytes/text.ts';
import { parseExpiryTime } from './expiry_time.ts';
import { type ForwardOptions, type ForwardPermit, parseForwardPermit } from './forward_permit.ts';
import { type FromPattern, parseFromList } from './from_list.ts';
import { lowerAscii } from './host_pattern.ts';

/** What a key may be used for. */
export interface KeyOptions extends ForwardOptions {
  /** Runs in place of whatever the client asks for. May be empty. */
  readonly command?: string;
  /** Variables for what runs. They can change what a program does, and OpenSSH ignores them unless told otherwise. */
  readonly environment: ReadonlyMap<string, string>;
  /** From where the key may be used: see `matchFromList`. */
  readonly from?: readonly FromPattern[];
  /** The last second in which the key may be used, in milliseconds since 1970. */
  readonly expiryTime?: number;
  readonly pty: boolean;
  readonly agentForwarding: boolean;
  readonly x11Forwarding: boolean;
  /** Whether `~/.ssh/rc` runs. */
  readonly userRc: boolean;
  /** The key lets nobody in by itself: it is an authority, whose certificates do. */
  readonly certAuthority: boolean;
  /** Of these names a certificate has to have one; absent: that of the user. Only of authorities. */
  readonly principals?: readonly string[];
  /** A security key may sign without somebody touching it. */
  readonly noTouchRequired: boolean;
  /** A security key has to make sure who touches it, by a PIN or a fingerprint. */
  readonly verifyRequired: boolean;
}

/** One option as it stands in a line: its name in lower case, its value without quotes. */
export interface WrittenOption {
  readonly name: string;
  readonly value: string | undefined;
}

/** The options that a line begins with. */
export interface ScannedOptions {
  readonly options: readonly WrittenOption[];
  /** What follows behind the blanks. */
  readonly rest: string;
}

/** The options that a line begins with, or the reason why they cannot be told apart. Commas too many mean nothing. */
export function scanKeyOptions(line: string): ScannedOptions | string {
  const options: WrittenOption[] = [];
  let at = 0;
  while (!endsOptions(line, at)) {
    if (line[at] === ',') {
      at++;
      continue;
    }
    const name = lowerAscii(line.slice(at, nameEnd(line, at)));
    const shown = printable(name, 60);
    let value: string | undefined;
    at += name.length;
    if (line[at] === '=') {
      const quoted = line[at + 1] === '"' ? unquote(line, at + 2) : undefined;
      if (quoted === undefined) return `The value of the option '${shown}' does not stand between double quotes`;
      ({ value, end: at } = quoted);
    }
    if (line[at] !== ',' && !endsOptions(line, at)) return `Neither a comma nor a blank follows the option '${shown}'`;
    options.push({ name, value });
  }
  while (at < line.length && endsOptions(line, at)) at++;
  return { options, rest: line.slice(at) };
}

function endsOptions(line: string, at: number): boolean {
  return at >= line.length || line[at] === ' ' || line[at] === '\t';
}

function nameEnd(line: string, start: number): number {
  let at = start;
  while (at < line.length && !',=" \t'.includes(line[at] as string)) at++;
  return at;
}

/** The text up to the next quote without a backslash before it. No other character is escaped. */
function unquote(line: string, start: number): { readonly value: string; readonly end: number } | undefined {
  let value = '';
  let from = start;
  for (let at = start; at < line.length; at++) {
    if (line[at] === '"') return { value: value + line.slice(from, at), end: at + 1 };
    if (line[at] === '\\' && line[at + 1] === '"') {
      value += line.slice(from, at);
      from = ++at;
    }
  }
  return undefined;
}

type Right = 'pty' | 'portForwarding' | 'agentForwarding' | 'x11Forwarding' | 'userRc';
type Switch = Right | 'touchRequired' | 'verifyRequired';

const switches: ReadonlyMap<string, Switch> = new Map([
  ['pty', 'pty'],
  ['port-forwarding', 'portForwarding'],
  ['agent-forwarding', 'agentForwarding'],
  ['x11-forwarding', 'x11Forwarding'],
  ['user-rc', 'userRc'],
  ['touch-required', 'touchRequired'],
  ['verify-required', 'verifyRequired'],
]);

/** Options that OpenSSH knows. To leave one out would give more rights than the line does. */
const unsupported: ReadonlyMap<string, string> = new Map([['tunnel', 'tunnel devices']]);

interface Draft extends Record<Switch, boolean> {
  command?: string;
  readonly environment: Map<string, string>;
  from?: readonly FromPattern[];
  expiryTime?: number;
  permitOpen?: ForwardPermit[];
  permitListen?: ForwardPermit[];
  principals?: readonly string[];
  certAuthority: boolean;
}

/** What the options of a line mean together, in their order, or the reason to refuse the key. */
export function readKeyOptions(options: readonly WrittenOption[], utcOffset: number): KeyOptions | string {
  const draft: Draft = {
    environment: new Map(),
    ...all(true),
    certAuthority: false,
    touchRequired: true,
    verifyRequired: false,
  };
  for (const { name, value } of options) {
    const refusal = value === undefined ? applySwitch(draft, name) : applyValue(draft, name, value, utcOffset);
    if (refusal !== undefined) return refusal;
  }
  if (draft.principals !== undefined && !draft.certAuthority) return "The option 'principals' needs 'cert-authority'";
  const { touchRequired, ...rest } = draft;
  return { ...rest, noTouchRequired: !touchRequired };
}

function all(on: boolean): Record<Right, boolean> {
  return { pty: on, portForwarding: on, agentForwarding: on, x11Forwarding: on, userRc: on };
}

function applySwitch(draft: Draft, name: string): string | undefined {
  if (name === 'restrict') {
    Object.assign(draft, all(false));
    return undefined;
  }
  if (name === 'cert-authority') {
    draft.certAuthority = true;
    return undefined;
  }
  const off = name.startsWith('no-');
  const known = switches.get(off ? name.slice(3) : name);
  if (known === undefined) return notUsable(name, values.has(name) ? 'needs a value in double quotes' : undefined);
  draft[known] = !off;
  return undefined;
}

function applyValue(draft: Draft, name: string, value: string, utcOffset: number): string | undefined {
  const apply = values.get(name);
  if (apply !== undefined) return apply(draft, value, utcOffset);
  const isSwitch = ['restrict', 'cert-authority'].includes(name) || switches.has(name.replace(/^no-/, ''));
  return notUsable(name, isSwitch ? 'takes no value' : undefined);
}

function notUsable(name: string, misuse: string | undefined): string {
  if (misuse !== undefined) return `The option '${name}' ${misuse}`;
  const what = unsupported.get(name);
  if (what !== undefined) return `The option '${name}' is about ${what}, which puressh does not support`;
  return `Unknown option '${printable(name, 60)}'`;
}

type Apply = (draft: Draft, value: string, utcOffset: number) => string | undefined;

const values: ReadonlyMap<string, Apply> = new Map<string, Apply>([
  [
    'command',
    (draft, value) => {
      if (draft.command !== undefined) return "More than one option 'command'";
      draft.command = value;
      return undefined;
    },
  ],
  [
    'from',
    (draft, value) => {
      if (draft.from !== undefined) return "More than one option 'from'";
      const patterns = parseFromList(value);
      if (typeof patterns === 'string') return `In the option 'from' ${patterns}`;
      draft.from = patterns;
      return undefined;
    },
  ],
  [
    'expiry-time',
    (draft, value, utcOffset) => {
      const time = parseExpiryTime(value, utcOffset);
      if (time === undefined) {
        return `'${printable(value, 60)}' is no expiry-time: YYYYMMDD or YYYYMMDDHHMM[SS], with a Z for UTC`;
      }
      draft.expiryTime = Math.min(time, draft.expiryTime ?? time);
      return undefined;
    },
  ],
  [
    'environment',
    (draft, value) => {
      const [, name, content] = /^([A-Za-z0-9_]+)=(.*)$/s.exec(value) ?? [];
      if (name === undefined || content === undefined) {
        return `'${printable(value, 60)}' is no environment: NAME=value with a name of letters, digits and _`;
      }
      if (!draft.environment.has(name)) draft.environment.set(name, content);
      return undefined;
    },
  ],
  [
    'principals',
    (draft, value) => {
      if (draft.principals !== undefined) return "More than one option 'principals'";
      draft.principals = value.split(',').filter((name) => name !== '');
      return undefined;
    },
  ],
  ['permitopen', (draft, value) => addPermit(draft, 'permitOpen', value)],
  ['permitlisten', (draft, value) => addPermit(draft, 'permitListen', value)],
]);

function addPermit(draft: Draft, list: 'permitOpen' | 'permitListen', value: string): string | undefined {
  const permit = parseForwardPermit(value, list === 'permitListen');
  if (typeof permit === 'string') return permit;
  draft[list] = draft[list] ?? [];
  draft[list].push(permit);
  return undefined;
}
