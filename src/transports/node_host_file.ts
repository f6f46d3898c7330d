/**
 * An open file of the host with `node:fs`, which Node, Bun and Deno have: descriptors and callbacks, because promises of
 * `node:fs/promises` cost more than the work.
 */

import { Buffer } from 'node:buffer';
import * as fs from 'node:fs';
import { piecesAfter } from '../bytes/pieces.ts';
import { posixCode } from '../io/posix_code.ts';
import type { HostFile, HostStat } from '../sftp/server/host_files.ts';
import { PosixError } from '../sftp/server/posix_error.ts';

type Callback<T> = (error: NodeJS.ErrnoException | null, value?: T) => void;

/** Pieces of one `writev` at most: IOV_MAX of POSIX systems. */
const MAX_PIECES = 1024;

/** A call of `node:fs` as a promise. */
export function called<T = void>(start: (callback: Callback<T>) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    start((error, value) => {
      if (error) reject(error);
      else resolve(value as T);
    });
  });
}

/** What the interface says of a file. */
export function hostStat(stats: fs.BigIntStats): HostStat {
  return {
    kind: stats.isFile() ? 'file' : stats.isDirectory() ? 'directory' : stats.isSymbolicLink() ? 'symlink' : 'other',
    device: stats.dev,
    inode: stats.ino,
    size: Number(stats.size),
    mode: Number(stats.mode),
    uid: Number(stats.uid),
    gid: Number(stats.gid),
    links: Number(stats.nlink),
    atime: Number(stats.atimeNs / 1_000_000_000n),
    mtime: Number(stats.mtimeNs / 1_000_000_000n),
  };
}

/** A file by its descriptor. */
export class NodeHostFile implements HostFile {
  readonly #fd: number;
  readonly #readlink: (path: string) => Promise<string>;
  #running = 0;
  #closing = false;

  /** `readlink` of the runtime's way with names. */
  constructor(fd: number, readlink: (path: string) => Promise<string>) {
    this.#fd = fd;
    this.#readlink = readlink;
  }

  /** A call with the descriptor, which is not given back under it: another file would soon have the number. */
  async #call<T = void>(start: (fd: number, callback: Callback<T>) => void): Promise<T> {
    if (this.#closing) throw new PosixError('EBADF', 'the file is closed');
    this.#running++;
    try {
      return await called<T>((callback) => start(this.#fd, callback));
    } finally {
      this.#running--;
      if (this.#closing && this.#running === 0) await this.#release();
    }
  }

  #release(): Promise<void> {
    return called((callback) => fs.close(this.#fd, callback));
  }

  /** At once, or after the call that runs. */
  async close(): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    if (this.#running === 0) await this.#release();
  }

  async stat(): Promise<HostStat> {
    return hostStat(await this.#call<fs.BigIntStats>((fd, callback) => fs.fstat(fd, { bigint: true }, callback)));
  }

  /** Linux says it; other systems have no such file. */
  place(): Promise<string | undefined> {
    return this.#readlink(`/proc/self/fd/${this.#fd}`).catch(() => undefined);
  }

  async read(offset: number, length: number, memory?: Uint8Array): Promise<Uint8Array> {
    if (memory !== undefined) return memory.subarray(0, await this.#readInto(memory, offset));
    // From the pool of `allocUnsafe` a few bytes would hold the memory of many.
    const own = Buffer.allocUnsafeSlow(length);
    const count = await this.#readInto(own, offset);
    const bytes = new Uint8Array(own.buffer, own.byteOffset, count);
    return count === length ? bytes : bytes.slice();
  }

  async #readInto(memory: Uint8Array, offset: number): Promise<number> {
    for (;;) {
      try {
        return await this.#call<number>((fd, callback) => fs.read(fd, memory, 0, memory.length, offset, callback));
      } catch (error) {
        // Network file systems that are mounted so give up a read for a signal; writes are tried again by the runtimes.
        if (posixCode(error) !== 'EINTR') throw error;
      }
    }
  }

  async write(offset: number | undefined, pieces: readonly Uint8Array[]): Promise<void> {
    let rest = piecesAfter(pieces, 0);
    let at = offset;
    while (rest.length > 0) {
      const written = await this.#writeSome(at, rest.length > MAX_PIECES ? rest.slice(0, MAX_PIECES) : rest);
      if (at !== undefined) at += written;
      rest = piecesAfter(rest, written);
    }
  }

  #writeSome(at: number | undefined, pieces: readonly Uint8Array[]): Promise<number> {
    const only = pieces.length === 1 ? pieces[0] : undefined;
    return this.#call((fd, callback) => {
      if (only !== undefined) fs.write(fd, only, 0, only.length, at ?? null, callback);
      // `writev` knows no null, though undefined means the same
      else fs.writev(fd, pieces as Uint8Array[], at as number, callback);
    });
  }

  truncate(size: number): Promise<void> {
    return this.#call((fd, callback) => fs.ftruncate(fd, size, callback));
  }

  chown(uid: number, gid: number): Promise<void> {
    return this.#call((fd, callback) => fs.fchown(fd, uid, gid, callback));
  }

  chmod(mode: number): Promise<void> {
    return this.#call((fd, callback) => fs.fchmod(fd, mode, callback));
  }

  utimes(atime: number, mtime: number): Promise<void> {
    return this.#call((fd, callback) => fs.futimes(fd, atime, mtime, callback));
  }

  sync(): Promise<void> {
    return this.#call((fd, callback) => fs.fsync(fd, callback));
  }
}
