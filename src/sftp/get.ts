/**
 * Downloads. A local file appears under its name only when every byte is there; whatever fails leaves nothing behind
 * that looks whole.
 */

import { printable } from '../bytes/text.ts';
import { SshError, toSshError } from '../errors.ts';
import type { LocalFile, LocalFiles } from '../io/local_files.ts';
import { FileSink } from './file_sink.ts';
import type { Link } from './link.ts';
import { closeQuietly, fstat, type OpenHandle, openFile, stat } from './operations.ts';
import type { ReadOptions, RemotePath, TransferStats } from './options.ts';
import { OrderedSink } from './ordered_sink.ts';
import { temporaryPath } from './path.ts';
import { type Attributes, fileKind } from './proto/attrs.ts';
import { packets } from './proto/packets.ts';
import { Status } from './proto/status.ts';
import type { ReadSink } from './sink.ts';
import { sizeHint, startRead } from './transfer.ts';

/** Where a download goes: a local path, an open local file (which stays open), or a stream (which is closed). */
export type LocalTarget = string | LocalFile | WritableStream<Uint8Array>;

export interface GetOptions extends ReadOptions {
  /**
   * Whether the content is written under a temporary name beside the target and renamed when it is whole. Default: true.
   * Devices and pipes are always written in place.
   */
  readonly atomic?: boolean | undefined;
  /** Whether to have the content on the local disk before the promise resolves. Default: false. */
  readonly sync?: boolean | undefined;
}

/** What a caller that listed the file already knows of it. */
export interface GetHints {
  /** Attributes of the remote file, which need not be asked for. They may be old: the file may have changed since. */
  readonly attrs?: Attributes;
  /**
   * Whether nothing but a file may come out of it: a symbolic link at the local path is replaced, and not what it leads to, and
   * a device or pipe is refused. Default: false.
   */
  readonly regular?: boolean;
}

/** Where the bytes go, and what to do when they are all there, or not. */
interface Output {
  readonly sink: ReadSink;
  /** Moves the bytes out of the sink, where that is not the sink's own doing. Rejects if it cannot. */
  readonly drain?: () => Promise<void>;
  commit(): Promise<void>;
  discard(error: SshError): Promise<void>;
}

/** Copies a remote file to `local`. */
export async function get(
  link: Link,
  remote: RemotePath,
  local: LocalTarget,
  files: LocalFiles | undefined,
  options: GetOptions,
  hints: GetHints = {},
): Promise<TransferStats> {
  const size = hints.attrs === undefined ? undefined : sizeHint(hints.attrs);
  const { file, early } = await openToRead(link, remote, options, size);
  try {
    const output = await openOutput(local, files, options, hints);
    try {
      const running = startRead(file, output.sink, options, size ?? 'ask', early());
      output.drain?.().catch((error) => running.abort(toSshError(error, 'bad-local-file', { operation: 'write' })));
      const stats = await running.done;
      await output.commit();
      return stats;
    } catch (error) {
      const failure = await clearer(toSshError(error, 'bad-local-file'), file, options);
      await output.discard(failure).catch(() => undefined); // the first failure is the one to tell
      throw failure;
    }
  } finally {
    closeQuietly(file); // nothing is pending on it, or only what nobody waits for
  }
}

/**
 * OPEN and STAT leave together, unless the size is known. `early` is the size that STAT said, once it did: only a hint, since it may be that of
 * another file by the time that this one is open.
 */
async function openToRead(
  link: Link,
  path: RemotePath,
  options: GetOptions,
  known: number | undefined,
): Promise<{ readonly file: OpenHandle; readonly early: () => number | undefined }> {
  let size = known;
  const opened = openFile(link, path, 'r', {}, options);
  if (known !== undefined) return { file: await opened, early: () => known };
  stat(link, packets.stat, path, options).then(
    (attrs) => {
      size = sizeHint(attrs);
    },
    () => undefined, // FSTAT asks again
  );
  return { file: await opened, early: () => size };
}

/** Servers open a directory like a file, and refuse to READ it with no more than `failure`. */
async function clearer(error: SshError, file: OpenHandle, options: GetOptions): Promise<SshError> {
  if (error.code !== 'sftp-status' || error.status !== Status.failure) return error;
  const attrs = await fstat(file, options).catch(() => ({}));
  if (fileKind(attrs) !== 'directory') return error;
  const path = printable(file.path, 1024);
  const message = `${path} on the server is a directory: give the path of a file`;
  const { fault, status } = error;
  return new SshError(error.code, message, { fault, status, operation: 'read', path, transferred: 0, cause: error });
}

