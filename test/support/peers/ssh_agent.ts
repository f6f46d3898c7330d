/** OpenSSH's `ssh-agent` and `ssh-add`. An agent can't outlive the tests, as the servers can't: see `process.ts`. */

import { spawn } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Ended, mustRun, run } from '../clients/process.ts';
import { findProgram } from './peer.ts';

const SUPERVISOR = `
exec 3<&0
dir=$1; shift
"$@" </dev/null 3<&- &
pid=$!
( cat <&3 >/dev/null; kill "$pid"; rm -rf "$dir" ) >/dev/null 2>&1 &
wait "$pid"
`;

/** Why there is no agent here, or `undefined`. */
export function unavailable(): string | undefined {
  const missing = ['ssh-agent', 'ssh-add', 'ssh-keygen'].find((name) => findProgram(name) === undefined);
  return missing && `there is no ${missing}`;
}

/** A running agent without keys. */
export class SshAgent {
  readonly socket: string;
  /** A directory for keys; it goes with the agent. */
  readonly dir: string;
  readonly #stop: () => Promise<void>;

  constructor(dir: string, stop: () => Promise<void>) {
    this.dir = dir;
    this.socket = join(dir, 'socket');
    this.#stop = stop;
  }

  /** Variables for programs that use it. */
  get env(): Record<string, string> {
    return { SSH_AUTH_SOCK: this.socket };
  }

  /** `ssh-add` with these arguments, which must succeed; what it printed. */
  async add(...args: readonly string[]): Promise<string> {
    return (await mustRun(['ssh-add', ...args], { env: this.env })).stdout.toString();
  }

  /** `ssh-add` with these arguments, whatever comes of it. */
  try(...args: readonly string[]): Promise<Ended> {
    return run(['ssh-add', ...args], { env: this.env });
  }

  /** A copy of a key file, without the public half beside it, which may have a certificate there. */
  copy(path: string, name: string): string {
    const copied = join(this.dir, name);
    copyFileSync(path, copied);
    copyFileSync(`${path}.pub`, `${copied}.pub`);
    return copied;
  }

  stop(): Promise<void> {
    return this.#stop();
  }
}

/** Starts an agent; `env` is added to its environment, such as SSH_ASKPASS for keys that want a confirmation. */
export async function startSshAgent(env: Readonly<Record<string, string>> = {}): Promise<SshAgent> {
  const dir = mkdtempSync(join(tmpdir(), 'puressh-agent-'));
  const program = findProgram('ssh-agent') as string;
  const command = [program, '-D', '-a', join(dir, 'socket')];
  const child = spawn('/bin/sh', ['-c', SUPERVISOR, 'agent', dir, ...command], {
    env: { PATH: process.env.PATH ?? '', HOME: dir, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  await new Promise<void>((resolve, reject) => {
    child.stdout.once('data', () => resolve());
    child.once('error', reject);
    child.once('exit', () => reject(new Error('ssh-agent did not start')));
  });
  return new SshAgent(dir, async () => {
    child.stdin.end();
    await ended;
    rmSync(dir, { recursive: true, force: true });
  });
}
