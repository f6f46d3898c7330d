/** A directory and all below it, entry by entry. */

import type { SshError } from '../errors.ts';
import type { Link } from './link.ts';
import type { CallOptions, RemotePath } from './options.ts';
import { readTree, type WalkEntry } from './read_tree.ts';
import { whole } from './transfer.ts';

/** Options of `walk`. */
export interface WalkOptions extends CallOptions {
  /** How many directories deep to go; 1: the entries of the directory alone. Default: to the end. */
  readonly maxDepth?: number | undefined;
  /** Whether an entry counts: it is left out where this is false, and a directory is not entered. */
  readonly filter?: ((entry: WalkEntry) => boolean) | undefined;
  /** Told of a directory that cannot be read, which is left out then. Default: the walk ends with the error. */
  readonly onError?: ((error: SshError, directory: RemotePath) => void) | undefined;
  /** Told of names that the server lists and that are none, such as `../x`. They are left out in any case. */
  readonly onRefused?: ((directory: RemotePath, name: Uint8Array, why: string) => void) | undefined;
}

/**
 * The entries of `path` and of all directories below it. A directory comes before what is in it, and the entries of one come
 * together; beyond that the order is the server's. Symbolic links are entries like files: only `path` itself may be one.
 */
export function walk(link: Link, path: RemotePath, options: WalkOptions): AsyncGenerator<WalkEntry> {
  const { filter, onError, onRefused } = options;
  const maxDepth = options.maxDepth === undefined ? Number.POSITIVE_INFINITY : whole('maxDepth', options.maxDepth, 1);
  const reader = {
    visit: (entry: WalkEntry) => {
      if (filter !== undefined && !filter(entry)) return { yields: false };
      if (entry.kind !== 'directory' || entry.depth >= maxDepth) return { yields: true };
      return { yields: true, enter: { state: undefined, trust: 'listed' as const } };
    },
    refused: (place: { readonly path: RemotePath }, name: Uint8Array, why: string) =>
      onRefused?.(place.path, name, why),
    failed: (place: { readonly path: RemotePath; readonly depth: number }, error: SshError) => {
      if (onError === undefined || place.depth === 0 || error.code !== 'sftp-status') throw error;
      onError(error, place.path);
    },
  };
  return readTree(link, [{ path, depth: 0, state: undefined, trust: 'given' }], reader, options);
}
