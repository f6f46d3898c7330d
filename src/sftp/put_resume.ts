/** Uploads that go on with what an earlier one left, or into what is there: see `resume.ts`. */

import { printable } from '../bytes/text.ts';
import { SshError, toSshError } from '../errors.ts';
import type { Link } from './link.ts';
import {
  closeHandle,
  closeQuietly,
  fsetstat,
  fstat,
  type OpenHandle,
  openFile,
  pathRequest,
  stat,
} from './operations.ts';
import type { RemotePath } from './options.ts';
import { temporaryPath } from './path.ts';
import { type Attributes, fileKind } from './proto/attrs.ts';
import { packets } from './proto/packets.ts';
import { isStatusError, Status } from './proto/status.ts';
import type { Input } from './put_input.ts';
import type { PutOptions } from './put_options.ts';
import { existing, moveIntoPlace, type Plan, type PutHints, planTarget, type Target } from './put_target.ts';
import { createError } from './refusals.ts';
import {
  type Beginning,
  differsWarning,
  lengths,
  noFileMessage,
  spanOf,
  takenMessage,
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
  if (found !== undefined) warnings.push(...differsWarning(found, printable(found.path, 1024), trusted));
  const skip = trusted ?? 0;
  const part = skip === 0 ? undefined : found;
  // never emptied: another transfer may be writing it, and would take what it wrote for being there
  const isUseless = found !== undefined && !found.isTarget && part === undefined;
  const remove = (path: RemotePath): Promise<void> => pathRequest(link, packets.remove, 'remove', path, options);
  if (isUseless && kept !== undefined) await remove(paths.kept);
  if (torn !== undefined && (isUseless || (part !== undefined && part.path !== paths.torn))) await remove(paths.torn);
  if (part !== undefined && part.path !== paths.torn) {
    await moveIntoPlace(link, part.path, paths.torn, { ...options, overwrite: false });
  }
  const flags = { write: true, create: part === undefined, exclusive: part === undefined };
  const attrs = plan.permissions === undefined ? {} : { permissions: plan.permissions };
  const orphan = (late: OpenHandle): void => {
    closeQuietly(late);
    if (part === undefined) pathRequest(link, packets.remove, 'remove', paths.torn, {}).catch(() => undefined);
  };
  const file = await openFile(link, paths.torn, flags, attrs, options, orphan, remote).catch(async (error: unknown) => {
    if (part?.isTarget) await moveIntoPlace(link, paths.torn, remote, { overwrite: false }).catch(() => undefined);
    throw await createError(error, link, remote, options);
  });
  if (skip > 0) await needLength(file, paths.torn, skip, options);
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

/** That what is gone on with is what was compared. Closes the file where it is not. */
async function needLength(file: OpenHandle, path: RemotePath, least: number, options: PutOptions): Promise<void> {
  try {
    const { size } = await ifTold(fstat(file, options));
    if (size !== undefined && size < least) throw isTaken(path);
  } catch (error) {
    closeQuietly(file);
    throw error;
  }
}

/** Another transfer works on the same part: only one of them may go on. */
function isTaken(path: RemotePath): SshError {
  const shown = printable(path, 1024);
  return new SshError('target-exists', takenMessage(shown), { fault: 'policy', operation: 'put', path: shown });
}

/**
 * Gives a part that is whole, and closed, the name of the target: by way of a name that no other transfer knows, where it can be
 * seen that it is the one that we wrote. Resolves with why it is not for us to keep, move or remove.
 */
export async function movePart(
  { file, paths }: PartTarget,
  size: number,
  remote: RemotePath,
  options: PutOptions,
): Promise<SshError | undefined> {
  const { link } = file;
  const aside = temporaryPath(paths.torn);
  const back = { ...options, overwrite: false, signal: undefined };
  try {
    await moveIntoPlace(link, paths.torn, aside, { ...options, overwrite: false });
  } catch (error) {
    const isGone = error instanceof SshError && error.status === Status.noSuchFile;
    if (!isGone && (await existing(link, paths.torn, options)) !== undefined) throw error;
    // who gave it another name may have cut it before what was written here: nobody can tell what of it is whole
    await pathRequest(link, packets.remove, 'remove', paths.kept, options).catch(() => undefined);
    return isTaken(paths.torn);
  }
  try {
    const there = await ifTold(stat(link, packets.stat, aside, options));
    if (there.size === undefined || there.size === size) {
      await moveIntoPlace(link, aside, remote, options);
      return undefined;
    }
  } catch (error) {
    await moveIntoPlace(link, aside, paths.torn, back).catch(() => undefined);
    throw error;
  }
  await moveIntoPlace(link, aside, paths.torn, back);
  return isTaken(paths.torn);
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
      throw new SshError('target-exists', noFileMessage(path), { fault: 'policy', operation: 'put', path });
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
    if (isStatusError(error)) return undefined;
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
  /** Where what was sent ends. */
  readonly reached: number;
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
  const remove = (): Promise<void> =>
    pathRequest(link, packets.remove, 'remove', paths.torn, quick).catch(() => undefined);
  if (isDoubtful(error) || (sure === 0 && isOrdered)) {
    if (isOpen) closeQuietly(file);
    await remove();
    return undefined;
  }
  const isWhole = isOpen ? sure !== undefined && isOrdered && error.code !== 'timeout' : error.operation !== 'close'; // what CLOSE would have said nobody knows
  if (!isWhole) {
    if (isOpen) closeQuietly(file);
    return printable(paths.torn, 1024);
  }
  try {
    await keepAside(target, isOpen ? (sure ?? 0) : failed.reached, failed);
    return printable(paths.kept, 1024);
  } catch (reason) {
    if (isDoubtful(toSshError(reason, 'internal'))) {
      await remove();
      return undefined;
    }
    // it keeps the name that says that it may have holes, unless another transfer has given it a new one
    const isGone = await existing(link, paths.torn, quick).then(
      (there) => there === undefined,
      () => false,
    );
    return isGone ? undefined : printable(paths.torn, 1024);
  }
}

/**
 * Cuts the part, if it is open yet, and closes it, where no other transfer finds it: one that was writing it, too, may have given it the name of the
 * target by now, and then it is not for us to cut.
 */
async function keepAside(
  { file, paths, length }: PartTarget,
  size: number,
  { isOpen, reached }: FailedUpload,
): Promise<void> {
  const { link } = file;
  const quick = { stallTimeout: PATIENCE };
  const aside = temporaryPath(paths.torn);
  try {
    await moveIntoPlace(link, paths.torn, aside, { ...quick, overwrite: false });
  } catch (error) {
    if (isOpen) closeQuietly(file);
    throw error;
  }
  let name = paths.torn;
  try {
    const before = await ifTold(stat(link, packets.stat, aside, quick));
    if (before.size !== undefined && before.size > Math.max(reached, length)) {
      if (isOpen) closeQuietly(file);
      throw isTaken(paths.torn); // another writes behind what we sent, and what we cut would be missing there
    }
    if (isOpen) await cut(file, size);
    const there = await ifTold(stat(link, packets.stat, aside, quick));
    if (there.size !== undefined && there.size !== size) throw isTaken(paths.torn); // it was another's
    name = paths.kept;
  } finally {
    await moveIntoPlace(link, aside, name, quick);
  }
}

/** What FSTAT or STAT says; a server that refuses it may. */
export async function ifTold(asked: Promise<Attributes>): Promise<Attributes> {
  try {
    return await asked;
  } catch (error) {
    if (isStatusError(error)) return {};
    throw error;
  }
}

/** Whether what was acknowledged may not be there, or not be right. */
function isDoubtful({ code, operation }: SshError): boolean {
  if (code === 'incomplete' || code === 'content-differs') return true;
  return code === 'sftp-status' && (operation === 'close' || operation === 'fsync');
}

/** The draft (§6.1) has requests on one file carried out in order, so this comes behind all WRITEs. */
async function cut(file: OpenHandle, size: number): Promise<void> {
  const quick = { stallTimeout: PATIENCE };
  const cutting = fsetstat(file, { size }, quick);
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
  const file = await openFile(link, remote, { write: true, create: append }, attrs, options).catch(async (error) => {
    throw await createError(error, link, remote, options);
  });
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
