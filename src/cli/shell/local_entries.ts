/** A local directory in the shape of a remote one, so that both are listed the same way. */

import { lstat, readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { DirectoryEntry } from '../../sftp/list.ts';
import type { Attributes } from '../../sftp/proto/attrs.ts';
import { fileError } from '../../transports/file_error.ts';

interface Facts {
  readonly size: number;
  readonly uid: number;
  readonly gid: number;
  readonly mode: number;
  readonly atimeMs: number;
  readonly mtimeMs: number;
}

/** What stands in the directory at `path`, or the file itself. Hidden names only where they are asked for. */
export async function localEntries(path: string, hidden: boolean): Promise<DirectoryEntry[]> {
  try {
    const there = await stat(path);
    if (!there.isDirectory()) return [entryOf(basename(path), there)];
    const names = (await readdir(path)).filter((name) => hidden || !name.startsWith('.'));
    return await Promise.all(names.map(async (name) => entryOf(name, await lstat(join(path, name)))));
  } catch (error) {
    throw fileError('list', path, error);
  }
}

function entryOf(name: string, facts: Facts): DirectoryEntry {
  const { size, uid, gid, mode, atimeMs, mtimeMs } = facts;
  const attrs: Attributes = {
    size,
    uid,
    gid,
    permissions: mode,
    atime: Math.floor(atimeMs / 1000),
    mtime: Math.floor(mtimeMs / 1000),
  };
  return { name, nameBytes: new TextEncoder().encode(name), longname: '', attrs };
}
