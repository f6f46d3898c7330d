/**
 * Downloads. A local file appears under its name only when every byte is there; whatever fails leaves nothing behind
 * that looks whole.
 */

import { toSshError } from '../errors.ts';
import type { LocalFiles } from '../io/local_files.ts';
import { checkGetOptions, type GetHints, type GetOptions, type GetResult, type LocalTarget } from './get_options.ts';
import {
  callersFile,
  fileInPlace,
  findPlace,
  isStream,
  type Output,
  streamOutput,
  temporaryFile,
} from './get_output.ts';
import { resumedFile } from './get_resume.ts';
import type { Link } from './link.ts';
import { needFiles } from './local.ts';
import { closeQuietly, fstat, type OpenHandle, stat } from './operations.ts';
import type { RemotePath } from './options.ts';
import { localAttributes, preserves } from './preserve.ts';
import type { Attributes } from './proto/attrs.ts';
import { packets } from './proto/packets.ts';
import { openSource, readError } from './refusals.ts';
import { resumableError, withProgressFrom } from './resume.ts';
import { sizeHint, startRead } from './transfer.ts';
import { needDigests, verifyContent } from './verify.ts';

/** Copies a remote file to `local`. */
export async function get(
  link: Link,
  remote: RemotePath,
  local: LocalTarget,
  files: LocalFiles | undefined,
  options: GetOptions,
  hints: GetHints = {},
): Promise<GetResult> {
  checkGetOptions(local, options);
  if (options.verify === 'hash') await needDigests(link);
  const size = hints.attrs === undefined ? undefined : sizeHint(hints.attrs);
  const { file, early } = await openToRead(link, remote, options, size);
  const warnings: string[] = [];
  try {
    const output = await openOutput(local, files, file, options, hints, warnings);
    const before = output.resumedFrom ?? 0;
    try {
      const range = { ...withProgressFrom(options, before), start: output.resumedFrom ?? options.start };
      const attrs = preserves(options.preserve) ? (hints.attrs ?? fstat(file, options)) : {};
      Promise.resolve(attrs).catch(() => undefined); // looked at below
      const running = startRead(file, output.sink, range, size ?? 'ask', early());
      output.drain?.().catch((error) => running.abort(toSshError(error, 'bad-local-file', { operation: 'write' })));
      const stats = await running.done;
      await output.settle();
      await verify(file, output, options);
      await preserve(output, await attrs, options, warnings);
      await output.commit();
      return { ...stats, warnings, ...(before === 0 ? {} : { resumedFrom: before }) };
    } catch (error) {
      const failure = await readError(toSshError(error, 'bad-local-file'), file, options);
      const kept = await output.discard(failure).catch(() => undefined); // the first failure is the one to tell
      // what was being written when it failed is there by now
      throw resumableError(failure, before, kept, kept === undefined ? undefined : output.sink.contiguous);
    }
  } finally {
    closeQuietly(file); // nothing is pending on it, or only what nobody waits for
  }
}

/**
 * OPEN and STAT leave together, unless the size is known. `early` is the size that STAT said, once it did: only a hint, since
 * it may be that of another file by the time that this one is open.
 */
async function openToRead(
  link: Link,
  path: RemotePath,
  options: GetOptions,
  known: number | undefined,
): Promise<{ readonly file: OpenHandle; readonly early: () => number | undefined }> {
  let size = known;
  const opened = openSource(link, path, options);
  // with one request at a time the answer to one more would be waited for
  if (known !== undefined || options.requests === 1) return { file: await opened, early: () => known };
  stat(link, packets.stat, path, options).then(
    (attrs) => {
      size = sizeHint(attrs);
    },
    () => undefined, // FSTAT asks again
  );
  return { file: await opened, early: () => size };
}

async function openOutput(
  local: LocalTarget,
  files: LocalFiles | undefined,
  file: OpenHandle,
  options: GetOptions,
  hints: GetHints,
  warnings: string[],
): Promise<Output> {
  if (typeof local !== 'string') return isStream(local) ? streamOutput(local, options) : callersFile(local, options);
  const system = needFiles(files);
  const place = await findPlace(local, system, options, hints);
  const isPlace = place.there !== undefined && place.there.kind !== 'file';
  if (isPlace || options.atomic === false) return fileInPlace(system, place, options);
  if (options.resume) {
    const { size, mtime } = hints.attrs ?? (await fstat(file, options));
    if (size !== undefined && mtime !== undefined) {
      return resumedFile(system, place, { file, size, mtime }, options, hints, warnings);
    }
    warnings.push('The server tells no size or no time of the file: what is unfinished cannot be found again');
  }
  return temporaryFile(system, place, options);
}

/** Compares what arrived with the remote file, where that was asked for. */
async function verify(file: OpenHandle, output: Output, options: GetOptions): Promise<void> {
  const how = options.verify ?? 'size';
  if (how === 'size') return;
  const start = options.start ?? 0;
  const range = { start, length: output.sink.contiguous - start };
  await output.compare((arrived) => verifyContent('get', file, range, arrived, how, options));
}

/** Permissions and times of the remote file for the local one, where they were asked for. */
async function preserve(output: Output, attrs: Attributes, options: GetOptions, warnings: string[]): Promise<void> {
  const wanted = localAttributes(attrs, options.preserve);
  if (Object.keys(wanted).length === 0) return;
  try {
    await output.setAttributes(wanted);
  } catch (error) {
    warnings.push(`Permissions and times were not set: ${(error as Error).message}`);
  }
}
