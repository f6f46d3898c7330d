/** What suites found, as cells of tables: the first row names the columns. */

import { growthOf } from './goals.ts';
import { SFTP } from './peers.ts';
import type { SuiteResult } from './report.ts';
import { medianOf, memoryOf, paceOf, type Row, rateOf, type Sample, secondsOf } from './runner.ts';
import { NOBLE } from './suites/pure.ts';
import { show } from './table.ts';

/** A table, and a line above it where one suite has several. */
export interface Table {
  readonly caption: string;
  readonly cells: readonly (readonly string[])[];
}

export function tablesOf({ name, rows }: SuiteResult): readonly Table[] {
  return tables[name]?.(rows) ?? [];
}

const MEBI = 2 ** 20;

function distinct<T>(values: readonly T[]): readonly T[] {
  return [...new Set(values)];
}

const subjectsOf = (rows: readonly Row[]): readonly string[] => distinct(rows.map(({ subject }) => subject));

const find = (rows: readonly Row[], subject: string, work: string, delay?: number): Row | undefined =>
  rows.find((row) => row.subject === subject && row.work === work && (delay === undefined || row.delay === delay));

function local(rows: readonly Row[]): Table[] {
  const columns = ['MB/s', 'to sftp', 'CPU s/GB', 'memory MB'];
  const cells = [['', 'MiB', ...['get', 'put'].flatMap((work) => columns.map((each) => `${work} ${each}`))]];
  for (const subject of subjectsOf(rows)) {
    const line = [subject, show((rows.find((row) => row.subject === subject)?.bytes ?? 0) / MEBI, 0)];
    for (const work of ['get', 'put']) {
      const row = find(rows, subject, work);
      const perGigabyte = medianOf(row, ({ cpuSeconds }) => cpuSeconds) / ((row?.bytes ?? 0) / 1e9);
      line.push(show(rateOf(row)), show(rateOf(row) / rateOf(find(rows, SFTP, work)), 2));
      line.push(show(perGigabyte, 2), show(memoryOf(row) / 1e6, 0));
    }
    cells.push(line);
  }
  const ciphers = distinct(rows.flatMap(({ samples }) => samples.flatMap((sample) => cipherOf(sample) ?? [])));
  return [{ caption: ciphers.length === 0 ? '' : `puressh used ${ciphers.join(', ')}`, cells }];
}

function cipherOf({ report }: Sample): string | undefined {
  return (report?.algorithms as { readonly cipher?: string } | undefined)?.cipher;
}

/** Subjects down, delays across. */
function byDelay(
  rows: readonly Row[],
  work: string,
  value: (row: Row | undefined, delay: number) => string,
): string[][] {
  const found = rows.filter((row) => row.work === work);
  const delays = distinct(found.map(({ delay }) => delay));
  return [
    ['', ...delays.map((delay) => `${delay} ms`)],
    ...subjectsOf(found).map((subject) => [
      subject,
      ...delays.map((delay) => value(find(found, subject, work, delay), delay)),
    ]),
  ];
}

function distance(rows: readonly Row[]): Table[] {
  const own = rows.filter(({ runtime }) => runtime !== undefined);
  return ['get', 'put'].flatMap((work) => [
    { caption: `${work}, MB/s`, cells: byDelay(rows, work, (row) => show(rateOf(row))) },
    {
      caption: `${work}, times the rate of sftp with the same cipher`,
      cells: byDelay(own, work, (row, delay) => show(rateOf(row) / rateOf(find(rows, SFTP, work, delay)), 2)),
    },
    { caption: `${work}, behind these figures`, cells: behind(own.filter((row) => row.work === work)) },
  ]);
}

/** What puressh said about its transfers, and what they cost. */
function behind(rows: readonly Row[]): string[][] {
  const said = (row: Row, name: string): number => medianOf(row, ({ report }) => report?.[name] as number | undefined);
  const percent = (share: number): string => show(100 * share, 0);
  const columns = ['MB/s alone', 'window MiB', 'lanes', 'memory MB', 'all processors %', 'relay, of one %'];
  return [
    ['', 'ms', ...columns],
    ...rows.map((row) => [
      ...[row.subject, String(row.delay), show(said(row, 'megabytesPerSecond')), show(said(row, 'window') / MEBI, 1)],
      ...[show(said(row, 'lanes'), 0), show(memoryOf(row) / 1e6, 0), percent(medianOf(row, ({ busy }) => busy))],
      percent(medianOf(row, ({ relayCpuSeconds, seconds }) => relayCpuSeconds && relayCpuSeconds / seconds)),
    ]),
  ];
}

function small(rows: readonly Row[]): Table[] {
  const cells = [['', 'get s', 'to sftp', 'put s', 'to sftp']];
  for (const subject of subjectsOf(rows)) {
    const values = ['get', 'put'].flatMap((work) => {
      const seconds = secondsOf(find(rows, subject, work));
      return [show(seconds, 2), show(seconds / secondsOf(find(rows, SFTP, work)), 2)];
    });
    cells.push([subject, ...values]);
  }
  return [{ caption: 'Whole processes', cells }];
}

