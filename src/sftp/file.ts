/** An open remote file. */

import type { Bytes } from '../bytes/bytes.ts';
import { SshError } from '../errors.ts';
import { type CheckFileOptions, checkHandle } from './check_file.ts';
import { checkAttributes, checkOptions } from './check_options.ts';
import { fstatvfs } from './extended.ts';
import type { Link } from './link.ts';
import { MemorySink } from './memory_sink.ts';
import { closeHandle, fsetstat, fstat, fsync, type OpenHandle } from './operations.ts';
import type { CallOptions, RangeOptions, RemotePath, SetstatOptions, TransferOptions } from './options.ts';
import type { Attributes } from './proto/attrs.ts';
import type { FileDigests } from './proto/digests.ts';
import type { FileSystemStats } from './proto/extensions.ts';
import { BASE_REQUEST } from './request_size.ts';
import { bytesSource } from './sources.ts';
import { chunksOf, readableOf, writableOf } from './streams.ts';
import { startRead, startWrite } from './transfer.ts';

/**
 * A file handle of the server. Close it, or declare it with `await using`. Operations on a closed file reject with
 * `bad-argument`; everything else that fails rejects with an `SshError` as the client's operations do.
 */
export class RemoteFile implements AsyncDisposable {
  /** The path it was opened by. */
  readonly path: RemotePath;
  readonly #open: OpenHandle;
  #closing: Promise<void> | undefined;

  /** For the client, which opens files. */
  constructor(open: OpenHandle) {
    this.#open = open;
    this.path = open.path;
  }

  /** The server's handle: opaque, and of meaning to this connection only. */
  get handle(): Uint8Array {
    return this.#open.handle;
  }

  #link(): Link {
    if (this.#closing === undefined) return this.#open.link;
    throw new SshError('bad-argument', 'The remote file is closed', { operation: 'handle' });
  }

  /** Up to `length` bytes from `position` on, in as many requests as it takes; fewer only where the file ends. */
  async read(position: number, length: number, options: TransferOptions = {}): Promise<Bytes> {
    this.#link();
    checkOptions('file.read', options);
    const sink = new MemorySink(position, length);
    const range = { ...options, start: position, end: position + length, trustEof: true };
    await startRead(this.#open, sink, range, length <= BASE_REQUEST ? 'unknown' : 'ask').done;
    return sink.result;
  }

  /** Writes all of `bytes` at `position`; they must not change before the promise has settled. */
  async write(position: number, bytes: Uint8Array, options: TransferOptions = {}): Promise<void> {
    this.#link();
    checkOptions('file.write', options);
    const source = bytesSource(bytes);
    await startWrite(this.#open, source, position, bytes.length, options).done;
  }

  /** FSTAT. */
  async stat(options: CallOptions = {}): Promise<Attributes> {
    this.#link();
    return fstat(this.#open, options);
  }

  /** FSETSTAT: sets exactly the attributes that are given. A `size` cuts the file, or lengthens it with zeros. */
  async setstat(attrs: Attributes, options: SetstatOptions = {}): Promise<void> {
    this.#link();
    checkAttributes('fsetstat', attrs);
    await fsetstat(this.#open, attrs, options);
  }

  /** fsync@openssh.com: resolves when the file is on the server's disk. `not-supported` where it is not offered. */
  async sync(options: CallOptions = {}): Promise<void> {
    this.#link();
    await fsync(this.#open, options);
  }

  /** fstatvfs@openssh.com: the figures of the file system that holds the file. `not-supported` where it is not offered. */
  async statvfs(options: CallOptions = {}): Promise<FileSystemStats> {
    this.#link();
    return fstatvfs(this.#open, options);
  }

  /** Digests of the file, made by the server; see `SftpClient.checkFile`. The file must be open for reading. */
  async checkFile(options: CheckFileOptions = {}): Promise<FileDigests> {
    this.#link();
    checkOptions('checkFile', options);
    return checkHandle(this.#open, options);
  }

  /** The content, piece by piece; pieces are of any size. The file stays open. */
  chunks(options: RangeOptions = {}): AsyncGenerator<Bytes> {
    this.#link();
    checkOptions('chunks', options);
    return chunksOf(this.#open, options);
  }

  /** The content as a Web Stream. The file stays open. */
  readable(options: RangeOptions = {}): ReadableStream<Bytes> {
    this.#link();
    checkOptions('readable', options);
    return readableOf(
      async () => this.#open,
      () => undefined,
      options,
    );
  }

  /** A Web Stream that writes from `start` on; closing it waits for every acknowledgement. The file stays open. */
  writable(options: TransferOptions & { readonly start?: number | undefined } = {}): WritableStream<Uint8Array> {
    this.#link();
    checkOptions('file.writable', options);
    return writableOf(
      async () => this.#open,
      async () => undefined,
      () => undefined,
      options,
    );
  }

  /** CLOSE. Rejects where the server reports that earlier writes failed; the file is closed all the same. */
  close(options: CallOptions = {}): Promise<void> {
    this.#closing ??= closeHandle(this.#open, options);
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
