/** A program for sessions that runs commands with `/bin/sh`, and a few of its own that tell what the session knows. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Program, ProgramEnd, ServerSession, Terminal } from '../../../src/server/session.ts';

/** Runs commands in `cwd`. `:terminal`, `:variable NAME` and `:signal` are answered here. */
export function shell(cwd: string): Program {
  return async (session) => {
    const { command = '' } = session;
    const [word, argument = ''] = command.split(' ');
    if (word === ':terminal') return await tellTerminal(session);
    if (word === ':variable') return await session.write(`${session.environment.get(argument)}\n`);
    if (word === ':signal') return await awaitSignal(session);
    return await runShell(session, cwd, command);
  };
}

/** The terminal, and each change of it until the client says `q`. */
async function tellTerminal(session: ServerSession): Promise<number> {
  const line = ({ term, columns, rows }: Terminal): string => `${term} ${columns}x${rows}\r\n`;
  session.onResize = (terminal) => void session.write(line(terminal)).catch(() => {});
  if (session.terminal === undefined) {
    await session.write('no terminal\n');
    return 1;
  }
  await session.write(line(session.terminal));
  const text = new TextDecoder();
  for await (const chunk of session.stdin) if (text.decode(chunk).includes('q')) break;
  return 0;
}

/** Ends with the signal that the client sends. */
async function awaitSignal(session: ServerSession): Promise<{ signal: string; message: string }> {
  const arrived = new Promise<string>((resolve, reject) => {
    session.onSignal = resolve;
    session.signal.addEventListener('abort', () => reject(session.signal.reason));
  });
  await session.write('ready\n');
  return { signal: await arrived, message: 'as you wish' };
}

async function runShell(session: ServerSession, cwd: string, command: string): Promise<ProgramEnd> {
  const args = command === '' ? [] : ['-c', command];
  const env = { PATH: process.env.PATH, HOME: cwd, ...Object.fromEntries(session.environment) };
  const child = spawn('/bin/sh', args, { cwd, env, stdio: ['pipe', 'pipe', 'pipe'] });
  session.signal.addEventListener('abort', () => child.kill('SIGKILL'));
  child.stdin.on('error', () => {}); // it does not read
  const ended = once(child, 'close') as Promise<[number | null, string | null]>;
  const input = async (): Promise<void> => {
    for await (const chunk of session.stdin) {
      if (!child.stdin.write(chunk) && !child.stdin.destroyed) await Promise.race([once(child.stdin, 'drain'), ended]);
    }
    child.stdin.end();
  };
  input().catch(() => child.stdin.end());
  await Promise.all([
    pump(child.stdout, (chunk) => session.write(chunk)),
    pump(child.stderr, (chunk) => session.writeError(chunk)),
  ]);
  const [code, signal] = await ended;
  return code ?? { signal: signal ?? 'KILL' };
}

async function pump(from: AsyncIterable<Uint8Array>, write: (chunk: Uint8Array) => Promise<void>): Promise<void> {
  for await (const chunk of from) await write(chunk);
}
