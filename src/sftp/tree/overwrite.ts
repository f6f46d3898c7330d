/** Whether a file of the target is replaced. Knows no files. */

import type { TreeOptions } from './options.ts';

/** What is known of a file on either side; a member that is not known counts as different, and as not newer. */
export interface FileFacts {
  readonly size: number | undefined;
  /** Whole seconds since 1970: SFTP 3 knows no parts of them. */
  readonly modified: number | undefined;
}

export type Overwrite = NonNullable<TreeOptions['overwrite']>;

/** Why the file that is there stays, as the end of a sentence; `undefined` where it is replaced. */
export function keepReason(policy: Overwrite, source: FileFacts, target: FileFacts): string | undefined {
  switch (policy) {
    case 'always':
      return undefined;
    case 'never':
      return 'is there already';
    case 'newer':
      if (source.modified !== undefined && (target.modified ?? Number.POSITIVE_INFINITY) < source.modified)
        return undefined;
      return 'is there and not older';
    case 'different': {
      const known = source.size !== undefined && source.modified !== undefined;
      const same = known && source.size === target.size && source.modified === target.modified;
      return same ? 'is there, with the same size and time' : undefined;
    }
  }
}
