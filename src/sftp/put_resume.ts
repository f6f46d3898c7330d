/** Uploads that go on with what an earlier one left, or into what is there: see `resume.ts`. */

import { printable } from '../bytes/text.ts';
import { SshError } from '../errors.ts';
import { call } from './call.ts';
import type { Link } from './link.ts';
import { closeHandle, closeQuietly, fstat, type OpenHandle, openFile, pathRequest } from './operations.ts';
import type { RemotePath } from './options.ts';
import { type Attributes, encodeAttributes, fileKind } from './proto/attrs.ts';
import { packets } from './proto/packets.ts';
import type { Input } from './put_input.ts';
import type { PutOptions } from './put_options.ts';
import { existing, moveIntoPlace, type Plan, type PutHints, planTarget, type Target } from './put_target.ts';
import {
  type Beginning,
  differsWarning,
  lengths,
  spanOf,
  trustedBytes,
  type Unfinished,
  unfinishedPaths,
} from './resume.ts';
import { whole } from './transfer.ts';

/** An open part, and the names that it may have. */
export interface PartTarget extends Target {
  readonly paths: Unfinished<RemotePath>;
  /** How far what is sent may run ahead. */
  readonly span: number;
  /** How long the file is. */
  readonly length: number;
}

/** A file that may be the beginning of the source. */
interface Found extends Beginning {
  readonly path: RemotePath;
}

/**
 * The part that is there, or a new one, open to be written; `undefined`, with a warning, where the target is no file and is
 * written in place.
 */
export async function openPart(
  link: Link,
  remote: RemotePath,
  input: Input,
  options: PutOptions,
  hints: PutHints,
  warnings: string[],
): Promise<PartTarget | undefined> {
  const paths = unfinishedPaths(remote, (await input.mark?.()) ?? '');
  const [plan, kept, torn] = await Promise.all([
    planTarget(link, remote, input.permissions, options, hints),
    existing(link, paths.kept, options),
    existing(link, paths.torn, options),
  ]);
  if (plan.inPlace) {
    warnings.push(`${printable(remote, 1024)} is no file and is written in place: nothing of it can be resumed`);
    return undefined;
  }
  const { size = 0 } = input;
  const { span = spanOf(size) } = hints;
  const found = findPart(remote, paths, plan, { kept, torn }, { size, span }, options);
  const trusted = found === undefined ? 0 : await trustedOf(link, found, input, options);
  if (found !== undefined && trusted === undefined) {
    warnings.push(differsWarning(found.whole, printable(found.path, 1024)));
  }
  const skip = trusted ?? 0;
  const part = found?.isTarget && skip === 0 ? undefined : found;
  if (part !== undefined && part.path !== paths.torn) {
    if (torn !== undefined) await pathRequest(link, packets.remove, 'remove', paths.torn, options);
    await moveIntoPlace(link, part.path, paths.torn, { ...options, overwrite: false });
  }
  const flags = { write: true, create: true, truncate: skip === 0, exclusive: part === undefined };
  const attrs = plan.permissions === undefined ? {} : { permissions: plan.permissions };
  const orphan = (late: OpenHandle): void => {
    closeQuietly(late);
    if (part === undefined) pathRequest(link, packets.remove, 'remove', paths.torn, {}).catch(() => undefined);
  };
  const file = await openFile(link, paths.torn, flags, attrs, options, orphan, remote).catch(async (error: unknown) => {
    if (part?.isTarget) await moveIntoPlace(link, paths.torn, remote, { overwrite: false }).catch(() => undefined);
    throw error;
  });
  return {
    plan: { ...plan, path: paths.torn },
    file,
    start: skip,
    skip,
    paths,
    span,
    length: skip === 0 ? 0 : (part?.length ?? 0),
  };
}

function findPart(
  remote: RemotePath,
  paths: Unfinished<RemotePath>,
  plan: Plan,
  there: Partial<Unfinished<Attributes | undefined>>,
  { size, span }: { readonly size: number; readonly span: number },
  options: PutOptions,
): Found | undefined {
  for (const state of ['kept', 'torn'] as const) {
    const attrs = there[state];
    if (attrs === undefined) continue;
    const kind = fileKind(attrs);
    if (kind !== 'file' && kind !== 'unknown') {
      const path = printable(paths[state], 1024);
      const message = `resume: ${path} is no file, though an unfinished one would have that name: move it away`;
      throw new SshError('target-exists', message, { fault: 'policy', operation: 'put', path });
    }
    return { path: paths[state], ...lengths(state, attrs.size ?? 0, size, span), isTarget: false };
  }
  if (options.resume !== 'target' || plan.there === undefined) return undefined;
  return { path: remote, ...lengths('kept', plan.there.size ?? 0, size, span), isTarget: true };
}

