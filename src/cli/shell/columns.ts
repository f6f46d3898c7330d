/** Names side by side, and the orders in which `ls` shows them. Pure. */

import type { DirectoryEntry } from '../../sftp/list.ts';
import { sorted } from '../listing.ts';

const GAP = 2;

/** `names` in as few lines of `width` characters as columns allow, read from top to bottom. */
export function inColumns(names: readonly string[], width: number): string[] {
  const widest = names.reduce((most, name) => Math.max(most, [...name].length), 0);
  const columns = Math.max(1, Math.floor((width + GAP) / (widest + GAP)));
  const rows = Math.ceil(names.length / columns);
  return Array.from({ length: rows }, (_, row) => {
    let line = '';
    for (let at = row; at < names.length; at += rows) {
      const name = names[at] as string;
      line += at + rows < names.length ? padded(name, widest + GAP) : name;
    }
    return line;
  });
}

function padded(name: string, width: number): string {
  return name + ' '.repeat(Math.max(0, width - [...name].length));
}

/** In the order of the options: `t` newest first, `S` largest first, else by name; `r` turns it round. */
export function ordered(entries: readonly DirectoryEntry[], flags: ReadonlySet<string>): DirectoryEntry[] {
  const list = sorted(entries);
  if (flags.has('t')) list.sort((a, b) => (b.attrs.mtime ?? 0) - (a.attrs.mtime ?? 0));
  else if (flags.has('S')) list.sort((a, b) => (b.attrs.size ?? 0) - (a.attrs.size ?? 0));
  return flags.has('r') ? list.reverse() : list;
}
