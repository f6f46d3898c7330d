/** What a refusal is about, where the one who refuses says less than that: looked at once it has refused. */

import { printable } from '../bytes/text.ts';
import { SshError, toSshError } from '../errors.ts';
import type { LocalFile, LocalFiles, LocalOpenOptions } from '../io/local_files.ts';
import { posixCode } from '../io/posix_code.ts';
import type { Link } from './link.ts';
import { fstat, isMissing, type OpenHandle, openFile, stat } from './operations.ts';
import type { CallOptions, RemotePath } from './options.ts';
import { parentPath } from './path.ts';
import { type Attributes, fileKind } from './proto/attrs.ts';
import { packets } from './proto/packets.ts';
import { isStatusError, Status } from './proto/status.ts';

/** OPEN of a file that is to be read. Many servers refuse to open a directory, in words of their own. */
export async function openSource(link: Link, path: RemotePath, options: CallOptions): Promise<OpenHandle> {
  try {
    return await openFile(link, path, 'r', {}, options);
  } catch (error) {
    if (!isStatusError(error) || isMissing(error)) throw error;
    throw await directoryError(error, path, stat(link, packets.stat, path, options));
  }
}

/** The error of a file that could not be read. Servers open a directory like a file, and refuse to READ it with no more than `failure`. */
export async function readError(error: SshError, file: OpenHandle, options: CallOptions): Promise<SshError> {
  if (error.code !== 'sftp-status' || error.status !== Status.failure) return error;
  return directoryError(error, file.path, fstat(file, options));
}

async function directoryError(error: SshError, path: RemotePath, looking: Promise<Attributes>): Promise<SshError> {
  const attrs = await looking.catch(() => ({}));
  if (fileKind(attrs) !== 'directory') return error;
  return retold(error, `${printable(path, 1024)} on the server is a directory: give the path of a file`);
}

/** The error of a remote file that could not be made: of a directory above it that is missing servers say no more than that. */
export async function createError(
  error: unknown,
  link: Link,
  path: RemotePath,
  options: CallOptions,
): Promise<unknown> {
  const parent = parentPath(path);
  if (parent === undefined || !isStatusError(error) || !isMissing(error)) return error;
  const looked = await stat(link, packets.stat, parent, options).catch((reason: unknown) => reason);
  if (!isMissing(looked)) return error;
  const { operation = 'open' } = error;
  const missing = `the directory ${printable(parent, 1024)} is not there: make it first`;
  return retold(error, `${operation} ${printable(path, 1024)}: ${missing}`);
}

function retold(error: SshError, message: string): SshError {
  const { code, fault, status, operation, path, transferred } = error;
  return new SshError(code, message, {
    fault,
    ...(status === undefined ? {} : { status }),
    ...(operation === undefined ? {} : { operation }),
    ...(path === undefined ? {} : { path }),
    ...(transferred === undefined ? {} : { transferred }),
    cause: error,
  });
}

/** Opens a local file beside `target`. Errors name the target: a temporary name would tell nobody anything. */
export async function openBeside(
  files: LocalFiles,
  path: string,
  target: string,
  options: LocalOpenOptions,
): Promise<LocalFile> {
  try {
    return await files.open(path, options);
  } catch (error) {
    const failure = toSshError(error, 'bad-local-file');
    const { code, fault, message, operation, cause } = failure;
    if (posixCode(cause) === 'EEXIST') throw failure; // that is the other file, and not the target
    const shown = printable(target, 1024);
    const directory = files.beside(target, '');
    const isAbsent = async (): Promise<boolean> =>
      (await files.stat(directory).catch(() => 'unknown' as const)) === undefined;
    const told =
      directory !== '' && posixCode(cause) === 'ENOENT' && (await isAbsent())
        ? `Cannot create ${shown}: the directory ${printable(directory.slice(0, -1), 1024)} is not there: make it first`
        : message.replaceAll(printable(path, 1024), shown);
    throw new SshError(code, told, { fault, operation: operation ?? 'create', path: shown, cause });
  }
}
