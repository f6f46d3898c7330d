/**
 * `npm run bench:servers`: OpenSSH's `sftp` gets and puts one large file with puressh's server, OpenSSH's own and one made of
 * the `ssh2` package, in turn; then what an idle connection costs puressh's server.
 *
 *   npm run bench:servers                 1 GiB, medians of 3 rounds, 200 idle connections
 *   npm run bench:servers -- --quick      128 MiB, 1 round, 50 idle connections
 *   npm run bench:servers -- --only puressh --size 256 --rounds 5 --idle 0
 *
 * Times are those of the whole client process; files are in memory where there is room. Results are written to bench/results.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startSshd } from '../test/support/peers/openssh.ts';
import type { Peer } from '../test/support/peers/peer.ts';
import { root } from '../test/support/root.ts';
import { needSshd } from './find_sshd.ts';
import { measureIdle } from './idle.ts';
import { measure } from './measure.ts';
import { ssh2Version } from './peers.ts';
import { makePlace, mustBeEqual, writeRandomFile } from './place.ts';
import type { Direction } from './program.ts';
import { machine, resultsFolder } from './report.ts';
import { type Case, type Row, rateOf, runAll } from './runner.ts';
import { installCompetitors } from './subjects.ts';
import { table } from './table.ts';

const MEBI = 1024 * 1024;
const LIMIT_SECONDS = 900; // of one transfer
const CIPHERS = { default: [], 'aes128-gcm': ['-c', 'aes128-gcm@openssh.com'] } as const;
const LEGEND = 'MB/s of the whole sftp process. to sshd, to ssh2: against these with the same cipher';

/** A server that is measured. */
interface Server {
  readonly name: string;
  readonly port: number;
  /** Whose processor time and memory counts; its children with it. */
  readonly pid: number | undefined;
  stop(): void;
}

type Cipher = keyof typeof CIPHERS;

function readPlan() {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      size: { type: 'string' },
      rounds: { type: 'string' },
      idle: { type: 'string' },
      only: { type: 'string', multiple: true, default: [] },
    },
  });
  return {
    bytes: Number(values.size ?? (values.quick ? 128 : 1024)) * MEBI,
    rounds: Number(values.rounds ?? (values.quick ? 1 : 3)),
    idle: Number(values.idle ?? (values.quick ? 50 : 200)),
    only: values.only,
  };
}

type Plan = ReturnType<typeof readPlan>;

/** Starts a server program that prints its port. */
async function startProgram(name: string, program: readonly string[]): Promise<Server & { child: ChildProcess }> {
  const [file, ...args] = program as [string, ...string[]];
  const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const port = await new Promise<number>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`${name} ended with code ${code}`)));
    child.stdout?.once('data', (text) => resolve(Number(text)));
  });
  return { name, port, pid: child.pid, child, stop: () => child.kill('SIGKILL') };
}

async function startAll(plan: Plan, peer: Peer): Promise<Server[]> {
  const hostKey = join(peer.dir, 'bench_host_key');
  copyFileSync(peer.keys.ed25519.openssh, hostKey); // any key will do, and this one is there
  const script = (name: string): string => fileURLToPath(new URL(name, root));
  const own = [script('build/bench/puressh_server.js'), hostKey, `${peer.keys.ed25519.openssh}.pub`, peer.username];
  const other = [script('bench/ssh2_server.mjs'), hostKey, `${peer.keys.ed25519.openssh}.pub`];
  const servers: Server[] = [
    { name: 'OpenSSH', port: peer.port, pid: undefined, stop: () => {} },
    await startProgram('puressh', [process.execPath, ...own]),
    await startProgram('ssh2', [process.execPath, ...other]),
  ];
  return servers.filter(({ name }) => plan.only.length === 0 || plan.only.includes(name));
}

function sftpCommand(peer: Peer, server: Server, cipher: Cipher): string[] {
  return [
    ...['sftp', '-q', '-b', '-', '-F', '/dev/null', '-P', String(server.port), '-i', peer.keys.ed25519.openssh],
    ...['-o', 'UserKnownHostsFile=/dev/null', '-o', 'StrictHostKeyChecking=no', '-o', 'LogLevel=ERROR'],
    ...['-o', 'IdentitiesOnly=yes', ...CIPHERS[cipher], `${peer.username}@127.0.0.1`],
  ];
}

