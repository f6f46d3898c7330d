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
  pathRequest,
  plainRename,
  posixRename,
  stat,
} from './operations.ts';
import type { CallOptions, RemotePath, TransferOptions, TransferStats } from './options.ts';
import { type Attributes, encodeAttributes, fileKind } from './proto/attrs.ts';
import { extensions } from './proto/extensions.ts';
import { packets } from './proto/packets.ts';
import { Status } from './proto/status.ts';
import { openTarget, type Plan, type PutHints } from './put_target.ts';
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

/** Copies `local` to a remote file. */
export async function put(
  link: Link,
  local: LocalSource,
  remote: RemotePath,
  files: LocalFiles | undefined,
  options: PutOptions,
  hints: PutHints = {},
): Promise<PutResult> {
  if (options.sync) needOffer(link, extensions.fsync, 'put');
  const input = await openInput(local, files);
  let dropped: Promise<void> | undefined;
  try {
    const target = await openTarget(link, remote, input.permissions, options, hints);
    const { file, plan } = target;
    dropped = target.dropped;
    const warnings: string[] = [];
    const stats = await upload(file, input, plan, options, warnings);
    if (!plan.inPlace) await moveIntoPlace(link, plan.path, remote, options);
    return { ...stats, warnings };
  } finally {
    await dropped;
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
      source: fileSource(file, there?.kind === 'file' ? there.size : undefined),
      ...(there?.kind === 'file' ? { size: there.size } : {}),
      ...(there?.permissions === undefined ? {} : { permissions: there.permissions & 0o777 }),
      close: () => file.close(),
    };
  } catch (error) {
    await file.close().catch(() => undefined);
    throw error;
  }
}

/** Content up to this many bytes is checked and closed without waiting for the WRITEs: for more, a round trip is little. */
const SMALL = 256 * 1024;

/** Answers to what left right behind the last WRITE: all of them must be good before the file may get its name. */
interface Tail {
  readonly attrs: Promise<Attributes>;
  readonly flushed: Promise<void> | undefined;
  readonly closed: Promise<void>;
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
  let tail: Tail | undefined;
  const close = (): Promise<void> => {
    closed = true; // refused or not, the handle is gone
    return closeHandle(file, options);
  };
  // The draft (§6.1) has requests on one file carried out in order. FSETSTAT depends on what FSTAT says.
  const pipelined = options.permissions === undefined && options.requests !== 1;
  const onSent = (bytes: number): void => {
    if (!pipelined || bytes > SMALL) return;
    tail = { attrs: fstat(file, options), flushed: options.sync ? fsync(file, options) : undefined, closed: close() };
    for (const answer of [tail.attrs, tail.flushed, tail.closed]) answer?.catch(() => undefined); // each is looked at below
  };
  try {
    const stats = await startWrite(file, input.source, 0, input.size, options, undefined, onSent).done;
    if (tail === undefined) {
      await check(file, stats.bytes, await sizeAndMode(fstat(file, options)), options, warnings);
      if (options.sync) await fsync(file, options);
      await close();
    } else {
      await checkTail(file, plan.path, stats.bytes, tail, options, warnings);
    }
    return stats;
  } catch (error) {
    if (!closed) closeQuietly(file);
    if (!plan.inPlace) await removeTemporary(file.link, plan.path, error);
    throw error;
  }
}

async function checkTail(
  file: OpenHandle,
  path: RemotePath,
  written: number,
  tail: Tail,
  options: PutOptions,
  warnings: string[],
): Promise<void> {
  let attrs = await sizeAndMode(tail.attrs);
  await tail.flushed;
  await tail.closed;
  // a server that looked before it had written is asked again
  if (attrs.size !== written) attrs = await sizeAndMode(stat(file.link, packets.stat, path, options));
  await check(file, written, attrs, options, warnings);
}

/** Removes what is not whole. Waits for it only where the server was still answering. */
async function removeTemporary(link: Link, path: RemotePath, error: unknown): Promise<void> {
  const removed = pathRequest(link, packets.remove, 'remove', path, {}).catch(() => undefined);
  const code = error instanceof SshError ? error.code : undefined;
  if (code !== 'aborted' && code !== 'timeout') await removed;
}

/** What FSTAT or STAT says; a server that refuses it may. */
async function sizeAndMode(asked: Promise<Attributes>): Promise<Attributes> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof SshError && error.code === 'sftp-status') return {};
    throw error;
  }
}

/** Compares the size with what was written, and sets permissions that were asked for. */
async function check(
  file: OpenHandle,
  written: number,
  attrs: Attributes,
  options: PutOptions,
  warnings: string[],
): Promise<void> {
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
