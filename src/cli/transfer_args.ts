/** What a command line asks `get` and `put` for. Reads no file, opens nothing. */

import { printable } from '../bytes/text.ts';
import { bad, byteCount, oneOf, type Values, whole } from './arg_values.ts';
import { type ConnectionChoice, connectionChoice } from './connection_args.ts';
import { parseRemote, type RemoteTarget } from './target.ts';

const VERIFY = ['size', 'hash', 'content'] as const;
const SYMLINKS = ['skip', 'follow', 'copy'] as const;
const OVERWRITE = ['always', 'never', 'newer', 'different'] as const;

/** How content is moved. What is absent is left to the library. */
export interface MoveChoice {
  /** READs or WRITEs pending at once. */
  readonly requests?: number;
  /** Bytes a request. */
  readonly requestSize?: number;
  /** Channels that one upload may spread over. */
  readonly lanes?: number;
  readonly verify?: (typeof VERIFY)[number];
  /** Directories with all that is in them. */
  readonly recursive: boolean;
  /** Whether permissions and times are kept. */
  readonly preserve: boolean;
  /** Whether to go on where an earlier transfer ended: one of ours, or with `target` any file that is there. */
  readonly resume: boolean | 'target';
  /** Whether blocks of zeros take no room. */
  readonly sparse: boolean;
  /** What becomes of files that are there. */
  readonly overwrite: (typeof OVERWRITE)[number];
  /** What becomes of symbolic links in directories. */
  readonly symlinks: (typeof SYMLINKS)[number];
  /** Patterns of what stays behind. */
  readonly exclude: readonly string[];
}

/** What `get` and `put` share. */
export interface TransferChoice {
  readonly move: MoveChoice;
  readonly json: boolean;
  readonly quiet: boolean;
  readonly connection: ConnectionChoice;
}

export type GetCommand = {
  readonly name: 'get';
  /** Never empty; all on one server. */
  readonly remotes: readonly RemoteTarget[];
  readonly local?: string;
  readonly trustEof: boolean;
} & TransferChoice;

export type PutCommand = {
  readonly name: 'put';
  /** Never empty; `-` is standard input, and stands alone. */
  readonly locals: readonly string[];
  readonly remote: RemoteTarget;
  readonly inPlace: boolean;
  readonly append: boolean;
} & TransferChoice;

/** What `get` and `put` have beside the options of a connection. */
export const transferOptions = {
  window: { type: 'string' },
  'max-window': { type: 'string' },
  recursive: { type: 'boolean', short: 'r' },
  preserve: { type: 'boolean', short: 'p' },
  resume: { type: 'boolean' },
  'resume-target': { type: 'boolean' },
  sparse: { type: 'boolean' },
  overwrite: { type: 'string' },
  exclude: { type: 'string', multiple: true },
  symlinks: { type: 'string' },
  verify: { type: 'string' },
  requests: { type: 'string', short: 'R' },
  'request-size': { type: 'string' },
  json: { type: 'boolean' },
  quiet: { type: 'boolean', short: 'q' },
} as const;

export const getOptions = { 'trust-eof': { type: 'boolean' } } as const;

export const putOptions = {
  lanes: { type: 'string' },
  'in-place': { type: 'boolean' },
  append: { type: 'boolean' },
} as const;

const GET_FORM = 'puressh get [user@]host:path ... [local]';
const PUT_FORM = 'puressh put local ... [user@]host:path';

/** Throws `bad-argument` with what to write instead. */
export function getCommand(values: Values, positionals: readonly string[]): GetCommand {
  if (positionals.length === 0) throw bad(`Something is missing: write ${GET_FORM}`);
  const local = positionals.length > 1 ? (positionals.at(-1) as string) : undefined;
  const written = local === undefined ? positionals : positionals.slice(0, -1);
  if (local !== undefined && looksRemote(local, written)) {
    throw bad(
      `The last argument is the local path, and ${printable(local)} looks remote: end with . or ./${printable(local)}`,
    );
  }
  const remotes = written.map((text) => remoteSource(text));
  const [first] = remotes as [RemoteTarget];
  for (const [at, { username, host }] of remotes.entries()) {
    if (username === first.username && host === first.host) continue;
    throw bad(`${printable(written[at] as string)} is on another server than ${printable(written[0] as string)}`);
  }
  const choice = transferChoice(values);
  if (local === '') throw bad('The local path is empty');
  if (local === '-') {
    if (choice.json) throw bad('- and --json both want standard output: give one');
    if (remotes.length > 1) throw bad('Standard output takes one file: give one path, or a directory in place of -');
    refuseWithStream(values, 'Standard output');
  }
  return {
    name: 'get',
    remotes,
    ...(local === undefined ? {} : { local }),
    trustEof: values['trust-eof'] === true,
    ...choice,
  };
}

