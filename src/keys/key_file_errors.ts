/** What can be wrong with a key file, in words that say what to do next. Must not see what is secret in it. */

import { printable } from '../bytes/text.ts';
import { SshError } from '../errors.ts';

/** Makes the errors about one key file; every message names it. */
export class KeyFileErrors {
  /** The file's name as messages show it; `FILE` when the caller gave none. */
  readonly file: string;
  readonly #subject: string;

  constructor(name: string | undefined) {
    this.file = name === undefined ? 'FILE' : printable(name);
    this.#subject = name === undefined ? 'The private key' : `The private key file ${this.file}`;
  }

  /** `what` reads as in "is a PKCS#1 key"; `advice` is what to do. */
  unsupported(what: string, advice: string): SshError {
    return new SshError('key-format-unsupported', `${this.#subject} is ${what}; ${advice}`);
  }

  /** `how` says how it is encrypted. */
  passphraseNeeded(how: string): SshError {
    const advice = 'make a copy, take its passphrase off with `ssh-keygen -p -f COPY`, and give that';
    return new SshError('key-passphrase-needed', `${this.#subject} is encrypted (${how}); ${advice}`);
  }

  /** `detail` reads as a clause. */
  corrupt(detail: string): SshError {
    return new SshError('key-corrupt', `${this.#subject} is damaged: ${detail}; restore it from a copy`);
  }
}
