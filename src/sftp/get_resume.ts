/** Downloads that go on with what an earlier one left: see `resume.ts`. */

import { printable } from '../bytes/text.ts';
import { SshError } from '../errors.ts';
import type { LocalFiles, LocalStat } from '../io/local_files.ts';
import type { GetHints, GetOptions } from './get_options.ts';
import { type Fate, FileOutput, moveToTarget, type Output, type Place } from './get_output.ts';
import { fstat, type OpenHandle } from './operations.ts';
import { temporaryPath } from './path.ts';
import { openBeside } from './refusals.ts';
import {
  type Beginning,
  differsWarning,
  lengths,
  noFileMessage,
  sourceMark,
  spanOf,
  takenMessage,
  trustedBytes,
  type Unfinished,
  unfinishedPaths,
} from './resume.ts';

/** What is to be downloaded. */
export interface RemoteSource {
  readonly file: OpenHandle;
  readonly size: number;
  readonly mtime: number;
}

/** A file that may be the beginning of the remote one. */
interface Found extends Beginning {
  readonly path: string;
}

/** The part that is there, or a new one, ready to be written. */
export async function resumedFile(
  files: LocalFiles,
  place: Place,
  source: RemoteSource,
  options: GetOptions,
  { span = spanOf(source.size), attrs }: GetHints,
  warnings: string[],
): Promise<Output> {
  const { target, there } = place;
  const names = unfinishedPaths(files.name(target), sourceMark(source.size, source.mtime));
  const paths = { torn: files.beside(target, names.torn), kept: files.beside(target, names.kept) };
  const found = await findPart(files, paths, place, { size: source.size, span }, options);
  // of ours only the end is compared: what it was the beginning of when it was listed may be another file by now
  const isOld = found?.isTarget === false && attrs !== undefined && (await hasChanged(source, options));
  const trusted = found === undefined ? 0 : isOld ? undefined : await trustedOf(files, found, source, options);
  if (found !== undefined) warnings.push(...differsWarning(found, printable(found.path, 1024), trusted));
  const start = trusted ?? 0;
  // never emptied: another transfer may be writing it, and would take what it wrote for being there
  if (start === 0 && found?.isTarget === false) {
    await files.remove(paths.kept);
    await files.remove(paths.torn);
  }
  const part = start === 0 ? undefined : found;
  if (part !== undefined && part.path !== paths.torn) await files.rename(part.path, paths.torn);
  const permissions = there?.permissions === undefined ? {} : { permissions: there.permissions };
  const create = part === undefined ? 'new' : 'never';
  const file = await openBeside(files, paths.torn, target, { access: 'write', create, ...permissions }).catch(
    async (error: unknown) => {
      if (part !== undefined && part.path !== paths.torn)
        await files.rename(paths.torn, part.path).catch(() => undefined);
      throw error;
    },
  );
  try {
    const opened = await file.stat();
    if (opened.size < start) throw isTaken(paths.torn);
    const holesFrom = options.sparse ? opened.size : undefined;
    const fate = partFate(files, paths, target, options, opened);
    return new FileOutput(file, fate, { origin: 0, start, span, holesFrom }, options);
  } catch (error) {
    await file.close().catch(() => undefined);
    throw error;
  }
}

/** Another transfer works on the same part: only one of them may go on. */
function isTaken(path: string): SshError {
  const shown = printable(path, 1024);
  return new SshError('bad-local-file', takenMessage(shown), { operation: 'open', path: shown });
}

/** Whether the file that is open is not the one that size and time were told of. */
async function hasChanged({ file, size, mtime }: RemoteSource, options: GetOptions): Promise<boolean> {
  const now = await fstat(file, options);
  return now.size !== size || now.mtime !== mtime;
}

async function findPart(
  files: LocalFiles,
  paths: Unfinished<string>,
  { target, there }: Place,
  { size, span }: { readonly size: number; readonly span: number },
  options: GetOptions,
): Promise<Found | undefined> {
  for (const state of ['kept', 'torn'] as const) {
    const path = paths[state];
    const part = await files.stat(path);
    if (part === undefined) continue;
    if (part.kind !== 'file') {
      const shown = printable(path, 1024);
      throw new SshError('bad-local-file', noFileMessage(shown), { operation: 'open', path: shown });
    }
    return { path, ...lengths(state, part.size, size, span), isTarget: false };
  }
  if (options.resume !== 'target' || there?.kind !== 'file') return undefined;
  return { path: target, ...lengths('kept', there.size, size, span), isTarget: true };
}

async function trustedOf(
  files: LocalFiles,
  found: Found,
  source: RemoteSource,
  options: GetOptions,
): Promise<number | undefined> {
  const reader = await files.open(found.path, { access: 'read' });
  try {
    return await trustedBytes(source.file, (room, position) => reader.read(room, position), found, options);
  } finally {
    await reader.close().catch(() => undefined); // it was only read from
  }
}

/**
 * What becomes of a part: when the transfer fails it stays, unless what it holds is wrong. Another transfer may have given it
 * another name meanwhile, or put another file in its place: `id` tells them apart.
 */
function partFate(
  files: LocalFiles,
  paths: Unfinished<string>,
  target: string,
  options: GetOptions,
  { id, size }: LocalStat,
): Fate {
  let path = paths.torn;
  const isAt = async (name: string): Promise<boolean> => {
    const there = await files.stat(name);
    return there !== undefined && there.id === id;
  };
  /** Gives it a name that no other transfer knows, and then looks whether it is ours: nobody can change that any more. */
  const takeAside = async (isSound: (there: LocalStat) => boolean): Promise<void> => {
    if (!(await isAt(path))) throw isTaken(path);
    const aside = files.beside(target, temporaryPath(files.name(target)) as string);
    await files.rename(path, aside);
    const there = await files.stat(aside);
    if (there === undefined || there.id !== id || !isSound(there)) {
      await files.rename(aside, path);
      throw isTaken(path);
    }
    path = aside;
  };
  return {
    reopen: () => files.open(paths.torn, { access: 'read' }),
    claim: (end) => takeAside((there) => there.size <= Math.max(end, size)),
    keep: async () => {
      await takeAside(() => true);
      await moveToTarget(files, path, target, options);
    },
    drop: async (error, sure) => {
      if (!(await isAt(path))) {
        // Another transfer gave it this name, and may have cut it before what was written here: nobody can tell what is whole.
        if (await isAt(paths.kept)) await files.remove(paths.kept);
        return undefined;
      }
      const isWrong = error.code === 'content-differs' || error.code === 'incomplete';
      if (sure === 0 || isWrong) {
        await files.remove(path);
        return undefined;
      }
      const name = sure === undefined ? paths.torn : paths.kept;
      if (path !== name) await files.rename(path, name);
      return printable(name, 1024);
    },
  };
}
