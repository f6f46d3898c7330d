/**
 * The SFTP client: SFTP 3 (draft-ietf-secsh-filexfer-02) over any byte pipe, with promises. Knows nothing of SSH: the pipe
 * may be a channel with the subsystem `sftp`, or the standard input and output of a server.
 */

import type { Bytes } from '../bytes/bytes.ts';
import { decodeFields, encodeFields } from '../bytes/schema.ts';
import { protocolError, SshError } from '../errors.ts';
import { type Clock, systemClock } from '../io/clock.ts';
import type { LocalFiles } from '../io/local_files.ts';
import type { BytePipe } from '../io/pipe.ts';
import { abortedError, call, stalledError } from './call.ts';
import { RemoteFile } from './file.ts';
import { type GetOptions, get, type LocalTarget } from './get.ts';
import { Link, type ServerLimits } from './link.ts';
import { type DirectoryEntry, type ListOptions, list } from './list.ts';
import { MemorySink } from './memory_sink.ts';
import {
  closeHandle,
  closeQuietly,
  type OpenFlags,
  type OpenHandle,
  type OpenMode,
  offers,
  openFile,
  pathRequest,
  plainRename,
  posixRename,
  stat,
} from './operations.ts';
import {
  type CallOptions,
  DEFAULT_STALL_TIMEOUT,
  type RangeOptions,
  type ReadOptions,
  type RemotePath,
  type SetstatOptions,
  type TransferOptions,
  type TransferStats,
} from './options.ts';
import { pathBytes, remotePath } from './path.ts';
import { type Attributes, encodeAttributes } from './proto/attrs.ts';
import { extensions } from './proto/extensions.ts';
import { decodeNames } from './proto/names.ts';
import { decodePacket, packets } from './proto/packets.ts';
import { type LocalSource, type PutOptions, type PutResult, put, writeFile } from './put.ts';
import { StallGuard } from './stall.ts';
import { chunksOf, readableOf, writableOf } from './streams.ts';
import { startRead, whole } from './transfer.ts';

/** Options of `SftpClient.open`. */
export interface SftpClientOptions extends CallOptions {
  /** Local files for paths given to `get` and `put`. */
  readonly localFiles?: LocalFiles | undefined;
  /** Order of the two paths in SYMLINK: that of OpenSSH and most servers, or that of the draft. Default: `openssh`. */
  readonly symlinkOrder?: 'openssh' | 'draft' | undefined;
  /** Longest packet taken from the server, in bytes. Default: 257 KiB. */
  readonly maxPacket?: number | undefined;
  readonly clock?: Clock | undefined;
}

/** Options of `rename`. */
export interface RenameOptions extends CallOptions {
  /**
   * Whether an existing file is replaced, which takes posix-rename@openssh.com: without it, an existing target is the
   * error `target-exists`. The target is never deleted by us. Default: false.
   */
  readonly overwrite?: boolean | undefined;
}

/** Options of `readFile`. */
export interface ReadFileOptions extends ReadOptions {
  /** More bytes than this are the error `limit`. Default: 1 GiB. */
  readonly maxBytes?: number | undefined;
}

/** Most that `readFile` holds by default: within what one array takes in every runtime. */
const READ_FILE_MAX = 1024 * 1024 * 1024;

/**
 * An SFTP session. Operations may overlap freely. Each rejects with an `SshError`: `sftp-status` with `status`,
 * `operation` and `path` where the server refused, `aborted`, `timeout`, or, when the connection has ended, the one
 * error that ended it.
 */
export class SftpClient implements AsyncDisposable {
  readonly #link: Link;
  readonly #files: LocalFiles | undefined;
  readonly #symlinkOrder: 'openssh' | 'draft';

  private constructor(link: Link, options: SftpClientOptions) {
    this.#link = link;
    this.#files = options.localFiles;
    this.#symlinkOrder = options.symlinkOrder ?? 'openssh';
  }

  /**
   * Greets the server at the other end of `pipe`, which must not be open yet and belongs to the client from now on.
   * `sftp-unavailable`: what answers is not SFTP. `not-supported`: another version.
   */
  static async open(pipe: BytePipe, options: SftpClientOptions = {}): Promise<SftpClient> {
    const { signal, maxPacket } = options;
    if (typeof pipe?.open !== 'function') throw new SshError('bad-argument', 'SFTP needs a byte pipe to run on');
    if (maxPacket !== undefined) whole('maxPacket', maxPacket, 1);
    const clock = options.clock ?? systemClock;
    const stallTimeout = options.stallTimeout ?? DEFAULT_STALL_TIMEOUT;
    const link = new Link(pipe, { clock, stallTimeout, ...(maxPacket === undefined ? {} : { maxPacket }) });
    return new Promise((resolve, reject) => {
      const guard = new StallGuard(
        clock,
        stallTimeout,
        () => link.heardAt,
        () => link.fail(stalledError('init', undefined, ' to SSH_FXP_INIT', stallTimeout)),
      );
      const onAbort = (): void => link.fail(abortedError('init', undefined, signal as AbortSignal));
      const settle = (): void => {
        guard.stop();
        signal?.removeEventListener('abort', onAbort);
      };
      const ready = (): void => {
        settle();
        askLimits(link);
        resolve(new SftpClient(link, options));
      };
      const failed = (cause: SshError): void => {
        settle();
        reject(cause);
      };
      guard.start();
      signal?.addEventListener('abort', onAbort);
      link.start(ready, failed);
      if (signal?.aborted) onAbort();
    });
  }

