/**
 * Copies of remote files: on the server where it can, otherwise through this side by the same engine as every transfer. The copy
 * appears under its name when it is whole.
 */

import { equalBytes } from '../bytes/bytes.ts';
import { printable } from '../bytes/text.ts';
import { SshError, toSshError } from '../errors.ts';
import { copyData } from './extended.ts';
import type { Link } from './link.ts';
import {
  closeHandle,
  closeQuietly,
  fsetstat,
  fstat,
  fsync,
  needOffer,
  type OpenHandle,
  offers,
  openFile,
  realpath,
  stat,
} from './operations.ts';
import type { CallOptions, RemotePath, TransferOptions } from './options.ts';
import { pathBytes } from './path.ts';
import { type Preserve, remoteAttributes } from './preserve.ts';
import { type Attributes, fileKind } from './proto/attrs.ts';
import { extensions } from './proto/extensions.ts';
import { packets } from './proto/packets.ts';
import { isStatusError, Status } from './proto/status.ts';
import { putInput } from './put.ts';
import type { Input } from './put_input.ts';
import { moveIntoPlace, openTarget, removeTemporary, type Target } from './put_target.ts';
import { perSecond, RateMeter } from './rate.ts';
import { iterableSource } from './sources.ts';
import { chunksOf } from './streams.ts';

/** Options of `copyTo`. */
export interface CopyToOptions extends TransferOptions {
  /** Whether an existing file may be replaced; otherwise `target-exists`. Default: true. */
  readonly overwrite?: boolean | undefined;
  /**
   * Whether the content is written under a temporary name beside the target and renamed when it is whole. Default: true.
   * Symbolic links, devices and pipes are always written in place.
   */
  readonly atomic?: boolean | undefined;
  /** POSIX permission bits of the copy. Default: those of the file it replaces, else of the original, less what the server takes off. */
  readonly permissions?: number | undefined;
  /** Whether the copy gets permissions and times of the original, with FSETSTAT; a refusal is a warning. Default: false. */
  readonly preserve?: Preserve | undefined;
  /** Whether to have the server flush the copy to its disk (fsync@openssh.com). Default: false. */
  readonly sync?: boolean | undefined;
}

/** Options of `copy`. */
export interface CopyOptions extends CopyToOptions {
  /**
   * Who copies: the `server` (copy-data; `not-supported` where it is not offered), or this side, the `client`, by reading and
   * writing. Default: the server where it can.
   */
  readonly by?: 'server' | 'client' | undefined;
}

/** What a copy did. */
export interface CopyResult {
  readonly bytes: number;
  readonly seconds: number;
  /** Bytes a second. */
  readonly rate: number;
  readonly by: 'server' | 'client';
  /** What did not work out although the content is whole, one sentence each. */
  readonly warnings: readonly string[];
}

/**
 * Bytes of one copy-data request. A server may do nothing else meanwhile, and it cannot be stopped: at the speed of a disk this
 * is some tens of milliseconds.
 */
const PIECE = 16 * 1024 * 1024;

/** copy-data requests pending at once: the next is there when one is done. */
const PIECES_AHEAD = 2;

/** What is to be copied. */
interface Original {
  readonly file: OpenHandle;
  readonly attrs: Attributes;
}

/** Copies the file at `from` to `to`, both on one server. */
export async function copy(link: Link, from: RemotePath, to: RemotePath, options: CopyOptions): Promise<CopyResult> {
  const { by } = options;
  if (by !== undefined && by !== 'server' && by !== 'client') {
    throw new SshError('bad-argument', `by is server or client, not ${String(by)}`);
  }
  if (link.greeting) await link.ready;
  if (by === 'server') needOffer(link, extensions.copyData, 'copy');
  if (options.sync) needOffer(link, extensions.fsync, 'copy');
  const isOther = refuseSame(link, from, to, options);
  isOther.catch(() => undefined); // told below, once what was opened can be closed
  const original = await openOriginal(link, from, options);
  try {
    await isOther;
    if (by !== 'client' && offers(link, extensions.copyData)) {
      const done = await onServer(original, to, options);
      if (done !== undefined) return done;
    }
    return await through(original, link, to, options);
  } finally {
    closeQuietly(original.file);
  }
}

