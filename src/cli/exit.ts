/**
 * Exit statuses and the line that explains them. `docs/cli.md` lists them:
 * 0 done; 1 a file or a transfer failed; 2 wrong use; 255 no connection, no login, or the connection broke;
 * 128 + n ended by signal n. `run` answers what the remote command answered, and 255 for everything else, as ssh does.
 */

import { printable } from '../bytes/text.ts';
import { SshError, type SshErrorCode } from '../errors.ts';
import { commandWording } from './wording.ts';

export const EXIT_FAILED = 1;
export const EXIT_USAGE = 2;
export const EXIT_CONNECTION = 255;
/** Added to the number of a signal, as shells do. */
export const EXIT_SIGNAL = 128;

/** What is wrong with files or with what was asked of the server, while the connection is sound. */
const fileCodes: ReadonlySet<SshErrorCode> = new Set<SshErrorCode>([
  'bad-local-file',
  'channel-closed',
  'channel-open-failed',
  'content-differs',
  'incomplete',
  'key-cipher-unsupported',
  'key-corrupt',
  'key-format-unsupported',
  'key-passphrase-needed',
  'key-passphrase-wrong',
  'not-supported',
  'request-failed',
  'sftp-status',
  'sftp-unavailable',
  'target-exists',
]);

/** The exit status of `get`, `put` and `ls` for an error. */
export function exitStatusOf(error: SshError): number {
  if (error.code === 'bad-argument' || error.code === 'bad-config') return EXIT_USAGE;
  if (fileCodes.has(error.code)) return EXIT_FAILED;
  // A wait that was about one operation is a failed transfer; any other is a connection that did not come about.
  if (error.code === 'timeout' && error.operation !== undefined) return EXIT_FAILED;
  return EXIT_CONNECTION;
}

const MAX_LINE = 4000; // characters: room for two lists of algorithms

/** The one line about an error, without its end. */
export function errorLine(error: unknown): string {
  return `puressh: ${errorText(error)}`;
}

/** The same without the name of the program. */
export function errorText(error: unknown): string {
  if (!(error instanceof SshError)) return oneLine(String(error instanceof Error ? (error.stack ?? error) : error));
  return `${oneLine(commandWording(error.message))} (${error.code})`;
}

/** A line on standard error that is no error, without its end. */
export function noticeLine(text: string): string {
  return `puressh: ${oneLine(text)}`;
}

/** Text made safe to show, on one line. */
export function oneLine(text: string): string {
  return printable(text.trim().replace(/\s*\n\s*/g, '; '), MAX_LINE);
}

/** Numbers of the signals of RFC 4254 §6.10, as Linux counts them; the first eleven are POSIX's. */
const signals: Readonly<Record<string, number>> = {
  HUP: 1,
  INT: 2,
  QUIT: 3,
  ILL: 4,
  ABRT: 6,
  FPE: 8,
  KILL: 9,
  SEGV: 11,
  PIPE: 13,
  ALRM: 14,
  TERM: 15,
  USR1: 10,
  USR2: 12,
};

/** The exit status for a signal, named without `SIG`; 255 for one that has no number here. */
export function signalStatus(name: string): number {
  const number = Object.hasOwn(signals, name) ? signals[name] : undefined;
  return number === undefined ? EXIT_CONNECTION : EXIT_SIGNAL + number;
}
