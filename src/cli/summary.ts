/** What became of everything that one command moved: sums over files and trees. */

import { SshError, type SshErrorCode } from '../errors.ts';
import type { TransferStats } from '../sftp/options.ts';
import type { FailedEntry, SkippedEntry, TreeResult } from '../sftp/tree/options.ts';
import type { MoveChoice } from './transfer_args.ts';

/** What is wrong with one file; anything else is wrong with the connection, and with all that is left to do. */
const fileCodes: ReadonlySet<SshErrorCode> = new Set<SshErrorCode>([
  'bad-local-file',
  'content-differs',
  'incomplete',
  'not-supported',
  'sftp-status',
  'target-exists',
]);

/** Of one file. */
export interface FileFacts extends Omit<TransferStats, 'seconds' | 'rate'> {
  readonly resumedFrom?: number | undefined;
  readonly warnings?: readonly string[] | undefined;
}

/** Sums of `files` and trees. */
export class Summary {
  bytes = 0;
  requests = 0;
  maxRequestsInFlight = 0;
  maxBytesInFlight = 0;
  shortReads = 0;
  lanes = 0;
  /** Milliseconds, the smallest seen. */
  roundTrip: number | undefined;
  window: number | undefined;
  adjustments = 0;
  /** Bytes that an earlier transfer had left and that were not moved again. */
  resumedFrom = 0;
  files = 0;
  directories = 0;
  links = 0;
  readonly skipped: SkippedEntry[] = [];
  readonly failed: FailedEntry[] = [];
  skippedTotal = 0;
  failedTotal = 0;
  readonly warnings: string[] = [];

  file(facts: FileFacts): void {
    this.files++;
    this.#moved(facts);
    this.resumedFrom += facts.resumedFrom ?? 0;
    this.warnings.push(...(facts.warnings ?? []));
  }

  /** A whole tree; its paths are shown below `root`. */
  tree(root: string, facts: TreeResult): void {
    this.files += facts.files;
    this.directories += facts.directories;
    this.links += facts.links;
    this.skipped.push(...facts.skipped.map(({ path, why }) => ({ path: below(root, path), why })));
    this.failed.push(...facts.failed.map(({ path, error }) => ({ path: below(root, path), error })));
    this.skippedTotal += facts.skippedTotal;
    this.failedTotal += facts.failedTotal;
    this.warnings.push(...facts.warnings);
    this.#moved(facts);
  }

  #moved(facts: Omit<TransferStats, 'seconds' | 'rate'>): void {
    this.bytes += facts.bytes;
    this.requests += facts.requests;
    this.maxRequestsInFlight = Math.max(this.maxRequestsInFlight, facts.maxRequestsInFlight);
    this.maxBytesInFlight = Math.max(this.maxBytesInFlight, facts.maxBytesInFlight);
    this.shortReads += facts.shortReads;
    this.lanes = Math.max(this.lanes, facts.lanes);
    // counted from the opening of the channel on, which all share
    this.adjustments = Math.max(this.adjustments, facts.adjustments ?? 0);
    if (facts.window !== undefined) this.window = Math.max(this.window ?? 0, facts.window);
    if (facts.roundTrip !== undefined) this.roundTrip = Math.min(this.roundTrip ?? Infinity, facts.roundTrip);
  }

  /** Something was left alone on purpose. */
  skip(path: string, why: string): void {
    this.skipped.push({ path, why });
    this.skippedTotal++;
  }

  /** Whether `error` says that something was there which `--overwrite never` keeps: it came after we had looked. */
  keep(path: string, policy: MoveChoice['overwrite'], error: unknown): boolean {
    const isKept = policy === 'never' && error instanceof SshError && error.code === 'target-exists';
    if (isKept) this.skip(path, 'is there already');
    return isKept;
  }

  /** The server named something as nobody may be made to name a file here. `fault` ends a sentence about the name. */
  refuse(path: string, fault: string): void {
    const error = new SshError('protocol', `${path} gives no name to make a file under: it ${fault}`, {
      fault: 'peer',
    });
    this.failed.push({ path, error });
    this.failedTotal++;
  }

  /** One file of many did not work; what is wrong with the connection ends everything and is thrown. */
  fail(path: string, error: unknown): void {
    if (!(error instanceof SshError) || !fileCodes.has(error.code)) throw error;
    this.failed.push({ path, error });
    this.failedTotal++;
  }
}

function below(root: string, path: string): string {
  if (path === '') return root;
  return root === '' || root.endsWith('/') ? root + path : `${root}/${path}`;
}