/** Whether it begins as one of the others does, with the same server. */
function looksRemote(local: string, remotes: readonly string[]): boolean {
  return remotes.some((text) => {
    const { path } = parseRemote(text);
    return local.startsWith(text.slice(0, text.length - path.length));
  });
}

function remoteSource(text: string): RemoteTarget {
  const target = parseRemote(text);
  if (target.path === '') throw bad(`${printable(text)} names no file after the colon`);
  return target;
}

/** Throws `bad-argument` with what to write instead. */
export function putCommand(values: Values, positionals: readonly string[]): PutCommand {
  if (positionals.length < 2) throw bad(`Something is missing: write ${PUT_FORM}`);
  const locals = positionals.slice(0, -1);
  const written = positionals.at(-1) as string;
  if (locals.includes('')) throw bad('The local path is empty');
  const remote = parseRemote(written);
  if (locals.includes('-')) {
    if (locals.length > 1) throw bad('- is standard input, and cannot be one of several sources');
    if (remote.path === '' || remote.path.endsWith('/')) {
      throw bad(`Standard input has no name of its own: write one after ${printable(written)}`);
    }
    if (values['password-stdin']) throw bad('- and --password-stdin both read standard input: give one');
    refuseWithStream(values, 'Standard input');
  }
  const append = values.append === true;
  for (const option of ['resume', 'resume-target', 'recursive', 'overwrite', 'in-place']) {
    if (append && values[option]) throw bad(`--append and --${option} contradict each other: give one`);
  }
  for (const option of ['resume', 'resume-target']) {
    if (values['in-place'] && values[option]) throw bad(`--in-place and --${option} contradict each other: give one`);
  }
  return { name: 'put', locals, remote, inPlace: values['in-place'] === true, append, ...transferChoice(values) };
}

/** What only files have. */
function refuseWithStream(values: Values, what: string): void {
  for (const option of [
    'recursive',
    'resume',
    'resume-target',
    'preserve',
    'verify',
    'exclude',
    'overwrite',
    'sparse',
  ]) {
    if (values[option]) throw bad(`${what} is no file that --${option} could be for: leave it out`);
  }
}

/** More reads than this cannot be pending anywhere; it catches a slip of the finger. */
const MAX_REQUESTS = 65536;
/** A request has to go through a packet, and no server takes one that is longer. */
const MAX_REQUEST_SIZE = 16 * 1024 * 1024;
/** OpenSSH gives a connection 10 sessions; more than some times that is a slip of the finger. */
const MAX_LANES = 64;

function transferChoice(values: Values): TransferChoice {
  const move = { ...limitsOf(values), ...manner(values) };
  return { move, json: values.json === true, quiet: values.quiet === true, connection: connectionChoice(values) };
}

function limitsOf(values: Values): Pick<MoveChoice, 'requests' | 'requestSize' | 'lanes'> {
  const { requests, 'request-size': size, lanes } = values;
  return {
    ...(requests === undefined ? {} : { requests: whole('-R', requests, 1, MAX_REQUESTS) }),
    ...(size === undefined ? {} : { requestSize: byteCount('--request-size', size, 1, MAX_REQUEST_SIZE) }),
    ...(lanes === undefined ? {} : { lanes: whole('--lanes', lanes, 1, MAX_LANES) }),
  };
}

function manner(values: Values): Omit<MoveChoice, 'requests' | 'requestSize' | 'lanes'> {
  const exclude = (values.exclude ?? []) as readonly string[];
  if (exclude.includes('')) throw bad('--exclude needs a pattern');
  if (exclude.length > 0 && !values.recursive) throw bad('--exclude is for directories: give -r too');
  if (values.symlinks !== undefined && !values.recursive) throw bad('--symlinks is for directories: give -r too');
  const overwrite = values.overwrite === undefined ? 'always' : oneOf('--overwrite', values.overwrite, OVERWRITE);
  for (const option of ['resume', 'resume-target']) {
    if (overwrite === 'always' || !values[option]) continue;
    throw bad(`--${option} and --overwrite contradict each other: give one`);
  }
  return {
    ...(values.verify === undefined ? {} : { verify: oneOf('--verify', values.verify, VERIFY) }),
    recursive: values.recursive === true,
    preserve: values.preserve === true,
    resume: values['resume-target'] === true ? 'target' : values.resume === true,
    sparse: values.sparse === true,
    overwrite,
    symlinks: values.symlinks === undefined ? 'skip' : oneOf('--symlinks', values.symlinks, SYMLINKS),
    exclude,
  };
}
