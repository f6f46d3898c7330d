/**
 * The files of the host with `node:fs`, for the server's directory backend. Bun and Deno have `node:fs` too; where theirs is
 * another, `bun_host_files.ts` and `deno_host_files.ts` say how.
 */

import { Buffer } from 'node:buffer';
import * as fs from 'node:fs';
import process from 'node:process';
import { decodeName, encodeName } from '../bytes/name.ts';
import { SshError } from '../errors.ts';
import type { FileSystemStats } from '../sftp/proto/extensions.ts';
import type { SftpBackend } from '../sftp/server/backend.ts';
import { type DirectoryOptions, directoryFiles } from '../sftp/server/directory.ts';
import type { HostDirectory, HostFiles, HostOpen } from '../sftp/server/host_files.ts';
import { fileError } from './file_error.ts';
import { called, hostStat, NodeHostFile } from './node_host_file.ts';
import { ownersOf } from './owner_names.ts';
import { isWindowsName } from './windows_names.ts';

const { O_APPEND, O_CREAT, O_EXCL, O_RDONLY, O_RDWR, O_WRONLY } = fs.constants;

/** Windows has none of these; its links are found before anything is opened. */
const { O_NOCTTY = 0, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = fs.constants;

const isWindows = process.platform === 'win32';

/** Bytes of a file name: NAME_MAX of the usual file systems, since the runtimes do not tell it. */
const MAX_NAME = 255;

/** What is not the same in the three runtimes. */
export interface HostNames {
  readonly lossyNames: boolean;
  isName(text: string): boolean;
  /** A path as the runtime's functions want it. */
  path(text: string): string | Buffer;
  readlink(path: string): Promise<string>;
  openDirectory(path: string): Promise<HostDirectory>;
}

export const nodeNames: HostNames = {
  lossyNames: false,
  isName: (text) => (isWindows ? isWindowsName(text) : text !== '' && !/[/\0]/.test(text)),
  // A string is encoded faster, but only bytes can be what is not UTF-8; bytes for pairs of surrogates do no harm.
  path: (text) => (/[\ud800-\udfff]/.test(text) ? Buffer.from(encodeName(text)) : text),

  async readlink(path) {
    const place = nodeNames.path(path);
    return decodeName(await called<Buffer>((callback) => fs.readlink(place, { encoding: 'buffer' }, callback)));
  },

  async openDirectory(path) {
    const place = nodeNames.path(path) as string; // its types know no bytes
    const options = { encoding: 'buffer' as BufferEncoding, bufferSize: 128 };
    return new NodeDirectory(await called<fs.Dir>((callback) => fs.opendir(place, options, callback)));
  },
};

/** A directory that is read some names at a time. */
class NodeDirectory implements HostDirectory {
  readonly #dir: fs.Dir;
  #closed = false;

  constructor(dir: fs.Dir) {
    this.#dir = dir;
  }

  async next(count: number): Promise<readonly string[]> {
    const names: string[] = [];
    while (names.length < count && !this.#closed) {
      const entry = await this.#dir.read();
      if (entry === null) await this.close();
      else names.push(decodeName(entry.name as unknown as Uint8Array));
    }
    return names;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#dir.close();
  }
}

/** Names that the runtime has read all at once. */
export function directoryOf(names: readonly string[]): HostDirectory {
  let taken = 0;
  return {
    async next(count) {
      taken += count;
      return names.slice(taken - count, taken);
    },
    async close() {},
  };
}

function flagsOf({ read, write, append, create }: HostOpen): number {
  const access = read ? (write ? O_RDWR : O_RDONLY) : O_WRONLY;
  const made = create ? O_CREAT | O_EXCL : 0;
  return access | made | (append ? O_APPEND : 0) | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
}

/** Exact as far as a number is. */
function count(value: bigint): number {
  return value < 0n ? 0 : Math.min(Number(value), Number.MAX_SAFE_INTEGER);
}

/** As far as the runtimes tell: whether a file system is read-only shows where writing would be allowed otherwise. */
async function figures(place: string | Buffer): Promise<FileSystemStats> {
  const [stats, stat, denied] = await Promise.all([
    called<fs.BigIntStatsFs & { readonly frsize?: bigint }>((callback) => fs.statfs(place, { bigint: true }, callback)),
    called<fs.BigIntStats>((callback) => fs.lstat(place, { bigint: true }, callback)),
    called((callback) => fs.access(place, fs.constants.W_OK, callback)).then(
      () => '',
      (error: NodeJS.ErrnoException) => error.code,
    ),
  ]);
  return {
    blockSize: count(stats.bsize),
    // Node 20 does not tell; on Linux the two are the same as a rule.
    fragmentSize: count(stats.frsize ?? stats.bsize),
    blocks: count(stats.blocks),
    freeBlocks: count(stats.bfree),
    availableBlocks: count(stats.bavail),
    files: count(stats.files),
    freeFiles: count(stats.ffree),
    availableFiles: count(stats.ffree), // statvfs(3) of glibc does the same
    id: count(stat.dev),
    readOnly: denied === 'EROFS',
    noSetuid: false,
    maxName: MAX_NAME,
  };
}

/** The files of the host by `node:fs`, with the names of a runtime. */
export function hostFilesOf(names: HostNames): HostFiles {
  const { lossyNames, isName, path, readlink, openDirectory } = names;
  return {
    separator: isWindows ? '\\' : '/',
    lossyNames,
    isName,
    readlink,
    openDirectory,
    realpath: (at) => called((callback) => fs.realpath.native(path(at), callback)),
    lstat: async (at) =>
      hostStat(await called<fs.BigIntStats>((callback) => fs.lstat(path(at), { bigint: true }, callback))),
    open: async (at, how) =>
      new NodeHostFile(
        await called((callback) => fs.open(path(at), flagsOf(how), how.mode ?? 0o666, callback)),
        readlink,
      ),
    mkdir: (at, mode) => called((callback) => fs.mkdir(path(at), { mode }, callback)),
    rmdir: (at) => called((callback) => fs.rmdir(path(at), callback)),
    unlink: (at) => called((callback) => fs.unlink(path(at), callback)),
    rename: (from, to) => called((callback) => fs.rename(path(from), path(to), callback)),
    link: (from, to) => called((callback) => fs.link(path(from), path(to), callback)),
    symlink: (target, at) => called((callback) => fs.symlink(path(target), path(at), callback)),
    lchown: (at, uid, gid) => called((callback) => fs.lchown(path(at), uid, gid, callback)),
    lutimes: (at, atime, mtime) => called((callback) => fs.lutimes(path(at), atime, mtime, callback)),
    chmod: (at, mode) => called((callback) => fs.chmod(path(at), mode, callback)),
    statfs: (at) => figures(path(at)),
    owners: ownersOf((at) => called((callback) => fs.readFile(at, callback))),
  };
}

/** The files of the machine that Node runs on. */
export const nodeHostFiles: HostFiles = hostFilesOf(nodeNames);

/** The directory at `root` without links on the way to it. Throws `bad-local-file` when there is none. */
export function realDirectory(root: string): string {
  if (typeof root !== 'string' || root === '') {
    throw new SshError('bad-argument', 'The directory to serve is the path of one, as text');
  }
  let real: string;
  let isDirectory: boolean;
  try {
    real = fs.realpathSync.native(root);
    isDirectory = fs.statSync(real).isDirectory();
  } catch (error) {
    throw fileError('serve', root, error);
  }
  if (isDirectory) return real;
  throw fileError('serve', root, Object.assign(new Error('not a directory'), { code: 'ENOTDIR' }));
}

/**
 * The files below `root` for an SFTP server; the client sees `root` as `/` and nothing outside it. Throws `bad-local-file`
 * when `root` is no directory. What that protects from, and what not: `sftp/server/directory.ts`.
 */
export function directory(root: string, options: DirectoryOptions = {}): SftpBackend {
  return directoryFiles(nodeHostFiles, realDirectory(root), options);
}
