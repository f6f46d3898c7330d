/** Commands of the shell that move files: the same as `puressh get` and `put`, from where the shell stands. */

import { basename } from 'node:path';
import { printable } from '../../bytes/text.ts';
import { SshError } from '../../errors.ts';
import type { Progress } from '../../sftp/options.ts';
import { joinPath, remotePath } from '../../sftp/path.ts';
import { fileKind } from '../../sftp/proto/attrs.ts';
import { download } from '../download.ts';
import type { Moving } from '../move.ts';
import { ifTold } from '../remote_sources.ts';
import type { Summary } from '../summary.ts';
import { nameBytes } from '../target.ts';
import { tell } from '../transfer.ts';
import type { MoveChoice } from '../transfer_args.ts';
import { upload } from '../upload.ts';
import type { Call, ShellCommand } from './command.ts';
import { localMatches } from './local_matches.ts';
import { oneOf, sourceOf } from './paths.ts';
import type { Shell } from './session.ts';
import type { Word } from './words.ts';

/** `-f` and `-P` are those of sftp(1); everything is preserved together here, and synced only where it is asked for. */
const FLAGS = 'rpa';

function choiceOf(flags: ReadonlySet<string>): MoveChoice {
  return {
    recursive: flags.has('r'),
    preserve: flags.has('p'),
    resume: flags.has('a') ? 'target' : false,
    overwrite: 'always',
    sparse: false,
    symlinks: 'skip',
    exclude: [],
  };
}

async function moved(shell: Shell, moving: Moving, work: Promise<Summary>): Promise<void> {
  const summary = await work.catch((error) => {
    moving.meter?.clear();
    throw error;
  });
  tell(summary, (line) => shell.output.say(line));
  const [first] = summary.failed;
  if (first === undefined) return;
  const others = summary.failedTotal > 1 ? `, and ${summary.failedTotal - 1} more` : '';
  throw new SshError(first.error.code, `${first.path} was not moved${others}`, { cause: first.error });
}

async function get(shell: Shell, { flags, operands, signal }: Call): Promise<void> {
  // with one operand everything keeps its name; otherwise the last is the local path
  const sources = operands.length === 1 ? operands : operands.slice(0, -1);
  const local = operands.length === 1 ? undefined : (operands.at(-1) as Word).text;
  const moving = shell.moving(choiceOf(flags), (operands[0] as Word).text, signal);
  const found = sources.map((word) => sourceOf(shell, word));
  // `-` is a name like any other here
  await moved(shell, moving, download(moving, found, local === '-' ? './-' : local, { trustEof: false }));
}

async function put(shell: Shell, { flags, operands, signal }: Call): Promise<void> {
  const sources = operands.length === 1 ? operands : operands.slice(0, -1);
  const remote = operands.length === 1 ? undefined : (operands.at(-1) as Word).text;
  const locals = (await Promise.all(sources.map((word) => localMatches(shell, word)))).flat();
  const moving = shell.moving(choiceOf(flags), basename(locals[0] as string), signal);
  const isDirectory = remote === undefined || remote === '' || remote.endsWith('/');
  const path = shell.remote(remote ?? '');
  await moved(shell, moving, upload(moving, locals, { path, isDirectory, inPlace: false, append: false }));
}

function resumed(run: (shell: Shell, call: Call) => Promise<void>): (shell: Shell, call: Call) => Promise<void> {
  return (shell, call) => run(shell, { ...call, flags: new Set([...call.flags, 'a']) });
}

async function copy(shell: Shell, { operands, signal }: Call): Promise<void> {
  const [from, to] = operands as [Word, Word];
  const source = await oneOf(shell, from, signal);
  const name = remotePath(nameBytes(source));
  const target = shell.remote(to.text);
  const there = await ifTold(shell.sftp.stat(target, { signal }));
  const path = fileKind(there ?? {}) === 'directory' ? joinPath(target, name) : target;
  const meter = shell.output.meter?.(printable(name));
  const onProgress = meter && (({ bytes, total }: Progress) => meter.update(bytes, total));
  const { bytes, warnings } = await shell.sftp.copy(source, path, { signal, onProgress }).catch((error) => {
    meter?.clear();
    throw error;
  });
  meter?.done(bytes);
  for (const warning of warnings) shell.output.say(warning);
}

export const moveCommands: readonly ShellCommand[] = [
  {
    name: 'get',
    usage: '[-apr] remote ... [local]',
    summary: 'download: -r directories, -p with permissions and times, -a go on where an earlier one ended',
    flags: FLAGS,
    least: 1,
    most: Infinity,
    operands: ['remote'],
    run: get,
  },
  {
    name: 'reget',
    usage: '[-pr] remote ... [local]',
    summary: 'go on with a download, as get -a',
    flags: FLAGS,
    least: 1,
    most: Infinity,
    operands: ['remote'],
    run: resumed(get),
  },
  {
    name: 'put',
    usage: '[-apr] local ... [remote]',
    summary: 'upload: -r directories, -p with permissions and times, -a go on where an earlier one ended',
    flags: FLAGS,
    least: 1,
    most: Infinity,
    operands: ['local'],
    run: put,
  },
  {
    name: 'reput',
    usage: '[-pr] local ... [remote]',
    summary: 'go on with an upload, as put -a',
    flags: FLAGS,
    least: 1,
    most: Infinity,
    operands: ['local'],
    run: resumed(put),
  },
  {
    name: 'cp',
    usage: 'from to',
    summary: 'copy a file at the server, which does it by itself where it can',
    flags: '',
    least: 2,
    most: 2,
    operands: ['remote'],
    run: copy,
  },
];
