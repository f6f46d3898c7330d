/** What can be said of an upload, and what comes of it. */

import { SshError } from '../errors.ts';
import type { LocalFile } from '../io/local_files.ts';
import type { TransferOptions, TransferStats } from './options.ts';
import { type Preserve, preserves } from './preserve.ts';
import { checkVerify, type Verify } from './verify.ts';

/** Where an upload comes from: a local path, an open local file (which stays open), bytes, or whatever yields them. */
export type LocalSource = string | LocalFile | Uint8Array | AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>;

export interface PutOptions extends TransferOptions {
  /**
   * Whether the content is written under a temporary name beside the target and renamed when it is whole. Default: true.
   * Symbolic links, devices and pipes are always written in place.
   */
  readonly atomic?: boolean | undefined;
  /** Whether an existing file may be replaced; otherwise `target-exists`. Default: true. */
  readonly overwrite?: boolean | undefined;
  /**
   * POSIX permission bits of the file; where they come out differently they are set with FSETSTAT, and a refusal is a
   * warning. Default: those of the file that is replaced, else of the local file, less what the server takes off.
   */
  readonly permissions?: number | undefined;
  /** Whether to have the server flush the file to its disk (fsync@openssh.com). Default: false. */
  readonly sync?: boolean | undefined;
  /**
   * Whether the remote file gets permissions and times of the local one, with FSETSTAT; a refusal is a warning. For local
   * files. Default: false.
   */
  readonly preserve?: Preserve | undefined;
  /**
   * Whether what is unfinished stays, beside the target as `.NAME.SIZE-TIME.part`, and the next `put` with `resume` goes on
   * from it, once it has compared it with the source; size and time are those of the source, so that one that changed is
   * sent anew. `target`: the remote file itself, if there is no such part, is taken for the beginning, and compared as a
   * whole. For local files and bytes. Default: false.
   */
  readonly resume?: boolean | 'target' | undefined;
  /** How the remote file is compared with what was sent, before it gets its name. Default: `size`. */
  readonly verify?: Verify | undefined;
  /**
   * Whether blocks of zeros are not sent, which leaves holes in a file that is new. What is written in place is sent as it is.
   * Default: false.
   */
  readonly sparse?: boolean | undefined;
  /** Whether to write behind the end of the remote file, in place, or create it. Default: false. */
  readonly append?: boolean | undefined;
  /** First byte to be written in a remote file that exists, in place; what the source does not cover stays. */
  readonly position?: number | undefined;
}

export interface PutResult extends TransferStats {
  /** What did not work out although the content is whole, one sentence each. */
  readonly warnings: readonly string[];
  /** Where it went on with what an earlier `put` had left, in bytes from the start; absent: it began at the start. */
  readonly resumedFrom?: number;
}

export const RESUME_IN_PLACE = 'resume keeps a part beside the target, so it does not go with atomic: false';

/** Throws `bad-argument` for options that do not go together. */
export function checkPutOptions(options: PutOptions): void {
  const { resume, append, position, atomic, overwrite } = options;
  checkVerify(options.verify);
  const chosen = [resume && 'resume', append && 'append', position !== undefined && 'position'].filter(Boolean);
  if (chosen.length > 1) throw new SshError('bad-argument', `${chosen.join(' and ')} do not go together`);
  if (resume && atomic === false) {
    throw new SshError('bad-argument', RESUME_IN_PLACE);
  }
  if (resume || chosen.length === 0) return;
  if (atomic === true || overwrite === false) {
    throw new SshError('bad-argument', `${chosen[0]} writes into the file itself: leave out atomic and overwrite`);
  }
}

/** Throws `bad-argument` where the source cannot do what is asked. */
export function checkSource(
  options: PutOptions,
  source: { readonly mark?: unknown; readonly stat?: unknown; readonly size?: unknown },
): void {
  if (options.resume && source.mark === undefined) {
    throw new SshError('bad-argument', 'resume wants a source that can be read again: a local file or bytes');
  }
  if (preserves(options.preserve) && source.stat === undefined) {
    throw new SshError('bad-argument', 'preserve wants a local file, which has permissions and times');
  }
}
