/**
 * A value as JSON that is one line for every reader: JSON leaves U+2028 and U+2029 as they are, at which `node:readline` and others
 * end a line, and names of files and users may have them.
 */

/** Without an end. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value).replace(/[\u2028\u2029]/g, (end) => `\\u${end.charCodeAt(0).toString(16)}`);
}
