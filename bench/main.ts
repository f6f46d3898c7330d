/**
 * `npm run bench`: one large file down and up against OpenSSH's `sshd` on loopback, with puressh, `sftp` and `ssh2`.
 *
 *   npm run bench                       1 GiB, medians of 3 rounds
 *   npm run bench -- --quick            128 MiB, 1 round
 *   npm run bench -- --delay 100        over a relay that makes the round trip 100 ms longer; 128 MiB unless --size is given
 *   npm run bench -- --only puressh     subjects whose name contains this; may be repeated
 *   npm run bench -- --size 256 --rounds 5 --all
 *
 * Times are those of whole processes, start and login included; MB is 10^6 bytes. Rounds go through all subjects in turn,
 * so that whatever else the machine does falls on all of them. Every file is compared with what it was made from.
 * Results are also written to bench/results as JSON.
 */

import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, release } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startSshd } from '../test/support/peers/openssh.ts';
import type { Peer } from '../test/support/peers/peer.ts';
import { root } from '../test/support/root.ts';
import { type DelayProxy, startDelayProxy } from './delay_proxy.ts';
import { needSshd } from './find_sshd.ts';
import { type Measurement, measure, median } from './measure.ts';
import { makePlace, mustBeEqual, writeRandomFile } from './place.ts';
import { type Direction, installCompetitors, type Subject, subjects } from './subjects.ts';
import { table } from './table.ts';

const MEBI = 1024 * 1024;
const LEGEND =
  'Rates are of whole processes. to sftp: against sftp with aes128-gcm. cpu s, MB: processor time and peak memory of the client';
const LIMIT_SECONDS = 900; // of one transfer

interface Plan {
  readonly bytes: number;
  readonly rounds: number;
  readonly delay: number;
  readonly only: readonly string[];
  readonly all: boolean;
}

/** All rounds of one subject in one direction; empty when it failed. */
interface Row {
  readonly subject: string;
  readonly isPuressh: boolean;
  readonly direction: Direction;
  readonly seconds: number[];
  readonly cpuSeconds: number[];
  peakMemory: number | undefined;
  cipher: string | undefined;
  failure: string | undefined;
}

function readPlan(): Plan {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      all: { type: 'boolean', default: false },
      delay: { type: 'string', default: '0' },
      size: { type: 'string' },
      rounds: { type: 'string' },
      only: { type: 'string', multiple: true, default: [] },
    },
  });
  const delay = number('--delay', values.delay);
  const size = values.size ?? (values.quick || delay > 0 ? '128' : '1024');
  return {
    bytes: number('--size', size) * MEBI,
    rounds: number('--rounds', values.rounds ?? (values.quick ? '1' : '3')),
    delay,
    only: values.only,
    all: values.all,
  };
}

function number(option: string, text: string): number {
  const value = Number(text);
  if (!(value >= 0)) throw new Error(`${option} takes a number, not ${text}`);
  return value;
}

async function main(): Promise<void> {
  const plan = readPlan();
  needSshd((line) => process.stderr.write(`${line}\n`));
  installCompetitors();
  const chosen = (await subjects(plan.all)).filter(
    ({ name }) => plan.only.length === 0 || plan.only.some((part) => name.includes(part)),
  );
  const place = makePlace(3 * plan.bytes);
  let peer: Peer | undefined;
  let proxy: DelayProxy | undefined;
  const clean = async (): Promise<void> => {
    rmSync(place, { recursive: true, force: true });
    await proxy?.stop();
    await peer?.stop();
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void clean().finally(() => process.exit(130)));
  }
  try {
    peer = await startSshd({ config: ['LogLevel ERROR'] });
    if (plan.delay > 0) proxy = await startDelayProxy(peer.port, plan.delay);
    const port = proxy?.port ?? peer.port;
    if (proxy !== undefined) knowUnder(peer, port);
    const rows = await runAll(plan, chosen, peer, port, place);
    report(plan, peer, place, rows);
  } finally {
    await clean();
  }
}

/** The host keys again, under the port of the relay. */
function knowUnder(peer: Peer, port: number): void {
  const lines = readFileSync(peer.knownHosts, 'utf8').replaceAll(`:${peer.port} `, `:${port} `);
  writeFileSync(`${peer.knownHosts}.${port}`, lines);
}

