/** What is measured: puressh in each runtime, OpenSSH's `sftp`, and the `ssh2` package, each as a command line. */

import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { findProgram, type Peer } from '../test/support/peers/peer.ts';
import { root } from '../test/support/root.ts';

export type Direction = 'get' | 'put';

/** One transfer that is asked of a subject. */
export interface Job {
  readonly direction: Direction;
  /** Where to connect: the server itself or a relay before it. */
  readonly port: number;
  readonly peer: Peer;
  readonly remote: string;
  readonly local: string;
}

/** A command, and what goes to its standard input. */
export interface Invocation {
  readonly command: readonly string[];
  readonly input?: string;
}

/** A program that can be measured. */
export interface Subject {
  readonly name: string;
  readonly isPuressh: boolean;
  invoke(job: Job): Invocation;
}

const AES_GCM = 'aes128-gcm@openssh.com';

/** Everything that this machine has; with `all`, slow rows too. */
export async function subjects(all: boolean): Promise<Subject[]> {
  const own = await runtimePrograms();
  return [
    ...own.flatMap(({ name, command }) => puressh(`puressh, ${name}`, command, [])),
    ...puressh('puressh, pure', [process.execPath], ['--crypto', 'pure']).filter(() => all),
    ...sftp(),
    ssh2('ssh2', undefined),
    ssh2('ssh2, aes128-gcm', AES_GCM),
  ];
}

function puressh(name: string, program: readonly string[], options: readonly string[]): Subject[] {
  const main = fileURLToPath(new URL('build/src/cli/main.js', root));
  const invoke = ({ direction, port, peer, remote, local }: Job): Invocation => {
    const pin = ['--known-hosts', knownHosts(peer, port), '-i', peer.keys.ed25519.openssh];
    const target = `${peer.username}@127.0.0.1:${remote}`;
    const places = direction === 'get' ? [target, local] : [local, target];
    return { command: [...program, main, direction, '-P', String(port), ...pin, '--json', ...options, ...places] };
  };
  return [{ name, isPuressh: true, invoke }];
}

/** The runtimes that `test/runtimes` holds, beside the Node at hand. */
async function runtimePrograms(): Promise<{ name: string; command: string[] }[]> {
  const module = new URL('test/support/runtimes.mjs', root).href;
  const { programOf } = (await import(module)) as { programOf(name: string): string | undefined };
  const found = [{ name: `Node ${process.versions.node}`, command: [process.execPath] }];
  for (const [name, label, ...args] of [
    ['node24', 'Node'],
    ['deno', 'Deno', 'run', '-A', '--no-lock'],
    ['bun', 'Bun'],
  ]) {
    const program = programOf(name as string);
    if (program === undefined) continue;
    found.push({ name: `${label} ${versionOf(program)}`, command: [program, ...args] });
  }
  return found;
}

function versionOf(program: string): string {
  return /\d+\.\d+\.\d+/.exec(execFileSync(program, ['--version'], { encoding: 'utf8' }))?.[0] ?? '';
}

function sftp(): Subject[] {
  const program = findProgram('sftp');
  if (program === undefined) return [];
  const subject = (name: string, options: readonly string[]): Subject => ({
    name,
    isPuressh: false,
    invoke: ({ direction, port, peer, remote, local }) => ({
      command: [
        program,
        ...['-q', '-b', '-', '-F', '/dev/null', '-P', String(port), '-i', peer.keys.ed25519.openssh],
        ...['-o', `UserKnownHostsFile=${knownHosts(peer, port)}`, '-o', 'IdentitiesOnly=yes'],
        ...[...options, `${peer.username}@127.0.0.1`],
      ],
      input: direction === 'get' ? `get ${remote} ${local}\n` : `put ${local} ${remote}\n`,
    }),
  });
  return [subject('sftp', []), subject('sftp, aes128-gcm', ['-c', AES_GCM])];
}

/** The known_hosts file of the server; for a relay before it, one under the relay's port. */
function knownHosts(peer: Peer, port: number): string {
  return port === peer.port ? peer.knownHosts : `${peer.knownHosts}.${port}`;
}

function ssh2(name: string, cipher: string | undefined): Subject {
  const script = fileURLToPath(new URL('bench/ssh2_client.mjs', root));
  return {
    name,
    isPuressh: false,
    invoke: ({ direction, port, peer, remote, local }) => ({
      command: [
        ...[process.execPath, script, direction, String(port), peer.username, peer.keys.ed25519.openssh],
        ...[remote, local, cipher ?? ''],
      ],
    }),
  };
}

/** Installs what `bench/package.json` pins, unless it is there. */
export function installCompetitors(): void {
  const home = fileURLToPath(new URL('bench/', root));
  if (existsSync(`${home}node_modules/ssh2`)) return;
  process.stderr.write('installing what bench/package.json pins\n');
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: home, stdio: ['ignore', 'ignore', 'inherit'] });
}
