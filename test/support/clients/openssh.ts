/** OpenSSH's `ssh`, `sftp` and `scp`. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram } from '../peers/peer.ts';
import { type Client, lines, type Step, type Way } from './client.ts';
import type { OwnServer } from './own_server.ts';
import { type Ended, mustRun, run } from './process.ts';

/** Why there is no OpenSSH client here, or `undefined`. */
export function unavailable(): string | undefined {
  const missing = ['ssh', 'sftp', 'scp', 'ssh-keygen', 'ssh-keyscan'].find((name) => findProgram(name) === undefined);
  return missing && `there is no ${missing}`;
}

/** Options that all three programs take: this server, its keys, and nothing of the machine's. */
export function options(server: OwnServer, way: Way = 'key'): string[] {
  const common = [
    'StrictHostKeyChecking=yes',
    `UserKnownHostsFile=${server.knownHosts}`,
    'GlobalKnownHostsFile=/dev/null',
  ];
  const own =
    way === 'key'
      ? ['BatchMode=yes', 'PreferredAuthentications=publickey', `IdentityFile=${server.keys.ed25519.openssh}`]
      : ['BatchMode=no', 'PreferredAuthentications=password', 'PubkeyAuthentication=no', 'NumberOfPasswordPrompts=1'];
  const all = [...common, ...own, 'IdentitiesOnly=yes', 'IdentityAgent=none'];
  return ['-F', '/dev/null', ...all.flatMap((option) => ['-o', option])];
}

/** Variables with which `ssh` has a script answer its questions; `answers` by a part of the question. */
export function askpass(server: OwnServer, answers: Readonly<Record<string, string>>): Record<string, string> {
  const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
  const cases = Object.entries(answers).map(([part, answer]) => `*${quote(part)}*) printf '%s\\n' ${quote(answer)};;`);
  const path = join(server.home, `askpass-${Object.keys(answers).join('-').replace(/\W/g, '')}`);
  writeFileSync(path, `#!/bin/sh\ncase "$1" in\n${cases.join('\n')}\n*) exit 1;;\nesac\n`, { mode: 0o755 });
  return { SSH_ASKPASS: path, SSH_ASKPASS_REQUIRE: 'force' };
}

const passwordEnv = (server: OwnServer): Record<string, string> => askpass(server, { password: server.password });

/** The command line of `ssh`: further options come before the command. */
export function sshCommand(server: OwnServer, way: Way, ...more: readonly string[]): string[] {
  return ['ssh', ...options(server, way), '-p', String(server.port), '-l', server.username, server.host, ...more];
}

/** Runs `sftp` with a batch. */
export function sftpBatch(
  server: OwnServer,
  batch: readonly string[],
  way: Way = 'key',
  more: readonly string[] = [],
): Promise<Ended> {
  const target = `${server.username}@${server.host}`;
  const command = ['sftp', ...options(server, way), ...more, '-b', '-', '-P', String(server.port), target];
  return run(command, { input: `${batch.join('\n')}\n`, env: passwordEnv(server) });
}

/** A path in a batch. */
export function quoted(path: string): string {
  return `"${path.replace(/["\\]/g, '\\$&')}"`;
}

export const ssh: Client = {
  name: 'ssh and sftp of OpenSSH',
  unavailable: unavailable(),
  ways: ['password', 'key'],
  can: ['get', 'reget', 'put', 'reput', 'list', 'remove', 'mkdir', 'rmdir', 'rename'],
  run: (server, way, command) => run(sshCommand(server, way, command), { env: passwordEnv(server) }),
  async files(server, way, steps) {
    const ended = await sftpBatch(server, steps.map(batchLine), way);
    if (ended.code !== 0) throw new Error(`${ended.command}: code ${ended.code}\n${ended.stderr}\n${ended.stdout}`);
    // what is not a command echoed is a name
    return lines(ended.stdout)
      .filter((line) => !line.startsWith('sftp> '))
      .map((line) => line.slice(line.lastIndexOf('/') + 1));
  },
};

function batchLine(step: Step): string {
  const remote = quoted(step.remote);
  switch (step.do) {
    case 'get':
    case 'reget':
      return `${step.do} ${remote} ${quoted(step.local)}`;
    case 'put':
    case 'reput':
      return `${step.do} ${quoted(step.local)} ${remote}`;
    case 'list':
      return `ls -1 ${remote}`;
    case 'remove':
      return `rm ${remote}`;
    case 'mkdir':
    case 'rmdir':
      return `${step.do} ${remote}`;
    case 'rename':
      return `rename ${remote} ${quoted(step.to)}`;
  }
}

/** The command line of `scp`, which speaks SFTP where it is not told otherwise (from OpenSSH 9.0 on; before, `-s`). */
export function scpCommand(server: OwnServer, way: Way, ...more: readonly string[]): string[] {
  return ['scp', '-s', ...options(server, way), '-P', String(server.port), ...more];
}

export const scp: Client = {
  name: 'scp of OpenSSH',
  unavailable: unavailable(),
  ways: ['password', 'key'],
  can: ['get', 'put'],
  async files(server, way, steps) {
    for (const step of steps) {
      if (step.do !== 'get' && step.do !== 'put') throw new Error(`scp cannot ${step.do}`);
      const remote = `${server.username}@${server.host}:${step.remote}`;
      const places = step.do === 'get' ? [remote, step.local] : [step.local, remote];
      await mustRun(scpCommand(server, way, ...places), { env: passwordEnv(server) });
    }
    return [];
  },
};
