/** Options and results of moving whole directories, either way. */

import { SshError } from '../../errors.ts';
import type { GetOptions } from '../get_options.ts';
import type { TransferOptions, TransferStats } from '../options.ts';
import type { Attributes } from '../proto/attrs.ts';

/** What an entry of a tree is; `other` is a device, pipe or socket. */
export type TreeKind = 'file' | 'directory' | 'symlink' | 'other';

/** A file, directory or link in the source of a transfer. */
export interface TreeEntry {
  /** From the root of the tree, components separated by `/`, such as `src/a.txt`. */
  readonly path: string;
  /** The last component. */
  readonly name: string;
  /** Of what would be made: where links are followed, that of what they lead to. */
  readonly kind: TreeKind;
  /** As far as the source tells them. */
  readonly attrs: Attributes;
}

/** How far a tree has come. */
export interface TreeProgress {
  /** The file that something was done with, from the root of the tree. */
  readonly path: string;
  /** Bytes of content that are through, of all files together. */
  readonly bytes: number;
  /** Bytes of the files that are known so far; all there will be once `listed`. */
  readonly total: number;
  /** Files that are whole. */
  readonly files: number;
  /** Files that are known so far and wanted, whether or not they are whole; all there will be once `listed`. */
  readonly filesTotal: number;
  /** Whether the whole source was listed. */
  readonly listed: boolean;
  /** Bytes a second, over the last seconds. */
  readonly rate: number;
}

/**
 * Options of moving whole directories; those of single files that are not described here mean what they mean there.
 * `preserve` is for directories too, except a root that was there before. Uploads have no `trustEof`.
 */
export interface TreeOptions
  extends Omit<TransferOptions, 'onProgress'>,
    Pick<GetOptions, 'preserve' | 'resume' | 'sparse' | 'sync' | 'trustEof' | 'verify'> {
  /**
   * Called for each entry before anything is done with it; false leaves it out, and what is below it. What it throws ends
   * the transfer. Default: everything.
   */
  readonly filter?: ((entry: TreeEntry) => boolean | Promise<boolean>) | undefined;
  /**
   * What becomes of symbolic links in the source. `skip`: nothing, and the result names them. `follow`: what a link leads to
   * is moved in its place, loops left out. `copy`: a link is made; of a download only one that stays in the tree, so that
   * no later write goes elsewhere by it. Default: `skip`.
   */
  readonly symlinks?: 'skip' | 'follow' | 'copy' | undefined;
  /**
   * What becomes of files that the target has. `always`: replaced. `never`: kept. `newer`: replaced if that of the source was
   * changed later. `different`: replaced if size or time of change differ, which wants `preserve` to be of use. Default: `always`.
   */
  readonly overwrite?: 'always' | 'never' | 'newer' | 'different' | undefined;
  /**
   * For uploads: whether files are written under temporary names and renamed when they are whole. False is for servers that
   * cannot replace a file by renaming; a file that is there is overwritten then. Default: true.
   */
  readonly atomic?: boolean | undefined;
  /** Files under way at once, at least 1; fewer where the server takes fewer open files. Default: 64. */
  readonly concurrency?: number | undefined;
  /** Whether the first file that fails ends everything, with its error. Default: false: `failed` has them all. */
  readonly stopOnError?: boolean | undefined;
  readonly onProgress?: ((progress: TreeProgress) => void) | undefined;
}

/** What was left alone on purpose. */
export interface SkippedEntry {
  readonly path: string;
  /** The reason, as the end of a sentence. */
  readonly why: string;
}

/** What did not work. */
export interface FailedEntry {
  readonly path: string;
  readonly error: SshError;
}

/**
 * What became of a tree. `requests` and `shortReads` are of all files together, `maxRequestsInFlight` and `maxBytesInFlight` of
 * the one that had most, `lanes` all channels that carried files at the same time.
 */
export interface TreeResult extends TransferStats {
  /** Files that were moved whole. */
  readonly files: number;
  /** Directories that are in the target now, without the root; also those that were there. */
  readonly directories: number;
  /** Symbolic links that were made. */
  readonly links: number;
  /** Bytes of content that were moved. */
  readonly bytes: number;
  /** From the call to the end. */
  readonly seconds: number;
  /** What was left alone on purpose, the first 10 000; `skippedTotal` counts all. */
  readonly skipped: readonly SkippedEntry[];
  readonly skippedTotal: number;
  /** What did not work, the first 10 000; `failedTotal` counts all. */
  readonly failed: readonly FailedEntry[];
  readonly failedTotal: number;
  /** What did not work out although the content is whole, one sentence each, the first 10 000. */
  readonly warnings: readonly string[];
}

/** Files under way at once by default: at 20 ms and five round trips a file that makes 640 files a second. */
export const DEFAULT_CONCURRENCY = 64;

/** Directories deep, as of the client of OpenSSH: more than people make, fewer than a call stack or a path holds. */
export const MAX_DEPTH = 64;

/** Entries of each list of a result: a tree of millions that fails throughout must not fill the memory. */
export const MAX_LISTED = 10_000;

/** The default for whatever is not given, or `bad-argument`. */
export function choice<T extends string>(name: string, value: T | undefined, choices: readonly [T, ...T[]]): T {
  if (value === undefined) return choices[0];
  if (choices.includes(value)) return value;
  throw new SshError('bad-argument', `${name} is one of ${choices.join(', ')}, not ${String(value)}`);
}
