/**
 * Local files with `node:fs`, which Node and Bun both have. Callbacks with descriptors and positions: many reads and writes of
 * one file may be under way at once, and promises of `node:fs/promises` cost more than the work.
 */

import * as fs from 'node:fs';
import { basename, sep } from 'node:path';
import { piecesAfter } from '../bytes/pieces.ts';
import type {
  LocalAttributes,
  LocalEntry,
  LocalFile,
  LocalFiles,
  LocalKind,
  LocalOpenOptions,
  LocalStat,
} from '../io/local_files.ts';
import { fileError, isMissing, isThere } from './file_error.ts';
import { bothTimes } from './file_times.ts';
import { isWindowsName } from './windows_names.ts';

const { O_CREAT, O_EXCL, O_RDONLY, O_TRUNC, O_WRONLY } = fs.constants;

const creation = { new: O_CREAT | O_EXCL, replace: O_CREAT | O_TRUNC, keep: O_CREAT, never: 0 } as const;

/** A call of `node:fs` as a promise whose rejection names the file. */
function done<T = void>(operation: string, path: string, start: (callback: Callback<T>) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    try {
      start((error, value) => {
        if (error) reject(fileError(operation, path, error));
        else resolve(value as T);
      });
    } catch (error) {
      reject(fileError(operation, path, error)); // such as a path with a null byte
    }
  });
}

type Callback<T> = (error: NodeJS.ErrnoException | null, value?: T) => void;

/** `undefined` where the error says that nothing is there. */
async function unlessMissing<T>(value: Promise<T>): Promise<T | undefined> {
  try {
    return await value;
  } catch (error) {
    if (isMissing((error as Error).cause)) return undefined;
    throw error;
  }
}

class NodeFile implements LocalFile {
  readonly #fd: number;
  readonly #path: string;
  readonly #seekable: boolean;

  constructor(fd: number, path: string, seekable: boolean) {
    this.#fd = fd;
    this.#path = path;
    this.#seekable = seekable;
  }

