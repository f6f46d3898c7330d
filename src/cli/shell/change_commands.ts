/** Commands of the shell that change something, or where it stands. */

import { mkdir, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { printable } from '../../bytes/text.ts';
import { SshError } from '../../errors.ts';
import type { RemotePath } from '../../sftp/options.ts';
import type { Attributes } from '../../sftp/proto/attrs.ts';
import { fileError } from '../../transports/file_error.ts';
import { bad } from '../arg_values.ts';
import type { Call, ShellCommand } from './command.ts';
import { oneOf, pathsOf } from './paths.ts';
import type { Shell } from './session.ts';
import type { Word } from './words.ts';

async function changeDirectory(shell: Shell, { operands, signal }: Call): Promise<void> {
  const [word] = operands;
  await shell.enter(word === undefined ? shell.home : await oneOf(shell, word, signal), signal);
}

async function changeLocalDirectory(shell: Shell, { operands }: Call): Promise<void> {
  const path = operands[0] === undefined ? homedir() : shell.local(operands[0].text);
  const there = await stat(path).catch((error) => {
    throw fileError('enter', path, error);
  });
  if (!there.isDirectory()) throw new SshError('bad-local-file', `${printable(path, 1024)} is no directory`);
  shell.localDirectory = path;
}

async function makeDirectories(shell: Shell, { operands, flags, signal }: Call): Promise<void> {
  const recursive = flags.has('p');
  for (const { text } of operands) await shell.sftp.mkdir(shell.remote(text), { signal, recursive });
}

async function makeLocalDirectory(shell: Shell, { operands }: Call): Promise<void> {
  for (const { text } of operands) {
    const path = shell.local(text);
    await mkdir(path).catch((error) => {
      throw fileError('make', path, error);
    });
  }
}

async function remove(shell: Shell, call: Call): Promise<void> {
  const { signal, flags } = call;
  const recursive = flags.has('r');
  for (const path of await pathsOf(shell, call)) await shell.sftp.remove(path, { signal, recursive });
}

async function removeDirectories(shell: Shell, call: Call): Promise<void> {
  for (const path of await pathsOf(shell, call)) await shell.sftp.rmdir(path, { signal: call.signal });
}

async function rename(shell: Shell, { operands, signal }: Call): Promise<void> {
  const [from, to] = operands as [Word, Word];
  await shell.sftp.rename(await oneOf(shell, from, signal), shell.remote(to.text), { signal, overwrite: true });
}

async function link(shell: Shell, { operands, flags, signal }: Call): Promise<void> {
  const [target, path] = operands as [Word, Word];
  // what a symbolic link holds means what it means where the link stands: it is taken as it is written
  if (flags.has('s')) return shell.sftp.symlink(target.text, shell.remote(path.text), { signal });
  await shell.sftp.hardlink(await oneOf(shell, target, signal), shell.remote(path.text), { signal });
}

async function symlink(shell: Shell, call: Call): Promise<void> {
  await link(shell, { ...call, flags: new Set(['s']) });
}

/** Sets attributes of every path that is named behind the first word. */
async function change(
  shell: Shell,
  call: Call,
  attrsOf: (path: RemotePath) => Attributes | Promise<Attributes>,
): Promise<void> {
  const paths = await pathsOf(shell, { ...call, operands: call.operands.slice(1) });
  const { signal, flags } = call;
  for (const path of paths) {
    const attrs = await attrsOf(path);
    if (flags.has('h')) await shell.sftp.lsetstat(path, attrs, { signal });
    else await shell.sftp.setstat(path, attrs, { signal });
  }
}

async function changeMode(shell: Shell, call: Call): Promise<void> {
  const { text } = call.operands[0] as Word;
  if (!/^[0-7]{1,4}$/.test(text)) throw bad(`chmod takes octal permissions as 644, not '${printable(text)}'`);
  await change(shell, call, () => ({ permissions: Number.parseInt(text, 8) }));
}

/** A number of `name`, which SFTP knows no name for. */
function idOf(name: string, text: string): number {
  if (/^\d{1,10}$/.test(text) && Number(text) < 2 ** 32) return Number(text);
  throw bad(`${name} takes a number, not '${printable(text)}': SFTP 3 knows no names`);
}

async function changeOwner(shell: Shell, call: Call): Promise<void> {
  const uid = idOf('chown', (call.operands[0] as Word).text);
  await change(shell, call, async (path) => ({ uid, gid: (await owner(shell, path, call)).gid }));
}

async function changeGroup(shell: Shell, call: Call): Promise<void> {
  const gid = idOf('chgrp', (call.operands[0] as Word).text);
  await change(shell, call, async (path) => ({ uid: (await owner(shell, path, call)).uid, gid }));
}

/** SFTP 3 sets owner and group together: the one that stays has to be known. */
async function owner(
  { sftp }: Shell,
  path: RemotePath,
  { signal, flags }: Call,
): Promise<{ uid: number; gid: number }> {
  const { uid, gid } = flags.has('h') ? await sftp.lstat(path, { signal }) : await sftp.stat(path, { signal });
  if (uid !== undefined && gid !== undefined) return { uid, gid };
  throw new SshError(
    'not-supported',
    'The server does not say who owns the file, and SFTP 3 sets owner and group together',
    {
      fault: 'peer',
    },
  );
}

async function touch(shell: Shell, { operands, signal }: Call): Promise<void> {
  const now = Math.floor(Date.now() / 1000);
  for (const { text } of operands) {
    const path = shell.remote(text);
    const file = await shell.sftp.open(path, { write: true, create: true }, { signal });
    try {
      await file.setstat({ atime: now, mtime: now }, { signal });
    } finally {
      await file.close({ signal });
    }
  }
}

async function leave(shell: Shell): Promise<void> {
  shell.isOver = true;
}

const REMOTE = ['remote'] as const;

export const changeCommands: readonly ShellCommand[] = [
  {
    name: 'cd',
    usage: '[path]',
    summary: 'go to a remote directory, or to where the session started',
    flags: '',
    least: 0,
    most: 1,
    operands: REMOTE,
    run: changeDirectory,
  },
  {
    name: 'lcd',
    usage: '[path]',
    summary: 'go to a local directory, or home',
    flags: '',
    least: 0,
    most: 1,
    operands: ['local'],
    run: changeLocalDirectory,
  },
  {
    name: 'mkdir',
    usage: '[-p] path ...',
    summary: 'make directories: -p with all that lead there',
    flags: 'p',
    least: 1,
    most: Infinity,
    operands: REMOTE,
    run: makeDirectories,
  },
  {
    name: 'lmkdir',
    usage: 'path ...',
    summary: 'make local directories',
    flags: '',
    least: 1,
    most: Infinity,
    operands: ['local'],
    run: makeLocalDirectory,
  },
  {
    name: 'rm',
    usage: '[-r] path ...',
    summary: 'remove files: -r directories with all that is in them',
    flags: 'r',
    least: 1,
    most: Infinity,
    operands: REMOTE,
    run: remove,
  },
  {
    name: 'rmdir',
    usage: 'path ...',
    summary: 'remove empty directories',
    flags: '',
    least: 1,
    most: Infinity,
    operands: REMOTE,
    run: removeDirectories,
  },
  {
    name: 'rename',
    aliases: ['mv'],
    usage: 'from to',
    summary: 'rename a file, in place of one that is there where the server can',
    flags: '',
    least: 2,
    most: 2,
    operands: REMOTE,
    run: rename,
  },
  {
    name: 'ln',
    usage: '[-s] target path',
    summary: 'make a second name for a file, or with -s a symbolic link',
    flags: 's',
    least: 2,
    most: 2,
    operands: REMOTE,
    run: link,
  },
  {
    name: 'symlink',
    usage: 'target path',
    summary: 'make a symbolic link, as ln -s',
    flags: '',
    least: 2,
    most: 2,
    operands: REMOTE,
    run: symlink,
  },
  {
    name: 'chmod',
    usage: '[-h] mode path ...',
    summary: 'set permissions, in octal digits: -h of a link itself',
    flags: 'h',
    least: 2,
    most: Infinity,
    operands: ['text', 'remote'],
    run: changeMode,
  },
  {
    name: 'chown',
    usage: '[-h] number path ...',
    summary: 'set the owner, by number: -h of a link itself',
    flags: 'h',
    least: 2,
    most: Infinity,
    operands: ['text', 'remote'],
    run: changeOwner,
  },
  {
    name: 'chgrp',
    usage: '[-h] number path ...',
    summary: 'set the group, by number: -h of a link itself',
    flags: 'h',
    least: 2,
    most: Infinity,
    operands: ['text', 'remote'],
    run: changeGroup,
  },
  {
    name: 'touch',
    usage: 'path ...',
    summary: 'set the times of files to now, and make those that are not there',
    flags: '',
    least: 1,
    most: Infinity,
    operands: REMOTE,
    run: touch,
  },
  {
    name: 'exit',
    aliases: ['bye', 'quit'],
    usage: '',
    summary: 'end the session',
    flags: '',
    least: 0,
    most: 0,
    operands: [],
    run: leave,
  },
];
