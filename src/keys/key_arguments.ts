/** What callers pass to the functions of key files, looked at first: a misspelt option would leave its default in force. */

import { printable } from '../bytes/text.ts';
import { SshError } from '../errors.ts';

/** Throws `bad-argument` unless `options` is an object with these members only. */
export function checkNames(subject: string, options: unknown, names: readonly string[]): void {
  if (typeof options !== 'object' || options === null) {
    throw new SshError('bad-argument', `${subject}: the options must be an object, not ${String(options)}`);
  }
  for (const name of Object.keys(options)) {
    if (names.includes(name)) continue;
    const there = names.join(', ');
    throw new SshError('bad-argument', `${subject}: there is no option ${printable(name, 80)}; there are ${there}`);
  }
}

/** Throws `bad-argument` unless `value` is text or bytes; `what` says what it is. */
export function checkContent(subject: string, what: string, value: unknown): void {
  if (typeof value === 'string' || value instanceof Uint8Array) return;
  throw new SshError('bad-argument', `${subject}: ${what} must be a string or bytes, not ${shownType(value)}`);
}

/** Never the value itself: it might be a passphrase. */
function shownType(value: unknown): string {
  return value === null || value === undefined ? String(value) : `a value of type ${typeof value}`;
}
