/** What a command line asks `keyscan` for. Arguments in, one plain value or an error out: reads no file, opens nothing. */

import { printable } from '../bytes/text.ts';
import { SSH_PORT } from '../wire/numbers.ts';
import { bad, cryptoOf, seconds, type Values, whole } from './arg_values.ts';
import { parseHost } from './target.ts';

/** Kinds of host keys, as `ssh-keyscan -t` names them. */
export type KeyKind = 'ed25519' | 'ecdsa' | 'rsa';

/** Their algorithms. */
export const KEY_KINDS: Readonly<Record<KeyKind, readonly string[]>> = {
  ed25519: ['ssh-ed25519'],
  ecdsa: ['ecdsa-sha2-nistp256', 'ecdsa-sha2-nistp384', 'ecdsa-sha2-nistp521'],
  rsa: ['rsa-sha2-512', 'rsa-sha2-256', 'ssh-rsa'],
};

export interface KeyscanCommand {
  readonly name: 'keyscan';
  readonly hosts: readonly string[];
  readonly port: number;
  readonly kinds: readonly KeyKind[];
  readonly certificates: boolean;
  readonly hash: boolean;
  /** Milliseconds for each connection. */
  readonly timeout: number;
  readonly crypto: 'pure' | 'auto';
}

export const keyscanOptions = {
  port: { type: 'string', short: 'p' },
  type: { type: 'string', short: 't' },
  certificates: { type: 'boolean', short: 'c' },
  hash: { type: 'boolean', short: 'H' },
  timeout: { type: 'string', short: 'T' },
  crypto: { type: 'string' },
} as const;

/** As `ssh-keyscan`. */
const DEFAULT_TIMEOUT = 5000;

/** Throws `bad-argument` with what to write instead. */
export function keyscanCommand(values: Values, positionals: readonly string[]): KeyscanCommand {
  if (positionals.length === 0) throw bad('Something is missing: write puressh keyscan host ...');
  const hosts = positionals.map((each) => {
    const { host, username } = parseHost(each);
    if (username !== undefined) throw bad(`${printable(each)} names a user: keyscan logs nobody in`);
    return host;
  });
  return {
    name: 'keyscan',
    hosts,
    port: values.port === undefined ? SSH_PORT : whole('-p', values.port, 1, 65535),
    kinds: kindsOf(values.type as string | undefined),
    certificates: values.certificates === true,
    hash: values.hash === true,
    timeout: values.timeout === undefined ? DEFAULT_TIMEOUT : seconds('--timeout', values.timeout),
    crypto: cryptoOf(values),
  };
}

function kindsOf(text: string | undefined): readonly KeyKind[] {
  const known = Object.keys(KEY_KINDS) as KeyKind[];
  if (text === undefined) return known;
  return text.split(',').map((name) => {
    const kind = known.find((each) => each === name);
    if (kind === undefined) throw bad(`-t takes ${known.join(', ')} with commas between, not '${printable(name)}'`);
    return kind;
  });
}
