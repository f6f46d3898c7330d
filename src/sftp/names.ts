/**
 * Which names that a server lists may be used. A name is one component of a path; whatever would lead out of its directory is
 * refused, so that nothing is read, written or removed elsewhere. Knows no platform: what one of them forbids besides, its
 * local files say.
 */

import { decodeUtf8, printable } from '../bytes/text.ts';

const DOT = 0x2e;
const SLASH = 0x2f;

/** A letter and a colon: on Windows such a name is a path on another drive. */
const DRIVE = /^[A-Za-z]:/;

/** C0, DEL and C1: no terminal and no log is safe from them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is the purpose
export const CONTROL: RegExp = /[\u0000-\u001f\u007f-\u009f]/;

/** Whether `name` is `.` or `..`, which servers list and nobody follows. */
export function isDots(name: Uint8Array): boolean {
  return name[0] === DOT && (name.length === 1 || (name.length === 2 && name[1] === DOT));
}

/** Why `name` is no component of a remote path, as the end of a sentence; `undefined` where it is one. */
export function nameFault(name: Uint8Array): string | undefined {
  if (name.length === 0) return 'is empty';
  if (isDots(name)) return 'is a directory that leads elsewhere';
  if (name.includes(SLASH)) return 'has a slash in it';
  if (name.includes(0)) return 'has a null byte in it';
  return undefined;
}

/**
 * Why a file that the server calls `name` must not be made under this name here, likewise. Besides, local names are text: one
 * that is not UTF-8 could not be told from others.
 */
export function localNameFault(name: Uint8Array): string | undefined {
  const fault = nameFault(name);
  if (fault !== undefined) return fault;
  const text = decodeUtf8(name);
  if (text === undefined) return 'is not UTF-8';
  if (text.includes('\\')) return 'has a backslash in it';
  if (DRIVE.test(text)) return 'begins with a drive letter';
  if (CONTROL.test(text)) return 'has a control character in it';
  return undefined;
}

/** A name as errors show it. */
export function shownName(name: Uint8Array): string {
  return `"${printable(name, 300)}"`;
}
