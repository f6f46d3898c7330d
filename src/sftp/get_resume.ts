/** Downloads that go on with what an earlier one left: see `resume.ts`. */

import { printable } from '../bytes/text.ts';
import { SshError } from '../errors.ts';
import type { LocalFiles } from '../io/local_files.ts';
import type { GetHints, GetOptions } from './get_options.ts';
import { type Fate, FileOutput, moveToTarget, type Output, type Place } from './get_output.ts';
import type { OpenHandle } from './operations.ts';
import {
  type Beginning,
  differsWarning,
  lengths,
  sourceMark,
  spanOf,
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
  { span = spanOf(source.size) }: GetHints,
  warnings: string[],
): Promise<Output> {
  const { target, there } = place;
  const names = unfinishedPaths(files.name(target), sourceMark(source.size, source.mtime));
  const paths = { torn: files.beside(target, names.torn), kept: files.beside(target, names.kept) };
  const found = await findPart(files, paths, place, { size: source.size, span }, options);
  const trusted = found === undefined ? 0 : await trustedOf(files, found, source, options);
  if (found !== undefined && trusted === undefined) {
    warnings.push(differsWarning(found.whole, printable(found.path, 1024)));
  }
  const start = trusted ?? 0;
  const part = found?.isTarget && start === 0 ? undefined : found;
  if (part !== undefined && part.path !== paths.torn) await files.rename(part.path, paths.torn);
  const permissions = there?.permissions === undefined ? {} : { permissions: there.permissions };
  const create = part === undefined ? 'new' : start > 0 ? 'keep' : 'replace';
  const file = await files
    .open(paths.torn, { access: 'write', create, ...permissions })
    .catch(async (error: unknown) => {
      if (part !== undefined && part.path !== paths.torn)
        await files.rename(paths.torn, part.path).catch(() => undefined);
      throw error;
    });
  const holesFrom = options.sparse ? await file.size() : undefined;
  return new FileOutput(file, partFate(files, paths, target, options), { origin: 0, start, span, holesFrom }, options);
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
      const message = `resume: ${shown} is no file, though an unfinished one would have that name: move it away`;
      throw new SshError('bad-local-file', message, { operation: 'open', path: shown });
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

/** What becomes of a part: when the transfer fails it stays, unless what it holds is wrong. */
function partFate(files: LocalFiles, paths: Unfinished<string>, target: string, options: GetOptions): Fate {
  return {
    reopen: () => files.open(paths.torn, { access: 'read' }),
    keep: () => moveToTarget(files, paths.torn, target, options),
    drop: async (error, sure) => {
      const isWrong = error.code === 'content-differs' || error.code === 'incomplete';
      if (sure === 0 || isWrong) {
        await files.remove(paths.torn);
        return undefined;
      }
      if (sure === undefined) return printable(paths.torn, 1024);
      try {
        await files.rename(paths.torn, paths.kept);
      } catch (reason) {
        // Another transfer took it, and may have cut it before what was written here: nobody can tell what is whole.
        if ((await files.stat(paths.torn)) === undefined) await files.remove(paths.kept);
        throw reason;
      }
      return printable(paths.kept, 1024);
    },
  };
}
