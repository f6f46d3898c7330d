/**
 * What the command line asks for. Arguments in, one plain value or an error out: reads no file, opens nothing.
 */

import { parseArgs } from 'node:util';
import { printable } from '../bytes/text.ts';
import { SSH_PORT } from '../wire/numbers.ts';
import { bad, cryptoOf, seconds, type Values, whole } from './arg_values.ts';
import { type ServeCommand, serveCommand, serveOptions } from './serve_args.ts';
import { type HostTarget, parseHost, parseRemote, type RemoteTarget } from './target.ts';

export type CommandName = 'get' | 'put' | 'ls' | 'run' | 'serve';

/** Whom to trust. `file` is absent for the user's own known_hosts. */
export type TrustChoice =
  | { readonly kind: 'known-hosts'; readonly file?: string; readonly acceptNew: boolean }
  | { readonly kind: 'pin'; readonly fingerprints: readonly string[] }
  | { readonly kind: 'insecure-accept-any' };

/** Names of algorithms to offer instead of the defaults, in order of preference. */
export interface AlgorithmChoice {
  readonly kex?: readonly string[];
  readonly hostKey?: readonly string[];
  readonly cipher?: readonly string[];
  readonly mac?: readonly string[];
}

/** How to reach a server and log in. */
export interface ConnectionChoice {
  readonly port: number;
  /** Paths of private keys; empty: the user's own. */
  readonly identities: readonly string[];
  readonly passwordStdin: boolean;
  readonly trust: TrustChoice;
  readonly crypto: 'pure' | 'auto';
  readonly algorithms: AlgorithmChoice;
  /** Milliseconds; absent: the library's own. */
  readonly timeout?: number;
}

/** What `get` and `put` share. */
export interface TransferChoice {
  /** Absent: the library's own. */
  readonly requests?: number;
  readonly json: boolean;
  readonly quiet: boolean;
}

interface Reaching {
  readonly connection: ConnectionChoice;
}

export type GetCommand = {
  readonly name: 'get';
  readonly remote: RemoteTarget;
  readonly local?: string;
  readonly trustEof: boolean;
} & Reaching &
  TransferChoice;
export type PutCommand = {
  readonly name: 'put';
  readonly local: string;
  readonly remote: RemoteTarget;
  readonly inPlace: boolean;
} & Reaching &
  TransferChoice;
export type LsCommand = {
  readonly name: 'ls';
  readonly remote: RemoteTarget;
  readonly long: boolean;
  readonly json: boolean;
} & Reaching;
export type RunCommand = {
  readonly name: 'run';
  readonly target: HostTarget;
  readonly commandLine: string;
  readonly noStdin: boolean;
  readonly json: boolean;
} & Reaching;

/** Everything a command line can ask for. */
export type Command =
  | { readonly name: 'help'; readonly topic: CommandName | '' }
  | { readonly name: 'version' }
  | GetCommand
  | PutCommand
  | LsCommand
  | RunCommand
  | ServeCommand;

const general = { help: { type: 'boolean', short: 'h' }, version: { type: 'boolean', short: 'V' } } as const;

const connection = {
  port: { type: 'string', short: 'P' },
  identity: { type: 'string', short: 'i', multiple: true },
  'password-stdin': { type: 'boolean' },
  'known-hosts': { type: 'string' },
  'accept-new': { type: 'boolean' },
  pin: { type: 'string', multiple: true },
  'insecure-accept-any': { type: 'boolean' },
  crypto: { type: 'string' },
  cipher: { type: 'string' },
  kex: { type: 'string' },
  mac: { type: 'string' },
  'host-key': { type: 'string' },
  timeout: { type: 'string' },
} as const;

const transfer = {
  requests: { type: 'string', short: 'R' },
  json: { type: 'boolean' },
  quiet: { type: 'boolean', short: 'q' },
} as const;

const optionsOf = {
  get: { ...general, ...connection, ...transfer, 'trust-eof': { type: 'boolean' } },
  put: { ...general, ...connection, ...transfer, 'in-place': { type: 'boolean' } },
  ls: { ...general, ...connection, json: { type: 'boolean' }, long: { type: 'boolean', short: 'l' } },
  run: { ...general, ...connection, json: { type: 'boolean' }, 'no-stdin': { type: 'boolean', short: 'n' } },
  serve: { ...general, ...serveOptions },
} as const;

/** What the arguments after the program's name ask for. Throws `bad-argument` with what to write instead. */
export function parseCommand(argv: readonly string[]): Command {
  const at = argv.findIndex((each) => !each.startsWith('-'));
  const name = at < 0 ? undefined : (argv[at] as string);
  const before = argv.slice(0, at < 0 ? argv.length : at);
  if (before.some((each) => each === '--help' || each === '-h')) return { name: 'help', topic: '' };
  if (before.some((each) => each === '--version' || each === '-V')) return { name: 'version' };
  if (before[0] !== undefined) {
    throw bad(`${printable(before[0])} stands before a command: write puressh get, put, ls, run or serve first`);
  }
  if (name === 'help') return { name: 'help', topic: isCommand(argv[at + 1]) ? (argv[at + 1] as CommandName) : '' };
  if (name === undefined) throw bad('No command given: write puressh get, put, ls, run or serve');
  if (!isCommand(name)) throw bad(`There is no command ${printable(name)}: write puressh get, put, ls, run or serve`);
  const rest = argv.slice(at + 1);
  const own = name === 'run' ? upToHost(rest) : rest.length;
  const { values, positionals } = parse(name, rest.slice(0, own));
  if (values.help) return { name: 'help', topic: name };
  if (values.version) return { name: 'version' };
  return commands[name](values, [...positionals, ...rest.slice(own)]);
}

