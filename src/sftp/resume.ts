/**
 * How an unfinished file is found again and what of it can be trusted.
 *
 * It stands beside the target as `.NAME.MARK.part`, where the mark is that of the source: its size and time. While it is
 * written, and after a process died, it may have holes, since parts of a file arrive in any order; but never more than `spanOf`
 * its source before its end, so what comes before that is whole. When a transfer sees its own failure it cuts the file behind the
 * last byte that is sure and then renames it to `.NAME.MARK.kept.part`: that one is whole. Before anything is
 * written to it again it gets the first name.
 */

import { SshError } from '../errors.ts';
import { digestsOfReader } from './digests.ts';
import type { OpenHandle } from './operations.ts';
import type { RemotePath, TransferOptions } from './options.ts';
import { unfinishedPath } from './path.ts';
import { findDifference } from './verify.ts';

/** Least and most of the bytes by which the end of a part may lie beyond what is whole. */
const LEAST_SPAN = 2 * 1024 * 1024;
const MOST_SPAN = 16 * 1024 * 1024;

/** Part of a file that may have to be moved again because its line was lost. */
const AGAIN = 1 / 8;

/**
 * Most bytes by which the end of a part may lie beyond what is whole: those are moved again after a crash, and an upload never
 * has more under way. So it is little of a file, lest one never ends that is interrupted again and again, and yet as much as
 * eight channels of 2 MiB hold where the file is large. It follows from the size alone, so that the next transfer knows it.
 */
export function spanOf(size: number): number {
  return Math.min(MOST_SPAN, Math.max(LEAST_SPAN, Math.ceil(size * AGAIN)));
}

/** Bytes before the point of resumption that are compared where the server takes no digests. */
const COMPARED = 256 * 1024;

/** Names of an unfinished file: `torn` may have holes near its end, `kept` has none. */
export interface Unfinished<P> {
  readonly torn: P;
  readonly kept: P;
}

/** Those of the file at `path` for a source with this mark. */
export function unfinishedPaths<P extends RemotePath>(path: P, mark: string): Unfinished<P> {
  return { torn: unfinishedPath(path, mark) as P, kept: unfinishedPath(path, `${mark}.kept`) as P };
}

/** The mark of a source: its size in bytes and its time of change in seconds, to the millisecond. */
export function sourceMark(size: number, modified: number): string {
  return `${size}-${Math.floor(modified * 1000) / 1000}`;
}

/** How much there is of an unfinished file, and is whole: nothing of one that is longer than its source. */
export function lengths(
  state: 'torn' | 'kept',
  length: number,
  sourceSize: number,
  span: number,
): Pick<Beginning, 'length' | 'whole' | 'longer'> {
  if (length > sourceSize) return { length: 0, whole: 0, longer: { length, sourceSize } };
  return { length, whole: state === 'kept' ? length : Math.max(0, length - span) };
}

/** A file that may be the beginning of a source. */
export interface Beginning {
  readonly length: number;
  /** How many bytes of it are without holes. */
  readonly whole: number;
  /** Where it is longer than its source, and so not its beginning: how long the two are. */
  readonly longer?: { readonly length: number; readonly sourceSize: number };
  /** Whether another program may have made it. */
  readonly isTarget: boolean;
}

/**
 * How many of the first bytes of the remote file are those that `read` reads, as far as can be told: by digests of all where the
 * server takes them, which show holes too; otherwise by comparing what is whole, all of it where another program may have made
 * it, and its last bytes where it is ours. `undefined`: it is another file.
 */
export async function trustedBytes(
  file: OpenHandle,
  read: (target: Uint8Array, position: number) => Promise<number>,
  { length, whole, isTarget }: Beginning,
  options: TransferOptions,
): Promise<number | undefined> {
  const { signal } = options;
  if (length > COMPARED) {
    try {
      const digests = digestsOfReader(read, 0, signal);
      const difference = await findDifference(file, { start: 0, length }, digests, 'hash', options);
      if (difference === undefined) return length;
      return difference >= whole ? difference : undefined;
    } catch (error) {
      if (!(error instanceof SshError) || !['not-supported', 'sftp-status'].includes(error.code)) throw error;
    }
  }
  const start = isTarget ? 0 : Math.max(0, whole - COMPARED);
  const range = { start, length: whole - start };
  const difference = await findDifference(file, range, digestsOfReader(read, start, signal), 'content', options);
  return difference === undefined ? whole : undefined;
}

/** What to tell where another transfer works on the same part: only one of them may go on. */
export function takenMessage(path: string): string {
  return `resume: another transfer has taken ${path}, which this one was writing: run one at a time`;
}

/** What to tell where something else has the name of a part. */
export function noFileMessage(path: string): string {
  return `resume: ${path} is no file, though an unfinished one would have that name: move it away`;
}

/** What to tell where an unfinished file is not the beginning of its source, or turned out, by `trusted`, not to be. */
export function differsWarning({ whole, longer }: Beginning, path: string, trusted: number | undefined): string[] {
  if (longer !== undefined) {
    const { length, sourceSize } = longer;
    return [`${path} has ${length} bytes, more than the ${sourceSize} of the file: it was moved from the start`];
  }
  if (trusted !== undefined) return [];
  return [`The ${whole} bytes of ${path} are not those of the file: it was moved from the start`];
}

/** `options` whose progress counts `before` bytes that are there already. */
export function withProgressFrom<T extends TransferOptions>(options: T, before: number): T {
  const { onProgress } = options;
  if (onProgress === undefined || before === 0) return options;
  return {
    ...options,
    onProgress: (progress) =>
      onProgress({
        ...progress,
        bytes: progress.bytes + before,
        ...(progress.total === undefined ? {} : { total: progress.total + before }),
      }),
  };
}

/** The error of a transfer that began behind `before` bytes, and of which `kept` stays, `whole` bytes of it for sure. */
export function resumableError(
  error: SshError,
  before: number,
  kept: string | undefined,
  whole: number = before + (error.transferred ?? 0),
): SshError {
  if (before === 0 && kept === undefined) return error;
  const { code, fault, phase, status, operation, path, transferred } = error;
  const message =
    kept === undefined ? error.message : `${error.message}; what is there stays as ${kept} for resume: true`;
  return new SshError(code, message, {
    fault,
    ...(phase === undefined ? {} : { phase }),
    ...(status === undefined ? {} : { status }),
    ...(operation === undefined ? {} : { operation }),
    ...(path === undefined ? {} : { path }),
    ...(transferred === undefined ? {} : { transferred: whole }),
    cause: error,
  });
}
