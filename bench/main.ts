/**
 * `npm run bench`: puressh in every runtime beside everybody else who moves files over SFTP, against OpenSSH's `sshd` on
 * loopback, over distance and without.
 *
 *   npm run bench                              everything, medians of 3 rounds: about two hours
 *   npm run bench -- --quick                   everything smaller, 1 round: some minutes
 *   npm run bench -- --suite distance          one suite; may be repeated, as may the next two
 *   npm run bench -- --only puressh            subjects whose name contains this
 *   npm run bench -- --delay 100               these round trips instead of the suite's own
 *   npm run bench -- --size 256 --rounds 5     MiB of the large file; runs of everything
 *   npm run bench -- --long                    also a gibibyte through a sink of 1 MB/s, which takes 18 minutes
 *   npm run bench -- --write-docs              measures nothing: docs/performance.md from the newest results
 */

import process from 'node:process';
import { writeDocs } from './docs_files.ts';
import { needSshd } from './find_sshd.ts';
import { goals } from './goals.ts';
import { MEBI, type Plan, readPlan } from './plan.ts';
import { commit, load, machine, newest, type SuiteResult, save } from './report.ts';
import { runAll } from './runner.ts';
import { Stage } from './stage.ts';
import { installCompetitors, type Subjects, subjects } from './subjects.ts';
import { suites } from './suites/all.ts';
import type { Suite } from './suites/suite.ts';
import { table } from './table.ts';
import { tablesOf } from './tables.ts';

const ROOM = 512 * MEBI; // what trees, lists and the files of smaller suites take beside the large file and its copies

const tell = (line: string): void => void process.stderr.write(`${line}\n`);

async function main(): Promise<void> {
  const plan = readPlan(process.argv.slice(2));
  if (plan.writeDocs) return await writeDocs(newest(load()), tell);
  const chosen = suites.filter(({ name }) => plan.suites.length === 0 || plan.suites.includes(name));
  const unknown = plan.suites.find((name) => suites.every((suite) => suite.name !== name));
  if (unknown !== undefined) {
    throw new Error(`There is no suite ${unknown}: ${suites.map(({ name }) => name).join(', ')}`);
  }
  needSshd(tell);
  installCompetitors();
  const found = await subjects(plan.only);
  for (const { name, why } of found.missing) tell(`missing: ${name}: ${why}`);
  const stage = await Stage.open(3 * plan.bytes + ROOM);
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      interrupted.abort(new Error(`Ended by ${signal}`));
      void stage.close().finally(() => process.exit(130));
    });
  }
  const results: SuiteResult[] = [];
  try {
    for (const suite of chosen) {
      const result = await runSuite(suite, plan, stage, found, interrupted.signal);
      print(suite, result);
      results.push(result);
      const path = save(results, results[0]?.date as string); // after each, so that an end half way loses little
      process.stdout.write(`written to ${path}\n`);
    }
  } finally {
    await stage.close();
  }
  printGoals(results);
}

async function runSuite(
  suite: Suite,
  plan: Plan,
  stage: Stage,
  { own, others, missing }: Subjects,
  signal: AbortSignal,
): Promise<SuiteResult> {
  const date = new Date().toISOString();
  const rounds = Math.min(plan.rounds, suite.rounds ?? plan.rounds);
  tell(`suite ${suite.name}: ${suite.title}`);
  const rows = await runAll(suite.cases({ plan, stage, own, others }), rounds, tell, signal);
  return {
    ...{ name: suite.name, date, partial: plan.partial, rounds, commit: commit(), machine: machine() },
    ...{ server: stage.peer.identification, place: stage.place, missing, rows },
    versions: Object.fromEntries([...own, ...others].map(({ name, version }) => [name, version])),
  };
}

function print(suite: Suite, result: SuiteResult): void {
  const { partial, rounds, server } = result;
  const how = `${rounds} round(s)${partial ? ', not a full run' : ''}, ${server}`;
  process.stdout.write(`\n${suite.title}: ${how}\n`);
  for (const { caption, cells } of tablesOf(result)) {
    process.stdout.write(`\n${caption === '' ? '' : `${caption}\n`}${table(cells)}\n`);
  }
  for (const row of result.rows.filter(({ failure }) => failure !== undefined)) {
    process.stdout.write(`failed: ${row.subject}, ${row.work}, ${row.delay} ms: ${row.failure}\n`);
    if (row.runtime !== undefined) process.exitCode = 1;
  }
}

function printGoals(results: readonly SuiteResult[]): void {
  const found = goals(results).filter(({ verdict }) => verdict !== 'not measured');
  if (found.length === 0) return;
  const cells = found.map(({ work, must, aim, found: reached, verdict }) => [work, must, aim, verdict, reached]);
  process.stdout.write(`\n${table([['', 'must', 'aim', 'verdict', 'found'], ...cells], 'left')}\n`);
}

await main();
