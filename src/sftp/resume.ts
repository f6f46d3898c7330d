/**
 * How an unfinished file is found again and what of it can be trusted.
 *
 * It stands beside the target as `.NAME.MARK.part`, where the mark is that of the source: its size and time. While it is
 * written, and after a process died, it may have holes, since parts of a file arrive in any order; but never more than `SPAN`
 * bytes before its end, so what comes before that is whole. When a transfer sees its own failure it cuts the file behind the
 * last byte that is sure and then renames it to `.NAME.MARK.kept.part`: that one is whole. Before anything is
 * written to it again it gets the first name.
 */

import { SshError } from '../errors.ts';
import { digestsOfReader } from './digests.ts';
import type { OpenHandle } from './operations.ts';
import type { RemotePath, TransferOptions } from './options.ts';
import { unfinishedPath } from './path.ts';
import { findDifference } from './verify.ts';

/**
 * Most bytes by which the end of a part may lie beyond what is whole: as much as a window or the lanes of an upload
 * have under way, so that it holds nothing back, and little to move again.
 */
export const SPAN: number = 64 * 1024 * 1024;

/** Bytes before the point of resumption that are compared where the server takes no digests. */
export const COMPARED: number = 256 * 1024;

/** Names of an unfinished file: `torn` may have holes within `SPAN` of its end, `kept` has none. */
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

/** How much of an unfinished file is whole: nothing of one that is longer than its source. */
export function wholeBytes(state: 'torn' | 'kept', size: number, sourceSize: number, span: number): number {
  if (size > sourceSize) return 0;
  return state === 'kept' ? size : Math.max(0, size - span);
}

/**
 * Whether the first `length` bytes of the remote file and of what `read` reads are the same: by digests of all of them where
 * the server takes them, otherwise by comparing all (`whole`) or the last of them.
 */
export async function samePrefix(
  file: OpenHandle,
  read: (target: Uint8Array, position: number) => Promise<number>,
  length: number,
  whole: boolean,
  options: TransferOptions,
): Promise<boolean> {
  const { signal } = options;
  if (length > COMPARED) {
    try {
      const digests = digestsOfReader(read, 0, signal);
      return (await findDifference(file, { start: 0, length }, digests, 'hash', options)) === undefined;
    } catch (error) {
      if (!(error instanceof SshError) || !['not-supported', 'sftp-status'].includes(error.code)) throw error;
    }
  }
  const start = whole ? 0 : Math.max(0, length - COMPARED);
  const range = { start, length: length - start };
  return (await findDifference(file, range, digestsOfReader(read, start, signal), 'content', options)) === undefined;
}

/** What to tell where an unfinished file is not the beginning of its source. */
export function differsWarning(length: number, path: string): string {
  return `The ${length} bytes of ${path} are not those of the file: it was moved from the start`;
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
