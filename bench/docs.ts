/** `docs/performance.md` as text, from results. */

import { type Goal, goals } from './goals.ts';
import type { Picture } from './pictures.ts';
import type { SuiteResult } from './report.ts';
import { markdownTable } from './table.ts';
import { tablesOf } from './tables.ts';

/** Where the charts are, seen from the document. */
export const CHARTS = 'performance';

/** What a suite measures, below its heading. */
export interface Chapter {
  readonly title: string;
  readonly text: string;
}

const HEAD = `# Performance

Written by \`npm run bench -- --write-docs\` from results of \`npm run bench\`; not by hand. How to measure:
[bench/README.md](../bench/README.md).`;

const METHOD = `## Method

OpenSSH's \`sshd\` runs on loopback, with its \`internal-sftp\`. Client, server and relay share the machine, and files are in
memory, so that no disk and no network is measured. A relay in user space, a process of its own, makes the round trip longer: it
holds everything back for half of it, both ways, in order, and limits nothing else. Rounds go through all subjects in turn; a
figure is the median of all rounds, memory the highest of any. Times are of whole processes: start, login and end included. MB is
10^6 bytes. Every file, tree and list is compared with its original. Others run at their own defaults, or with what their name
says; rclone does without checksums, which nobody else asks for, and curl does not look at the host key. Those who are held to a rate,
or go file by file, move less than puressh and \`sftp\`, which changes nothing but the time: columns say how much. Ratios compare rates
of one run.

What has to hold is decided by the slowest Node, that about memory by all runtimes.`;

/** The document. `pictures` by suite; `remarks` are what a person has to say about the figures, with a heading of their own. */
export function performanceDocument(
  results: readonly SuiteResult[],
  chapters: Readonly<Record<string, Chapter>>,
  pictures: ReadonlyMap<string, readonly Picture[]>,
  remarks?: string,
): string {
  const said = remarks === undefined ? [] : [remarks.trim()];
  const parts = [HEAD, goalTable(goals(results)), ...said, METHOD, machines(results), versions(results)];
  for (const [name, chapter] of Object.entries(chapters)) {
    const result = results.find((each) => each.name === name);
    if (result !== undefined) parts.push(...suiteParts(result, chapter, pictures.get(name) ?? []));
  }
  return `${parts.join('\n\n')}\n`;
}

function goalTable(found: readonly Goal[]): string {
  const cells = found.map(({ work, must, aim, found: values, verdict }) => [work, must, aim, verdict, values]);
  const table = markdownTable([['', 'must', 'aim', 'verdict', 'found'], ...cells], 'left');
  return `## What it must reach, and what it reached\n\n${table}`;
}

function machines(results: readonly SuiteResult[]): string {
  const cells = results.map(({ name, date, rounds, partial, commit, machine, server }) => [
    ...[name, date.slice(0, 16).replace('T', ' '), `${rounds}${partial ? ', not a full run' : ''}`, commit],
    ...[`${machine.cores} × ${machine.cpu}, ${Math.round(machine.memory / 2 ** 30)} GiB, ${machine.system}`],
    server.replace('SSH-2.0-', ''),
  ]);
  const head = ['suite', 'UTC', 'rounds', 'commit', 'machine', 'server'];
  return `## Machine\n\n${markdownTable([head, ...cells], 'left')}`;
}

function versions(results: readonly SuiteResult[]): string {
  const known = Object.assign({}, ...results.map((result) => result.versions)) as Record<string, string>;
  const cells = Object.entries(known).map(([name, version]) => [name, version]);
  const missing = new Map(results.flatMap((result) => result.missing.map(({ name, why }) => [name, why] as const)));
  const absent = [...missing].map(([name, why]) => `- ${name} was missing: ${why}`);
  const table = markdownTable([['', 'version'], ...cells], 'left');
  return ['## Versions', '', table, ...(absent.length === 0 ? [] : ['', ...absent])].join('\n');
}

function suiteParts(result: SuiteResult, { title, text }: Chapter, pictures: readonly Picture[]): string[] {
  const parts = [`## ${title}`, text];
  for (const { name, text: shown } of pictures) parts.push(`![${shown}](${CHARTS}/${name}.svg)`);
  for (const { caption, cells } of tablesOf(result)) {
    parts.push(`${caption === '' ? '' : `${caption}:\n\n`}${markdownTable(cells)}`);
  }
  const failed = result.rows.filter(({ failure }) => failure !== undefined);
  if (failed.length > 0) parts.push(failed.map(failureLine).join('\n'));
  return parts;
}

function failureLine({ subject, work, delay, failure }: SuiteResult['rows'][number]): string {
  return `- ${subject}, ${work}, ${delay} ms failed: ${(failure ?? '').replaceAll(/\s+/g, ' ').slice(0, 200)}`;
}
