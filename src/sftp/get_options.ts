/** What can be said of a download, and what comes of it. */

import { SshError } from '../errors.ts';
import type { LocalFile } from '../io/local_files.ts';
import type { RangeOptions, TransferStats } from './options.ts';
import type { Preserve } from './preserve.ts';
import type { Attributes } from './proto/attrs.ts';
import { checkVerify, type Verify } from './verify.ts';

/** Where a download goes: a local path, an open local file (which stays open), or a stream (which is closed). */
export type LocalTarget = string | LocalFile | WritableStream<Uint8Array>;

/** Options of `get`. With `start` or `end` the part between them is all that the local file holds. */
export interface GetOptions extends RangeOptions {
  /**
   * Whether the content is written under a temporary name beside the target and renamed when it is whole. Default: true.
   * Devices and pipes are always written in place.
   */
  readonly atomic?: boolean | undefined;
  /** Whether an existing local file may be replaced; otherwise `target-exists`. Default: true. */
  readonly overwrite?: boolean | undefined;
  /** Whether to have the content on the local disk before the promise resolves. Default: false. */
  readonly sync?: boolean | undefined;
  /** Whether the local file gets permissions and times of the remote one. What cannot be set is a warning. Default: false. */
  readonly preserve?: Preserve | undefined;
  /**
   * Whether what is unfinished stays, beside the target as `.NAME.SIZE-TIME.part`, and the next `get` with `resume` goes on
   * from it, once it has compared it with the remote file; size and time are those of the remote file, so that a file that
   * changed is fetched anew. `target`: the local file itself, if there is no such part, is taken for the beginning,
   * and compared as a whole. For local paths. Default: false.
   */
  readonly resume?: boolean | 'target' | undefined;
  /** How the local file is compared with the remote one when every byte is there. Default: `size`. */
  readonly verify?: Verify | undefined;
  /** Whether blocks of zeros are left out of the local file, which then takes less of the disk. Default: false. */
  readonly sparse?: boolean | undefined;
}

/** What a caller that listed the file already knows of it. */
export interface GetHints {
  /** Attributes of the remote file, which need not be asked for. They may be old: the file may have changed since. */
  readonly attrs?: Attributes;
  /**
   * Whether nothing but a file may come out of it: a symbolic link at the local path is replaced, and not what it leads to, and
   * a device or pipe is refused. Default: false.
   */
  readonly regular?: boolean;
  /** How far what is written may run ahead, with `resume`. Default: `spanOf`. */
  readonly span?: number;
}

export interface GetResult extends TransferStats {
  /** What did not work out although the content is whole, one sentence each. */
  readonly warnings: readonly string[];
  /** Where it went on with what an earlier `get` had left, in bytes from the start; absent: it began at the start. */
  readonly resumedFrom?: number;
}

/** Throws `bad-argument` for options that do not go together. */
export function checkGetOptions(local: LocalTarget, options: GetOptions): void {
  const { resume, start, end, atomic } = options;
  checkVerify(options.verify);
  if (!resume) return;
  if (start !== undefined || end !== undefined) {
    throw new SshError('bad-argument', 'resume is for whole files: leave out start and end');
  }
  if (typeof local !== 'string' || atomic === false) {
    throw new SshError('bad-argument', 'resume wants a local path to keep a part beside, and not atomic: false');
  }
}
