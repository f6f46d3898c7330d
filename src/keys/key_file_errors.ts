/** What can be wrong with a key file, in words that say what to do next. Must not see what is secret in it. */

import { printable } from '../bytes/text.ts';
import { SshError } from '../errors.ts';

/** Makes the errors about one key file; every message names it. */
export class KeyFileErrors {
  /** The file's name as messages show it; `FILE` when the caller gave none. */
  readonly file: string;
  readonly #subject: string;

  constructor(name: string | undefined, kind: 'private' | 'public' = 'private') {
    this.file = name === undefined ? 'FILE' : printable(name);
    this.#subject = name === undefined ? `The ${kind} key` : `The ${kind} key file ${this.file}`;
  }

  /** `what` reads as in "is a PKCS#1 key"; `advice` is what to do. */
  unsupported(what: string, advice: string): SshError {
    return new SshError('key-format-unsupported', `${this.#subject} is ${what}; ${advice}`);
  }

  /** `how` says how it is encrypted. */
  passphraseNeeded(how: string): SshError {
    return new SshError('key-passphrase-needed', `${this.#subject} is encrypted (${how}); give its passphrase`);
  }

  /** `how` says how it is encrypted. */
  passphraseWrong(how: string): SshError {
    const detail = `the passphrase does not open it (${how}); try another, or another file`;
    return new SshError('key-passphrase-wrong', `${this.#subject} stays closed: ${detail}`);
  }

  /** `what` reads as in "is encrypted with arcfour"; `advice` is what to do. */
  cipherUnsupported(what: string, advice: string): SshError {
    return new SshError('key-cipher-unsupported', `${this.#subject} is encrypted with ${what}; ${advice}`);
  }

  /** `detail` is a cost and its bound, `limit` the member of `KdfLimits`. */
  tooCostly(detail: string, limit: string): SshError {
    const advice = `if you trust the file raise \`limits.${limit}\``;
    return new SshError('key-cipher-unsupported', `${this.#subject} costs too much to open: ${detail}; ${advice}`);
  }

  givenPublic(): SshError {
    return this.unsupported('a public key', 'give the private one, usually the file of the same name without .pub');
  }

  /** What is wrong with a file that was put together from two. */
  halvesDiffer(): SshError {
    return this.corrupt('its public and its private half do not belong together');
  }

  /** `detail` reads as a clause. */
  corrupt(detail: string): SshError {
    return new SshError('key-corrupt', `${this.#subject} is damaged: ${detail}; restore it from a copy`);
  }
}
