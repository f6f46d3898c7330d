/**
 * Uploads. A remote file appears under its name only when every byte is there and its size was checked; whatever fails
 * leaves nothing behind that looks whole. No SETSTAT is sent unless it was asked for: many gateways refuse it.
 */

import { printable, toBytes } from '../bytes/text.ts';
import { SshError, toSshError } from '../errors.ts';
import type { LocalFiles } from '../io/local_files.ts';
import { call } from './call.ts';
import { needFiles } from './get.ts';
import type { Link } from './link.ts';
import {
  closeHandle,
  closeQuietly,
  fstat,
  fsync,
  needOffer,
  type OpenHandle,
  offers,
  openFile,
  pathRequest,
  plainRename,
  posixRename,
  stat,
  targetExists,
} from './operations.ts';
import type { CallOptions, RemotePath, TransferOptions, TransferStats } from './options.ts';
import { temporaryPath } from './path.ts';
import { type Attributes, encodeAttributes, fileKind } from './proto/attrs.ts';
import { extensions } from './proto/extensions.ts';
import { packets } from './proto/packets.ts';
import { Status } from './proto/status.ts';
import type { WriteSource } from './source.ts';
import { bytesSource, fileSource, iterableSource } from './sources.ts';
import { startWrite } from './transfer.ts';

/** Where an upload comes from: a local path, bytes, or whatever yields them. */
export type LocalSource = string | Uint8Array | AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>;

export interface PutOptions extends TransferOptions {
  /**
   * Whether the content is written under a temporary name beside the target and renamed when it is whole. Default: true.
   * Symbolic links, devices and pipes are always written in place.
   */
  readonly atomic?: boolean | undefined;
  /** Whether an existing file may be replaced; otherwise `target-exists`. Default: true. */
  readonly overwrite?: boolean | undefined;
  /**
   * POSIX permission bits of the file; where they come out differently they are set with FSETSTAT, and a refusal is a
   * warning. Default: those of the file that is replaced, else of the local file, less what the server takes off.
   */
  readonly permissions?: number | undefined;
  /** Whether to have the server flush the file to its disk (fsync@openssh.com). Default: false. */
  readonly sync?: boolean | undefined;
}

export interface PutResult extends TransferStats {
  /** What did not work out although the content is whole, one sentence each. */
  readonly warnings: readonly string[];
}

const IN_PLACE = ' and the server cannot replace it in one step; atomic: false writes into the file itself';

/** Where the bytes come from. */
interface Input {
  readonly source: WriteSource;
  readonly size?: number;
  readonly permissions?: number;
  close(): Promise<void>;
}

/** Which remote file is written, and what becomes of it. */
interface Plan {
  readonly path: RemotePath;
  readonly inPlace: boolean;
  readonly permissions: number | undefined;
}

/** Copies `local` to a remote file. */
export async function put(
  link: Link,
  local: LocalSource,
  remote: RemotePath,
  files: LocalFiles | undefined,
  options: PutOptions,
): Promise<PutResult> {
  if (options.sync) needOffer(link, extensions.fsync, 'put');
  const input = await openInput(local, files);
  try {
    const plan = await planTarget(link, remote, input.permissions, options);
    const { inPlace, permissions } = plan;
    const exclusive = inPlace && options.overwrite === false;
    const flags = { write: true, create: true, truncate: !exclusive, exclusive };
    const attrs = permissions === undefined ? {} : { permissions };
    const orphan = (late: OpenHandle): void => {
      closeQuietly(late);
      if (!inPlace) pathRequest(link, packets.remove, 'remove', plan.path, {}).catch(() => undefined);
    };
    // Errors name the file that the caller asked for: a temporary name would tell nobody anything.
    const file = await openFile(link, plan.path, flags, attrs, options, orphan, remote);
    const warnings: string[] = [];
    const stats = await upload(file, input, plan, options, warnings);
    if (!inPlace) await moveIntoPlace(link, plan.path, remote, options);
    return { ...stats, warnings };
  } finally {
    await input.source.stop();
    await input.close().catch(() => undefined); // it was only read from
  }
}

async function openInput(local: LocalSource, files: LocalFiles | undefined): Promise<Input> {
  const close = async (): Promise<void> => undefined;
  if (local instanceof Uint8Array) return { source: bytesSource(local), size: local.length, close };
  if (typeof local !== 'string') {
    if (typeof local !== 'object' || local === null || !('getReader' in local || Symbol.asyncIterator in local)) {
      throw new SshError(
        'bad-argument',
        'The source must be a local path, bytes, a stream or an async iterable of bytes',
      );
    }
    return { source: iterableSource(local), close };
  }
  const system = needFiles(files);
  const file = await system.open(local, { access: 'read' });
  try {
    const resolved = (await system.resolve(local)) ?? local;
    const there = await system.stat(resolved);
    if (there?.kind === 'directory') {
      const path = printable(local, 1024);
      throw new SshError('bad-local-file', `${path} is a directory: give the path of a file`, {
        operation: 'open',
        path,
      });
    }
    return {
      source: fileSource(file),
      ...(there?.kind === 'file' ? { size: there.size } : {}),
      ...(there?.permissions === undefined ? {} : { permissions: there.permissions & 0o777 }),
      close: () => file.close(),
    };
  } catch (error) {
    await file.close().catch(() => undefined);
    throw error;
  }
}

