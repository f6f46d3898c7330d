/** What puressh must reach, what it aims at, and what it did reach: all from rows, nothing is measured here. */

import { SFTP } from './peers.ts';
import type { SuiteResult } from './report.ts';
import { memoryOf, paceOf, type Row, rateOf, secondsOf } from './runner.ts';
import { NOBLE } from './suites/pure.ts';

export type Verdict = 'aim reached' | 'reached' | 'missed' | 'not measured';

/** One line of what has to be reached. */
export interface Goal {
  readonly work: string;
  readonly must: string;
  readonly aim: string;
  /** By runtime, or in a word. */
  readonly found: string;
  readonly verdict: Verdict;
}

/** A value of one runtime. */
interface Value {
  readonly runtime: string;
  readonly value: number;
}

/** What a goal asks: a bound that has to hold, and one that would be good; `most`: values should be low. */
interface Bounds {
  readonly must?: number;
  readonly aim?: number;
  readonly most?: true;
  readonly unit: (value: number) => string;
  /** Which runtimes decide; the others are only told. */
  readonly counts?: (runtime: string) => boolean;
}

const times = (value: number): string => `${value.toFixed(2)}×`;
const megabytes = (value: number): string => `${Math.round(value)} MB`;
const isNode = (runtime: string): boolean => runtime.startsWith('Node');

/** Decided by the worst of the runtimes that count. */
export function judge(work: string, values: readonly Value[], bounds: Bounds): Goal {
  const { must, aim, most, unit, counts = isNode } = bounds;
  const sign = most ? '≤ ' : '≥ ';
  const known = values.filter(({ value }) => Number.isFinite(value));
  const deciding = values.filter(({ runtime }) => counts(runtime)).map(({ value }) => value);
  const worst = most ? Math.max(...deciding) : Math.min(...deciding);
  const holds = (bound: number | undefined): boolean => bound === undefined || (most ? worst <= bound : worst >= bound);
  const verdict = (): Verdict => {
    if (known.length === 0 || deciding.length === 0) return 'not measured';
    if (!deciding.every(Number.isFinite) || !holds(must)) return 'missed';
    if (aim === undefined) return 'reached';
    return holds(aim) ? 'aim reached' : must === undefined ? 'missed' : 'reached';
  };
  return {
    work,
    must: must === undefined ? '' : sign + unit(must),
    aim: aim === undefined ? '' : sign + unit(aim),
    found: known.map(({ runtime, value }) => `${runtime} ${unit(value)}`).join(', '),
    verdict: verdict(),
  };
}

/** Everything that is asked, in order. */
export function goals(results: readonly SuiteResult[]): Goal[] {
  const rowsOf = (name: string): readonly Row[] => results.find((each) => each.name === name)?.rows ?? [];
  return [
    ...localGoals(rowsOf('local')),
    ...distanceGoals(rowsOf('distance')),
    ...(['get', 'put'] as const).map((work) =>
      judge(
        `a file of 3 bytes at 100 ms, ${work}, whole process: time against sftp`,
        smallValues(rowsOf('small'), work),
        {
          ...{ must: 0.5, aim: 0.4, most: true, unit: times },
        },
      ),
    ),
    ...(['get', 'put'] as const).map((work) =>
      judge(
        `${countOf(rowsOf('trees'), '1000')} files of 4 KiB at 20 ms, ${work} -r: files a second against sftp`,
        ratios(rowsOf('trees'), { work: `${work}-tree`, delay: 20 }, paceOf),
        { must: 10, aim: 20, unit: times },
      ),
    ),
    judge(
      `names of ${countOf(rowsOf('listing'), '50000')} entries at 50 ms: entries a second against sftp ls -f`,
      ratios(rowsOf('listing'), { work: 'list', delay: 50 }, paceOf),
      { must: 2, aim: 4, unit: times },
    ),
    judge('cryptography in JavaScript only, get, no delay: rate against noble alone', pureValues(rowsOf('pure')), {
      ...{ must: 0.8, aim: 0.9, unit: times },
    }),
    memoryGoal(results),
    sinkGoal(rowsOf('sink')),
    gridGoal('reads pending at once × delays', rowsOf('requests')),
    gridGoal('receive windows × delays', rowsOf('window')),
  ];
}

type Key = Partial<Pick<Row, 'work' | 'delay'>>;

function matching(rows: readonly Row[], key: Key): readonly Row[] {
  return rows.filter((row) => Object.entries(key).every(([name, value]) => row[name as keyof Key] === value));
}

/** A measure of each own row against that of `subject`, by default `sftp` with the same cipher. */
function ratios(rows: readonly Row[], key: Key, measure: (row: Row | undefined) => number, subject = SFTP): Value[] {
  const found = matching(rows, key);
  const base = measure(found.find((row) => row.subject === subject));
  return found.flatMap((row) =>
    row.runtime === undefined ? [] : [{ runtime: row.runtime, value: measure(row) / base }],
  );
}

