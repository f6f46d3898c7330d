/** sshfs: the served tree as a directory of this machine. What works there is a process of its own, as it waits for this one. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findProgram } from '../peers/peer.ts';
import { isRoot } from '../peers/user.ts';
import { type Client, lines, type Step, type Way } from './client.ts';
import { options } from './openssh.ts';
import type { OwnServer } from './own_server.ts';
import { mustRun } from './process.ts';

function unavailable(): string | undefined {
  const missing = ['sshfs', 'fusermount3', 'ssh'].find((name) => findProgram(name) === undefined);
  return missing && `there is no ${missing}`;
}

/** Mounts and unmounts a FUSE file system behind which there is nobody: what a machine forbids shows without any SSH. */
const TRIAL =
  'exec 3<>/dev/fuse; mount -i -t fuse -o fd=3,rootmode=40000,user_id=0,group_id=0 trial "$1" && umount -l "$1"';

/** Why this machine mounts nothing, or `undefined`. */
function impossible(): string | undefined {
  if (unavailable() !== undefined || !isRoot()) return undefined;
  const place = mkdtempSync(join(tmpdir(), 'puressh-fuse-'));
  try {
    execFileSync('/bin/sh', ['-c', TRIAL, 'trial', place], { stdio: 'pipe' });
    return undefined;
  } catch {
    return 'this machine does not let FUSE file systems be mounted';
  } finally {
    rmdirSync(place);
  }
}

/** Runs `work` with a directory where the served tree is mounted. */
export async function mounted<T>(server: OwnServer, way: Way, work: (place: string) => Promise<T>): Promise<T> {
  const place = mkdtempSync(join(server.home, 'mount-'));
  const password = way === 'password';
  const target = `${server.username}@${server.host}:/`;
  const own = [...options(server, way), '-p', String(server.port), ...(password ? ['-o', 'password_stdin'] : [])];
  await mustRun(['sshfs', target, place, ...own], password ? { input: `${server.password}\n` } : {});
  try {
    return await work(place);
  } finally {
    await mustRun(['fusermount3', '-u', place]);
    rmdirSync(place);
  }
}

export const sshfs: Client = {
  name: 'sshfs',
  unavailable: unavailable(),
  impossible: impossible(),
  ways: ['password', 'key'],
  can: ['get', 'put', 'reput', 'list', 'remove', 'mkdir', 'rmdir', 'rename'],
  files: (server, way, steps) =>
    mounted(server, way, async (place) => {
      const names: string[] = [];
      for (const step of steps) {
        const { stdout } = await mustRun(commandOf(step, place));
        if (step.do === 'list') names.push(...lines(stdout));
      }
      return names;
    }),
};

function commandOf(step: Step, place: string): string[] {
  const path = join(place, step.remote);
  switch (step.do) {
    case 'get':
      return ['cp', path, step.local];
    case 'put':
      return ['cp', step.local, path];
    case 'reput':
      return ['/bin/sh', '-c', 'tail -c "+$(($(stat -c %s "$2") + 1))" "$1" >>"$2"', 'reput', step.local, path];
    case 'list':
      return ['ls', '-1', '-a', path];
    case 'remove':
      return ['rm', path];
    case 'mkdir':
    case 'rmdir':
      return [step.do, path];
    case 'rename':
      return ['mv', path, join(place, step.to)];
    default:
      throw new Error(`sshfs cannot ${step.do}`);
  }
}
