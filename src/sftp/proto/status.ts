/** Status codes and the errors they become: draft-ietf-secsh-filexfer-02 §7. */

import { Reader } from '../../bytes/reader.ts';
import { decodeLenient, printable } from '../../bytes/text.ts';
import { Writer } from '../../bytes/writer.ts';
import { SshError } from '../../errors.ts';

/** Codes of version 3. 6 and 7 are for local use and must not be sent. */
export const Status = {
  ok: 0,
  eof: 1,
  noSuchFile: 2,
  permissionDenied: 3,
  failure: 4,
  badMessage: 5,
  noConnection: 6,
  connectionLost: 7,
  opUnsupported: 8,
} as const;

/** What the codes mean; those past 8 are of later versions, which some servers send all the same. */
const MEANING: Readonly<Record<number, string>> = {
  0: 'success',
  1: 'end of file',
  2: 'no such file',
  3: 'permission denied',
  4: 'failure',
  5: 'bad message',
  6: 'no connection',
  7: 'connection lost',
  8: 'operation not supported by the server',
  9: 'invalid handle',
  10: 'no such path',
  11: 'file already exists',
  12: 'write protected',
  13: 'no media',
  14: 'no space left',
  15: 'quota exceeded',
  17: 'lock conflict',
  18: 'directory not empty',
  19: 'not a directory',
  20: 'invalid file name',
  21: 'too many symbolic links',
};

/** What a status code means, in a few words. */
export function statusMeaning(code: number): string {
  return MEANING[code] ?? `status ${code}`;
}

/** FILE_ALREADY_EXISTS of version 5, which some servers answer in version 3. */
export const FILE_ALREADY_EXISTS = 11;

/** DIR_NOT_EMPTY of version 6, likewise. */
export const DIRECTORY_NOT_EMPTY = 18;

/** NO_SUCH_PATH of version 4, likewise. */
export const NO_SUCH_PATH = 10;

/**
 * The message of a STATUS from what stands behind its code. Message and language tag may be missing (older servers), a
 * message may stand alone; anything malformed counts as no message, since the code is what matters.
 */
export function readStatusText(bytes: Uint8Array): string {
  if (bytes.length === 0) return '';
  try {
    const reader = new Reader(bytes);
    const message = reader.string();
    if (reader.remaining > 0) reader.string();
    return decodeLenient(message);
  } catch {
    return '';
  }
}

/** The bytes behind the code of a STATUS: `message` and its language tag. */
export function encodeStatusText(message: string, language = 'en'): Uint8Array {
  return new Writer().string(message).string(language).finish();
}

/**
 * The error for a STATUS that refuses an operation. `message` is the server's own and is sanitised here; `operation` is
 * a word such as `open`; `path` is what it was about, if anything.
 */
export function statusError(
  code: number,
  message: string,
  operation: string,
  path: string | Uint8Array | undefined,
): SshError {
  const meaning = statusMeaning(code);
  const said = printable(message.trim());
  // Most servers send the meaning as the message: no need to say it twice.
  const detail = said === '' || said.toLowerCase() === meaning ? '' : ` (the server says: ${said})`;
  const shown = path === undefined ? undefined : printable(path, 1024);
  const subject = shown === undefined ? operation : `${operation} ${shown}`;
  return new SshError('sftp-status', `${subject}: ${meaning}${detail}`, {
    fault: 'peer',
    status: code,
    operation,
    ...(shown === undefined ? {} : { path: shown }),
  });
}

/** Whether the server refused, and nothing worse. */
export function isStatusError(error: unknown): error is SshError {
  return error instanceof SshError && error.code === 'sftp-status';
}
