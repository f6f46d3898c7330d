/** Uploads of one command: from what is written to files, one or many, and what became of them. */

import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import process from 'node:process';
import { printable } from '../bytes/text.ts';
import { SshError } from '../errors.ts';
import type { SftpClient } from '../sftp/client.ts';
import type { RemotePath } from '../sftp/options.ts';
import { joinPath } from '../sftp/path.ts';
import { type FileKind, fileKind } from '../sftp/proto/attrs.ts';
import type { PutOptions } from '../sftp/put_options.ts';
import type { TreeOptions } from '../sftp/tree/options.ts';
import { keepReason } from '../sftp/tree/overwrite.ts';
import { bad } from './arg_values.ts';
import { isLocalDirectory } from './local_directory.ts';
import { eachOf, finished, type Moving, type OnProgress, optionsOf, Tally, treeOptions } from './move.ts';
import { ifTold } from './remote_sources.ts';
import { Summary } from './summary.ts';
import type { MoveChoice } from './transfer_args.ts';

/** Where uploads go, and how. */
export interface UploadTarget {
  readonly path: RemotePath;
  /** Whether it can only be a directory. */
  readonly isDirectory: boolean;
  readonly inPlace: boolean;
  readonly append: boolean;
}

/** A local file, or `-`, and the remote path that it gets. */
interface Upload {
  readonly local: string;
  readonly name: string;
  readonly path: RemotePath;
  /** Where that turns out to be a directory. */
  readonly orInto?: RemotePath;
}

/** Uploads everything. What is wrong with one of several files is in the summary, and everything else an error. */
export async function upload(moving: Moving, locals: readonly string[], target: UploadTarget): Promise<Summary> {
  const summary = new Summary();
  const isMany = locals.length > 1;
  if (isMany && !target.isDirectory) await requireDirectory(moving, target.path);
  const uploads = distinct(locals.map((local) => placed(moving, local, target, isMany)));
  const tally = new Tally(
    moving.meter,
    uploads.map(() => undefined),
    isMany,
  );
  await eachOf([...uploads.entries()], async ([at, item]) => {
    try {
      if (moving.choice.recursive && (await isLocalDirectory(moving.local(item.local)))) {
        await directory(moving, item, target, summary, tally.tree(at));
      } else {
        await file(moving, item, target, summary, tally.file(at, item.name));
      }
    } catch (error) {
      const isKept = summary.keep(printable(item.path, 1024), moving.choice.overwrite, error);
      if (!isKept && !isMany) throw error;
      if (!isKept) summary.fail(item.local, error);
    }
    tally.through(at);
  });
  return finished(moving.meter, summary, isMany || summary.files !== 1);
}

async function requireDirectory({ sftp, signal }: Moving, path: RemotePath): Promise<void> {
  if (fileKind(await sftp.stat(path, { signal })) === 'directory') return;
  throw new SshError('target-exists', `${printable(path, 1024)} on the server is no directory for several files`, {
    fault: 'peer',
  });
}

function placed({ local: resolve }: Moving, local: string, target: UploadTarget, isMany: boolean): Upload {
  const { path, isDirectory } = target;
  if (local === '-') return { local, name: printable(path, 1024), path };
  const name = basename(resolve(local));
  // a directory whose name says nothing goes where it is asked to go, and not below
  if (/(?:^|[/\\])\.{1,2}[/\\]*$/.test(local)) return { local, name, path };
  return {
    local,
    name,
    ...(isDirectory || isMany ? { path: joinPath(path, name) } : { path, orInto: joinPath(path, name) }),
  };
}

function distinct(uploads: readonly Upload[]): readonly Upload[] {
  const taken = new Map<string, string>();
  for (const { local, path } of uploads) {
    const key = printable(path, 65536);
    const other = taken.get(key);
    if (other !== undefined) throw bad(`${printable(other)} and ${printable(local)} would both become ${key}`);
    taken.set(key, local);
  }
  return uploads;
}

/** Into a directory that is there it goes under its own name, and otherwise it is made under that of the target. */
async function directory(
  { sftp, signal, choice, local: resolve }: Moving,
  { local, path, orInto }: Upload,
  { inPlace }: UploadTarget,
  summary: Summary,
  onProgress: TreeOptions['onProgress'],
): Promise<void> {
  const isThere = orInto !== undefined && (await kindAt(sftp, path, signal)) === 'directory';
  const options = { ...treeOptions(choice), ...(inPlace ? { atomic: false } : {}), signal, onProgress };
  summary.tree(local, await sftp.putTree(resolve(local), isThere ? (orInto as RemotePath) : path, options));
}

async function kindAt(sftp: SftpClient, path: RemotePath, signal: AbortSignal): Promise<FileKind | undefined> {
  const attrs = await ifTold(sftp.stat(path, { signal }));
  return attrs && fileKind(attrs);
}

async function file(
  moving: Moving,
  { local, path, orInto }: Upload,
  target: UploadTarget,
  summary: Summary,
  onProgress: OnProgress,
): Promise<void> {
  const { sftp, signal, choice } = moving;
  const options = { ...optionsOf(choice), ...writing(target, choice), signal, onProgress };
  const send = async (to: RemotePath): Promise<void> => {
    const why = await keptBecause(moving, local, to);
    if (why !== undefined) return summary.skip(printable(to, 1024), why);
    summary.file(await sftp.put(local === '-' ? process.stdin : moving.local(local), to, options));
  };
  if (orInto === undefined) return send(path);
  try {
    await send(path);
  } catch (error) {
    if (!(await isDirectory(moving, path, error))) throw error;
    await send(orInto);
  }
}

/** How the remote file comes into being. */
function writing({ inPlace, append }: UploadTarget, { overwrite }: MoveChoice): PutOptions {
  if (append) return { append };
  return { ...(inPlace ? { atomic: false } : {}), ...(overwrite === 'never' ? { overwrite: false } : {}) };
}

/** Only a failure makes it worth asking whether the path is a directory, which then takes the file under its own name. */
async function isDirectory({ sftp, signal }: Moving, path: RemotePath, error: unknown): Promise<boolean> {
  if (!(error instanceof SshError) || !['target-exists', 'sftp-status'].includes(error.code)) return false;
  return fileKind(await sftp.stat(path, { signal }).catch(() => ({}))) === 'directory';
}

/** Asks only where not everything is replaced. A directory is no file that could be kept. */
async function keptBecause(
  { sftp, signal, choice, local: resolve }: Moving,
  local: string,
  to: RemotePath,
): Promise<string | undefined> {
  const { overwrite } = choice;
  if (overwrite === 'always') return undefined;
  const there = await ifTold(sftp.stat(to, { signal }));
  if (there === undefined || fileKind(there) === 'directory') return undefined;
  const from = await stat(resolve(local)).catch(() => undefined);
  return keepReason(
    overwrite,
    { size: from?.size, modified: from && Math.floor(from.mtimeMs / 1000) },
    { size: there.size, modified: there.mtime },
  );
}
