/** What a person at a terminal is asked while a connection is made: passwords, passphrases, and whether a host key is right. */

import process from 'node:process';
import { printable, printableLines } from '../bytes/text.ts';
import type { AuthMethod } from '../client/auth.ts';
import { type HostKeyOffer, hostName } from '../client/host_key.ts';
import type { Deadline } from './deadline.ts';
import type { Library } from './entry.ts';
import { Terminal } from './terminal.ts';

/** A terminal, if the command stands at one. */
export function openTerminal(): Terminal | undefined {
  const { stdin, stderr } = process;
  return stdin.isTTY && stderr.isTTY ? new Terminal(stdin, stderr) : undefined;
}

/** Text of a server, as it is shown. */
export function bannerText(text: string): string {
  const shown = printableLines(text);
  return shown.endsWith('\n') ? shown : `${shown}\n`;
}

/** Questions at a terminal, one after the other; the limit of time stands still meanwhile. */
export class Questions {
  readonly #terminal: Terminal;
  readonly #deadline: Deadline;
  #last: Promise<unknown> = Promise.resolve();

  constructor(terminal: Terminal, deadline: Deadline) {
    this.#terminal = terminal;
    this.#deadline = deadline;
  }

  ask(prompt: string, echo: boolean): Promise<string> {
    const answer = this.#last.then(() => this.#deadline.pausedFor(() => this.#terminal.ask(prompt, echo)));
    this.#last = answer.catch(() => {});
    return answer;
  }

  passphrase(path: string): Promise<string> {
    return this.ask(`Passphrase for ${printable(path)}: `, false);
  }

  /** Whether a host key that nobody knows is right: yes, or its fingerprint typed again. */
  async hostKey({ host, port, keyType, fingerprint }: HostKeyOffer): Promise<boolean> {
    process.stderr.write(
      `${hostName(host, port)} is not known. Its key is ${printable(keyType, 64)}\n${fingerprint}\n` +
        'Compare that with what the owner of the server says.\n',
    );
    for (;;) {
      const answer = (await this.ask('Trust it and remember it (yes, no, or the fingerprint)? ', true)).trim();
      if (answer === 'yes' || answer === fingerprint) return true;
      if (answer === 'no') return false;
      process.stderr.write(answer.startsWith('SHA256:') ? 'That is another fingerprint.\n' : 'Type yes or no.\n');
    }
  }

  /** Passwords and whatever else a server asks for. `who`: the user and the host. */
  loginMethods(library: Library, who: string): AuthMethod[] {
    return [
      library.password(() => this.ask(`${who}'s password: `, false), {
        newPassword: (prompt) => this.#newPassword(prompt),
      }),
      library.keyboardInteractive(async ({ title, instruction, prompts }) => {
        for (const text of [title, instruction]) if (text !== '') process.stderr.write(bannerText(text));
        const answers: string[] = [];
        for (const { text, echo } of prompts) answers.push(await this.ask(`(${who}) ${text}`, echo));
        return answers;
      }),
    ];
  }

  /** Asks twice, since nobody sees what is typed. */
  async #newPassword(prompt: string): Promise<string> {
    process.stderr.write(bannerText(prompt));
    for (;;) {
      const first = await this.ask('New password: ', false);
      if ((await this.ask('New password again: ', false)) === first) return first;
      process.stderr.write('The two differ.\n');
    }
  }
}
