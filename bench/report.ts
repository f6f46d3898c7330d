/** What a run found, as a file: one a run, in bench/results. */

import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, release, totalmem, type } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root } from '../test/support/root.ts';
import type { Missing } from './program.ts';
import type { Row } from './runner.ts';

/** Grows by one whenever older files can no longer be read. */
const FORM = 3;

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  /** Bytes. */
  readonly memory: number;
  readonly system: string;
}

/** What one suite found, with all that a reader has to know about it. */
export interface SuiteResult {
  readonly name: string;
  /** When it began. */
  readonly date: string;
  /** Whether something was smaller or fewer than in a full run. */
  readonly partial: boolean;
  readonly rounds: number;
  /** The state of the source: a commit, with `+` where files were changed. */
  readonly commit: string;
  readonly machine: Machine;
  readonly server: string;
  /** Where the files were. */
  readonly place: string;
  /** Versions by subject. */
  readonly versions: Readonly<Record<string, string>>;
  readonly missing: readonly Missing[];
  readonly rows: readonly Row[];
}

export interface Report {
  readonly form: typeof FORM;
  readonly suites: readonly SuiteResult[];
}

export const resultsFolder: string = fileURLToPath(new URL('bench/results/', root));

/** Writes a report and returns its path. */
export function save(suites: readonly SuiteResult[], date: string): string {
  mkdirSync(resultsFolder, { recursive: true });
  const path = join(resultsFolder, `${date.replaceAll(':', '-').slice(0, 19)}.json`);
  writeFileSync(path, `${JSON.stringify({ form: FORM, suites } satisfies Report, null, 1)}\n`);
  return path;
}

/** All reports that are there, the oldest first. */
export function load(): Report[] {
  return readdirSync(resultsFolder)
    .filter((name) => /^\d.*\.json$/.test(name))
    .sort()
    .map((name) => JSON.parse(readFileSync(join(resultsFolder, name), 'utf8')) as Report)
    .filter(({ form }) => form === FORM);
}

/** The newest result of every suite; a full run goes before a partial one. */
export function newest(reports: readonly Report[]): SuiteResult[] {
  const found = new Map<string, SuiteResult>();
  for (const result of reports.flatMap(({ suites }) => suites)) {
    const known = found.get(result.name);
    if (known === undefined || known.partial || !result.partial) found.set(result.name, result);
  }
  return [...found.values()];
}

export function machine(): Machine {
  return { cpu: cpus()[0]?.model ?? '', cores: cpus().length, memory: totalmem(), system: `${type()} ${release()}` };
}

/** Without git, or outside a repository, it is not known. */
export function commit(): string {
  const git = (...args: string[]): string =>
    execFileSync('git', args, {
      cwd: fileURLToPath(root),
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  try {
    return git('rev-parse', '--short=10', 'HEAD') + (git('status', '--porcelain', '--', 'src') === '' ? '' : '+');
  } catch {
    return 'unknown';
  }
}
