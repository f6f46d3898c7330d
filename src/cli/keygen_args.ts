/** What a command line asks `keygen` for. Arguments in, one plain value or an error out: reads no file, opens nothing. */

import { printable } from '../bytes/text.ts';
import type { KeyRequest } from '../keys/generate.ts';
import { bad, cryptoOf, filled, oneOf, type Values, whole } from './arg_values.ts';
import { parseValidity, type Validity } from './keygen/validity.ts';

/** Where passphrases come from: a person, the first lines of standard input, or nowhere: none is wanted. */
export type PassphraseChoice = 'terminal' | 'stdin' | 'none';

export type PrivateFormat = 'openssh' | 'pkcs8' | 'ppk';
export type PublicFormat = 'openssh' | 'rfc4716' | 'pkcs8';

/** What to certify, beside the keys. */
export interface CertifyChoice {
  readonly kind: 'user' | 'host';
  readonly keyId: string;
  readonly principals: readonly string[];
  readonly serial: bigint;
  readonly validity: Validity;
  /** As `ssh-keygen -O` has them: `force-command=x`, `no-pty`, `clear` and so on. */
  readonly options: readonly string[];
}

export type KeygenAction =
  | {
      readonly action: 'make';
      readonly request: KeyRequest;
      readonly comment: string | undefined;
      readonly format: PrivateFormat;
      readonly file: string;
    }
  | {
      readonly action: 'convert';
      readonly format: PrivateFormat;
      readonly comment: string | undefined;
      readonly file: string;
      readonly output: string;
    }
  | { readonly action: 'passphrase'; readonly file: string }
  | { readonly action: 'public'; readonly format: PublicFormat; readonly file: string; readonly output: string }
  | { readonly action: 'fingerprint'; readonly hash: 'sha256' | 'md5'; readonly files: readonly string[] }
  | { readonly action: 'show'; readonly files: readonly string[] }
  | {
      readonly action: 'sign';
      readonly authority: string;
      readonly files: readonly string[];
      readonly certify: CertifyChoice;
    };

export type KeygenCommand = {
  readonly name: 'keygen';
  readonly passphrase: PassphraseChoice;
  readonly force: boolean;
  readonly crypto: 'pure' | 'auto';
} & KeygenAction;

export const keygenOptions = {
  type: { type: 'string', short: 't' },
  bits: { type: 'string', short: 'b' },
  comment: { type: 'string', short: 'C' },
  format: { type: 'string', short: 'm' },
  output: { type: 'string' },
  hash: { type: 'string', short: 'E' },
  ca: { type: 'string' },
  id: { type: 'string', short: 'I' },
  host: { type: 'boolean' },
  principals: { type: 'string', short: 'n' },
  serial: { type: 'string' },
  valid: { type: 'string' },
  option: { type: 'string', short: 'O', multiple: true },
  force: { type: 'boolean' },
  'passphrase-stdin': { type: 'boolean' },
  'no-passphrase': { type: 'boolean' },
  crypto: { type: 'string' },
} as const;

/** The options of each action beside those of all. */
const optionsOf = {
  make: ['type', 'bits', 'comment', 'format', 'no-passphrase'],
  convert: ['format', 'comment', 'output', 'no-passphrase'],
  passphrase: [],
  public: ['format', 'output'],
  fingerprint: ['hash'],
  show: [],
  sign: ['ca', 'id', 'host', 'principals', 'serial', 'valid', 'option'],
} as const satisfies Readonly<Record<KeygenAction['action'], readonly (keyof typeof keygenOptions)[]>>;

const COMMON: readonly string[] = ['force', 'passphrase-stdin', 'crypto'];
const ACTIONS = Object.keys(optionsOf) as readonly KeygenAction['action'][];
const PRIVATE_FORMATS = ['openssh', 'pkcs8', 'ppk'] as const;
const PUBLIC_FORMATS = ['openssh', 'rfc4716', 'pkcs8'] as const;

