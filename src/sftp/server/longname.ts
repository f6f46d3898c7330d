/**
 * The line for people that goes with a name (draft-ietf-secsh-filexfer-02 §7), in the manner of `ls -l`. The draft asks clients
 * not to parse it; some do all the same, so that its columns are those that everybody sends. Times are UTC.
 */

import { concat } from '../../bytes/bytes.ts';
import { encodeName } from '../../bytes/name.ts';
import type { Attributes } from '../proto/attrs.ts';
import { modeText } from '../proto/mode.ts';

/** What beside attributes the line shows. */
export interface LongnameOwners {
  readonly links?: number | undefined;
  readonly owner?: string | undefined;
  readonly group?: string | undefined;
}

/** Seconds for which a line shows the time of day in place of the year: half a year, as in POSIX `ls`. */
const RECENT = 182.5 * 24 * 3600;

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'] as const;

/** The line for `name`; `now` in seconds since 1970. What is not known shows as `-`, as one link, or as 0. */
export function longname(name: Uint8Array, attrs: Attributes, owners: LongnameOwners, now: number): Uint8Array {
  const owner = owners.owner ?? attrs.uid ?? '-';
  const group = owners.group ?? attrs.gid ?? '-';
  const columns = [
    modeText(attrs, '-'),
    String(owners.links ?? 1).padStart(3),
    String(owner).padEnd(8),
    String(group).padEnd(8),
    String(attrs.size ?? 0).padStart(8),
    dateString(attrs.mtime ?? 0, now),
    '',
  ];
  return concat(encodeName(columns.join(' ')), name);
}

/** `Jan  5 14:03` for the last half year, `Jan  5  2020` for what is older or in the future. */
export function dateString(seconds: number, now: number): string {
  const date = new Date(Math.min(Math.max(Math.trunc(seconds), 0), 0xffffffff) * 1000);
  const two = (value: number): string => String(value).padStart(2, '0');
  const recent = seconds <= now && now - seconds < RECENT;
  const last = recent ? `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}` : ` ${date.getUTCFullYear()}`;
  return `${MONTHS[date.getUTCMonth()]} ${String(date.getUTCDate()).padStart(2)} ${last}`;
}
