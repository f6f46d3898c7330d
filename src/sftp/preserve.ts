/**
 * Permissions and times that a copy gets from its original. Version 3 has whole seconds from 1970 to 2106, and both times only
 * together (draft-ietf-secsh-filexfer-02 §5).
 */

import type { LocalAttributes, LocalStat } from '../io/local_files.ts';
import type { Attributes } from './proto/attrs.ts';

/** What to keep: everything, nothing, or what is named. */
export type Preserve = boolean | { readonly permissions?: boolean | undefined; readonly times?: boolean | undefined };

/** The bits that are kept: never set-user-ID and the like, which would mean another user on the other side. */
const KEPT_BITS = 0o777;

function parts(preserve: Preserve | undefined): { readonly permissions: boolean; readonly times: boolean } {
  if (typeof preserve !== 'object') return { permissions: preserve === true, times: preserve === true };
  return { permissions: preserve.permissions === true, times: preserve.times === true };
}

/** Whether anything is to be kept. */
export function preserves(preserve: Preserve | undefined): boolean {
  const { permissions, times } = parts(preserve);
  return permissions || times;
}

/** What a local copy of a remote file gets. */
export function localAttributes(attrs: Attributes, preserve: Preserve | undefined): LocalAttributes {
  const { permissions, times } = parts(preserve);
  return {
    ...(permissions && attrs.permissions !== undefined ? { permissions: attrs.permissions & KEPT_BITS } : {}),
    ...(times && attrs.atime !== undefined ? { accessed: attrs.atime } : {}),
    ...(times && attrs.mtime !== undefined ? { modified: attrs.mtime } : {}),
  };
}

/** What a remote copy of a local file gets. */
export function remoteAttributes(stat: LocalStat, preserve: Preserve | undefined): Attributes {
  const { permissions, times } = parts(preserve);
  const { modified, accessed = modified } = stat;
  const isTimed = times && modified !== undefined && accessed !== undefined;
  return {
    ...(permissions && stat.permissions !== undefined ? { permissions: stat.permissions & KEPT_BITS } : {}),
    ...(isTimed ? { atime: Math.floor(accessed), mtime: Math.floor(modified) } : {}),
  };
}
