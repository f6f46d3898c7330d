/** What a command line asks `serve` for. Arguments in, one plain value or an error out: reads no file, opens nothing. */

import { printable } from '../bytes/text.ts';
import { bad, cryptoOf, filled, type Values, whole } from './arg_values.ts';

/** This machine only: whoever wants more says so. */
const DEFAULT_HOST = '127.0.0.1';
/** Not 22, which needs rights and is taken on many machines. */
const DEFAULT_PORT = 2022;

export interface ServeCommand {
  readonly name: 'serve';
  /** An address of this machine, or a name of one. */
  readonly host: string;
  /** 0: any port that is free. */
  readonly port: number;
  /** The directory to serve; absent: files in memory. */
  readonly root?: string;
  readonly readOnly: boolean;
  /** Who may log in; absent: whoever runs this. */
  readonly username?: string;
  readonly password?: string;
  readonly passwordStdin: boolean;
  /** Path of an authorized_keys file. */
  readonly authorizedKeys?: string;
  /** Paths of private keys; empty: a new key for this run. */
  readonly hostKeys: readonly string[];
  readonly crypto: 'pure' | 'auto';
  readonly json: boolean;
  readonly quiet: boolean;
}

export const serveOptions = {
  host: { type: 'string' },
  port: { type: 'string', short: 'P' },
  root: { type: 'string' },
  memory: { type: 'boolean' },
  'read-only': { type: 'boolean' },
  user: { type: 'string' },
  password: { type: 'string' },
  'password-stdin': { type: 'boolean' },
  'authorized-keys': { type: 'string' },
  'host-key': { type: 'string', multiple: true },
  crypto: { type: 'string' },
  json: { type: 'boolean' },
  quiet: { type: 'boolean', short: 'q' },
} as const;

/** Throws `bad-argument` with what to write instead. */
export function serveCommand(values: Values, positionals: readonly string[]): ServeCommand {
  const [extra] = positionals;
  if (extra !== undefined) {
    throw bad(`One argument too many, ${printable(extra)}: write puressh serve --root DIR to serve a directory`);
  }
  const hostKeys = (values['host-key'] ?? []) as readonly string[];
  if (hostKeys.includes('')) throw bad('--host-key needs the path of a private key');
  return {
    name: 'serve',
    host: filled(values, 'host', 'an address of this machine; 0.0.0.0 or :: is every one') ?? DEFAULT_HOST,
    port: values.port === undefined ? DEFAULT_PORT : whole('-P', values.port, 0, 65535),
    ...filesOf(values),
    ...admissionOf(values),
    hostKeys,
    crypto: cryptoOf(values),
    json: values.json === true,
    quiet: values.quiet === true,
  };
}

function filesOf(values: Values): Pick<ServeCommand, 'root' | 'readOnly'> {
  const root = filled(values, 'root', 'the path of a directory');
  const readOnly = values['read-only'] === true;
  if (root !== undefined && values.memory) throw bad('--root and --memory contradict each other: give one');
  if (root === undefined && readOnly) {
    throw bad('--read-only without --root leaves nothing to read: files in memory are none at the start');
  }
  return { ...(root === undefined ? {} : { root }), readOnly };
}

type Admission = Pick<ServeCommand, 'username' | 'password' | 'passwordStdin' | 'authorizedKeys'>;

function admissionOf(values: Values): Admission {
  const username = filled(values, 'user', 'a name');
  if (username !== undefined && !isUserName(username)) {
    throw bad(`--user takes a name as it can stand before @ in user@host, not '${printable(username)}'`);
  }
  const password = filled(values, 'password', 'a password that is not empty');
  const passwordStdin = values['password-stdin'] === true;
  if (password !== undefined && passwordStdin) {
    throw bad('--password and --password-stdin contradict each other: give one');
  }
  const authorizedKeys = filled(values, 'authorized-keys', 'the path of a file');
  return {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    passwordStdin,
    ...(authorizedKeys === undefined ? {} : { authorizedKeys }),
  };
}

/** Whether a client can be told the name: `ssh` and `sftp` take it for something else where it looks like that. */
export function isUserName(name: string): boolean {
  return /^[^-\s:/][^\s:/]*$/.test(name) && name === printable(name);
}
