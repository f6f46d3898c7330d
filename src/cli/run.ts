/** `puressh run`: one command on a server, with its streams passed through as they come. */

import process from 'node:process';
import type { Agent } from '../agent/agent.ts';
import { decodeLenient } from '../bytes/text.ts';
import type { ExitStatus } from '../client/session_channel.ts';
import type { SshClient } from '../ssh_client.ts';
import type { RunCommand } from './args.ts';
import { openConnection } from './connection.ts';
import { EXIT_CONNECTION, noticeLine, signalStatus } from './exit.ts';
import { jsonLine } from './json_line.ts';
import { print, writeOutput } from './output.ts';
import { algorithmReport, rounded } from './report.ts';

export async function run(command: RunCommand, signal: AbortSignal): Promise<number> {
  const { ssh, agent } = await openConnection(command.target, command.connection, signal);
  try {
    const status = command.json
      ? await collected(ssh, agent, command, signal)
      : await streamed(ssh, agent, command, signal);
    return exitStatus(status);
  } finally {
    await ssh.close();
  }
}

/** The command's own status, and a word about any other end. */
function exitStatus({ code, signal, message }: ExitStatus): number {
  if (code !== undefined) return code;
  const end = signal === undefined ? 'ended without an exit status' : `was ended by signal ${signal}`;
  process.stderr.write(`${noticeLine(`The command ${end}${message ? `: ${message}` : ''}`)}\n`);
  return signal === undefined ? EXIT_CONNECTION : signalStatus(signal);
}

async function streamed(
  ssh: SshClient,
  agent: Agent | undefined,
  command: RunCommand,
  signal: AbortSignal,
): Promise<ExitStatus> {
  const session = await ssh.exec(command.commandLine, { signal, agent });
  feed(session.stdin, command).catch(() => {}); // a command that stops reading is no failure
  try {
    await Promise.all([pass(session.stdout, process.stdout), pass(session.stderr, process.stderr)]);
    return await session.exit;
  } finally {
    session.close().catch(() => {});
  }
}

async function pass(from: ReadableStream<Uint8Array>, to: NodeJS.WritableStream): Promise<void> {
  const reader = from.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) await writeOutput(to, part.value);
}

async function feed(to: WritableStream<Uint8Array>, command: RunCommand): Promise<void> {
  const writer = to.getWriter();
  // The first line of standard input was the password: what is behind it has gone with it.
  if (!command.noStdin && !command.connection.passwordStdin) {
    for await (const chunk of process.stdin) await writer.write(chunk);
  }
  await writer.close();
}

async function collected(
  ssh: SshClient,
  agent: Agent | undefined,
  command: RunCommand,
  signal: AbortSignal,
): Promise<ExitStatus> {
  const started = performance.now();
  const input = command.noStdin || command.connection.passwordStdin ? undefined : process.stdin;
  const result = await ssh.run(command.commandLine, { signal, stdin: input, agent });
  const report = {
    code: result.code ?? null,
    signal: result.signal ?? null,
    stdout: decodeLenient(result.stdout),
    stderr: decodeLenient(result.stderr),
    seconds: rounded((performance.now() - started) / 1000, 6),
    algorithms: algorithmReport(ssh.info.algorithms, 'toClient'),
  };
  await print(`${jsonLine(report)}\n`);
  return result;
}
