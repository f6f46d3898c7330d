/** Downloads of one command: from what is written to files, one or many, and what became of them. */

import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeLenient, printable } from '../bytes/text.ts';
import { SshError } from '../errors.ts';
import type { SftpClient } from '../sftp/client.ts';
import { localNameFault } from '../sftp/names.ts';
import type { RemotePath } from '../sftp/options.ts';
import { type Attributes, fileKind } from '../sftp/proto/attrs.ts';
import type { TreeOptions } from '../sftp/tree/options.ts';
import { keepReason } from '../sftp/tree/overwrite.ts';
import { bad } from './arg_values.ts';
import { isLocalDirectory } from './local_directory.ts';
import { eachOf, finished, type Moving, type OnProgress, optionsOf, Tally, treeOptions } from './move.ts';
import { outputStream } from './output.ts';
import { type Found, matches, type RemoteSource } from './remote_sources.ts';
import { Summary } from './summary.ts';
import { nameBytes, remoteName } from './target.ts';

/** One file or directory of the server, and what is known of it. */
interface Item {
  readonly path: RemotePath;
  /** As it is shown. */
  readonly name: string;
  readonly attrs?: Attributes | undefined;
  /** The server says the name, and nobody wrote it. */
  readonly isMatched: boolean;
}

export interface DownloadOptions {
  /** Whether a file may end before the size that the server states. */
  readonly trustEof: boolean;
}

interface Download extends Item {
  /** The local path; absent: standard output. */
  readonly local: string | undefined;
}

/**
 * Downloads everything. Without `local` everything keeps its name, `-` is standard output. What is wrong with one of several
 * files is in the summary, and everything else an error.
 */
export async function download(
  moving: Moving,
  sources: readonly RemoteSource[],
  local: string | undefined,
  options: DownloadOptions,
): Promise<Summary> {
  const summary = new Summary();
  const items = await itemsOf(moving, sources, summary);
  const isMany = sources.length > 1 || items.length > 1;
  const downloads = await placed(moving, items, local, isMany, summary);
  const tally = new Tally(
    moving.meter,
    downloads.map(({ attrs }) => (fileKind(attrs ?? {}) === 'file' ? attrs?.size : undefined)),
    isMany,
  );
  const one = async (item: Download, at: number): Promise<void> => {
    try {
      if (moving.choice.recursive && fileKind(item.attrs ?? {}) === 'directory') {
        await directory(moving, item, options, summary, tally.tree(at));
      } else {
        await file(moving, item, options, summary, tally.file(at, item.name));
      }
    } catch (error) {
      const isKept = summary.keep(item.local ?? '-', moving.choice.overwrite, error);
      if (!isKept && !isMany) throw error;
      if (!isKept) summary.fail(shownPath(item.path), error);
    }
    tally.through(at);
  };
  await eachOf([...downloads.entries()], ([at, item]) => one(item, at));
  return finished(moving.meter, summary, isMany || summary.files !== 1);
}

/**
 * What the sources name. Asks only about wildcards and, with `-r`, about what may be a directory. One of several that is not
 * there does not keep the others.
 */
async function itemsOf(moving: Moving, sources: readonly RemoteSource[], summary: Summary): Promise<Item[]> {
  const { sftp, signal, choice } = moving;
  const unless = async <T>(path: RemotePath, isOne: boolean, work: Promise<T>): Promise<T | undefined> => {
    try {
      return await work;
    } catch (error) {
      if (isOne) throw error;
      return void summary.fail(shownPath(path), error);
    }
  };
  const of = async (source: RemoteSource): Promise<Item[]> => {
    const { path, pattern } = source;
    const found = (await unless(path, sources.length === 1, matches(sftp, source, signal))) ?? [];
    const isOne = sources.length === 1 && found.length === 1;
    const known = choice.recursive
      ? await Promise.all(found.map((item) => unless(item.path, isOne, withKind(sftp, item, signal))))
      : found;
    const isMatched = pattern !== undefined;
    return known
      .filter((item) => item !== undefined)
      .map((item) => ({ ...item, isMatched, name: lastPart(item.path) }));
  };
  return (await Promise.all(sources.map(of))).flat();
}

