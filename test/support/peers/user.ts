/**
 * Who logs in. Usually whoever runs the tests; for passwords, and for servers that only read `~/.ssh`, a system user of
 * its own with a random password. That user is created by root in CI only; elsewhere it is used if it exists.
 */

import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, rmdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findProgram, inCi } from './peer.ts';

const NAME = 'puressh-test';
const LOCK = '/run/lock/puressh-test-user';
const LOCK_LIMIT_MS = 30_000;

/** A login: `password` only for the throwaway user. */
export interface Login {
  readonly username: string;
  readonly password: string | undefined;
}

/** Whether the tests run as root. */
export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** Whoever runs the tests. */
export function ownLogin(): Login {
  // Not `userInfo()`: Bun answers `unknown` where the environment has no USER.
  const username = execFileSync('id', ['-un'], { encoding: 'utf8' }).trim();
  return { username, password: undefined };
}

/** Whether root's account is locked, as some distributions have it: `sshd` then lets root in by no means at all. */
export function isRootLocked(): boolean {
  return isRoot() && existsSync('/etc/shadow') && /^root:!/m.test(readFileSync('/etc/shadow', 'utf8'));
}

/** Why there is no throwaway user, or `undefined` when there is or can be one. */
export function throwawayUnavailable(): string | undefined {
  if (!isRoot()) return `only root can log in as the user ${NAME}`;
  if (homeOf(NAME) !== undefined) return undefined;
  if (!inCi) return `there is no user ${NAME}, and it is created with CI=true only`;
  return findProgram('useradd') === undefined ? 'there is no useradd' : undefined;
}

/** The throwaway user with these authorized_keys lines added to its home. Processes may call this at the same time. */
export async function throwawayLogin(authorizedKeys: string): Promise<Login> {
  const reason = throwawayUnavailable();
  if (reason !== undefined) throw new Error(reason);
  await lock();
  try {
    if (homeOf(NAME) === undefined) execFileSync('useradd', ['--create-home', '--shell', '/bin/sh', NAME]);
    const home = homeOf(NAME) as string;
    authorize(home, authorizedKeys);
    return { username: NAME, password: passwordIn(home) };
  } finally {
    rmdirSync(LOCK);
  }
}

/** The password, which lives where only root can read it, so that test runs beside each other share it. */
function passwordIn(home: string): string {
  const file = join(home, '.puressh-test-password');
  if (existsSync(file) && statSync(file).uid === 0) return readFileSync(file, 'utf8');
  const password = randomBytes(18).toString('base64url');
  execFileSync('chpasswd', { input: `${NAME}:${password}\n` });
  writeFileSync(file, password, { mode: 0o600 });
  return password;
}

function authorize(home: string, lines: string): void {
  const { uid, gid } = statSync(home);
  const folder = join(home, '.ssh');
  const file = join(folder, 'authorized_keys');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chownSync(folder, uid, gid);
  const known = existsSync(file) ? readFileSync(file, 'utf8') : '';
  if (known.includes(lines)) return;
  writeFileSync(file, known + lines, { mode: 0o600 });
  chmodSync(file, 0o600);
  chownSync(file, uid, gid);
}

function homeOf(name: string): string | undefined {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((each) => each.startsWith(`${name}:`));
  return line?.split(':')[5];
}

async function lock(): Promise<void> {
  mkdirSync('/run/lock', { recursive: true });
  for (let waited = 0; ; waited += 50) {
    try {
      mkdirSync(LOCK);
      return;
    } catch (error) {
      // A process that died here leaves the lock behind; nobody holds it this long alive.
      if (waited >= LOCK_LIMIT_MS) rmdirSync(LOCK);
      else if ((error as { code?: string }).code !== 'EEXIST') throw error;
    }
    await sleep(50);
  }
}
