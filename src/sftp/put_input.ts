/** Where the bytes of an upload come from, and what is known of them. */

import { hex, printable } from '../bytes/text.ts';
import { SshError } from '../errors.ts';
import type { LocalFile, LocalFiles, LocalStat } from '../io/local_files.ts';
import { sha256 } from './digests.ts';
import { needFiles } from './local.ts';
import type { LocalSource } from './put_options.ts';
import { sourceMark } from './resume.ts';
import type { WriteSource } from './source.ts';
import { bytesSource, fileSource, iterableSource } from './sources.ts';

export interface Input {
  /** What is to be sent, without the first `skip` bytes. Called once; `skip` is 0 where `read` is absent. */
  open(skip: number): WriteSource;
  /** Reads anywhere in it, where that is possible. */
  readonly read?: (target: Uint8Array, position: number) => Promise<number>;
  /** Tells it from others, where it can be read again. */
  readonly mark?: () => Promise<string>;
  /** Of a local file, as it was at first. */
  readonly stat?: LocalStat;
  /** How long the local file is now. */
  readonly sizeNow?: () => Promise<number>;
  readonly size?: number;
  /** Bits for a remote file that is created. */
  readonly permissions?: number;
  close(): Promise<void>;
}

const nothing = async (): Promise<void> => undefined;

/** Makes it ready. Throws `bad-argument` for what is no source. */
export async function openInput(local: LocalSource, files: LocalFiles | undefined): Promise<Input> {
  if (local instanceof Uint8Array) return bytesInput(local);
  if (typeof local === 'string') return pathInput(local, needFiles(files));
  if (typeof local === 'object' && local !== null) {
    if ('getReader' in local || Symbol.asyncIterator in local) {
      return { open: () => iterableSource(local), close: nothing };
    }
    if (typeof local.read === 'function' && typeof local.size === 'function') {
      return fileInput(local, await local.stat(), 'The open file', nothing);
    }
  }
  throw new SshError(
    'bad-argument',
    'The source must be a local path, an open local file, bytes, a stream or an async iterable of bytes',
  );
}

function bytesInput(bytes: Uint8Array): Input {
  return {
    open: (skip) => bytesSource(bytes.subarray(skip)),
    read: async (target, position) => {
      const piece = bytes.subarray(position, position + target.length);
      target.set(piece);
      return piece.length;
    },
    // bytes have no time of change, so what they are is their mark
    mark: async () => `${bytes.length}-${hex((await sha256(bytes)).subarray(0, 8))}`,
    size: bytes.length,
    close: nothing,
  };
}

async function pathInput(path: string, files: LocalFiles): Promise<Input> {
  const file = await files.open(path, { access: 'read' });
  try {
    return fileInput(file, await file.stat(), printable(path, 1024), () => file.close());
  } catch (error) {
    await file.close().catch(() => undefined);
    throw error;
  }
}

function fileInput(file: LocalFile, stat: LocalStat, shown: string, close: () => Promise<void>): Input {
  const { kind, size, permissions, modified } = stat;
  if (kind === 'directory') {
    const message = `${shown} is a directory: give the path of a file`;
    throw new SshError('bad-local-file', message, { operation: 'open', path: shown });
  }
  const isFile = kind === 'file';
  return {
    open: (skip) => fileSource(file, isFile ? size : undefined, skip),
    stat,
    close,
    ...(isFile
      ? {
          size,
          sizeNow: () => file.size(),
          read: (target: Uint8Array, position: number) => file.read(target, position),
        }
      : {}),
    ...(isFile && modified !== undefined ? { mark: async () => sourceMark(size, modified) } : {}),
    ...(permissions === undefined ? {} : { permissions: permissions & 0o777 }),
  };
}
