/**
 * Which remote file an upload writes: a temporary one beside the target, or the target itself, and with which permissions.
 * Sends LSTAT and OPEN; knows nothing of content.
 */

import { SshError } from '../errors.ts';
import type { Link } from './link.ts';
import {
  closeQuietly,
  type OpenHandle,
  offers,
  openFile,
  pathRequest,
  plainRename,
  posixRename,
  stat,
  targetExists,
} from './operations.ts';
import type { CallOptions, RemotePath } from './options.ts';
import { temporaryPath } from './path.ts';
import { type Attributes, fileKind } from './proto/attrs.ts';
import { extensions } from './proto/extensions.ts';
import { packets } from './proto/packets.ts';
import { isStatusError, Status } from './proto/status.ts';
import { createError } from './refusals.ts';

/** Of the options of `put`, those that matter here. */
export interface TargetOptions extends CallOptions {
  readonly atomic?: boolean | undefined;
  readonly overwrite?: boolean | undefined;
  readonly permissions?: number | undefined;
  readonly requests?: number | undefined;
}

/** What the caller knows, or wants, of the target beyond the options. */
export interface PutHints {
  /** What LSTAT would say: it is not asked then. */
  readonly target?: Attributes | 'absent' | undefined;
  /**
   * Whether nothing but a file may come out of it: a symbolic link is replaced, and not what it leads to, and a device or pipe
   * is refused. Default: false.
   */
  readonly regular?: boolean | undefined;
  /** How far what is written may run ahead, with `resume`. Default: `spanOf`. */
  readonly span?: number | undefined;
}

/** Which remote file is written, and what becomes of it. */
export interface Plan {
  readonly path: RemotePath;
  readonly inPlace: boolean;
  readonly permissions: number | undefined;
  /** What stands at the target, where that was looked at and is a file. */
  readonly there?: Attributes;
}

/** An open file, and the plan that it follows. */
export interface Target {
  readonly plan: Plan;
  readonly file: OpenHandle;
  /** Resolves when a file that turned out not to be needed is gone. */
  readonly dropped?: Promise<void>;
  /** Where in the file the writing begins. */
  readonly start: number;
  /** Bytes of the source that are there already. */
  readonly skip: number;
}

/**
 * LSTAT of the target and OPEN of a temporary file leave together. Should the target want another file, or one with other
 * permissions, the temporary one is removed again, empty. Where nothing may be replaced, or only one request may be pending,
 * the one waits for the other.
 */
export async function openTarget(
  link: Link,
  remote: RemotePath,
  local: number | undefined,
  options: TargetOptions,
  hints: PutHints = {},
): Promise<Target> {
  const planning = planTarget(link, remote, local, options, hints);
  const { atomic, overwrite, requests } = options;
  if (atomic === false || overwrite === false || requests === 1 || hints.target !== undefined) {
    const plan = await planning;
    return { plan, start: 0, skip: 0, file: await openPlanned(link, remote, plan, options) };
  }
  planning.catch(() => undefined); // told below, once it is known what has to be removed
  const guess = { path: temporaryPath(remote), inPlace: false, permissions: options.permissions ?? local };
  const opening = openPlanned(link, remote, guess, options);
  const drop = (): Promise<void> =>
    opening.then(
      async (file) => {
        closeQuietly(file);
        await pathRequest(link, packets.remove, 'remove', guess.path, {}).catch(() => undefined);
      },
      () => undefined,
    );
  opening.catch(() => undefined);
  try {
    const plan = await planning;
    if (!plan.inPlace && plan.permissions === guess.permissions)
      return { plan: guess, start: 0, skip: 0, file: await opening };
    const dropped = drop();
    return { plan, start: 0, skip: 0, dropped, file: await openPlanned(link, remote, plan, options) };
  } catch (error) {
    await drop();
    throw error;
  }
}

/** OPEN of the file that is written. Errors name the file that the caller asked for: a temporary name would tell nobody anything. */
function openPlanned(link: Link, remote: RemotePath, plan: Plan, options: TargetOptions): Promise<OpenHandle> {
  const { path, inPlace, permissions } = plan;
  const exclusive = inPlace && options.overwrite === false;
  const flags = { write: true, create: true, truncate: !exclusive, exclusive };
  const attrs = permissions === undefined ? {} : { permissions };
  const orphan = (late: OpenHandle): void => {
    closeQuietly(late);
    if (!inPlace) pathRequest(link, packets.remove, 'remove', path, {}).catch(() => undefined);
  };
  return openFile(link, path, flags, attrs, options, orphan, remote).catch(async (error: unknown) => {
    throw await createError(error, link, remote, options);
  });
}

/** LSTAT of the target, and what follows from it. */
export async function planTarget(
  link: Link,
  remote: RemotePath,
  local: number | undefined,
  options: TargetOptions,
  hints: PutHints,
): Promise<Plan> {
  const wanted = options.permissions;
  if (options.atomic === false) return { path: remote, inPlace: true, permissions: wanted ?? local };
  const found = hints.target ?? (await existing(link, remote, options)) ?? 'absent';
  const there = found === 'absent' || (hints.regular && fileKind(found) === 'symlink') ? undefined : found;
  if (there === undefined) {
    return { path: temporaryPath(remote), inPlace: false, permissions: wanted ?? local };
  }
  if (options.overwrite === false) throw targetExists('put', remote, '; overwrite: true replaces it');
  const kind = fileKind(there);
  if (kind === 'directory')
    throw targetExists('put', remote, ' and is a directory: give the path of the file to write');
  if (kind !== 'file' && kind !== 'unknown') {
    if (hints.regular) throw targetExists('put', remote, ` and is no file but a ${kind}`);
    return { path: remote, inPlace: true, permissions: wanted ?? local };
  }
  const own = there.permissions === undefined ? local : there.permissions & 0o7777;
  return { path: temporaryPath(remote), inPlace: false, permissions: wanted ?? own, there };
}

/** LSTAT; `undefined` where nothing stands, or where the server does not tell. */
export async function existing(link: Link, path: RemotePath, options: CallOptions): Promise<Attributes | undefined> {
  try {
    return await stat(link, packets.lstat, path, options);
  } catch (error) {
    if (isStatusError(error)) return undefined;
    throw error;
  }
}

/** Removes what is not whole. Waits for it only where the server was still answering. */
export async function removeTemporary(link: Link, path: RemotePath, error: unknown): Promise<void> {
  const removed = pathRequest(link, packets.remove, 'remove', path, {}).catch(() => undefined);
  const code = error instanceof SshError ? error.code : undefined;
  if (code !== 'aborted' && code !== 'timeout') await removed;
}

const IN_PLACE = ' and the server cannot replace it in one step; atomic: false writes into the file itself';

/** Gives the whole file its name, in one step where the server can. */
export async function moveIntoPlace(
  link: Link,
  from: RemotePath,
  to: RemotePath,
  options: TargetOptions,
): Promise<void> {
  if (options.overwrite !== false && (await replaced(link, from, to, options))) return;
  await plainRename(link, from, to, options.overwrite === false ? '' : IN_PLACE, options);
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
