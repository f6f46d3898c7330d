/** How a server is reached, as the command line says it. Reads no file, opens nothing. */

import { printable } from '../bytes/text.ts';
import { MAX_WINDOW } from '../core/window.ts';
import { bad, byteCount, cryptoOf, filled, seconds, type Values, whole } from './arg_values.ts';

/** Whom to trust. `file` is absent for the user's own known_hosts; `config`: whom the configuration says. */
export type TrustChoice =
  | { readonly kind: 'config' }
  | { readonly kind: 'known-hosts'; readonly file?: string; readonly acceptNew: boolean }
  | { readonly kind: 'pin'; readonly fingerprints: readonly string[] }
  | { readonly kind: 'insecure-accept-any' };

/** Names of algorithms to offer instead of the defaults, in order of preference, or text such as `+a,b`. */
export interface AlgorithmChoice {
  readonly kex?: readonly string[] | string;
  readonly hostKey?: readonly string[] | string;
  readonly cipher?: readonly string[] | string;
  readonly mac?: readonly string[] | string;
}

/** How to reach a server and log in. */
export interface ConnectionChoice {
  /** Absent: what the configuration says, or else 22. */
  readonly port?: number;
  /** The configuration file in place of the usual ones; `none`: no file. */
  readonly config?: string;
  /** Lines of configuration that come before any file. */
  readonly configLines: readonly string[];
  /** Whether to compress; otherwise as the configuration says. */
  readonly compress: boolean;
  /** Whether commands of `Match exec` may be run. */
  readonly matchExec: boolean;
  /** Paths of private keys; empty: the user's own. */
  readonly identities: readonly string[];
  readonly passwordStdin: boolean;
  readonly trust: TrustChoice;
  readonly crypto: 'pure' | 'auto';
  readonly algorithms: AlgorithmChoice;
  /** Whether what is weak is offered, too, behind everything else. */
  readonly legacy: boolean;
  /** Milliseconds; absent: the library's own. */
  readonly timeout?: number;
  /** Receive window of a channel at first, and the most that it grows to, in bytes; absent: the library's own. */
  readonly window?: number;
  readonly maxWindow?: number;
}

export const connectionOptions = {
  port: { type: 'string', short: 'P' },
  identity: { type: 'string', short: 'i', multiple: true },
  config: { type: 'string', short: 'F' },
  option: { type: 'string', short: 'o', multiple: true },
  compress: { type: 'boolean', short: 'C' },
  'match-exec': { type: 'boolean' },
  'password-stdin': { type: 'boolean' },
  'known-hosts': { type: 'string' },
  'accept-new': { type: 'boolean' },
  pin: { type: 'string', multiple: true },
  'insecure-accept-any': { type: 'boolean' },
  crypto: { type: 'string' },
  cipher: { type: 'string' },
  kex: { type: 'string' },
  mac: { type: 'string' },
  legacy: { type: 'boolean' },
  'host-key': { type: 'string' },
  timeout: { type: 'string' },
} as const;

/** A packet of the largest usual size fits; a window below that stands still. */
const MIN_WINDOW = 32768;

/** Throws `bad-argument`. */
export function connectionChoice(values: Values): ConnectionChoice {
  const timeout = values.timeout === undefined ? undefined : seconds('--timeout', values.timeout);
  return {
    ...(values.port === undefined ? {} : { port: whole('-P', values.port, 1, 65535) }),
    ...configChoice(values),
    identities: (values.identity ?? []) as readonly string[],
    compress: values.compress === true,
    passwordStdin: values['password-stdin'] === true,
    trust: trustChoice(values),
    crypto: cryptoOf(values),
    algorithms: {
      ...names(values, 'kex', 'kex'),
      ...names(values, 'host-key', 'hostKey'),
      ...names(values, 'cipher', 'cipher'),
      ...names(values, 'mac', 'mac'),
    },
    legacy: values.legacy === true,
    ...(timeout === undefined ? {} : { timeout }),
    ...windowChoice(values),
  };
}

function windowChoice(values: Values): Pick<ConnectionChoice, 'window' | 'maxWindow'> {
  const { window: first, 'max-window': most } = values;
  const window = first === undefined ? undefined : byteCount('--window', first, MIN_WINDOW, MAX_WINDOW);
  const maxWindow = most === undefined ? undefined : byteCount('--max-window', most, MIN_WINDOW, MAX_WINDOW);
  if (window !== undefined && maxWindow !== undefined && maxWindow < window) {
    throw bad(`--max-window ${String(most)} is less than --window ${String(first)}: a window only grows`);
  }
  return { ...(window === undefined ? {} : { window }), ...(maxWindow === undefined ? {} : { maxWindow }) };
}

function configChoice(values: Values): Pick<ConnectionChoice, 'config' | 'configLines' | 'matchExec'> {
  const config = filled(values, 'config', 'the path of a file, or none');
  const configLines = (values.option ?? []) as readonly string[];
  for (const line of configLines) {
    // the words as ssh has them; what they mean is told when the configuration is read
    if (!/^\s*[A-Za-z0-9]+[\s=]+\S/.test(line)) throw bad(`-o takes Keyword=value, not '${printable(line)}'`);
  }
  return { ...(config === undefined ? {} : { config }), configLines, matchExec: values['match-exec'] === true };
}

function trustChoice(values: Values): TrustChoice {
  const file = values['known-hosts'] as string | undefined;
  const pins = (values.pin ?? []) as readonly string[];
  const any = values['insecure-accept-any'] === true;
  const acceptNew = values['accept-new'] === true;
  const given = [
    ...(file !== undefined || acceptNew ? [file !== undefined ? '--known-hosts' : '--accept-new'] : []),
    ...(pins.length > 0 ? ['--pin'] : []),
    ...(any ? ['--insecure-accept-any'] : []),
  ];
  if (given.length > 1) throw bad(`${given.join(' and ')} contradict each other: give one`);
  if (file === '') throw bad('--known-hosts needs the path of a file');
  if (any) return { kind: 'insecure-accept-any' };
  if (pins.length > 0) return { kind: 'pin', fingerprints: pins };
  if (file === undefined && !acceptNew) return { kind: 'config' };
  return { kind: 'known-hosts', acceptNew, ...(file === undefined ? {} : { file }) };
}

function names(values: Values, option: string, key: keyof AlgorithmChoice): AlgorithmChoice {
  const text = values[option] as string | undefined;
  if (text === undefined) return {};
  if (/^[-+^]./.test(text)) return { [key]: text };
  const list = text.split(',').map((name) => name.trim());
  if (list.includes('')) throw bad(`--${option} is a list of names with commas between, not '${printable(text)}'`);
  return { [key]: list };
}
