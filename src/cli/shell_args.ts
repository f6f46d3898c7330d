/** What a command line asks `sftp` for, the shell. Reads no file, opens nothing. */

import { printable } from '../bytes/text.ts';
import { bad, filled, type Values } from './arg_values.ts';
import { type ConnectionChoice, connectionChoice } from './connection_args.ts';
import { parseHost, parseRemote, type RemoteTarget } from './target.ts';

export interface SftpCommand {
  readonly name: 'sftp';
  /** An empty path: where the server starts. */
  readonly remote: RemoteTarget;
  /** Where commands are read from, `-` for standard input; absent: from a person, where there is one. */
  readonly batch?: string;
  readonly quiet: boolean;
  readonly connection: ConnectionChoice;
}

export const shellOptions = {
  window: { type: 'string' },
  'max-window': { type: 'string' },
  batch: { type: 'string', short: 'b' },
  quiet: { type: 'boolean', short: 'q' },
} as const;

const FORM = 'puressh sftp [user@]host[:path]';

/** Throws `bad-argument` with what to write instead. */
export function sftpCommand(values: Values, positionals: readonly string[]): SftpCommand {
  const [text, extra] = positionals;
  if (text === undefined) throw bad(`Something is missing: write ${FORM}`);
  if (extra !== undefined) throw bad(`One argument too many, ${printable(extra)}: write ${FORM}`);
  const batch = filled(values, 'batch', 'the path of a file, or - for standard input');
  const connection = connectionChoice(values);
  if (connection.passwordStdin && (batch === undefined || batch === '-')) {
    throw bad('--password-stdin and commands both read standard input: put the commands into a file for -b');
  }
  const remote = /^(?:[^:[\]]*@)?\[[^\]]*\]$/.test(text) || !text.includes(':') ? parseHost(text) : parseRemote(text);
  return {
    name: 'sftp',
    remote: { path: '', ...remote },
    ...(batch === undefined ? {} : { batch }),
    quiet: values.quiet === true,
    connection,
  };
}
