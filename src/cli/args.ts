/**
 * What the command line asks for. Arguments in, one plain value or an error out: reads no file, opens nothing.
 */

import { parseArgs } from 'node:util';
import { printable } from '../bytes/text.ts';
import { bad, type Values } from './arg_values.ts';
import { type ConnectionChoice, connectionChoice, connectionOptions } from './connection_args.ts';
import { type KeygenCommand, keygenCommand, keygenOptions } from './keygen_args.ts';
import { type KeyscanCommand, keyscanCommand, keyscanOptions } from './keyscan_args.ts';
import { type ServeCommand, serveCommand, serveOptions } from './serve_args.ts';
import { type SftpCommand, sftpCommand, shellOptions } from './shell_args.ts';
import { type HostTarget, parseHost, parseRemote, type RemoteTarget } from './target.ts';
import {
  type GetCommand,
  getCommand,
  getOptions,
  type PutCommand,
  putCommand,
  putOptions,
  transferOptions,
} from './transfer_args.ts';

export type CommandName = 'get' | 'put' | 'ls' | 'run' | 'sftp' | 'serve' | 'keygen' | 'keyscan';

const NAMES = 'get, put, ls, run, sftp, serve, keygen or keyscan';

interface Reaching {
  readonly connection: ConnectionChoice;
}

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
  | SftpCommand
  | ServeCommand
  | KeygenCommand
  | KeyscanCommand;

const general = { help: { type: 'boolean', short: 'h' }, version: { type: 'boolean', short: 'V' } } as const;

const optionsOf = {
  get: { ...general, ...connectionOptions, ...transferOptions, ...getOptions },
  put: { ...general, ...connectionOptions, ...transferOptions, ...putOptions },
  ls: { ...general, ...connectionOptions, json: { type: 'boolean' }, long: { type: 'boolean', short: 'l' } },
  run: { ...general, ...connectionOptions, json: { type: 'boolean' }, 'no-stdin': { type: 'boolean', short: 'n' } },
  sftp: { ...general, ...connectionOptions, ...shellOptions },
  serve: { ...general, ...serveOptions },
  keygen: { ...general, ...keygenOptions },
  keyscan: { ...general, ...keyscanOptions },
} as const;

/** What the arguments after the program's name ask for. Throws `bad-argument` with what to write instead. */
export function parseCommand(argv: readonly string[]): Command {
  const at = argv.findIndex((each) => !each.startsWith('-'));
  const name = at < 0 ? undefined : (argv[at] as string);
  const before = argv.slice(0, at < 0 ? argv.length : at);
  if (before.some((each) => each === '--help' || each === '-h')) return { name: 'help', topic: '' };
  if (before.some((each) => each === '--version' || each === '-V')) return { name: 'version' };
  if (before[0] !== undefined) {
    throw bad(`${printable(before[0])} stands before a command: write puressh ${NAMES} first`);
  }
  if (name === 'help') return { name: 'help', topic: isCommand(argv[at + 1]) ? (argv[at + 1] as CommandName) : '' };
  if (name === undefined) throw bad(`No command given: write puressh ${NAMES}`);
  if (!isCommand(name)) throw bad(`There is no command ${printable(name)}: write puressh ${NAMES}`);
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
  get: getCommand,
  put: putCommand,
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
  sftp: sftpCommand,
  serve: serveCommand,
  keygen: keygenCommand,
  keyscan: keyscanCommand,
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
