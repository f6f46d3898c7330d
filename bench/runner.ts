/** Runs what is to be measured, in turn: a round goes through all of it, so that what else the machine does falls on all. */

/** What a row is about; rows of a suite differ in at least one of these. */
export interface Subject {
  /** What was measured, such as `puressh, Node 24.1.0`. */
  readonly subject: string;
  /** The runtime that ran puressh; absent for everybody else. */
  readonly runtime?: string;
  /** What it did: `get`, `put`, `get-tree`, `put-tree`, `list` or a name of the suite's own. */
  readonly work: string;
  /** Milliseconds that the relay added to the round trip. */
  readonly delay: number;
  /** Bytes of content. */
  readonly bytes: number;
  /** Files or entries, where it was many. */
  readonly count?: number;
  /** The option that was varied. */
  readonly parameter?: { readonly name: string; readonly value: number };
}

/** One run. */
export interface Sample {
  /** Wall-clock time of the whole process. */
  readonly seconds: number;
  /** Processor time of it and its children. */
  readonly cpuSeconds?: number | undefined;
  /** Highest resident set of it and its children, in bytes. */
  readonly peakMemory?: number | undefined;
  /** Processor time of the relay meanwhile. */
  readonly relayCpuSeconds?: number | undefined;
  /** How much of all processors was busy meanwhile, 0 to 1. */
  readonly busy?: number | undefined;
  /** What puressh said about the transfer with `--json`. */
  readonly report?: Readonly<Record<string, unknown>> | undefined;
  /** Resident set over time, `[seconds, bytes]`, where it was watched. */
  readonly memory?: readonly (readonly [number, number])[] | undefined;
  /** The longest time without a byte, in seconds, where it was watched. */
  readonly longestPause?: number | undefined;
}

/** All runs of one case. The first failure ends it, and its samples do not count. */
export interface Row extends Subject {
  readonly samples: readonly Sample[];
  readonly failure?: string;
}

/** Something that can be measured. `run` rejects when it fails or when what it did is wrong. */
export interface Case extends Subject {
  run(): Promise<Sample>;
}

/** Runs all cases, `rounds` times each. `tell` gets a line about every run. */
export async function runAll(
  cases: readonly Case[],
  rounds: number,
  tell: (line: string) => void,
  signal?: AbortSignal,
): Promise<Row[]> {
  const rows = cases.map(({ run: _, ...subject }) => ({ ...subject, samples: [] as Sample[] })) as (Row & {
    samples: Sample[];
    failure?: string;
  })[];
  for (let round = 1; round <= rounds; round++) {
    for (const [at, each] of cases.entries()) {
      signal?.throwIfAborted();
      const row = rows[at] as (typeof rows)[number];
      if (row.failure !== undefined) continue;
      try {
        row.samples.push(await each.run());
      } catch (error) {
        signal?.throwIfAborted();
        row.failure = (error as Error).message;
      }
      tell(`round ${round} of ${rounds}: ${describe(row)}: ${outcome(row)}`);
    }
  }
  return rows;
}

function describe({ subject, work, delay, parameter }: Row): string {
  const parts = [subject, work, `${delay} ms`];
  if (parameter !== undefined) parts.push(`${parameter.name} ${parameter.value}`);
  return parts.join(', ');
}

function outcome(row: Row): string {
  if (row.failure !== undefined) return `failed: ${row.failure}`;
  const { seconds } = row.samples.at(-1) as Sample;
  const rate = row.bytes >= 1e6 && row.count === undefined ? `, ${(row.bytes / 1e6 / seconds).toFixed(1)} MB/s` : '';
  return `${seconds.toFixed(2)} s${rate}`;
}

/** The middle value; of an even number the mean of the middle two. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  const upper = sorted[half] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? Number.NaN) + upper) / 2;
}

/** The median time of a row; `NaN` when it failed or is absent. */
export function secondsOf(row: Row | undefined): number {
  if (row === undefined || row.failure !== undefined) return Number.NaN;
  return median(row.samples.map(({ seconds }) => seconds));
}

/** 10^6 bytes a second of the whole process; `NaN` as above. */
export function rateOf(row: Row | undefined): number {
  return row === undefined ? Number.NaN : row.bytes / 1e6 / secondsOf(row);
}

/** Files or entries a second; `NaN` as above. */
export function paceOf(row: Row | undefined): number {
  return row?.count === undefined ? Number.NaN : row.count / secondsOf(row);
}

/** The highest resident set of any run, in bytes; `NaN` when it is not known. */
export function memoryOf(row: Row | undefined): number {
  const known = (row?.samples ?? []).flatMap(({ peakMemory }) => (peakMemory === undefined ? [] : [peakMemory]));
  return row?.failure !== undefined || known.length === 0 ? Number.NaN : Math.max(...known);
}

/** The median of something that samples may have; `NaN` when none has it. */
export function medianOf(row: Row | undefined, pick: (sample: Sample) => number | undefined): number {
  if (row === undefined || row.failure !== undefined) return Number.NaN;
  return median(row.samples.map(pick).filter((value) => value !== undefined));
}
