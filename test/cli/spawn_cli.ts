/** Runs the command as a user does: a process of its own, in the runtime that runs the test. */

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Peer } from '../support/peers/peer.ts';

/** From the source, or in the form in which it is published where the tests run compiled. */
const main = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../../src/cli/main.ts' : '../../command/main.js', import.meta.url),
);

/** The program and the arguments that stand before those of the command. */
export const command: readonly string[] =
  'Deno' in globalThis ? [process.execPath, 'run', '-A', '--no-lock', '--no-check', main] : [process.execPath, main];

/** How a run ended. */
export interface Ended {
  readonly status: number | null;
  readonly signal: string | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

export interface RunOptions {
  readonly input?: string | Uint8Array;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Is given the process at once, to signal it. */
  readonly running?: (child: ChildProcess) => void;
}

const LIMIT_MS = 50_000;

/** Runs `puressh ...args` to its end. Nothing of the user's own files is seen. */
export function runCli(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const [program, ...before] = command as [string, ...string[]];
    const home = options.env?.HOME ?? scratch();
    const env = { ...process.env, NO_COLOR: '1', SSH_AUTH_SOCK: undefined, ...options.env, HOME: home };
    const child = spawn(program, [...before, ...args], { env, cwd: options.cwd ?? home, stdio: 'pipe' });
    const stdout: Buffer[] = [];
    let stderr = '';
    const limit = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
    child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => {
      stderr += chunk.toString();
    });
    child.stdin.on('error', () => {}); // the command need not read all of it
    child.on('error', reject);
    child.on('close', (status, signal) => {
      clearTimeout(limit);
      resolve({ status, signal, stdout: Buffer.concat(stdout), stderr });
    });
    child.stdin.end(options.input ?? '');
    options.running?.(child);
  });
}

/** Options that reach a peer, trust it, and log in with a key. */
export function reaching(peer: Peer): string[] {
  return ['-P', String(peer.port), '--known-hosts', peer.knownHosts, '-i', peer.keys.ed25519.openssh];
}

/** Signals a run. Not `child.kill`: Deno then reports that signal as the end, whatever the process made of it. */
export function interrupt(child: ChildProcess, signal: 'SIGINT' | 'SIGTERM' = 'SIGINT'): void {
  process.kill(child.pid as number, signal);
}

/** `user@host` of a peer. */
export function at(peer: Peer): string {
  return `${peer.username}@${peer.host}`;
}

const made: string[] = [];
after(() => {
  for (const folder of made) rmSync(folder, { recursive: true, force: true });
});

/** An empty directory that goes when the tests are done. */
export function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'puressh-cli-'));
  made.push(folder);
  return folder;
}

/** The one line that a failure leaves on standard error: its text. Throws when there is anything else. */
export function onlyLine({ stderr }: Ended): string {
  const line = /^puressh: (.+)\n$/.exec(stderr)?.[1];
  if (line === undefined) throw new Error(`Not one line: ${JSON.stringify(stderr)}`);
  return line;
}
