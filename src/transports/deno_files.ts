/** Local files with Deno. */

import { join } from '../bytes/bytes.ts';
import type {
  LocalAttributes,
  LocalEntry,
  LocalFile,
  LocalFiles,
  LocalKind,
  LocalOpenOptions,
  LocalStat,
} from '../io/local_files.ts';
import { type DenoEntry, type DenoFile, type DenoFileInfo, deno } from './deno_api.ts';
import { fileError, isMissing, isThere } from './file_error.ts';
import { bothTimes } from './file_times.ts';
import { isWindowsName } from './windows_names.ts';

const creation = {
  new: { createNew: true },
  replace: { create: true, truncate: true },
  keep: { create: true },
  never: {},
} as const;

/** Bytes that are joined for one call: a call costs more than copying this much. */
const JOIN = 256 * 1024;

async function done<T>(operation: string, path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw fileError(operation, path, error);
  }
}

class OpenDenoFile implements LocalFile {
  readonly #file: DenoFile;
  readonly #path: string;
  readonly #seekable: boolean;
  /** Deno has no call with a position: one at a time, each behind its own seek. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(file: DenoFile, path: string, seekable: boolean) {
    this.#file = file;
    this.#path = path;
    this.#seekable = seekable;
  }

  read(target: Uint8Array, position: number): Promise<number> {
    return this.#next('read', async () => {
      this.#seek(position);
      return (await this.#file.read(target)) ?? 0;
    });
  }

  write(pieces: readonly Uint8Array[], position: number): Promise<void> {
    return this.#next('write', async () => {
      this.#seek(position);
      for (const bytes of joined(pieces)) {
        for (let at = 0; at < bytes.length; ) at += await this.#file.write(bytes.subarray(at));
      }
    });
  }

  async size(): Promise<number> {
    return (await done('stat', this.#path, this.#file.stat())).size;
  }

  async stat(): Promise<LocalStat> {
    return localStat(await done('stat', this.#path, this.#file.stat()));
  }

  async setAttributes(attributes: LocalAttributes): Promise<void> {
    // Deno has no call for the permissions of an open file
    await setPermissions(this.#path, attributes.permissions);
    const times = await bothTimes(attributes, () => this.stat());
    if (times) await done('utimes', this.#path, this.#file.utime(...times));
  }

  truncate(size: number): Promise<void> {
    return done('truncate', this.#path, this.#file.truncate(size));
  }

  sync(): Promise<void> {
    return done('sync', this.#path, this.#file.sync());
  }

  async close(): Promise<void> {
    this.#file.close();
  }

  #seek(position: number): void {
    if (this.#seekable) this.#file.seekSync(position, 0);
  }

  #next<T>(operation: string, work: () => Promise<T>): Promise<T> {
    const result = done(operation, this.#path, this.#last.then(work));
    this.#last = result.catch(() => {});
    return result;
  }
}

/** The pieces, small neighbours as one. */
function* joined(pieces: readonly Uint8Array[]): Generator<Uint8Array> {
  let group: Uint8Array[] = [];
  let size = 0;
  for (const piece of pieces) {
    if (size > 0 && size + piece.length > JOIN) {
      yield join(group);
      group = [];
      size = 0;
    }
    group.push(piece);
    size += piece.length;
  }
  if (group.length === 1) yield group[0] as Uint8Array;
  else if (size > 0) yield join(group);
}

/** Where there are no permissions, as in Windows, there is nothing to set. */
async function setPermissions(path: string, permissions: number | undefined): Promise<void> {
  if (permissions === undefined || deno().build.os === 'windows') return;
  await done('chmod', path, deno().chmod(path, permissions));
}

function localStat(info: DenoFileInfo): LocalStat {
  const { size, mode, mtime, atime, dev, ino } = info;
  return {
    kind: kindOf(info),
    size,
    ...(mode === null ? {} : { permissions: mode & 0o7777 }),
    ...(mtime === null ? {} : { modified: mtime.getTime() / 1000 }),
    ...(atime === null ? {} : { accessed: atime.getTime() / 1000 }),
    ...(ino === null ? {} : { id: `${dev}:${ino}` }),
  };
}

function kindOf(info: Pick<DenoEntry, 'isFile' | 'isDirectory' | 'isSymlink'>): LocalKind {
  if (info.isFile) return 'file';
  if (info.isDirectory) return 'directory';
  return info.isSymlink ? 'symlink' : 'other';
}

/** `undefined` where the error says that nothing is there. */
async function unlessMissing<T>(operation: string, path: string, work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw fileError(operation, path, error);
  }
}

