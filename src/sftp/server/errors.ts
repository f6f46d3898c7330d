/**
 * What a backend throws as the STATUS that answers the request (draft-ietf-secsh-filexfer-02 §7). Codes follow OpenSSH's
 * sftp-server where it has one for the error. The text of an error that nobody expected never goes to the client.
 */

import { printable } from '../../bytes/text.ts';
import { SshError } from '../../errors.ts';
import { posixCode } from '../../io/posix_code.ts';
import { Status, statusMeaning } from '../proto/status.ts';
import type { PosixCode } from './posix_error.ts';

/** The code and text of a STATUS. */
export interface Refusal {
  readonly status: number;
  readonly message: string;
  /** Whether the error is nothing that a request can lead to, but a mistake in the backend or here. */
  readonly unexpected: boolean;
}

/** Longest text of an error that is sent. */
const LONGEST_MESSAGE = 512;

const { failure, noSuchFile, permissionDenied, badMessage, opUnsupported } = Status;

const posix: Readonly<Record<PosixCode, readonly [status: number, message: string]>> = {
  ENOENT: [noSuchFile, statusMeaning(noSuchFile)],
  ENOTDIR: [noSuchFile, 'the path, or a part of it, is not a directory'],
  ELOOP: [noSuchFile, 'too many symbolic links'],
  EBADF: [noSuchFile, 'the file is not open for that'],
  EACCES: [permissionDenied, statusMeaning(permissionDenied)],
  EPERM: [permissionDenied, 'not permitted'],
  EROFS: [permissionDenied, 'the file system is read-only'],
  EINVAL: [badMessage, 'invalid argument'],
  ENAMETOOLONG: [badMessage, 'the name is too long'],
  ENOSYS: [opUnsupported, 'not supported here'],
  ENOTSUP: [opUnsupported, 'not supported here'],
  EOPNOTSUPP: [opUnsupported, 'not supported here'],
  EAGAIN: [failure, 'not ready, try again'],
  EBUSY: [failure, 'it is in use'],
  EDQUOT: [failure, 'the quota is used up'],
  EEXIST: [failure, 'it exists already'],
  EFBIG: [failure, 'the file would be too large'],
  EIO: [failure, 'input or output error'],
  EISDIR: [failure, 'it is a directory'],
  EMFILE: [failure, 'too many open files'],
  EMLINK: [failure, 'too many links'],
  ENFILE: [failure, 'too many open files'],
  ENOSPC: [failure, 'no space left'],
  ENOTEMPTY: [failure, 'the directory is not empty'],
  ENXIO: [failure, 'no such device'],
  EPIPE: [failure, 'nobody reads the pipe'],
  ESPIPE: [failure, 'the file cannot seek'],
  ETXTBSY: [failure, 'it is a program that runs'],
  EXDEV: [failure, 'not on the same file system'],
};

/** The refusal for anything that was thrown. */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof SshError && error.status !== undefined) {
    return { status: sendable(error.status), message: printable(error.message, LONGEST_MESSAGE), unexpected: false };
  }
  const known = answerTo(error) ?? answerTo((error as Error | null | undefined)?.cause);
  if (known !== undefined) return { status: known[0], message: known[1], unexpected: false };
  return { status: failure, message: statusMeaning(failure), unexpected: true };
}

/** Success is no error, 6 and 7 must not be sent (§7), and those past 8 are not of this version. */
function sendable(status: number): number {
  const is = (code: number): boolean => code === status;
  return [Status.eof, noSuchFile, permissionDenied, failure, badMessage, opUnsupported].some(is) ? status : failure;
}

function answerTo(error: unknown): readonly [status: number, message: string] | undefined {
  const code = posixCode(error);
  return Object.hasOwn(posix, code) ? posix[code as PosixCode] : undefined;
}

/** The error that is answered with `status`. */
export function refuse(status: number, message: string): SshError {
  return new SshError('sftp-status', message, { fault: 'peer', status });
}

/** The error for a request that the backend has no function for. */
export function unsupported(what: string): SshError {
  return refuse(opUnsupported, `${what} is not supported here`);
}
