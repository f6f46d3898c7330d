/**
 * An open file of a served directory. It stays the same file whatever happens to its name, so that nothing here needs the
 * lock or its path again, except for the file system's figures.
 */

import type { Attributes } from '../proto/attrs.ts';
import type { BackendFile, FileSystemStats } from './backend.ts';
import { attributesOf, setOpen } from './host_attrs.ts';
import type { HostFile } from './host_files.ts';
import { PosixError } from './posix_error.ts';

/** Bytes of one answer at most: more than any client asks for, and no more than a memory can spare. */
const MAX_READ = 4 * 1024 * 1024;

/** A file as one may have it who must change nothing. */
export class ReadOnlyFile implements BackendFile {
  protected readonly file: HostFile;
  readonly #figures: () => Promise<FileSystemStats>;
  #closed = false;

  constructor(file: HostFile, figures: () => Promise<FileSystemStats>) {
    this.file = file;
    this.#figures = figures;
  }

  async read(offset: number, length: number): Promise<Uint8Array> {
    // No file system has as much; and such a number is not exact any more.
    if (!Number.isSafeInteger(offset)) return new Uint8Array(0);
    return this.file.read(offset, Math.min(length, MAX_READ));
  }

  async stat(): Promise<Attributes> {
    return attributesOf(await this.file.stat());
  }

  statvfs(): Promise<FileSystemStats> {
    return this.#figures();
  }

  async close(): Promise<void> {
    // A number of a closed file soon is that of another.
    if (this.#closed) return;
    this.#closed = true;
    await this.file.close();
  }
}

/** A file with everything, as far as it was opened for it. */
export class ServedFile extends ReadOnlyFile {
  readonly #append: boolean;

  constructor(file: HostFile, append: boolean, figures: () => Promise<FileSystemStats>) {
    super(file, figures);
    this.#append = append;
  }

  async write(offset: number, pieces: readonly Uint8Array[]): Promise<void> {
    if (this.#append) return this.file.write(undefined, pieces);
    if (!Number.isSafeInteger(offset)) throw new PosixError('EFBIG', `no file is as long as ${offset} bytes`);
    return this.file.write(offset, pieces);
  }

  setstat(attrs: Attributes): Promise<void> {
    return setOpen(this.file, attrs);
  }

  sync(): Promise<void> {
    return this.file.sync();
  }
}