function localGoals(rows: readonly Row[]): Goal[] {
  const against = (work: 'get' | 'put', subject: string, bounds: Pick<Bounds, 'must' | 'aim'>): Goal => {
    const name = subject === SFTP ? 'sftp with the same cipher' : `ssh2 fast${work === 'get' ? 'Get' : 'Put'}`;
    const values = ratios(rows, { work, delay: 0 }, rateOf, subject);
    return judge(`${work}, no delay, against ${name}`, values, { ...bounds, unit: times });
  };
  // whichever of its ciphers is the faster one
  const ssh2 = (work: 'get' | 'put'): string => {
    const [first, second] = ['ssh2, aes128-gcm', 'ssh2'].map((subject) =>
      matching(rows, { work, delay: 0 }).find((row) => row.subject === subject),
    );
    return rateOf(second) > rateOf(first) ? 'ssh2' : 'ssh2, aes128-gcm';
  };
  return [
    against('get', SFTP, { must: 1, aim: 1.3 }),
    against('put', SFTP, { must: 1, aim: 1.3 }),
    against('get', ssh2('get'), { must: 2, aim: 4 }),
    against('put', ssh2('put'), { must: 1.2, aim: 2 }),
  ];
}

function distanceGoals(rows: readonly Row[]): Goal[] {
  const versus = (work: 'get' | 'put', delay: number, bounds: Pick<Bounds, 'must' | 'aim'>): Goal =>
    judge(`${work} at ${delay} ms against sftp`, ratios(rows, { work, delay }, rateOf), { ...bounds, unit: times });
  const flat = matching(rows, { work: 'get', delay: 100 }).flatMap((row) => {
    const near = rows.find((each) => each.subject === row.subject && each.work === 'get' && each.delay === 0);
    return row.runtime === undefined ? [] : [{ runtime: row.runtime, value: rateOf(row) / rateOf(near) }];
  });
  const gets = [20, 40, 60, 80, 100, 150].map((delay, at) =>
    versus('get', delay, { must: [2, 3, 4, 5, 6, 8][at] as number }),
  );
  return [
    ...gets,
    judge('get at 100 ms against our own without delay', flat, { aim: 0.8, unit: times }),
    versus('put', 100, { must: 3, aim: 6 }),
    versus('put', 150, { must: 3, aim: 6 }),
  ];
}

function smallValues(rows: readonly Row[], work: string): Value[] {
  return ratios(rows, { work, delay: 100 }, secondsOf);
}

function countOf(rows: readonly Row[], otherwise: string): string {
  const counts = rows.filter(({ runtime }) => runtime !== undefined).map(({ count }) => count ?? 0);
  return counts.length === 0 ? otherwise : String(Math.max(...counts));
}

function pureValues(rows: readonly Row[]): Value[] {
  return matching(rows, { work: 'get' }).flatMap(({ runtime, ...row }) => {
    const alone = rows.find((each) => each.subject === `${NOBLE}, ${runtime}`);
    return runtime === undefined ? [] : [{ runtime, value: rateOf(row) / rateOf(alone) }];
  });
}

/** Suites with puressh's own defaults, whatever the size and the distance. */
const DEFAULTS = ['local', 'distance', 'small', 'trees', 'listing', 'sink'];

function memoryGoal(results: readonly SuiteResult[]): Goal {
  const highest = new Map<string, number>();
  for (const row of results.filter(({ name }) => DEFAULTS.includes(name)).flatMap(({ rows }) => rows)) {
    const megabytesHeld = memoryOf(row) / 1e6;
    if (row.runtime === undefined || !Number.isFinite(megabytesHeld)) continue;
    highest.set(row.runtime, Math.max(highest.get(row.runtime) ?? 0, megabytesHeld));
  }
  const values = [...highest].map(([runtime, value]) => ({ runtime, value }));
  const bounds = { must: 200, aim: 130, most: true, unit: megabytes, counts: () => true } as const;
  return judge('resident memory, the highest of all files and distances, defaults', values, bounds);
}

/** Memory that a runtime takes and gives back by itself. */
const FLAT = 32e6;

/** Seconds without a byte that nobody would call a stall. */
const PAUSE = 2;

/** How much the resident set grew after the first quarter, in bytes. */
export function growthOf(row: Row): number {
  return Math.max(
    ...row.samples.map(({ memory = [] }) => {
      const start = Math.floor(memory.length / 4);
      const first = memory[start]?.[1] ?? Number.NaN;
      return Math.max(...memory.slice(start).map(([, bytes]) => bytes)) - first;
    }),
  );
}

function sinkGoal(rows: readonly Row[]): Goal {
  const slowest = Math.min(...rows.map(({ parameter }) => parameter?.value ?? Number.NaN));
  const found = rows.filter(({ parameter }) => parameter?.value === slowest);
  const isCalm = (row: Row): boolean =>
    row.failure === undefined &&
    growthOf(row) <= FLAT &&
    row.samples.every(({ longestPause = Number.POSITIVE_INFINITY }) => longestPause <= PAUSE);
  const size = found[0] === undefined ? '' : `, ${Math.round(found[0].bytes / 2 ** 20)} MiB`;
  const said = found.map(
    (row) => `${row.runtime} at ${row.delay} ms ${row.failure ?? `grew ${(growthOf(row) / 1e6).toFixed(0)} MB`}`,
  );
  return {
    work: found.length === 0 ? 'a slow sink' : `a sink of ${slowest / 1e6} MB/s${size}`,
    must: 'memory flat, no stall, no disconnect',
    aim: '',
    found: said.join(', '),
    verdict: found.length === 0 ? 'not measured' : found.every(isCalm) ? 'reached' : 'missed',
  };
}

function gridGoal(work: string, rows: readonly Row[]): Goal {
  const failed = rows.filter(({ failure }) => failure !== undefined).length;
  return {
    ...{ work, must: 'a table', aim: '' },
    found: rows.length === 0 ? '' : `${rows.length - failed} of ${rows.length} cells`,
    verdict: rows.length === 0 ? 'not measured' : failed === 0 ? 'reached' : 'missed',
  };
}
