/**
 * Paths of a client as paths of a backend: absolute and normalised by their text alone (draft-ietf-secsh-filexfer-02 §6.2). Where
 * symbolic links lead is the backend's business.
 */

import { decodeName } from '../../bytes/name.ts';
import { Status } from '../proto/status.ts';
import { refuse } from './errors.ts';
import { LONGEST_PATH } from './limits.ts';

/**
 * The text of a path, or of what a link says, as it came. Throws a refusal for a NUL, at which a system would cut it, and for
 * more bytes than a system takes.
 */
export function pathText(bytes: Uint8Array): string {
  if (bytes.length > LONGEST_PATH) {
    throw refuse(Status.badMessage, `the path has ${bytes.length} bytes, the limit is ${LONGEST_PATH}`);
  }
  if (bytes.includes(0)) throw refuse(Status.badMessage, 'the path contains a null byte');
  return decodeName(bytes);
}

/** `text` from `start` on: absolute, without empty parts, `.` and `..`; nothing is above `/`. */
export function resolvePath(start: string, text: string): string {
  const parts: string[] = [];
  const whole = text.startsWith('/') ? text : `${start}/${text}`;
  for (const part of whole.split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..') parts.pop();
    else parts.push(part);
  }
  return `/${parts.join('/')}`;
}

/** The directory that holds `path`, which is normalised. */
export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/';
}
