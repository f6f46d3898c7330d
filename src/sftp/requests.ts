/**
 * The requests of SFTP 3, a method each (draft-ietf-secsh-filexfer-02 §6, OpenSSH PROTOCOL §4). What moves the content of
 * files, or takes many requests, is `client.ts`'s.
 */

import { protocolError, SshError } from '../errors.ts';
import { call } from './call.ts';
import { RemoteFile } from './file.ts';
import type { Link, ServerLimits } from './link.ts';
import { type DirectoryEntry, type ListOptions, list } from './list.ts';
import {
  type OpenFlags,
  type OpenMode,
  offers,
  openFile,
  pathRequest,
  plainRename,
  posixRename,
  stat,
} from './operations.ts';
import type { CallOptions, RemotePath, SetstatOptions } from './options.ts';
import { pathBytes, remotePath } from './path.ts';
import { type Attributes, encodeAttributes } from './proto/attrs.ts';
import { extensions } from './proto/extensions.ts';
import { decodeNames } from './proto/names.ts';
import { decodePacket, packets } from './proto/packets.ts';

/** Options of `rename`. */
export interface RenameOptions extends CallOptions {
  /**
   * Whether an existing file is replaced, which takes posix-rename@openssh.com: without it, an existing target is the
   * error `target-exists`. The target is never deleted by us. Default: false.
   */
  readonly overwrite?: boolean | undefined;
}

/** Order of the two paths in SYMLINK: that of OpenSSH and most servers, or that of the draft. */
export type SymlinkOrder = 'openssh' | 'draft';

/** An SFTP session as far as single requests go; see `SftpClient`. */
export abstract class SftpRequests implements AsyncDisposable {
  protected readonly link: Link;
  readonly #symlinkOrder: SymlinkOrder;

  protected constructor(link: Link, symlinkOrder: SymlinkOrder) {
    this.link = link;
    this.#symlinkOrder = symlinkOrder;
  }

  /** Extended requests that the server advertised, by name, with their versions. */
  get extensions(): ReadonlyMap<string, string> {
    return this.link.extensions;
  }

  /** What the server said that it takes; empty until it answered, and where it states nothing. */
  get limits(): ServerLimits {
    return this.link.limits;
  }

  /** OPEN. `attrs` are for a file that is created. */
  async open(
    path: RemotePath,
    flags: OpenFlags | OpenMode = 'r',
    options: CallOptions & { readonly attrs?: Attributes | undefined } = {},
  ): Promise<RemoteFile> {
    return new RemoteFile(await openFile(this.link, path, flags, options.attrs ?? {}, options));
  }

  /** STAT: the attributes of what `path` leads to. */
  stat(path: RemotePath, options: CallOptions = {}): Promise<Attributes> {
    return stat(this.link, packets.stat, path, options);
  }

  /** LSTAT: the attributes of `path` itself, be it a symbolic link. */
  lstat(path: RemotePath, options: CallOptions = {}): Promise<Attributes> {
    return stat(this.link, packets.lstat, path, options);
  }

  /** SETSTAT: sets exactly the attributes that are given. A `size` cuts the file, or lengthens it with zeros. */
  async setstat(path: RemotePath, attrs: Attributes, options: SetstatOptions = {}): Promise<void> {
    const value = { path: pathBytes(path), attrs: encodeAttributes(attrs, options.times) };
    await call(this.link, { row: packets.setstat, value, operation: 'setstat', path }, options);
  }

  /** The entries of a directory, in the server's order. Leaving the loop early closes the directory. */
  list(path: RemotePath, options: ListOptions = {}): AsyncGenerator<DirectoryEntry> {
    return list(this.link, path, options);
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
    return call(this.link, spec, options);
  }

  /** MKDIR. */
  async mkdir(
    path: RemotePath,
    options: CallOptions & { readonly attrs?: Attributes | undefined } = {},
  ): Promise<void> {
    const value = { path: pathBytes(path), attrs: encodeAttributes(options.attrs ?? {}) };
    await call(this.link, { row: packets.mkdir, value, operation: 'mkdir', path }, options);
  }

  /** RMDIR: removes an empty directory. */
  rmdir(path: RemotePath, options: CallOptions = {}): Promise<void> {
    return pathRequest(this.link, packets.rmdir, 'rmdir', path, options);
  }

  /** REMOVE: removes a file. */
  remove(path: RemotePath, options: CallOptions = {}): Promise<void> {
    return pathRequest(this.link, packets.remove, 'remove', path, options);
  }

  /** Renames. See `overwrite` for targets that exist. */
  async rename(from: RemotePath, to: RemotePath, options: RenameOptions = {}): Promise<void> {
    if (!options.overwrite) return plainRename(this.link, from, to, '; overwrite: true replaces it', options);
    if (offers(this.link, extensions.posixRename)) return this.posixRename(from, to, options);
    return plainRename(this.link, from, to, ', and the server has no posix-rename@openssh.com to replace it', options);
  }

  /** posix-rename@openssh.com: replaces an existing file in one step. `not-supported` where it is not offered. */
  posixRename(from: RemotePath, to: RemotePath, options: CallOptions = {}): Promise<void> {
    return posixRename(this.link, from, to, options);
  }

  /** SYMLINK: makes `path` a symbolic link that holds `target`. */
  async symlink(target: RemotePath, path: RemotePath, options: CallOptions = {}): Promise<void> {
    const [first, second] = this.#symlinkOrder === 'openssh' ? [target, path] : [path, target];
    const value = { first: pathBytes(first), second: pathBytes(second) };
    await call(this.link, { row: packets.symlink, value, operation: 'symlink', path }, options);
  }

  /** Why the session ended, once it has. */
  get cause(): SshError | undefined {
    return this.link.cause;
  }

  /** Ends the session: what is pending rejects with `connection-closed`. Resolves when the pipe has closed. */
  close(): Promise<void> {
    this.link.fail(new SshError('connection-closed', 'This side closed the SFTP session'));
    return new Promise((resolve) => this.link.whenClosed(resolve));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

function decodeOneName(packet: Uint8Array): RemotePath {
  const { count, entries } = decodePacket(packets.name, packet);
  const [entry, ...more] = decodeNames(count, entries);
  if (entry === undefined || more.length > 0) throw protocolError(`SFTP: ${count} names answer a request for one`);
  return remotePath(entry.name);
}
