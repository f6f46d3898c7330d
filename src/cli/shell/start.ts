/** `puressh sftp`: a shell on the files of a server, for a person or for a file of commands. */

import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { fileError } from '../../transports/file_error.ts';
import { openConnection } from '../connection.ts';
import { errorLine, noticeLine } from '../exit.ts';
import type { Interrupts } from '../interrupts.ts';
import { writeOutput } from '../output.ts';
import { ProgressMeter } from '../progress.ts';
import type { SftpCommand } from '../shell_args.ts';
import { remotePath } from '../target.ts';
import { runBatch } from './batch.ts';
import { interact } from './interactive.ts';
import { Shell, type ShellOutput } from './session.ts';

/** Runs until the commands are done or the person has had enough. */
export async function sftp(command: SftpCommand, interrupts: Interrupts): Promise<number> {
  const { remote, connection, batch, quiet } = command;
  const { signal } = interrupts;
  const isInteractive = batch === undefined && process.stdin.isTTY === true && process.stdout.isTTY === true;
  const commands = isInteractive ? undefined : await linesOf(batch ?? '-');
  const { ssh } = await openConnection(remote, connection, signal);
  try {
    const session = await ssh.sftp({ signal, early: true });
    const shell = await Shell.open(session, outputFor(quiet, isInteractive), process.cwd(), signal);
    if (remote.path !== '') await shell.enter(remotePath(remote), signal);
    if (commands === undefined) await interact(shell, interrupts, ssh.closed);
    else {
      const failed = (error: unknown): void => void process.stderr.write(`${errorLine(error)}\n`);
      await runBatch(shell, commands, signal, failed, quiet, batch === '-' ? undefined : batch);
    }
    return 0;
  } finally {
    await ssh.close();
  }
}

/** The lines of a file, read before anything else happens, or those of standard input as they come. */
async function linesOf(path: string): Promise<AsyncIterable<string> | readonly string[]> {
  if (path === '-') return inputLines();
  const text = await readFile(path, 'utf8').catch((error) => {
    throw fileError('read', path, error);
  });
  return text.split('\n');
}

/** Begins to read when the first is wanted: what an interface reads before that is lost. */
async function* inputLines(): AsyncGenerator<string> {
  yield* createInterface({ input: process.stdin, terminal: false });
}

function outputFor(quiet: boolean, isInteractive: boolean): ShellOutput {
  const { stdout, stderr } = process;
  return {
    write: (data) => writeOutput(stdout, typeof data === 'string' ? new TextEncoder().encode(data) : data),
    say: (line) => void stderr.write(`${line.startsWith('puressh: ') ? line : noticeLine(line)}\n`),
    columns: stdout.isTTY ? stdout.columns || 80 : undefined,
    meter: (name) => (stderr.isTTY && !quiet ? new ProgressMeter(stderr, name) : undefined),
    ...(isInteractive ? { local: runLocal } : {}),
  };
}

/** Milliseconds in which a signal arrives that has been sent. */
const ECHO_TIME = 50;

/** Runs a line of the user's own shell, which has the terminal meanwhile. */
function runLocal(line: string, directory: string): Promise<void> {
  const program = process.env.SHELL || '/bin/sh';
  const args = line === '' ? [] : ['-c', line];
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: directory, stdio: 'inherit' });
    child.on('error', (error) => reject(fileError('run', program, error)));
    // Ctrl-C went to both of us, and a runtime may tell us after the end of the other: it was for that one
    child.on('close', (code, signal) => setTimeout(resolve, signal === 'SIGINT' || code === 130 ? ECHO_TIME : 0));
  });
}
