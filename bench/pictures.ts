/** Which charts the results give, by the name of their file. */

import { type Bar, barChart, lineChart, type Series, type Specification } from './charts.ts';
import type { SuiteResult } from './report.ts';
import { paceOf, type Row, rateOf, secondsOf } from './runner.ts';
import { sizeName } from './tables.ts';

/** A chart of one suite. */
export interface Picture {
  readonly name: string;
  /** What it shows, for who cannot see it. */
  readonly text: string;
  readonly specification: Specification;
}

export function picturesOf({ name, rows }: SuiteResult): readonly Picture[] {
  return (pictures[name]?.(rows.filter(({ failure }) => failure === undefined)) ?? []).filter(
    ({ isEmpty }) => !isEmpty,
  );
}

type Drawn = Picture & { readonly isEmpty: boolean };

function distinct<T>(values: readonly T[]): readonly T[] {
  return [...new Set(values)];
}

/** One series a group, in the order in which groups appear. */
function seriesOf(
  rows: readonly Row[],
  group: (row: Row) => string,
  isOwn: (row: Row) => boolean,
  point: (row: Row) => { readonly x: number; readonly y: number },
): Series[] {
  return distinct(rows.map(group)).map((name) => {
    const members = rows.filter((row) => group(row) === name);
    const points = members.map(point).sort((a, b) => a.x - b.x);
    return { name, isOwn: isOwn(members[0] as Row), points };
  });
}

const isOwn = ({ runtime }: Row): boolean => runtime !== undefined;

function overDistance(rows: readonly Row[]): Drawn[] {
  return ['get', 'put'].map((work) => {
    const found = rows.filter((row) => row.work === work);
    const text = `${work} of one large file by round trip`;
    const point = (row: Row): { x: number; y: number } => ({ x: row.delay, y: rateOf(row) });
    const series = seriesOf(found, ({ subject }) => subject, isOwn, point);
    const axes = { x: 'round trip, ms', y: 'MB/s, whole process', yScale: 'log' } as const;
    return {
      ...{ name: `distance-${work}`, text, isEmpty: found.length === 0 },
      specification: lineChart({ title: text, ...axes, series }),
    };
  });
}

function bars(
  rows: readonly Row[],
  work: string,
  name: string,
  text: string,
  x: string,
  value: (row: Row) => number,
): Drawn {
  const found: Bar[] = rows
    .filter((row) => row.work === work)
    .map((row) => ({ name: row.subject, isOwn: isOwn(row), value: value(row) }));
  return { name, text, isEmpty: found.length === 0, specification: barChart({ title: text, x, bars: found }) };
}

function gridLines(rows: readonly Row[], name: string, x: string, label: (value: number) => string): Drawn[] {
  const value = (row: Row): number => row.parameter?.value ?? 0;
  const text = `${rows[0]?.work} by ${x} and round trip`;
  const series = seriesOf(
    rows,
    ({ delay }) => `${delay} ms`,
    () => true,
    (row) => ({ x: value(row), y: rateOf(row) }),
  );
  const ticks = Object.fromEntries(distinct(rows.map(value)).map((each) => [each, label(each)]));
  const axes = { x, y: 'MB/s, whole process', xScale: 'log', yScale: 'log' } as const;
  return [
    { name, text, isEmpty: rows.length === 0, specification: lineChart({ title: text, ...axes, series, ticks }) },
  ];
}

function memoryOverTime(rows: readonly Row[]): Drawn[] {
  const text = 'resident memory while a slow sink holds a download back';
  const series = rows.flatMap((row): Series[] => {
    const points = (row.samples[0]?.memory ?? []).map(([x, bytes]) => ({ x, y: bytes / 1e6 }));
    return points.length === 0 ? [] : [{ name: `${row.runtime}, ${row.delay} ms`, isOwn: true, points }];
  });
  const specification = lineChart({ title: text, x: 's', y: 'MB', series });
  return [{ name: 'sink', text, isEmpty: series.length === 0, specification }];
}

const pictures: Readonly<Record<string, (rows: readonly Row[]) => Drawn[]>> = {
  local: (rows) =>
    ['get', 'put'].map((work) =>
      bars(rows, work, `local-${work}`, `${work} of one large file, no delay`, 'MB/s, whole process', rateOf),
    ),
  distance: overDistance,
  small: (rows) =>
    ['get', 'put'].map((work) =>
      bars(rows, work, `small-${work}`, `${work} of 3 bytes at 100 ms`, 's, whole process', secondsOf),
    ),
  trees: (rows) =>
    ['get', 'put'].map((work) =>
      bars(rows, `${work}-tree`, `trees-${work}`, `${work} -r of files of 4 KiB at 20 ms`, 'files/s', paceOf),
    ),
  listing: (rows) => [bars(rows, 'list', 'listing', 'names of a large directory at 50 ms', 'entries/s', paceOf)],
  sink: memoryOverTime,
  requests: (rows) => gridLines(rows, 'requests', 'reads pending at once', String),
  window: (rows) => gridLines(rows, 'window', 'receive window', sizeName),
  lanes: (rows) => gridLines(rows, 'lanes', 'lanes', String),
};