/** A link on the command line means what it leads to, whatever becomes of those in directories. */
async function withKind(sftp: SftpClient, { path, attrs }: Found, signal: AbortSignal): Promise<Found> {
  const isKnown = attrs !== undefined && fileKind(attrs) !== 'symlink';
  return { path, attrs: isKnown ? attrs : await sftp.stat(path, { signal }) };
}

/** Where everything goes. Several need a directory; one goes into it under its own name. */
async function placed(
  moving: Moving,
  items: readonly Item[],
  local: string | undefined,
  isMany: boolean,
  summary: Summary,
): Promise<Download[]> {
  if (local === '-' && !isMany) return items.map((item) => ({ ...item, local: undefined }));
  const target = local === undefined ? undefined : moving.local(local);
  const isInto = local === undefined || /[/\\]$/.test(local) || (await isLocalDirectory(target as string));
  if (isMany && !isInto) {
    throw new SshError('bad-local-file', `${printable(local as string, 1024)} is no directory for several files`, {
      operation: 'open',
    });
  }
  const folder = target ?? moving.local('');
  const downloads: Download[] = [];
  for (const item of items) {
    const fault = item.isMatched && isInto ? localNameFault(nameBytes(item.path)) : undefined;
    if (fault === undefined) downloads.push({ ...item, local: isInto ? inFolder(item, folder) : folder });
    else summary.refuse(shownPath(item.path), fault);
  }
  return distinct(downloads);
}

/** A directory whose name says nothing, as `.`, goes where it is asked to go and not below. */
function inFolder({ path, attrs, isMatched }: Item, folder: string): string {
  const last = decodeLenient(nameBytes(path));
  if (/^\.{0,2}$/.test(last) && fileKind(attrs ?? {}) === 'directory') return folder === '' ? '.' : folder;
  const name = isMatched ? last : remoteName(path);
  return folder === '' ? name : join(folder, name);
}

function distinct(downloads: readonly Download[]): Download[] {
  const taken = new Map<string, RemotePath>();
  for (const { local, path } of downloads) {
    const other = local === undefined ? undefined : taken.get(local);
    if (other !== undefined) {
      throw bad(`${shownPath(other)} and ${shownPath(path)} would both become ${printable(local as string, 1024)}`);
    }
    if (local !== undefined) taken.set(local, path);
  }
  return [...downloads];
}

async function directory(
  { sftp, signal, choice }: Moving,
  { path, local }: Download,
  { trustEof }: DownloadOptions,
  summary: Summary,
  onProgress: TreeOptions['onProgress'],
): Promise<void> {
  if (local === undefined) throw bad(`${shownPath(path)} is a directory, which standard output cannot take`);
  const result = await sftp.getTree(path, local, { ...treeOptions(choice), signal, trustEof, onProgress });
  summary.tree(shownPath(path), result);
}

async function file(
  moving: Moving,
  item: Download,
  { trustEof }: DownloadOptions,
  summary: Summary,
  onProgress: OnProgress,
): Promise<void> {
  const { sftp, signal, choice } = moving;
  const { path, local } = item;
  const why = await keptBecause(moving, item);
  if (why !== undefined) return summary.skip(local as string, why);
  // between the question and the answer somebody else may make it
  const overwrite = choice.overwrite === 'never' ? { overwrite: false } : {};
  const options = { ...optionsOf(choice), ...overwrite, signal, trustEof, onProgress };
  summary.file(await sftp.get(path, local ?? outputStream(), options));
}

/** Asks only where not everything is replaced. */
async function keptBecause({ sftp, signal, choice }: Moving, item: Download): Promise<string | undefined> {
  const { path, local, attrs } = item;
  const { overwrite } = choice;
  if (overwrite === 'always' || local === undefined) return undefined;
  const there = await stat(local).catch(() => undefined);
  if (there === undefined || there.isDirectory()) return undefined;
  const from = attrs ?? (overwrite === 'never' ? {} : await sftp.stat(path, { signal }));
  const target = { size: there.size, modified: Math.floor(there.mtimeMs / 1000) };
  return keepReason(overwrite, { size: from.size, modified: from.mtime }, target);
}

/** As it is shown. */
function lastPart(path: RemotePath): string {
  return decodeLenient(nameBytes(path)) || shownPath(path);
}

function shownPath(path: RemotePath): string {
  return printable(path, 1024);
}