  /** Extended requests that the server advertised, by name, with their versions. */
  get extensions(): ReadonlyMap<string, string> {
    return this.#link.extensions;
  }

  /** What the server said that it takes; empty until it answered, and where it states nothing. */
  get limits(): ServerLimits {
    return this.#link.limits;
  }

  /** OPEN. `attrs` are for a file that is created. */
  async open(
    path: RemotePath,
    flags: OpenFlags | OpenMode = 'r',
    options: CallOptions & { readonly attrs?: Attributes | undefined } = {},
  ): Promise<RemoteFile> {
    return new RemoteFile(await openFile(this.#link, path, flags, options.attrs ?? {}, options));
  }

  /** STAT: the attributes of what `path` leads to. */
  stat(path: RemotePath, options: CallOptions = {}): Promise<Attributes> {
    return stat(this.#link, packets.stat, path, options);
  }

  /** LSTAT: the attributes of `path` itself, be it a symbolic link. */
  lstat(path: RemotePath, options: CallOptions = {}): Promise<Attributes> {
    return stat(this.#link, packets.lstat, path, options);
  }

  /** SETSTAT: sets exactly the attributes that are given. A `size` cuts the file, or lengthens it with zeros. */
  async setstat(path: RemotePath, attrs: Attributes, options: SetstatOptions = {}): Promise<void> {
    const value = { path: pathBytes(path), attrs: encodeAttributes(attrs, options.times) };
    await call(this.#link, { row: packets.setstat, value, operation: 'setstat', path }, options);
  }

  /** The entries of a directory, in the server's order. Leaving the loop early closes the directory. */
  list(path: RemotePath, options: ListOptions = {}): AsyncGenerator<DirectoryEntry> {
    return list(this.#link, path, options);
  }

  /** REALPATH: the canonical absolute path; of `.` it is where the session starts. Bytes where it is not UTF-8. */
  realpath(path: RemotePath, options: CallOptions = {}): Promise<RemotePath> {
    return this.#oneName(packets.realpath, 'realpath', path, options);
  }

  /** READLINK: what a symbolic link holds. Bytes where it is not UTF-8. */
  readlink(path: RemotePath, options: CallOptions = {}): Promise<RemotePath> {
    return this.#oneName(packets.readlink, 'readlink', path, options);
  }

  async #oneName(
    row: typeof packets.realpath | typeof packets.readlink,
    operation: string,
    path: RemotePath,
    options: CallOptions,
  ): Promise<RemotePath> {
    const spec = {
      row,
      value: { path: pathBytes(path) },
      operation,
      path,
      expects: packets.name,
      decode: decodeOneName,
    };
    return call(this.#link, spec, options);
  }

  /** MKDIR. */
  async mkdir(
    path: RemotePath,
    options: CallOptions & { readonly attrs?: Attributes | undefined } = {},
  ): Promise<void> {
    const value = { path: pathBytes(path), attrs: encodeAttributes(options.attrs ?? {}) };
    await call(this.#link, { row: packets.mkdir, value, operation: 'mkdir', path }, options);
  }

  /** RMDIR: removes an empty directory. */
  rmdir(path: RemotePath, options: CallOptions = {}): Promise<void> {
    return pathRequest(this.#link, packets.rmdir, 'rmdir', path, options);
  }

  /** REMOVE: removes a file. */
  remove(path: RemotePath, options: CallOptions = {}): Promise<void> {
    return pathRequest(this.#link, packets.remove, 'remove', path, options);
  }

  /** Renames. See `overwrite` for targets that exist. */
  async rename(from: RemotePath, to: RemotePath, options: RenameOptions = {}): Promise<void> {
    if (!options.overwrite) return plainRename(this.#link, from, to, '; overwrite: true replaces it', options);
    if (offers(this.#link, extensions.posixRename)) return this.posixRename(from, to, options);
    return plainRename(this.#link, from, to, ', and the server has no posix-rename@openssh.com to replace it', options);
  }

  /** posix-rename@openssh.com: replaces an existing file in one step. `not-supported` where it is not offered. */
  posixRename(from: RemotePath, to: RemotePath, options: CallOptions = {}): Promise<void> {
    return posixRename(this.#link, from, to, options);
  }

  /** SYMLINK: makes `path` a symbolic link that holds `target`. */
  async symlink(target: RemotePath, path: RemotePath, options: CallOptions = {}): Promise<void> {
    const [first, second] = this.#symlinkOrder === 'openssh' ? [target, path] : [path, target];
    const value = { first: pathBytes(first), second: pathBytes(second) };
    await call(this.#link, { row: packets.symlink, value, operation: 'symlink', path }, options);
  }

  /**
   * Downloads a file. A local path comes into being, or is replaced, only when every byte is there. `incomplete`: the
   * file ended before the size that the server stated. Errors say in `transferred` how many bytes from the start came.
   */
  get(remote: RemotePath, local: LocalTarget, options: GetOptions = {}): Promise<TransferStats> {
    return get(this.#link, remote, local, this.#files, options);
  }

  /**
   * Uploads a file. The remote path comes into being, or is replaced, only when every byte is there. `target-exists`:
   * the server cannot replace a file in one step; `atomic: false` writes in place.
   */
  put(local: LocalSource, remote: RemotePath, options: PutOptions = {}): Promise<PutResult> {
    return put(this.#link, local, remote, this.#files, options);
  }

  /** The content of a file in memory. */
  async readFile(path: RemotePath, options: ReadFileOptions = {}): Promise<Bytes> {
    const { maxBytes = READ_FILE_MAX } = options;
    if (!(typeof maxBytes === 'number' && maxBytes >= 0)) {
      throw new SshError('bad-argument', `maxBytes must be a number of bytes, not ${String(maxBytes)}`);
    }
    const sink = new MemorySink(0, maxBytes);
    const file = await openFile(this.#link, path, 'r', {}, options);
    try {
      await startRead(file, sink, options, 'ask').done;
    } finally {
      closeQuietly(file);
    }
    return sink.result;
  }

  /** Writes a file, in place: it is created or emptied first. Text is sent as UTF-8. */
  writeFile(
    path: RemotePath,
    data: string | Exclude<LocalSource, string>,
    options: Omit<PutOptions, 'atomic'> = {},
  ): Promise<void> {
    return writeFile(this.#link, path, data, options);
  }

  /** The content of a file, piece by piece; pieces are of any size. Leaving the loop early ends the transfer. */
  async *chunks(path: RemotePath, options: RangeOptions = {}): AsyncGenerator<Bytes> {
    const file = await openFile(this.#link, path, 'r', {}, options);
    try {
      yield* chunksOf(file, options);
    } finally {
      closeQuietly(file);
    }
  }

  /** The content of a file as a Web Stream. What is not read holds the server back. */
  readable(path: RemotePath, options: RangeOptions = {}): ReadableStream<Bytes> {
    return readableOf(() => openFile(this.#link, path, 'r', {}, options), closeQuietly, options);
  }

  /** A Web Stream into a file. Closing it waits for every acknowledgement and for CLOSE. */
  writable(
    path: RemotePath,
    options: TransferOptions & {
      readonly flags?: OpenFlags | OpenMode | undefined;
      readonly start?: number | undefined;
      readonly attrs?: Attributes | undefined;
    } = {},
  ): WritableStream<Uint8Array> {
    const open = (): Promise<OpenHandle> =>
      openFile(this.#link, path, options.flags ?? 'w', options.attrs ?? {}, options);
    return writableOf(open, (file) => closeHandle(file, options), closeQuietly, options);
  }

  /** Why the session ended, once it has. */
  get cause(): SshError | undefined {
    return this.#link.cause;
  }

  /** Ends the session: what is pending rejects with `connection-closed`. Resolves when the pipe has closed. */
  close(): Promise<void> {
    this.#link.fail(new SshError('connection-closed', 'This side closed the SFTP session'));
    return new Promise((resolve) => this.#link.whenClosed(resolve));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** limits@openssh.com, where the server has it; what comes of it is used from then on. */
function askLimits(link: Link): void {
  const { request, fields, reply } = extensions.limits;
  if (!offers(link, extensions.limits)) return;
  const known = (value: bigint): number | undefined => (value === 0n ? undefined : Number(value));
  call(link, {
    row: packets.extended,
    value: { request, body: encodeFields(fields, {}) },
    operation: 'limits',
    expects: packets.extendedReply,
    decode: (packet) => decodeFields(reply, decodePacket(packets.extendedReply, packet).body, request),
  }).then(
    (limits) => {
      const entries = Object.entries(limits).map(([name, value]) => [name, known(value)] as const);
      link.limits = Object.fromEntries(entries.filter(([, value]) => value !== undefined));
    },
    () => undefined, // a server that refuses it states no limits
  );
}

function decodeOneName(packet: Uint8Array): RemotePath {
  const { count, entries } = decodePacket(packets.name, packet);
  const [entry, ...more] = decodeNames(count, entries);
  if (entry === undefined || more.length > 0) throw protocolError(`SFTP: ${count} names answer a request for one`);
  return remotePath(entry.name);
}
