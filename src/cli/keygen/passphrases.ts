/** Passphrases for keygen: from a person at the terminal, or from the first lines of standard input. */

import process from 'node:process';
import { printable } from '../../bytes/text.ts';
import { SshError } from '../../errors.ts';
import { readLines } from '../first_line.ts';
import type { PassphraseChoice } from '../keygen_args.ts';
import { openTerminal } from '../questions.ts';
import type { Terminal } from '../terminal.ts';

/** How often a person may mistype. */
const TRIES = 3;

export class Passphrases {
  readonly #choice: PassphraseChoice;
  #terminal: Terminal | undefined;
  #lines: Promise<readonly string[]> | undefined;

  constructor(choice: PassphraseChoice) {
    this.#choice = choice;
  }

  /** Opens a key: `open` is called without a passphrase first, then with what is given, as long as that is wrong. */
  async opening<T>(file: string, open: (passphrase?: string) => T): Promise<T> {
    try {
      return open();
    } catch (error) {
      if (!hasCode(error, 'key-passphrase-needed')) throw error;
      if (this.#choice === 'stdin') return open(await this.#line(0));
      if (this.#asking() === undefined) {
        const advice = 'give its passphrase at a terminal, or with --passphrase-stdin';
        throw new SshError('key-passphrase-needed', `${printable(file)} is encrypted; ${advice}`, { cause: error });
      }
    }
    for (let attempt = 1; ; attempt++) {
      const given = await this.#asking()?.ask(`Passphrase for ${printable(file)}: `, false);
      try {
        return open(given);
      } catch (error) {
        if (!hasCode(error, 'key-passphrase-wrong') || attempt === TRIES) throw error;
        process.stderr.write('That is not its passphrase.\n');
      }
    }
  }

  /** The passphrase for a new file; `undefined` for none. `line`: which one of standard input it is, from 0. */
  async fresh(file: string, line: number): Promise<string | undefined> {
    if (this.#choice === 'none') return undefined;
    if (this.#choice === 'stdin') return (await this.#line(line)) || undefined;
    const terminal = this.#asking();
    if (terminal === undefined) {
      const message = `Nobody is there to be asked for a passphrase for ${printable(file)}: give one with --passphrase-stdin`;
      throw new SshError('bad-argument', `${message}, or --no-passphrase where there is to be none`);
    }
    for (;;) {
      const first = await terminal.ask(`New passphrase for ${printable(file)} (empty for none): `, false);
      if ((await terminal.ask('The same again: ', false)) === first) return first || undefined;
      process.stderr.write('The two differ.\n');
    }
  }

  #asking(): Terminal | undefined {
    if (this.#choice === 'stdin') return undefined;
    this.#terminal ??= openTerminal();
    return this.#terminal;
  }

  async #line(index: number): Promise<string> {
    this.#lines ??= readLines(process.stdin, 2);
    return (await this.#lines)[index] ?? '';
  }
}

function hasCode(error: unknown, code: SshError['code']): boolean {
  return error instanceof SshError && error.code === code;
}
