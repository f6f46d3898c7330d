/** Errors of files with their names in POSIX, as a backend throws them and the runtimes do. */

/** The codes that files give here; every other one that a runtime knows may come from it. */
export type PosixCode =
  | 'EACCES'
  | 'EAGAIN'
  | 'EBADF'
  | 'EBUSY'
  | 'EEXIST'
  | 'EINVAL'
  | 'EISDIR'
  | 'ELOOP'
  | 'ENAMETOOLONG'
  | 'ENOENT'
  | 'ENOSPC'
  | 'ENOTDIR'
  | 'ENOTEMPTY'
  | 'ENOTSUP'
  | 'EPERM'
  | 'EROFS';

/** An error whose `code` is one of POSIX. Its message is for the server's own eyes: clients are sent a status. */
export class PosixError extends Error {
  override readonly name = 'PosixError';
  readonly code: PosixCode;

  constructor(code: PosixCode, message: string) {
    super(`${code}: ${message}`);
    this.code = code;
  }
}

/** The POSIX code of what was thrown, or an empty string. */
export function posixCode(error: unknown): string {
  const code = (error as { readonly code?: unknown } | undefined)?.code;
  return typeof code === 'string' ? code : '';
}
