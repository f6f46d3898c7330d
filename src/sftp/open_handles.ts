/**
 * The handles that a server has given and that were not closed: one that it gives for a second path would have the content of
 * two files mixed.
 */

import { equalBytes } from '../bytes/bytes.ts';
import { latin1, printable } from '../bytes/text.ts';
import { protocolError } from '../errors.ts';

export class OpenHandles {
  readonly #paths = new Map<string, Uint8Array>();

  /** How many are open. */
  get size(): number {
    return this.#paths.size;
  }

  /** A handle came for `path`. Throws `protocol` where it is that of another path: the session is of no use then. */
  opened(handle: Uint8Array, path: Uint8Array): void {
    const key = latin1(handle);
    const other = this.#paths.get(key);
    if (other !== undefined && !equalBytes(other, path)) {
      const both = `${printable(other, 300)} and ${printable(path, 300)}`;
      throw protocolError(`SFTP: the server gave one handle for two files: ${both}; open fewer at a time`);
    }
    this.#paths.set(key, path);
  }

  /** CLOSE leaves. */
  closed(handle: Uint8Array): void {
    this.#paths.delete(latin1(handle));
  }
}