/** Throws `bad-argument` with what to write instead. */
export function keygenCommand(values: Values, positionals: readonly string[]): KeygenCommand {
  const [word, ...files] = positionals;
  const action = ACTIONS.find((each) => each === word);
  if (action === undefined) {
    const found = word === undefined ? 'Something is missing' : `keygen has no action ${printable(word)}`;
    throw bad(`${found}: write puressh keygen ${ACTIONS.slice(0, -1).join(', ')} or ${ACTIONS.at(-1)}, then a file`);
  }
  const own: readonly string[] = optionsOf[action];
  const stray = Object.keys(values).find((name) => !own.includes(name) && !COMMON.includes(name));
  if (stray !== undefined) throw bad(`--${stray} is no option of keygen ${action}: see puressh keygen --help`);
  if (files.length === 0 || files.includes('')) throw bad(`A file is missing: write puressh keygen ${action} FILE`);
  return {
    name: 'keygen',
    passphrase: passphraseChoice(values),
    force: values.force === true,
    crypto: cryptoOf(values),
    ...actionOf(action, values, files as [string, ...string[]]),
  };
}

function passphraseChoice(values: Values): PassphraseChoice {
  const stdin = values['passphrase-stdin'] === true;
  const none = values['no-passphrase'] === true;
  if (stdin && none) throw bad('--passphrase-stdin and --no-passphrase contradict each other: give one');
  return stdin ? 'stdin' : none ? 'none' : 'terminal';
}

function actionOf(action: KeygenAction['action'], values: Values, files: readonly [string, ...string[]]): KeygenAction {
  const format = <T extends string>(words: readonly T[]): T => oneOf('--format', values.format ?? words[0], words);
  const comment = values.comment as string | undefined;
  switch (action) {
    case 'make':
      return {
        action,
        request: requestOf(values),
        comment,
        format: format(PRIVATE_FORMATS),
        file: only(action, files),
      };
    case 'convert': {
      const output = filled(values, 'output', 'the path of the new file, or - for standard output');
      if (output === undefined) throw bad('keygen convert needs --output: the path of the new file, or -');
      return { action, format: format(PRIVATE_FORMATS), comment, file: only(action, files), output };
    }
    case 'passphrase':
      return { action, file: only(action, files) };
    case 'public': {
      const output = filled(values, 'output', 'the path of the new file, or - for standard output') ?? '-';
      return { action, format: format(PUBLIC_FORMATS), file: only(action, files), output };
    }
    case 'fingerprint':
      return { action, hash: oneOf('--hash', values.hash ?? 'sha256', ['sha256', 'md5']), files };
    case 'show':
      return { action, files };
    case 'sign':
      return { action, files, ...signChoice(values) };
  }
}

function only(action: string, [file, more]: readonly [string, ...string[]]): string {
  if (more === undefined) return file;
  throw bad(`One argument too many, ${printable(more)}: keygen ${action} takes one file`);
}

function requestOf(values: Values): KeyRequest {
  const type = oneOf('--type', values.type ?? 'ed25519', ['ed25519', 'ecdsa', 'rsa']);
  if (values.bits === undefined) return { type };
  switch (type) {
    case 'ed25519':
      throw bad('--bits is for ecdsa and rsa: an Ed25519 key has one size');
    case 'ecdsa':
      return { type, bits: Number(oneOf('--bits', values.bits, ['256', '384', '521'])) as 256 | 384 | 521 };
    case 'rsa':
      return { type, bits: whole('--bits', values.bits, 2048, 16384) };
  }
}

const MAX_SERIAL = 0xffffffffffffffffn;

function signChoice(values: Values): { readonly authority: string; readonly certify: CertifyChoice } {
  const authority = filled(values, 'ca', 'the path of the private key of the authority');
  if (authority === undefined) throw bad('keygen sign needs --ca: the private key of the authority');
  const keyId = filled(values, 'id', 'a name for the certificate, as logs show it');
  if (keyId === undefined) throw bad('keygen sign needs --id: a name for the certificate, as logs show it');
  const serial = String(values.serial ?? '0');
  if (!/^\d{1,20}$/.test(serial) || BigInt(serial) > MAX_SERIAL) {
    throw bad(`--serial takes a whole number below 2^64, not '${printable(serial)}'`);
  }
  const principals = filled(values, 'principals', 'names with commas between')?.split(',') ?? [];
  if (principals.includes('')) throw bad('--principals is a list of names with commas between');
  const certify: CertifyChoice = {
    kind: values.host === true ? 'host' : 'user',
    keyId,
    principals,
    serial: BigInt(serial),
    validity: parseValidity(filled(values, 'valid', 'an interval') ?? 'always:forever'),
    options: (values.option ?? []) as readonly string[],
  };
  return { authority, certify };
}
