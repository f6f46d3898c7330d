/**
 * An open file of a served directory. It stays the same file whatever happens to its name, so that nothing here needs the
 * lock or its path again, except for the file system's figures.
 */

import type { Attributes } from '../proto/attrs.ts';
import type { FileSystemStats } from '../proto/extensions.ts';
import type { BackendFile } from './backend.ts';
import { attributesOf, setOpen } from './host_attrs.ts';
import type { HostFile } from './host_files.ts';

/** A file as one may have it who must change nothing. */
export class ReadOnlyFile implements BackendFile {
  protected readonly file: HostFile;
  readonly #figures: () => Promise<FileSystemStats>;

  constructor(file: HostFile, figures: () => Promise<FileSystemStats>) {
    this.file = file;
    this.#figures = figures;
  }

  read(offset: number, length: number, memory?: Uint8Array): Promise<Uint8Array> {
    return this.file.read(offset, length, memory);
  }

  async stat(): Promise<Attributes> {
    return attributesOf(await this.file.stat());
  }

  statvfs(): Promise<FileSystemStats> {
    return this.#figures();
  }

  close(): Promise<void> {
    return this.file.close();
  }
}

/** A file with everything, as far as it was opened for it. */
export class ServedFile extends ReadOnlyFile {
  readonly #append: boolean;

  constructor(file: HostFile, append: boolean, figures: () => Promise<FileSystemStats>) {
    super(file, figures);
    this.#append = append;
  }

  write(offset: number, pieces: readonly Uint8Array[]): Promise<void> {
    return this.file.write(this.#append ? undefined : offset, pieces);
  }

  setstat(attrs: Attributes): Promise<void> {
    return setOpen(this.file, attrs);
  }

  sync(): Promise<void> {
    return this.file.sync();
  }
}