/** As `trustedBytes`; what cannot be read is not trusted. */
async function trustedOf(link: Link, found: Found, input: Input, options: PutOptions): Promise<number | undefined> {
  if (found.length === 0 || input.read === undefined) return 0;
  let file: OpenHandle | undefined;
  try {
    file = await openFile(link, found.path, 'r', {}, options);
    return await trustedBytes(file, input.read, found, options);
  } catch (error) {
    if (error instanceof SshError && error.code === 'sftp-status') return undefined;
    throw error;
  } finally {
    if (file !== undefined) closeQuietly(file);
  }
}

/** Milliseconds without an answer after which a failed upload is left as it is: whoever aborted does not want to wait. */
const PATIENCE = 5_000;

/** How a failed upload ended. */
export interface FailedUpload {
  readonly error: SshError;
  /** Bytes of the file that were acknowledged without a gap; `undefined`: the WRITEs were not what failed. */
  readonly sure: number | undefined;
  /** Whether the file is open yet. */
  readonly isOpen: boolean;
  /** Whether all WRITEs went over one channel: only then what is sent there now comes behind them. */
  readonly isOrdered: boolean;
}

/**
 * Keeps what a failed upload has written: cut behind the last byte that is sure where the server still answers. Resolves with
 * the name of what stays; `undefined`: nothing does.
 */
export async function keepPart(target: PartTarget, failed: FailedUpload): Promise<string | undefined> {
  const { file, paths } = target;
  const { error, sure, isOpen, isOrdered } = failed;
  const { link } = file;
  const quick = { stallTimeout: PATIENCE };
  if (isDoubtful(error) || (sure === 0 && isOrdered)) {
    if (isOpen) closeQuietly(file);
    await pathRequest(link, packets.remove, 'remove', paths.torn, quick).catch(() => undefined);
    return undefined;
  }
  const isWhole = isOpen ? sure !== undefined && isOrdered && error.code !== 'timeout' : error.operation !== 'close'; // what CLOSE would have said nobody knows
  if (isWhole) {
    try {
      if (isOpen) await cut(file, sure ?? 0);
      await moveIntoPlace(link, paths.torn, paths.kept, quick);
      return printable(paths.kept, 1024);
    } catch {
      // it keeps the name that says that it may have holes
    }
  } else if (isOpen) closeQuietly(file);
  return printable(paths.torn, 1024);
}

/** Whether what was acknowledged may not be there, or not be right. */
function isDoubtful({ code, operation }: SshError): boolean {
  if (code === 'incomplete' || code === 'content-differs') return true;
  return code === 'sftp-status' && (operation === 'close' || operation === 'fsync');
}

/** The draft (§6.1) has requests on one file carried out in order, so this comes behind all WRITEs. */
async function cut(file: OpenHandle, size: number): Promise<void> {
  const { link, handle, path } = file;
  const quick = { stallTimeout: PATIENCE };
  const value = { handle, attrs: encodeAttributes({ size }) };
  const cutting = call(link, { row: packets.fsetstat, value, operation: 'fsetstat', path }, quick);
  const closing = closeHandle(file, quick);
  closing.catch(() => undefined); // looked at below
  await cutting;
  await closing;
}

/** The remote file itself, to be written behind its end or at a position. */
export async function openInPlace(
  link: Link,
  remote: RemotePath,
  permissions: number | undefined,
  options: PutOptions,
): Promise<Target> {
  const { append = false, position } = options;
  const start = position === undefined ? 0 : whole('position', position, 0);
  const attrs = append && permissions !== undefined ? { permissions } : {};
  const file = await openFile(link, remote, { write: true, create: append }, attrs, options);
  const plan = { path: remote, inPlace: true, permissions };
  if (!append) return { plan, file, start, skip: 0 };
  try {
    return { plan, file, start: await sizeOf(file, options), skip: 0 };
  } catch (error) {
    closeQuietly(file);
    throw error;
  }
}

/** Where a file ends that is to be appended to: offsets are explicit, since some servers ignore APPEND. */
async function sizeOf(file: OpenHandle, options: PutOptions): Promise<number> {
  const attrs = await fstat(file, options);
  const kind = fileKind(attrs);
  if (attrs.size !== undefined && (kind === 'file' || kind === 'unknown')) return attrs.size;
  const path = printable(file.path, 1024);
  const why = attrs.size === undefined ? 'the server does not tell its size' : `it is a ${kind}`;
  throw new SshError('not-supported', `append ${path}: ${why}`, { fault: 'peer', operation: 'append', path });
}
