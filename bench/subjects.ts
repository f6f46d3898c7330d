/** What is measured: puressh in each runtime, and whoever else moves files over SFTP, each as a command line. */

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { root } from '../test/support/root.ts';
import { peers } from './peers.ts';
import { type Missing, type Program, type Tuning, versionLine } from './program.ts';
import { knownHosts } from './stage.ts';

export interface Subjects {
  readonly own: readonly Program[];
  readonly others: readonly Program[];
  readonly missing: readonly Missing[];
}

/** Everybody whom this machine has, and whom it has not. `only`: those whose name contains one of these. */
export async function subjects(only: readonly string[]): Promise<Subjects> {
  const found = await ownPrograms();
  const others = peers();
  const chosen = ({ name }: Program): boolean => only.length === 0 || only.some((part) => name.includes(part));
  return {
    own: found.programs.filter(chosen),
    others: others.programs.filter(chosen),
    missing: [...found.missing, ...others.missing],
  };
}

/** puressh in the Node at hand, and in the runtimes that `test/runtimes` holds. */
async function ownPrograms(): Promise<{ readonly programs: Program[]; readonly missing: Missing[] }> {
  const module = new URL('test/support/runtimes.mjs', root).href;
  const { programOf } = (await import(module)) as { programOf(name: string): string | undefined };
  const { version } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as { version: string };
  const programs = [puressh(`Node ${process.versions.node}`, version, [process.execPath])];
  const missing: Missing[] = [];
  for (const [name, label, ...args] of [
    ['node24', 'Node'],
    ['deno', 'Deno', 'run', '-A', '--no-lock'],
    ['bun', 'Bun'],
  ] as [string, string, ...string[]][]) {
    const program = programOf(name);
    if (program === undefined) missing.push({ name: `puressh, ${label} (${name})`, why: 'npm test installs it' });
    else {
      const runtime = `${label} ${/\d+\.\d+\.\d+/.exec(versionLine(program, '--version'))?.[0]}`;
      if (programs.every((each) => each.runtime !== runtime))
        programs.push(puressh(runtime, version, [program, ...args]));
    }
  }
  return { programs, missing };
}

function puressh(runtime: string, version: string, program: readonly string[]): Program {
  const main = fileURLToPath(new URL('dist/cli/main.js', root));
  return {
    name: `puressh, ${runtime}`,
    version,
    runtime,
    launcher: program,
    works: ['get', 'put', 'get-tree', 'put-tree', 'list'],
    invoke(job) {
      const { work, port, peer, remote, local } = job;
      const pin = ['--known-hosts', knownHosts(peer, port), '-i', peer.keys.ed25519.openssh];
      const target = `${peer.username}@127.0.0.1:${remote}`;
      const options = ['-P', String(port), ...pin, ...tuningOptions(job.tuning ?? {})];
      const [verb, ...rest] = {
        get: ['get', '--json', target, local],
        put: ['put', '--json', local, target],
        'get-tree': ['get', '-q', '-r', target, local],
        'put-tree': ['put', '-q', '-r', local, target],
        list: ['ls', target],
      }[work] as [string, ...string[]];
      const plain = local === '-' ? rest.map((each) => (each === '--json' ? '-q' : each)) : rest;
      return { command: [...program, main, verb, ...options, ...plain] };
    },
  };
}

function tuningOptions({ crypto, requests, window, lanes }: Tuning): string[] {
  return [
    ...(crypto === undefined ? [] : ['--crypto', crypto]),
    ...(requests === undefined ? [] : ['--requests', String(requests)]),
    ...(lanes === undefined ? [] : ['--lanes', String(lanes)]),
    ...(window === undefined ? [] : ['--window', String(window), '--max-window', String(window)]),
  ];
}

/**
 * Installs what `bench/package.json` pins, unless that very lock file is installed already. No scripts of packages run, so that
 * every machine measures the same `ssh2`: the addon in C++ that it builds where it may is left out.
 */
export function installCompetitors(): void {
  const home = fileURLToPath(new URL('bench/', root));
  const installed = `${readFileSync(`${home}package-lock.json`, 'utf8')}without scripts\n`;
  const mark = `${home}node_modules/.installed-lock.json`;
  if (existsSync(mark) && readFileSync(mark, 'utf8') === installed) return;
  process.stderr.write('installing what bench/package.json pins\n');
  const line = ['ci', '--ignore-scripts', '--no-audit', '--no-fund'];
  execFileSync('npm', line, { cwd: home, stdio: ['ignore', 'ignore', 'inherit'] });
  writeFileSync(mark, installed);
}
