/** Errors of files with their names in POSIX, as a backend throws them and the runtimes do. */

/** The codes that have an answer of their own; any other is FAILURE. */
export type PosixCode =
  | 'EACCES'
  | 'EAGAIN'
  | 'EBADF'
  | 'EBUSY'
  | 'EDQUOT'
  | 'EEXIST'
  | 'EFBIG'
  | 'EINVAL'
  | 'EIO'
  | 'EISDIR'
  | 'ELOOP'
  | 'EMFILE'
  | 'EMLINK'
  | 'ENAMETOOLONG'
  | 'ENFILE'
  | 'ENOENT'
  | 'ENOSPC'
  | 'ENOSYS'
  | 'ENOTDIR'
  | 'ENOTEMPTY'
  | 'ENOTSUP'
  | 'ENXIO'
  | 'EOPNOTSUPP'
  | 'EPERM'
  | 'EPIPE'
  | 'EROFS'
  | 'ESPIPE'
  | 'ETXTBSY'
  | 'EXDEV';

/**
 * What a backend throws where a request fails: `new PosixError('ENOENT', path)`. The code becomes the status that clients are
 * sent; the message is for the server's own eyes.
 */
export class PosixError extends Error {
  override readonly name = 'PosixError';
  readonly code: PosixCode;

  constructor(code: PosixCode, message: string) {
    super(`${code}: ${message}`);
    this.code = code;
  }
}