function isCommand(name: string | undefined): name is CommandName {
  return name !== undefined && Object.hasOwn(optionsOf, name);
}

/** How many arguments of `run` are its own: those up to the host. What follows is the command's, options too. */
function upToHost(args: readonly string[]): number {
  const { tokens } = parseArgs({
    args: [...args],
    options: optionsOf.run,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const host = tokens.find((token) => token.kind === 'positional');
  return host === undefined ? args.length : host.index + 1;
}

function parse(name: CommandName, args: readonly string[]): { values: Values; positionals: string[] } {
  try {
    const parsed = parseArgs({ args: [...args], options: optionsOf[name], allowPositionals: true });
    return { values: parsed.values as Values, positionals: parsed.positionals };
  } catch (error) {
    // Node's own message goes on with advice about `--`; the first sentence says what is wrong.
    const [sentence] = (error as Error).message.split(/\.(?:\s|$)/, 1) as [string];
    throw bad(`${printable(sentence.replaceAll('\n', ' '))}: see puressh ${name} --help`);
  }
}

const commands: Readonly<Record<CommandName, (values: Values, positionals: readonly string[]) => Command>> = {
  get(values, positionals) {
    const form = '[user@]host:path [local]';
    const [remote, local] = expect('get', form, positionals, 1, 2) as [string, string | undefined];
    const target = parseRemote(remote);
    if (target.path === '') throw bad(`${printable(remote)} names no file after the colon`);
    if (local === '') throw bad('The local path is empty');
    if (local === '-' && values.json) throw bad('- and --json both want standard output: give one');
    return {
      name: 'get',
      remote: target,
      ...(local === undefined ? {} : { local }),
      trustEof: values['trust-eof'] === true,
      ...transferChoice(values),
      connection: connectionChoice(values),
    };
  },
  put(values, positionals) {
    const [local, remote] = expect('put', 'local [user@]host:path', positionals, 2, 2) as [string, string];
    if (local === '') throw bad('The local path is empty');
    const target = parseRemote(remote);
    if (local === '-' && (target.path === '' || target.path.endsWith('/'))) {
      throw bad(`Standard input has no name of its own: write one after ${printable(remote)}`);
    }
    if (local === '-' && values['password-stdin']) {
      throw bad('- and --password-stdin both read standard input: give one');
    }
    const choice = { inPlace: values['in-place'] === true, ...transferChoice(values) };
    return { name: 'put', local, remote: target, ...choice, connection: connectionChoice(values) };
  },
  ls(values, positionals) {
    const [remote] = expect('ls', '[user@]host:[path]', positionals, 1, 1) as [string];
    const choice = { long: values.long === true, json: values.json === true };
    return { name: 'ls', remote: parseRemote(remote), ...choice, connection: connectionChoice(values) };
  },
  run(values, positionals) {
    const [host, ...words] = expect('run', '[user@]host command ...', positionals, 2, Infinity) as [string];
    const choice = { noStdin: values['no-stdin'] === true, json: values.json === true };
    // As ssh does: the server's shell splits the text again.
    const commandLine = words.join(' ');
    return { name: 'run', target: parseHost(host), commandLine, ...choice, connection: connectionChoice(values) };
  },
  serve: serveCommand,
};

function expect(
  name: CommandName,
  form: string,
  positionals: readonly string[],
  least: number,
  most: number,
): readonly string[] {
  if (positionals.length > most)
    throw bad(`One argument too many, ${printable(positionals[most] as string)}: write puressh ${name} ${form}`);
  if (positionals.length < least) throw bad(`Something is missing: write puressh ${name} ${form}`);
  return positionals;
}

function transferChoice(values: Values): TransferChoice {
  const requests = values.requests === undefined ? undefined : whole('-R', values.requests, 1, MAX_REQUESTS);
  const choice = { json: values.json === true, quiet: values.quiet === true };
  return requests === undefined ? choice : { ...choice, requests };
}

/** More reads than this cannot be pending anywhere; it catches a slip of the finger. */
const MAX_REQUESTS = 65536;

function connectionChoice(values: Values): ConnectionChoice {
  const timeout = values.timeout === undefined ? undefined : seconds('--timeout', values.timeout);
  return {
    port: values.port === undefined ? SSH_PORT : whole('-P', values.port, 1, 65535),
    identities: (values.identity ?? []) as readonly string[],
    passwordStdin: values['password-stdin'] === true,
    trust: trustChoice(values),
    crypto: cryptoOf(values),
    algorithms: {
      ...names(values, 'kex', 'kex'),
      ...names(values, 'host-key', 'hostKey'),
      ...names(values, 'cipher', 'cipher'),
      ...names(values, 'mac', 'mac'),
    },
    ...(timeout === undefined ? {} : { timeout }),
  };
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
  return { kind: 'known-hosts', acceptNew, ...(file === undefined ? {} : { file }) };
}

function names(values: Values, option: string, key: keyof AlgorithmChoice): AlgorithmChoice {
  const text = values[option] as string | undefined;
  if (text === undefined) return {};
  const list = text.split(',').map((name) => name.trim());
  if (list.includes('')) throw bad(`--${option} is a list of names with commas between, not '${printable(text)}'`);
  return { [key]: list };
}
