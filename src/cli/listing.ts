/**
 * Directory entries as lines for people, and as JSON. Everything comes from the attributes, nothing from the server's own
 * line, so that what is printed is safe for a terminal and the same for every server.
 */

import { printable } from '../bytes/text.ts';
import type { DirectoryEntry } from '../sftp/list.ts';
import { type Attributes, type FileKind, fileKind } from '../sftp/proto/attrs.ts';
import { modeText } from '../sftp/proto/mode.ts';

/** One entry in the object of `ls --json`. Members that the server did not send are absent. */
export interface EntryReport {
  /** As text; bytes that are not UTF-8 show as U+FFFD. */
  readonly name: string;
  readonly type: FileKind;
  readonly size?: number;
  /** Octal digits, such as `0644`. */
  readonly permissions?: string;
  readonly uid?: number;
  readonly gid?: number;
  /** ISO 8601, UTC. */
  readonly modified?: string;
}

/** Sorts by the bytes of the names, which is the same everywhere. */
export function sorted(entries: readonly DirectoryEntry[]): DirectoryEntry[] {
  return [...entries].sort((a, b) => compareBytes(a.nameBytes, b.nameBytes));
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) if (a[i] !== b[i]) return (a[i] as number) - (b[i] as number);
  return a.length - b.length;
}

const MAX_NAME = 65536; // more than any file system has; names must not be cut

/** The name as it may be shown: control characters are written as `\xNN`. */
export function shownName(entry: DirectoryEntry): string {
  return printable(entry.name, MAX_NAME);
}

/** How long lines show what may be shown in more than one way. */
export interface LongFormat {
  /** Default: in full. */
  readonly size?: (bytes: number) => string;
  /** Names of owners and groups, as far as they are known. Default: the numbers. */
  readonly users?: ReadonlyMap<number, string>;
  readonly groups?: ReadonlyMap<number, string>;
}

/** Lines with type and permissions, owner, group, size, time (UTC) and name, in columns. */
export function longLines(entries: readonly DirectoryEntry[], format: LongFormat = {}): string[] {
  const rows = entries.map((entry) => longColumns(entry.attrs, format));
  const widths = [0, 1, 2, 3, 4].map((column) =>
    rows.reduce((most, row) => Math.max(most, (row[column] as string).length), 0),
  );
  return entries.map((entry, index) => {
    const row = rows[index] as readonly string[];
    return `${row.map((cell, column) => cell.padStart(widths[column] as number)).join('  ')}  ${shownName(entry)}`;
  });
}

function longColumns(attrs: Attributes, format: LongFormat): readonly string[] {
  const { uid, gid, size, mtime } = attrs;
  const time = mtime === undefined ? '-' : isoTime(mtime).slice(0, 16).replace('T', ' ');
  const named = (id: number | undefined, names: ReadonlyMap<number, string> | undefined): string =>
    id === undefined ? '-' : printable(names?.get(id) ?? String(id), MAX_OWNER);
  const bytes = size === undefined ? '-' : (format.size?.(size) ?? String(size));
  return [modeText(attrs, '?'), named(uid, format.users), named(gid, format.groups), bytes, time];
}

const MAX_OWNER = 64; // longer than names of users are, so that no server fills the line

export function entryReport(entry: DirectoryEntry): EntryReport {
  const { size, permissions, uid, gid, mtime } = entry.attrs;
  return {
    name: entry.name,
    type: fileKind(entry.attrs),
    ...(size === undefined ? {} : { size }),
    ...(permissions === undefined ? {} : { permissions: (permissions & 0o7777).toString(8).padStart(4, '0') }),
    ...(uid === undefined ? {} : { uid }),
    ...(gid === undefined ? {} : { gid }),
    ...(mtime === undefined ? {} : { modified: isoTime(mtime) }),
  };
}

function isoTime(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');
}