async function runAll(plan: Plan, chosen: readonly Subject[], peer: Peer, port: number, place: string): Promise<Row[]> {
  const source = join(place, 'source');
  const target = join(place, 'target');
  writeRandomFile(source, plan.bytes);
  copyFileSync(source, target); // what is written for the first time is slower than what is written again
  const rows: Row[] = [];
  for (let round = 1; round <= plan.rounds; round++) {
    for (const subject of chosen) {
      for (const direction of ['get', 'put'] as const) {
        let row = rows.find((each) => each.subject === subject.name && each.direction === direction);
        if (row === undefined) {
          row = {
            ...{ subject: subject.name, isPuressh: subject.isPuressh, direction, seconds: [], cpuSeconds: [] },
            ...{ peakMemory: undefined, cipher: undefined, failure: undefined },
          };
          rows.push(row);
        }
        rmSync(target, { force: true });
        const [remote, local] = direction === 'get' ? [source, target] : [target, source];
        await runOne(row, subject, { direction, port, peer, remote, local }, () => mustBeEqual(source, target));
        const said = row.failure ?? `${(plan.bytes / 1e6 / (row.seconds.at(-1) as number)).toFixed(0)} MB/s`;
        process.stderr.write(`round ${round}: ${subject.name} ${direction}: ${said}\n`);
      }
    }
  }
  return rows;
}

async function runOne(
  row: Row,
  subject: Subject,
  job: Parameters<Subject['invoke']>[0],
  check: () => void,
): Promise<void> {
  if (row.failure !== undefined) return;
  try {
    const { command, input } = subject.invoke(job);
    const result: Measurement = await measure(command, LIMIT_SECONDS, input);
    check();
    row.seconds.push(result.seconds);
    if (result.cpuSeconds !== undefined) row.cpuSeconds.push(result.cpuSeconds);
    if (result.peakMemory !== undefined) row.peakMemory = Math.max(row.peakMemory ?? 0, result.peakMemory);
    if (subject.isPuressh) row.cipher = JSON.parse(result.stdout).algorithms.cipher;
  } catch (error) {
    row.failure = (error as Error).message;
  }
}

function report(plan: Plan, peer: Peer, place: string, rows: readonly Row[]): void {
  const rate = (row: Row | undefined): number =>
    row === undefined || row.failure !== undefined ? Number.NaN : plan.bytes / 1e6 / median(row.seconds);
  const rowOf = (subject: string, direction: Direction) =>
    rows.find((row) => row.subject === subject && row.direction === direction);
  const sftp = (direction: Direction) => rate(rowOf('sftp, aes128-gcm', direction));
  const cells = [['', 'get MB/s', 'to sftp', 'cpu s', 'MB', 'put MB/s', 'to sftp', 'cpu s', 'MB']];
  for (const name of new Set(rows.map((row) => row.subject))) {
    const line = [name];
    for (const direction of ['get', 'put'] as const) {
      const row = rowOf(name, direction);
      const value = rate(row);
      line.push(show(value, value < 100 ? 1 : 0), show(value / sftp(direction), 2));
      line.push(show(median(row?.cpuSeconds ?? []), 2), show((row?.peakMemory ?? Number.NaN) / 1e6, 0));
    }
    cells.push(line);
  }
  const head = `${plan.bytes / MEBI} MiB, ${plan.rounds} round(s), round trip + ${plan.delay} ms, ${peer.identification}, files in ${place}`;
  process.stdout.write(`\n${head}\n\n${table(cells)}\n\n${LEGEND}\n`);
  for (const row of rows.filter((each) => each.failure !== undefined)) {
    process.stdout.write(`failed: ${row.subject} ${row.direction}: ${row.failure}\n`);
    process.exitCode = 1;
  }
  save({
    date: new Date().toISOString(),
    ...{ bytes: plan.bytes, rounds: plan.rounds, delay: plan.delay, server: peer.identification, place },
    machine: { cpu: cpus()[0]?.model, cores: cpus().length, system: release() },
    rows: rows.map((row) => ({ ...row, megabytesPerSecond: rate(row) })),
  });
}

function show(value: number, digits: number): string {
  return Number.isFinite(value) ? value.toFixed(digits) : '-';
}

function save(result: { readonly date: string; readonly [name: string]: unknown }): void {
  const folder = fileURLToPath(new URL('bench/results/', root));
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${result.date.replaceAll(':', '-').slice(0, 19)}.json`);
  writeFileSync(path, `${JSON.stringify(result, null, 2)}\n`);
  process.stdout.write(`written to ${path}\n`);
}

await main();