/** Copies the file at `from` to `to` on another server, or in another session. */
export async function copyTo(
  link: Link,
  from: RemotePath,
  target: Link,
  to: RemotePath,
  options: CopyToOptions,
): Promise<CopyResult> {
  if (target === link) return copy(link, from, to, { ...options, by: 'client' });
  if (target.greeting) await target.ready;
  if (options.sync) needOffer(target, extensions.fsync, 'copy');
  const original = await openOriginal(link, from, options);
  try {
    return await through(original, target, to, options);
  } finally {
    closeQuietly(original.file);
  }
}

/** OPEN and STAT leave together. */
async function openOriginal(link: Link, from: RemotePath, options: CallOptions): Promise<Original> {
  const opening = openFile(link, from, 'r', {}, options);
  const looking = stat(link, packets.stat, from, options);
  looking.catch(() => undefined); // told below, once what was opened can be closed
  let file: OpenHandle | undefined;
  try {
    file = await opening.catch(async (error) => {
      refuseDirectory(from, await looking.catch(() => ({}))); // most servers refuse to open one, in words of their own
      throw error;
    });
    const open = file;
    // Servers that know no STAT of it may know the size of what is open.
    const attrs = await looking.catch(() => fstat(open, options));
    refuseDirectory(from, attrs);
    return { file, attrs };
  } catch (error) {
    if (file !== undefined) closeQuietly(file);
    throw error;
  }
}

function refuseDirectory(from: RemotePath, attrs: Attributes): void {
  if (fileKind(attrs) !== 'directory') return;
  const path = printable(from, 1024);
  throw new SshError('bad-argument', `copy ${path}: it is a directory`, { operation: 'copy', path });
}

/** A file written onto itself would be empty before it is read. */
async function refuseSame(link: Link, from: RemotePath, to: RemotePath, options: CallOptions): Promise<void> {
  const canonical = (path: RemotePath): Promise<RemotePath | undefined> =>
    realpath(link, path, options).catch((error: unknown) => {
      if (isStatusError(error)) return undefined;
      throw error;
    });
  const [source, target] = await Promise.all([canonical(from), canonical(to)]);
  if (source === undefined || target === undefined || !equalBytes(pathBytes(source), pathBytes(target))) return;
  const path = printable(to, 1024);
  throw new SshError('bad-argument', `copy ${path}: it is the same file as ${printable(from, 1024)}`, {
    operation: 'copy',
    path,
  });
}

/** By READs and WRITEs; no more is held than either has under way. */
async function through(original: Original, link: Link, to: RemotePath, options: CopyToOptions): Promise<CopyResult> {
  const { overwrite, atomic, permissions, preserve, sync, ...transfer } = options;
  const { onProgress: _, ...reading } = transfer;
  const { file } = original;
  const input: Input = {
    ...facts(original.attrs),
    open: () => iterableSource(chunksOf(file, reading)),
    close: async () => undefined,
  };
  const put = { ...transfer, overwrite, atomic, permissions, preserve, sync };
  const { bytes, seconds, rate, warnings } = await putInput(link, input, to, put);
  return { bytes, seconds, rate, warnings, by: 'client' };
}

/** What is known of the original, as `put` knows it of a local file. */
function facts(attrs: Attributes): Pick<Input, 'stat' | 'size' | 'permissions'> {
  const { size, permissions, atime, mtime } = attrs;
  const isFile = fileKind(attrs) === 'file' && size !== undefined && Number.isSafeInteger(size);
  return {
    stat: {
      kind: isFile ? 'file' : 'other',
      size: isFile ? size : 0,
      ...(permissions === undefined ? {} : { permissions: permissions & 0o7777 }),
      ...(atime === undefined ? {} : { accessed: atime }),
      ...(mtime === undefined ? {} : { modified: mtime }),
    },
    ...(isFile ? { size } : {}),
    ...(permissions === undefined ? {} : { permissions: permissions & 0o777 }),
  };
}