async function planTarget(
  link: Link,
  remote: RemotePath,
  local: number | undefined,
  options: PutOptions,
): Promise<Plan> {
  const wanted = options.permissions;
  if (options.atomic === false) return { path: remote, inPlace: true, permissions: wanted ?? local };
  const there = await existing(link, remote, options);
  if (there === undefined) {
    return { path: temporaryPath(remote), inPlace: false, permissions: wanted ?? local };
  }
  if (options.overwrite === false) throw targetExists('put', remote, '; overwrite: true replaces it');
  const kind = fileKind(there);
  if (kind === 'directory')
    throw targetExists('put', remote, ' and is a directory: give the path of the file to write');
  if (kind !== 'file' && kind !== 'unknown') {
    return { path: remote, inPlace: true, permissions: wanted ?? local };
  }
  const own = there.permissions === undefined ? local : there.permissions & 0o7777;
  return { path: temporaryPath(remote), inPlace: false, permissions: wanted ?? own };
}

/** LSTAT; `undefined` where nothing stands, or where the server does not tell. */
async function existing(link: Link, path: RemotePath, options: CallOptions): Promise<Attributes | undefined> {
  try {
    return await stat(link, packets.lstat, path, options);
  } catch (error) {
    if (error instanceof SshError && error.code === 'sftp-status') return undefined;
    throw error;
  }
}

/** Writes, checks and closes the file. What fails removes it, unless it is written in place. */
async function upload(
  file: OpenHandle,
  input: Input,
  plan: Plan,
  options: PutOptions,
  warnings: string[],
): Promise<TransferStats> {
  let closed = false;
  try {
    const stats = await startWrite(file, input.source, 0, input.size, options).done;
    await check(file, stats.bytes, options, warnings);
    if (options.sync) await fsync(file, options);
    closed = true; // refused or not, the handle is gone
    await closeHandle(file, options);
    return stats;
  } catch (error) {
    if (!closed) closeQuietly(file);
    if (!plan.inPlace) await removeTemporary(file.link, plan.path, error);
    throw error;
  }
}

/** Removes what is not whole. Waits for it only where the server was still answering. */
async function removeTemporary(link: Link, path: RemotePath, error: unknown): Promise<void> {
  const removed = pathRequest(link, packets.remove, 'remove', path, {}).catch(() => undefined);
  const code = error instanceof SshError ? error.code : undefined;
  if (code !== 'aborted' && code !== 'timeout') await removed;
}

/** Compares the size with what was written, and sets permissions that were asked for. A server that refuses FSTAT may. */
async function check(file: OpenHandle, written: number, options: PutOptions, warnings: string[]): Promise<void> {
  const attrs = await fstat(file, options).catch((error: unknown) => {
    if (error instanceof SshError && error.code === 'sftp-status') return {} as Attributes;
    throw error;
  });
  const path = printable(file.path, 1024);
  const kind = fileKind(attrs);
  if ((kind === 'file' || kind === 'unknown') && attrs.size !== undefined && attrs.size !== written) {
    const message = `put ${path}: the server has ${attrs.size} bytes of the ${written} that it acknowledged`;
    throw new SshError('incomplete', message, { fault: 'peer', operation: 'put', path, transferred: written });
  }
  const wanted = options.permissions;
  if (wanted === undefined || (attrs.permissions !== undefined && (attrs.permissions & 0o7777) === wanted)) return;
  try {
    const value = { handle: file.handle, attrs: encodeAttributes({ permissions: wanted }) };
    await call(file.link, { row: packets.fsetstat, value, operation: 'fsetstat', path: file.path }, options);
  } catch (error) {
    if (!(error instanceof SshError) || error.code !== 'sftp-status') throw error;
    warnings.push(`The permissions were not set: ${error.message}`);
  }
}

/** Gives the whole file its name, in one step where the server can. */
async function moveIntoPlace(link: Link, from: RemotePath, to: RemotePath, options: PutOptions): Promise<void> {
  try {
    if (options.overwrite !== false && (await replaced(link, from, to, options))) return;
    await plainRename(link, from, to, options.overwrite === false ? '' : IN_PLACE, options);
  } catch (error) {
    await removeTemporary(link, from, error);
    throw toSshError(error, 'internal');
  }
}

/** Whether posix-rename@openssh.com did it; false where it is not to be had. */
async function replaced(link: Link, from: RemotePath, to: RemotePath, options: CallOptions): Promise<boolean> {
  if (!offers(link, extensions.posixRename)) return false;
  try {
    await posixRename(link, from, to, options);
    return true;
  } catch (error) {
    if (error instanceof SshError && error.status === Status.opUnsupported) return false;
    throw error;
  }
}

/** Writes `data` into a remote file, in place. */
export async function writeFile(
  link: Link,
  path: RemotePath,
  data: string | Exclude<LocalSource, string>,
  options: PutOptions,
): Promise<void> {
  await put(link, typeof data === 'string' ? toBytes(data) : data, path, undefined, { atomic: false, ...options });
}
