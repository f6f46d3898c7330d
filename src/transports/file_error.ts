/** Failures of local files in words that say what to do; the same for every runtime. */

import { printable } from '../bytes/text.ts';
import { SshError } from '../errors.ts';
import { posixCode } from '../io/posix_code.ts';

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or directory',
  ENOTDIR: 'the path, or a part of it, is not a directory',
  EISDIR: 'it is a directory',
  EEXIST: 'it exists already',
  EACCES: 'permission denied',
  EPERM: 'not permitted',
  EROFS: 'the file system is read-only',
  ENOSPC: 'no space left',
  EDQUOT: 'the quota is used up',
  EFBIG: 'the file would be too large',
  EMFILE: 'too many open files',
  ENFILE: 'too many open files',
  ENAMETOOLONG: 'the name is too long',
  ETXTBSY: 'it is a program that runs',
};

/** Why a local file could not be used, as an error of code `bad-local-file`. */
export function fileError(operation: string, path: string, error: unknown): SshError {
  const shown = printable(path, 1024);
  const reason = reasons[posixCode(error)] ?? printable(error instanceof Error ? error.message : String(error), 500);
  return new SshError('bad-local-file', `Cannot ${operation} ${shown}: ${reason}`, {
    operation,
    path: shown,
    cause: error,
  });
}

/** Whether the error says that nothing stands at the path. */
export function isMissing(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(posixCode(error));
}

/** Whether the error says that something stands at the path already. */
export function isThere(error: unknown): boolean {
  return posixCode(error) === 'EEXIST';
}