/** By copy-data; `undefined` where the server does not do what it announces and `by` does not insist. */
async function onServer(original: Original, to: RemotePath, options: CopyOptions): Promise<CopyResult | undefined> {
  const { link } = original.file;
  const target = await openTarget(link, to, facts(original.attrs).permissions, options);
  const { plan, file } = target;
  const state: { isOpen: boolean } = { isOpen: true };
  try {
    const from = link.clock.now();
    const stated = await copyPieces(original, file, options);
    const seconds = (link.clock.now() - from) / 1000;
    const { bytes, warnings } = await finish(original, target, stated, options, state);
    if (!plan.inPlace) await moveIntoPlace(link, plan.path, to, options);
    return { bytes, seconds, rate: perSecond(bytes, seconds * 1000), by: 'server', warnings };
  } catch (error) {
    if (state.isOpen) closeQuietly(file);
    if (!plan.inPlace) await removeTemporary(link, plan.path, error);
    const isUnsupported = error instanceof SshError && error.status === Status.opUnsupported;
    if (isUnsupported && error.operation === 'copy-data' && options.by !== 'server') return undefined;
    throw toSshError(error, 'internal');
  } finally {
    await target.dropped;
  }
}

/** All of the content, up to where the file turns out to end. Resolves with how many bytes were stated. */
async function copyPieces({ file, attrs }: Original, target: OpenHandle, options: CopyOptions): Promise<number> {
  const { onProgress } = options;
  const { clock } = file.link;
  const total = facts(attrs).size ?? 0;
  const meter = new RateMeter(clock.now());
  const pending: { readonly at: number; readonly done: Promise<void> }[] = [];
  // The last goes on to the end, wherever that is by then: procfs says 0, a log has grown.
  const last = Math.floor(Math.max(0, total - 1) / PIECE) * PIECE;
  for (let at = 0; at <= last || pending.length > 0; ) {
    while (pending.length < PIECES_AHEAD && at <= last) {
      const done = copyData(file, target, at, at === last ? 0 : PIECE, options);
      done.catch(() => undefined); // told when its turn comes
      pending.push({ at, done });
      at += PIECE;
    }
    const next = pending.shift();
    if (next === undefined) break;
    await next.done.catch((error) => {
      throw shortened(error, file, next.at);
    });
    const bytes = Math.min(next.at + PIECE, total);
    try {
      onProgress?.({ bytes, total, rate: meter.rate(bytes, clock.now()) });
    } catch (error) {
      throw toSshError(error, 'bad-argument', { operation: 'onProgress' });
    }
  }
  return total;
}

/** EOF in the midst says that the original has become shorter than it was. */
function shortened(error: unknown, { path }: OpenHandle, transferred: number): unknown {
  if (!(error instanceof SshError) || error.status !== Status.eof) return error;
  const shown = printable(path, 1024);
  const message = `copy ${shown}: the file ended before the size that the server stated`;
  return new SshError('incomplete', message, { fault: 'peer', operation: 'copy', path: shown, transferred });
}

/** Compares the sizes, sets what is wanted, and closes the copy. Resolves with warnings. */
async function finish(
  { attrs }: Original,
  { file }: Target,
  stated: number,
  options: CopyOptions,
  state: { isOpen: boolean },
): Promise<{ readonly bytes: number; readonly warnings: string[] }> {
  const { preserve, permissions } = options;
  const there = await fstat(file, options);
  const bytes = there.size ?? stated;
  if (fileKind(there) === 'file' && bytes < stated) {
    const path = printable(file.path, 1024);
    const message = `copy ${path}: the copy has ${bytes} bytes of ${stated}`;
    throw new SshError('incomplete', message, { fault: 'peer', operation: 'copy', path, transferred: bytes });
  }
  const warnings: string[] = [];
  const { stat: local } = facts(attrs);
  const kept = local === undefined ? {} : remoteAttributes(local, preserve);
  const wanted = permissions === undefined ? kept : { ...kept, permissions };
  if (Object.keys(wanted).length > 0) {
    await fsetstat(file, wanted, { ...options, times: 'clamp' }).catch((error: unknown) => {
      if (!isStatusError(error)) throw error;
      warnings.push(`The attributes were not set: ${error.message}`);
    });
  }
  if (options.sync) await fsync(file, options);
  state.isOpen = false; // refused or not, the handle is gone
  await closeHandle(file, options);
  return { bytes, warnings };
}
