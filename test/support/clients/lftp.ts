/** lftp, which speaks SFTP of its own over the `ssh` of the machine. */

import { findProgram } from '../peers/peer.ts';
import { type Client, lines, type Step, type Way } from './client.ts';
import { options } from './openssh.ts';
import type { OwnServer } from './own_server.ts';
import { mustRun } from './process.ts';

function unavailable(): string | undefined {
  const missing = ['lftp', 'ssh'].find((name) => findProgram(name) === undefined);
  return missing && `there is no ${missing}`;
}

/** Runs commands of lftp on a connection to the server; throws when one fails. Returns what they wrote. */
export async function script(server: OwnServer, way: Way, commands: readonly string[]): Promise<Buffer> {
  const connect = ['ssh', '-a', '-x', ...options(server, way)].join(' ');
  const all = [
    'set cmd:fail-exit yes',
    'set net:max-retries 1',
    'set net:timeout 20',
    'set sftp:auto-confirm no',
    `set sftp:connect-program ${quoted(connect)}`,
    `open -u ${server.username},${way === 'key' ? '' : quoted(server.password)} -p ${server.port} sftp://${server.host}`,
    ...commands,
  ];
  return (await mustRun(['lftp', '--norc'], { input: `${all.join('\n')}\n`, env: { HOME: server.home } })).stdout;
}

export const lftp: Client = {
  name: 'lftp',
  unavailable: unavailable(),
  ways: ['password', 'key'],
  can: ['get', 'reget', 'put', 'reput', 'list', 'remove', 'mkdir', 'rmdir', 'rename'],
  async files(server, way, steps) {
    const output = await script(server, way, steps.map(commandOf));
    return lines(output).map((line) => line.replace(/\/$/, '').replace(/^.*\//, ''));
  },
};

/** An argument of a command. */
export function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}

function commandOf(step: Step): string {
  const remote = quoted(step.remote);
  switch (step.do) {
    case 'get':
    case 'reget':
      return `get ${step.do === 'reget' ? '-c ' : ''}${remote} -o ${quoted(step.local)}`;
    case 'put':
    case 'reput':
      return `put ${step.do === 'reput' ? '-c ' : ''}${quoted(step.local)} -o ${remote}`;
    case 'list':
      return `cls -1 ${remote}`;
    case 'remove':
      return `rm ${remote}`;
    case 'mkdir':
    case 'rmdir':
      // its own words about success are none of a listing
      return `${step.do} -f ${remote}`;
    case 'rename':
      return `mv ${remote} ${quoted(step.to)}`;
  }
}