/** What separates components. */
function separators(): RegExp {
  return deno().build.os === 'windows' ? /[/\\]/g : /\//g;
}

/** Where the last component of `path` begins. */
function nameStart(path: string): number {
  return [...path.matchAll(separators())].reduce((_, match) => match.index + 1, 0);
}

/** The files of the machine. */
export const denoFiles: LocalFiles = {
  async open(path: string, options: LocalOpenOptions): Promise<LocalFile> {
    const { access, create = 'replace', permissions = 0o666 } = options;
    const how = access === 'read' ? { read: true } : { write: true, mode: permissions, ...creation[create] };
    const operation = access === 'read' ? 'open' : 'create';
    const file = await done(operation, path, deno().open(path, how));
    try {
      const info = await done(operation, path, file.stat());
      // the umask has taken bits away; where there are none, there is nothing to set either
      if (access === 'write' && create === 'new' && options.permissions !== undefined && info.mode !== null) {
        await done(operation, path, deno().chmod(path, permissions));
      }
      return new OpenDenoFile(file, path, info.isFile);
    } catch (error) {
      file.close();
      throw error;
    }
  },

  async stat(path: string): Promise<LocalStat | undefined> {
    const info = await unlessMissing('stat', path, deno().lstat(path));
    return info && localStat(info);
  },

  resolve(path: string): Promise<string | undefined> {
    return unlessMissing('resolve', path, deno().realPath(path));
  },

  rename(from: string, to: string): Promise<void> {
    return done('rename', to, deno().rename(from, to));
  },

  async remove(path: string): Promise<void> {
    await unlessMissing('remove', path, deno().remove(path));
  },

  list(path: string): Promise<readonly LocalEntry[]> {
    const listing = async (): Promise<LocalEntry[]> => {
      const entries: LocalEntry[] = [];
      for await (const entry of deno().readDir(path)) entries.push({ name: entry.name, kind: kindOf(entry) });
      return entries;
    };
    return done('list', path, listing());
  },

  async makeDirectory(path: string, permissions?: number): Promise<boolean> {
    try {
      await deno().mkdir(path, { recursive: false, mode: permissions ?? 0o777 });
    } catch (error) {
      const there = isThere(error) ? await unlessMissing('stat', path, deno().stat(path)) : undefined;
      if (there?.isDirectory) return false;
      throw fileError('make', path, error);
    }
    await setPermissions(path, permissions); // the umask has taken bits away
    return true;
  },

  readLink(path: string): Promise<string> {
    return done('read', path, deno().readLink(path));
  },

  makeLink(target: string, path: string): Promise<void> {
    return done('link', path, deno().symlink(target, path));
  },

  async setAttributes(path: string, attributes: LocalAttributes): Promise<void> {
    await setPermissions(path, attributes.permissions);
    const times = await bothTimes(attributes, async () => localStat(await done('stat', path, deno().stat(path))));
    if (times) await done('utimes', path, deno().utime(path, ...times));
  },

  isName: (name: string) => deno().build.os !== 'windows' || isWindowsName(name),
  name: (path: string) => path.slice(nameStart(path)),
  beside: (path: string, name: string) => path.slice(0, nameStart(path)) + name,
  join(directory: string, name: string): string {
    if (directory === '' || nameStart(directory) === directory.length) return directory + name;
    return `${directory}${deno().build.os === 'windows' ? '\\' : '/'}${name}`;
  },
};