  read(target: Uint8Array, position: number): Promise<number> {
    const at = this.#seekable ? position : null;
    return done('read', this.#path, (callback) => fs.read(this.#fd, target, 0, target.length, at, callback));
  }

  async write(pieces: readonly Uint8Array[], position: number): Promise<void> {
    let rest = pieces;
    let at = position;
    while (rest.length > 0) {
      const written = await this.#writeSome(rest, this.#seekable ? at : null);
      at += written;
      rest = piecesAfter(rest, written);
    }
  }

  #writeSome(pieces: readonly Uint8Array[], at: number | null): Promise<number> {
    const only = pieces.length === 1 ? pieces[0] : undefined;
    return done('write', this.#path, (callback) => {
      if (only !== undefined) fs.write(this.#fd, only, 0, only.length, at, callback);
      // `writev` knows no null, though undefined means the same
      else fs.writev(this.#fd, pieces as Uint8Array[], at ?? (undefined as unknown as number), callback);
    });
  }

  async size(): Promise<number> {
    return (await this.#stats()).size;
  }

  async stat(): Promise<LocalStat> {
    return localStat(await this.#stats());
  }

  #stats(): Promise<fs.Stats> {
    return done('stat', this.#path, (callback) => fs.fstat(this.#fd, callback));
  }

  async setAttributes(attributes: LocalAttributes): Promise<void> {
    const { permissions } = attributes;
    if (permissions !== undefined) {
      await done('chmod', this.#path, (callback) => fs.fchmod(this.#fd, permissions, callback));
    }
    const times = await bothTimes(attributes, () => this.stat());
    if (times) await done('utimes', this.#path, (callback) => fs.futimes(this.#fd, ...times, callback));
  }

  truncate(size: number): Promise<void> {
    return done('truncate', this.#path, (callback) => fs.ftruncate(this.#fd, size, callback));
  }

  sync(): Promise<void> {
    return done('sync', this.#path, (callback) => fs.fsync(this.#fd, callback));
  }

  close(): Promise<void> {
    return done('close', this.#path, (callback) => fs.close(this.#fd, callback));
  }
}

function localStat(stats: fs.Stats): LocalStat {
  return {
    kind: kindOf(stats),
    size: stats.size,
    permissions: stats.mode & 0o7777,
    modified: stats.mtimeMs / 1000,
    accessed: stats.atimeMs / 1000,
    id: `${stats.dev}:${stats.ino}`,
  };
}

function kindOf(stats: fs.Stats | fs.Dirent): LocalKind {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'directory';
  return stats.isSymbolicLink() ? 'symlink' : 'other';
}

/** The files of the machine. */
export const nodeFiles: LocalFiles = {
  async open(path: string, options: LocalOpenOptions): Promise<LocalFile> {
    const { access, create = 'replace', permissions = 0o666 } = options;
    const flags = access === 'read' ? O_RDONLY : O_WRONLY | creation[create];
    const operation = access === 'read' ? 'open' : 'create';
    const fd = await done<number>(operation, path, (callback) => fs.open(path, flags, permissions, callback));
    try {
      const stats = await done<fs.Stats>(operation, path, (callback) => fs.fstat(fd, callback));
      // the umask has taken bits away
      if (access === 'write' && create === 'new' && options.permissions !== undefined) {
        await done(operation, path, (callback) => fs.fchmod(fd, permissions, callback));
      }
      return new NodeFile(fd, path, stats.isFile());
    } catch (error) {
      fs.close(fd, () => {});
      throw error;
    }
  },

  async stat(path: string): Promise<LocalStat | undefined> {
    const stats = await unlessMissing(done<fs.Stats>('stat', path, (callback) => fs.lstat(path, callback)));
    return stats && localStat(stats);
  },

  resolve(path: string): Promise<string | undefined> {
    return unlessMissing(done<string>('resolve', path, (callback) => fs.realpath(path, callback)));
  },

  rename(from: string, to: string): Promise<void> {
    return done('rename', to, (callback) => fs.rename(from, to, callback));
  },

  async remove(path: string): Promise<void> {
    await unlessMissing(done('remove', path, (callback) => fs.unlink(path, callback)));
  },

  async list(path: string): Promise<readonly LocalEntry[]> {
    const entries = await done<fs.Dirent[]>('list', path, (callback) =>
      fs.readdir(path, { withFileTypes: true }, callback),
    );
    return entries.map((entry) => ({ name: entry.name, kind: kindOf(entry) }));
  },

  async makeDirectory(path: string, permissions?: number): Promise<boolean> {
    try {
      await done('make', path, (callback) => fs.mkdir(path, permissions ?? 0o777, callback));
    } catch (error) {
      if (!isThere((error as Error).cause)) throw error;
      const there = await unlessMissing(done<fs.Stats>('stat', path, (callback) => fs.stat(path, callback)));
      if (there?.isDirectory()) return false;
      throw error;
    }
    // the umask has taken bits away
    if (permissions !== undefined) await done('make', path, (callback) => fs.chmod(path, permissions, callback));
    return true;
  },

  readLink(path: string): Promise<string> {
    return done('read', path, (callback) => fs.readlink(path, callback));
  },

  makeLink(target: string, path: string): Promise<void> {
    return done('link', path, (callback) => fs.symlink(target, path, callback));
  },

  async setAttributes(path: string, attributes: LocalAttributes): Promise<void> {
    const { permissions } = attributes;
    if (permissions !== undefined) await done('chmod', path, (callback) => fs.chmod(path, permissions, callback));
    const stat = async (): Promise<LocalStat> =>
      localStat(await done<fs.Stats>('stat', path, (callback) => fs.stat(path, callback)));
    const times = await bothTimes(attributes, stat);
    if (times) await done('utimes', path, (callback) => fs.utimes(path, ...times, callback));
  },

  isName: (name: string) => process.platform !== 'win32' || isWindowsName(name),
  name: (path: string) => basename(path),
  beside: (path: string, name: string) => path.slice(0, path.lastIndexOf(basename(path))) + name,
  join: (directory: string, name: string) =>
    directory === '' || directory.endsWith('/') || directory.endsWith(sep) ? directory + name : directory + sep + name,
};