/** Files or entries a second. */
function paces(rows: readonly Row[], works: readonly string[], unit: string): Table[] {
  const columns = works.flatMap((work) => [`${work} s`, `${unit}/s`, 'to sftp']);
  const cells = [['', unit, ...columns, 'memory MB']];
  for (const subject of subjectsOf(rows)) {
    const found = rows.filter((row) => row.subject === subject);
    const values = works.flatMap((work) => {
      const row = find(rows, subject, work);
      return [show(secondsOf(row)), show(paceOf(row)), show(paceOf(row) / paceOf(find(rows, SFTP, work)), 2)];
    });
    const memory = Math.max(...found.map((row) => memoryOf(row) / 1e6));
    cells.push([subject, String(found[0]?.count ?? ''), ...values, show(memory, 0)]);
  }
  return [{ caption: '', cells }];
}

function pure(rows: readonly Row[]): Table[] {
  const cells = [['', 'noble alone MB/s', 'get MB/s', 'share', 'put MB/s', 'share', 'memory MB']];
  for (const subject of subjectsOf(rows).filter((each) => !each.startsWith(NOBLE))) {
    const [get, put] = [find(rows, subject, 'get'), find(rows, subject, 'put')];
    const alone = rateOf(rows.find((row) => row.subject === `${NOBLE}, ${get?.runtime}`));
    const values = [get, put].flatMap((row) => [show(rateOf(row)), show(rateOf(row) / alone, 2)]);
    cells.push([subject, show(alone), ...values, show(Math.max(memoryOf(get), memoryOf(put)) / 1e6, 0)]);
  }
  return [{ caption: '', cells }];
}

function sink(rows: readonly Row[]): Table[] {
  const cells = [['', 'ms', 'sink MB/s', 'MiB', 's', 'memory MB', 'growth MB', 'longest pause s']];
  for (const row of rows) {
    const { subject, delay, bytes, parameter } = row;
    const pause = medianOf(row, ({ longestPause }) => longestPause);
    const memory = [memoryOf(row) / 1e6, row.failure === undefined ? growthOf(row) / 1e6 : Number.NaN];
    cells.push([
      ...[subject, String(delay), show((parameter?.value ?? 0) / 1e6, 0), show(bytes / MEBI, 0)],
      ...[show(secondsOf(row), 1), ...memory.map((each) => show(each, 0)), show(pause, 2)],
    ]);
  }
  return [{ caption: '', cells }];
}

/** Values of the option down, delays across. */
function grid(rows: readonly Row[], label: (value: number) => string): Table[] {
  const delays = distinct(rows.map(({ delay }) => delay));
  const values = distinct(rows.map(({ parameter }) => parameter?.value ?? 0));
  const at = (value: number, delay: number): Row | undefined =>
    rows.find((row) => row.parameter?.value === value && row.delay === delay);
  const cells = (rate: (row: Row | undefined) => number): string[][] => [
    ['', ...delays.map((delay) => `${delay} ms`)],
    ...values.map((value) => [label(value), ...delays.map((delay) => show(rate(at(value, delay))))]),
  ];
  const alone = (row: Row | undefined): number =>
    medianOf(row, ({ report }) => report?.megabytesPerSecond as number | undefined);
  const { subject = '', work = '' } = rows[0] ?? {};
  return [
    { caption: `${work}, MB/s, whole process, ${subject}`, cells: cells(rateOf) },
    { caption: `${work}, MB/s, without start and login`, cells: cells(alone) },
  ];
}

export function sizeName(bytes: number): string {
  return bytes < MEBI ? `${bytes / 1024} KiB` : `${bytes / MEBI} MiB`;
}

function relay(rows: readonly Row[]): Table[] {
  const cells = [['', 'MB/s', 'CPU s/GB', 'memory MB']];
  for (const row of rows) {
    const said = row.samples[0]?.report?.relay as { cpuSeconds: number; peakMemory: number } | undefined;
    const perGigabyte = (said?.cpuSeconds ?? Number.NaN) / (row.bytes / 1e9);
    const memory = (said?.peakMemory ?? Number.NaN) / 1e6;
    cells.push([`${row.delay} ms`, show(rateOf(row), 0), show(perGigabyte, 2), show(memory, 0)]);
  }
  return [{ caption: '', cells }];
}

const tables: Readonly<Record<string, (rows: readonly Row[]) => Table[]>> = {
  ...{ local, distance, small, pure, sink, relay },
  trees: (rows) => paces(rows, ['get-tree', 'put-tree'], 'files'),
  listing: (rows) => paces(rows, ['list'], 'entries'),
  requests: (rows) => grid(rows, String),
  window: (rows) => grid(rows, sizeName),
  lanes: (rows) => grid(rows, String),
};