function openOutput(
  local: LocalTarget,
  files: LocalFiles | undefined,
  options: GetOptions,
  hints: GetHints,
): Promise<Output> {
  if (typeof local === 'string') return pathOutput(local, needFiles(files), options, hints);
  if (typeof local !== 'object' || local === null) {
    throw new SshError('bad-argument', 'get needs a local path, an open file or a stream to write to');
  }
  if ('getWriter' in local) return Promise.resolve(streamOutput(local));
  return Promise.resolve(fileOutput(local, false, options));
}

/** The local files, which a client in a browser does not have. */
export function needFiles(files: LocalFiles | undefined): LocalFiles {
  if (files !== undefined) return files;
  throw new SshError('bad-argument', 'This client has no local files: give a stream or bytes, or set localFiles');
}

async function pathOutput(
  path: string,
  files: LocalFiles,
  options: GetOptions,
  { regular = false }: GetHints,
): Promise<Output> {
  let target = path;
  let there = await files.stat(path);
  if (there?.kind === 'symlink' && regular) there = undefined;
  if (there?.kind === 'symlink') {
    // What a link points to is replaced, not the link.
    const resolved = await files.resolve(path);
    there = resolved === undefined ? there : await files.stat(resolved);
    target = resolved ?? path;
  }
  if (there?.kind === 'directory') {
    const message = `${printable(path, 1024)} is a directory: give the path of the file to write`;
    throw new SshError('bad-local-file', message, { operation: 'open', path: printable(path, 1024) });
  }
  const isPlace = there !== undefined && there.kind !== 'file';
  if (isPlace && regular) {
    const shown = printable(path, 1024);
    const message = `${shown} is neither a file nor a link and is not written to: move it away`;
    throw new SshError('bad-local-file', message, { operation: 'open', path: shown });
  }
  if (isPlace || options.atomic === false) {
    const file = await files.open(target, { access: 'write', create: 'replace' });
    return owned(
      fileOutput(file, there?.kind === 'other', options),
      file,
      async () => undefined,
      async () => undefined,
    );
  }
  const temporary = files.beside(target, temporaryPath(files.name(target)) as string);
  const permissions = there?.permissions === undefined ? {} : { permissions: there.permissions };
  const file = await files.open(temporary, { access: 'write', create: 'new', ...permissions });
  return owned(
    fileOutput(file, false, options),
    file,
    () => files.rename(temporary, target),
    () => files.remove(temporary),
  );
}

/** An open file as it is. What is not whole is cut behind the last byte that is sure. */
function fileOutput(file: LocalFile, inOrder: boolean, options: GetOptions): Output {
  const sink = new FileSink(file, { origin: 0, inOrder });
  return {
    sink,
    commit: async () => {
      if (options.sync) await file.sync();
    },
    discard: async () => {
      await sink.idle();
      if (!inOrder) await file.truncate(sink.contiguous);
    },
  };
}

/** An output whose file is ours to close, and what follows when it is. */
function owned(output: Output, file: LocalFile, kept: () => Promise<void>, dropped: () => Promise<void>): Output {
  let open = true;
  const close = async (): Promise<void> => {
    if (!open) return;
    open = false;
    await file.close();
  };
  return {
    sink: output.sink,
    commit: async () => {
      await output.commit();
      await close();
      await kept();
    },
    discard: async (error) => {
      if (open) await output.discard(error).catch(() => undefined);
      await close().catch(() => undefined);
      await dropped();
    },
  };
}

function streamOutput(stream: WritableStream<Uint8Array>): Output {
  const sink = new OrderedSink(0);
  const writer = stream.getWriter();
  const drain = async (): Promise<void> => {
    for (;;) {
      await writer.ready;
      const next = await new Promise<Uint8Array | undefined>((resolve) =>
        sink.next((answer) => resolve('bytes' in answer ? answer.bytes : undefined)),
      );
      if (next === undefined) return;
      await writer.write(next);
    }
  };
  let drained: Promise<void> | undefined;
  return {
    sink,
    drain: () => {
      drained = drain();
      return drained;
    },
    commit: async () => {
      sink.settle(undefined);
      await drained;
      await writer.close();
    },
    discard: async (error) => {
      sink.settle(error);
      await writer.abort(error);
    },
  };
}