/** Every server, by each cipher, in both directions. */
function casesOf(plan: Plan, peer: Peer, servers: readonly Server[], place: string): Case[] {
  const source = join(place, 'source');
  const target = join(place, 'target');
  writeRandomFile(source, plan.bytes);
  copyFileSync(source, target); // what is written for the first time is slower than what is written again
  return (Object.keys(CIPHERS) as Cipher[]).flatMap((cipher) =>
    servers.flatMap((server) =>
      (['get', 'put'] as const).map((work) => ({
        ...{ subject: nameOf(server.name, cipher), work, delay: 0, bytes: plan.bytes },
        async run() {
          rmSync(target, { force: true });
          const command = sftpCommand(peer, server, cipher);
          const { stdout: _, ...sample } = await measure(
            { command, input: `${work} ${source} ${target}\n` },
            LIMIT_SECONDS,
          );
          mustBeEqual(source, target);
          return sample;
        },
      })),
    ),
  );
}

function nameOf(server: string, cipher: string): string {
  return `${server}, ${cipher}`;
}

function report(
  plan: Plan,
  peer: Peer,
  rows: readonly Row[],
  servers: readonly Server[],
  idle: number | undefined,
): void {
  const rate = (server: string, cipher: string, work: Direction): number =>
    rateOf(rows.find((row) => row.subject === nameOf(server, cipher) && row.work === work));
  const show = (value: number, digits: number): string => (Number.isFinite(value) ? value.toFixed(digits) : '-');
  const cells = [['', 'get MB/s', 'to sshd', 'to ssh2', 'put MB/s', 'to sshd', 'to ssh2']];
  for (const cipher of Object.keys(CIPHERS)) {
    for (const { name } of servers) {
      const line = [nameOf(name, cipher)];
      for (const direction of ['get', 'put'] as const) {
        const value = rate(name, cipher, direction);
        const to = (other: string): string => show(value / rate(other, cipher, direction), 2);
        line.push(show(value, 0), to('OpenSSH'), to('ssh2'));
      }
      cells.push(line);
    }
  }
  const conditions = `${plan.bytes / MEBI} MiB, ${plan.rounds} round(s), sftp of ${peer.identification}, ssh2 ${ssh2Version()}`;
  process.stdout.write(`\n${conditions}\n\n${table(cells)}\n\n${LEGEND}\n`);
  if (idle !== undefined) {
    process.stdout.write(`an idle connection costs puressh ${(idle / 1000).toFixed(0)} KB (${plan.idle} logged in)\n`);
  }
  for (const row of rows.filter((each) => each.failure !== undefined)) {
    process.stdout.write(`failed: ${row.subject}, ${row.work}: ${row.failure}\n`);
    process.exitCode = 1;
  }
  mkdirSync(resultsFolder, { recursive: true });
  const date = new Date().toISOString();
  const path = join(resultsFolder, `servers-${date.replaceAll(':', '-').slice(0, 19)}.json`);
  writeFileSync(path, `${JSON.stringify({ date, ...plan, machine: machine(), rows, idleBytes: idle }, null, 2)}\n`);
  process.stdout.write(`written to ${path}\n`);
}

const tell = (line: string): void => void process.stderr.write(`${line}\n`);

async function main(): Promise<void> {
  const plan = readPlan();
  needSshd(tell);
  installCompetitors();
  const place = makePlace(3 * plan.bytes);
  const peer = await startSshd({ config: ['LogLevel ERROR'] });
  let servers: Server[] = [];
  const clean = async (): Promise<void> => {
    rmSync(place, { recursive: true, force: true });
    for (const server of servers) server.stop();
    await peer.stop();
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void clean().finally(() => process.exit(130)));
  }
  try {
    servers = await startAll(plan, peer);
    const own = servers.find(({ name }) => name === 'puressh');
    // before the transfers, which leave memory behind that the connections could use again
    const idle =
      plan.idle === 0 || own?.pid === undefined
        ? undefined
        : await measureIdle(own.port, own.pid, plan.idle, peer.username, readFileSync(peer.keys.ed25519.openssh));
    const rows = await runAll(casesOf(plan, peer, servers, place), plan.rounds, tell);
    report(plan, peer, rows, servers, idle);
  } finally {
    await clean();
  }
}

await main();
