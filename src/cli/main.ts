#!/usr/bin/env node
/**
 * The command `puressh`: reads what is asked, does it, and ends with a status that says how it went. The parts of the
 * library come in only once they are needed.
 */

import process from 'node:process';
import { SshError } from '../errors.ts';
import { type Command, parseCommand } from './args.ts';
import { EXIT_CONNECTION, EXIT_FAILED, errorLine, exitStatusOf, signalStatus } from './exit.ts';
import { Interrupts } from './interrupts.ts';
import { isOutputClosed } from './output.ts';

async function main(argv: readonly string[]): Promise<number> {
  const interrupts = new Interrupts();
  // Without a listener a reader that goes away would end the process with a stack trace; writes report it themselves.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  try {
    return await execute(parseCommand(argv), interrupts);
  } catch (error) {
    return await failed(error, argv, interrupts.status);
  }
}

async function execute(command: Command, interrupts: Interrupts): Promise<number> {
  const { signal } = interrupts;
  switch (command.name) {
    case 'help':
      return await (await import('./about.ts')).printUsage(command.topic);
    case 'version':
      return await (await import('./about.ts')).printVersion();
    case 'get':
      return await (await import('./get.ts')).get(command, signal);
    case 'put':
      return await (await import('./put.ts')).put(command, signal);
    case 'ls':
      return await (await import('./ls.ts')).ls(command, signal);
    case 'run':
      return await (await import('./run.ts')).run(command, signal);
    case 'sftp':
      return await (await import('./shell/start.ts')).sftp(command, interrupts);
    case 'keygen':
      return await (await import('./keygen/keygen.ts')).keygen(command);
    case 'keyscan':
      return await (await import('./keyscan.ts')).keyscan(command, signal);
    case 'serve':
      return await (await import('./serve.ts')).serve(command, signal);
  }
}

/** Tells what went wrong, and how that is said to the caller. */
async function failed(error: unknown, argv: readonly string[], ended: number | undefined): Promise<number> {
  if (isOutputClosed(error)) return signalStatus('PIPE');
  await say(`${errorLine(error)}\n`);
  if (ended !== undefined) return ended;
  if (!(error instanceof SshError)) return argv[0] === 'run' ? EXIT_CONNECTION : EXIT_FAILED;
  if (error.code === 'aborted') return signalStatus('INT');
  // What `run` answers is the command's: anything else must be told apart from it, as with ssh.
  return argv[0] === 'run' ? EXIT_CONNECTION : exitStatusOf(error);
}

function say(text: string): Promise<void> {
  return new Promise((resolve) => process.stderr.write(text, () => resolve()));
}

const status = await main(process.argv.slice(2));
// Standard input may still be read, which would keep the process alive.
process.exit(status);
