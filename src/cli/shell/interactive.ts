/**
 * The shell for a person at a terminal, with `node:readline` for the line: editing, history for as long as it runs, Tab.
 * While a command runs the terminal is as it was found, so that Ctrl-C is a signal and programs of the local shell have it.
 */

import process from 'node:process';
import { createInterface, type Interface } from 'node:readline';
import { SshError } from '../../errors.ts';
import { errorText } from '../exit.ts';
import type { Interrupts } from '../interrupts.ts';
import { findCandidates } from './candidates.ts';
import { commandNames, findCommand, runLine } from './commands.ts';
import { commandReplacements, completionOf, replacements } from './completion.ts';
import type { Shell } from './session.ts';

const PROMPT = 'sftp> ';
/** Milliseconds for what Tab looks up: whoever presses it does not wait longer. */
const LOOKUP_TIME = 5000;

/** Runs lines until one ends it. Rejects where the session ends by itself, with why. */
export function interact(shell: Shell, interrupts: Interrupts, closed: Promise<SshError | undefined>): Promise<void> {
  return new Promise((resolve, reject) => {
    const dialogue = new Dialogue(shell, interrupts, resolve, reject);
    closed.then((cause) => dialogue.end(cause ?? new SshError('connection-closed', 'The connection was closed')));
    interrupts.signal.addEventListener('abort', () => dialogue.end(interrupts.signal.reason), { once: true });
    dialogue.start();
  });
}

class Dialogue {
  readonly #shell: Shell;
  readonly #interrupts: Interrupts;
  readonly #resolve: () => void;
  readonly #reject: (error: unknown) => void;
  readonly #editor: Interface;
  /** What Ctrl-C ends. */
  #running: AbortController | undefined;
  /** Lines that came while a command ran, as those of a text that is pasted do. */
  readonly #waiting: string[] = [];
  /** Ctrl-C was the last thing that was typed. */
  #isLeaving = false;
  #isOver = false;

  constructor(shell: Shell, interrupts: Interrupts, resolve: () => void, reject: (error: unknown) => void) {
    this.#shell = shell;
    this.#interrupts = interrupts;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#editor = createInterface({
      input: process.stdin,
      output: process.stdout,
      terminal: true,
      prompt: PROMPT,
      completer: (line: string, done: (error: null, result: [string[], string]) => void) => {
        this.#complete(line).then(
          (hits) => done(null, hits),
          () => done(null, [[], line]),
        );
      },
    });
  }

  start(): void {
    const editor = this.#editor;
    editor.on('line', (line) => this.#line(line));
    editor.on('SIGINT', () => this.#interrupt());
    editor.on('close', () => this.#leave());
    this.#interrupts.takeInterrupt(() => this.#interrupt());
    editor.prompt();
  }

  /** The session is gone, or the command is to end. */
  end(cause: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#running === undefined) process.stdout.write('\n');
    else this.#running.abort(cause);
    this.#interrupts.takeInterrupt(undefined);
    this.#editor.close();
    this.#reject(cause);
  }

  #leave(): void {
    if (this.#isOver || this.#running !== undefined) return;
    this.#isOver = true;
    this.#interrupts.takeInterrupt(undefined);
    this.#editor.close();
    this.#resolve();
  }

  /** Ends what runs; at the prompt it drops what is typed, and the second time in a row ends the shell. */
  #interrupt(): void {
    if (this.#running !== undefined) {
      this.#waiting.length = 0;
      this.#running.abort(new SshError('aborted', 'Interrupted'));
      return;
    }
    const isTyped = (this.#editor.line ?? '') !== '';
    if (this.#isLeaving && !isTyped) {
      process.stdout.write('\n');
      this.#leave();
      return;
    }
    this.#isLeaving = true;
    process.stdout.write(isTyped ? '^C\n' : '\nCtrl-C again, Ctrl-D or exit ends the session\n');
    if (isTyped) {
      // Ctrl-E, Ctrl-U: what was typed goes, wherever the cursor stood
      this.#editor.write(null, { ctrl: true, name: 'e' });
      this.#editor.write(null, { ctrl: true, name: 'u' });
    }
    this.#editor.prompt();
  }

  #line(line: string): void {
    this.#isLeaving = false;
    if (this.#running !== undefined) {
      this.#waiting.push(line);
      return;
    }
    this.#run(line).catch((error) => this.end(error));
  }

  async #run(first: string): Promise<void> {
    this.#hold();
    for (let line: string | undefined = first; line !== undefined && !this.#isOver; line = this.#waiting.shift()) {
      const running = new AbortController();
      this.#running = running;
      await runLine(this.#shell, line, running.signal).catch((error) => {
        if (!this.#isOver) this.#shell.output.say(errorText(error));
      });
      this.#running = undefined;
      if (this.#shell.isOver) return this.#leave();
    }
    if (this.#isOver) return;
    this.#release();
    this.#editor.prompt();
  }

  /** Gives the terminal back for the time that a command runs. */
  #hold(): void {
    this.#editor.pause();
    process.stdin.setRawMode?.(false);
  }

  #release(): void {
    process.stdin.setRawMode?.(true);
    this.#editor.resume();
  }

  async #complete(line: string): Promise<[string[], string]> {
    const completion = completionOf(line, (name) => findCommand(name)?.operands);
    if (completion.kind === 'none') return [[], line];
    if (completion.kind === 'command') return [commandReplacements(completion.typed, commandNames), completion.typed];
    const candidates = await findCandidates(this.#shell, completion, AbortSignal.timeout(LOOKUP_TIME));
    return [replacements(completion, candidates), completion.typed];
  }
}
