/** PuTTY's `plink` and `psftp`. */

import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram } from '../peers/peer.ts';
import { type Client, lines, type Step, type Way } from './client.ts';
import type { OwnServer } from './own_server.ts';
import { type Ended, mustRun, run } from './process.ts';

function unavailable(): string | undefined {
  const missing = ['plink', 'psftp', 'puttygen'].find((name) => findProgram(name) === undefined);
  return missing && `there is no ${missing}`;
}

/** Options that `plink` and `psftp` take: the host key is pinned, nothing is asked. */
export async function options(server: OwnServer, way: Way = 'key'): Promise<string[]> {
  const pins = Object.values(server.fingerprints).flatMap((fingerprint) => ['-hostkey', fingerprint]);
  const own = way === 'key' ? ['-i', await ppk(server)] : ['-pw', server.password];
  return ['-batch', '-noagent', '-P', String(server.port), ...pins, ...own, `${server.username}@${server.host}`];
}

/** The user's key in PuTTY's form. */
async function ppk(server: OwnServer): Promise<string> {
  const path = join(server.home, 'user.ppk');
  const command = ['puttygen', server.keys.ed25519.openssh, '-O', 'private', '-o', path];
  if (!existsSync(path)) await mustRun(command, { env: { HOME: server.home } });
  return path;
}

/** Runs `psftp` with a batch, which it wants in a file; throws when a command fails. */
export async function psftp(server: OwnServer, batch: readonly string[], way: Way = 'key'): Promise<Ended> {
  const path = join(server.home, 'psftp-batch');
  writeFileSync(path, `${batch.join('\n')}\n`);
  return mustRun(['psftp', ...(await options(server, way)), '-b', path], { env: { HOME: server.home } });
}

export const putty: Client = {
  name: 'plink and psftp of PuTTY',
  unavailable: unavailable(),
  ways: ['password', 'key'],
  can: ['get', 'reget', 'put', 'reput', 'list', 'remove', 'mkdir', 'rmdir', 'rename'],
  async run(server, way, command) {
    return run(['plink', '-ssh', ...(await options(server, way)), command], { env: { HOME: server.home } });
  },
  async files(server, way, steps) {
    const { stdout } = await psftp(server, steps.map(batchLine), way);
    return lines(stdout).flatMap((line) => /^[-dl][-rwxsStT]{9} .*\d (.*)$/.exec(line)?.[1] ?? []);
  },
};

const quoted = (path: string): string => `"${path.replaceAll('"', '""')}"`;

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
      return `ls ${remote}`;
    case 'remove':
      return `rm ${remote}`;
    case 'mkdir':
    case 'rmdir':
      return `${step.do} ${remote}`;
    case 'rename':
      return `mv ${remote} ${quoted(step.to)}`;
  }
}
