/**
 * Asking a person at a terminal, with or without showing what is typed. The terminal is in raw mode meanwhile, so the few
 * keys that edit a line are handled here.
 */

import { SshError } from '../errors.ts';

/** A terminal to read from: `process.stdin` where it is one. */
export interface TerminalInput {
  setRawMode(on: boolean): unknown;
  setEncoding(encoding: 'utf8'): unknown;
  on(event: 'data' | 'end', listener: (data: string) => void): unknown;
  off(event: 'data' | 'end', listener: (data: string) => void): unknown;
  resume(): unknown;
  pause(): unknown;
}

/** Where prompts go: standard error, so that they never mix with output. */
export interface TerminalOutput {
  write(text: string): unknown;
}

const CTRL_C = '\u0003';
const CTRL_D = '\u0004';
const CTRL_U = '\u0015';
const BACKSPACES: readonly string[] = ['\b', '\u007f'];

/** Asks one question after the other on a terminal. */
export class Terminal {
  readonly #input: TerminalInput;
  readonly #output: TerminalOutput;
  /** Typed or pasted behind the end of a line: the start of the next answer. */
  #ahead = '';

  constructor(input: TerminalInput, output: TerminalOutput) {
    this.#input = input;
    this.#output = output;
  }

  /** Shows `prompt` and resolves with the line that is typed. Rejects with `aborted` on Ctrl-C and at the end of input. */
  async ask(prompt: string, echo: boolean): Promise<string> {
    this.#input.setEncoding('utf8');
    this.#input.setRawMode(true); // before the prompt: what is typed at once must not be shown either
    try {
      this.#output.write(prompt);
      return await this.#line(echo);
    } finally {
      this.#input.setRawMode(false);
      this.#input.pause();
      this.#output.write('\n');
    }
  }

  #line(echo: boolean): Promise<string> {
    return new Promise((resolve, reject) => {
      const typed: string[] = [];
      const finish = (settle: () => void): void => {
        this.#input.off('data', take);
        this.#input.off('end', end);
        settle();
      };
      const end = (): void => finish(() => reject(new SshError('aborted', 'The question was not answered')));
      const take = (data: string): void => {
        const keys = [...data];
        for (let at = 0; at < keys.length; at++) {
          const key = keys[at] as string;
          if (key === '\r' || key === '\n') {
            const paired = key === '\r' && keys[at + 1] === '\n';
            this.#ahead = keys.slice(at + (paired ? 2 : 1)).join('');
            finish(() => resolve(typed.join('')));
            return;
          }
          if (key === CTRL_C || (key === CTRL_D && typed.length === 0)) {
            end();
            return;
          }
          this.#edit(typed, key, echo);
        }
      };
      this.#input.on('data', take);
      this.#input.on('end', end);
      const ahead = this.#ahead;
      this.#ahead = '';
      if (ahead !== '') take(ahead);
      this.#input.resume();
    });
  }

  #edit(typed: string[], key: string, echo: boolean): void {
    if (BACKSPACES.includes(key) || key === CTRL_U) {
      const count = key === CTRL_U ? typed.length : Math.min(1, typed.length);
      typed.length -= count;
      if (echo) this.#output.write('\b \b'.repeat(count));
    } else if (key >= ' ') {
      typed.push(key);
      if (echo) this.#output.write(key);
    }
  }
}
