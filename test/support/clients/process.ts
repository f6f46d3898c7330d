/** Programs of other makers as child processes that end: with what they wrote, or killed after a while. */

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';

/** Milliseconds after which a client hangs. */
const RUN_LIMIT = 90_000;

/** How a program ended. */
export interface Ended {
  readonly command: string;
  /** `null` when it was killed. */
  readonly code: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

export interface RunOptions {
  /** For standard input. Default: nothing. */
  readonly input?: string | Uint8Array | undefined;
  /** Standard input stays open: the test writes to `child.stdin`, or kills the program. */
  readonly interactive?: boolean | undefined;
  /** Added to an environment without anything of the user's. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly cwd?: string | undefined;
}

/** A program that was started. */
export class Started {
  readonly child: ChildProcessWithoutNullStreams;
  /** Resolves when it has ended and all that it wrote was read; rejects when it cannot be started. */
  readonly ended: Promise<Ended>;
  readonly #command: string;
  readonly #out: Buffer[] = [];
  readonly #errors: Buffer[] = [];
  #changed: () => void = () => {};

  constructor(command: readonly string[], options: RunOptions) {
    const [file, ...args] = command as [string, ...string[]];
    const { input = '', interactive = false, env, cwd = '/' } = options;
    this.#command = command.join(' ');
    this.child = spawn(file, args, { cwd, env: environment(env), stdio: ['pipe', 'pipe', 'pipe'] });
    this.child.stdout.on('data', (chunk: Buffer) => this.#take(this.#out, chunk));
    this.child.stderr.on('data', (chunk: Buffer) => this.#take(this.#errors, chunk));
    this.child.stdin.on('error', () => {}); // it ended without reading all of it
    if (!interactive) this.child.stdin.end(input);
    this.ended = new Promise<Ended>((resolve, reject) => {
      const timer = setTimeout(() => this.kill('SIGKILL'), RUN_LIMIT);
      this.child.once('error', (error) => {
        clearTimeout(timer);
        reject(error);
      });
      this.child.once('close', (code) => {
        clearTimeout(timer);
        resolve({ command: this.#command, code, stdout: Buffer.concat(this.#out), stderr: this.#stderr });
      });
    });
    this.ended.catch(() => {}); // whoever waits for it is told
  }

  /** Resolves with all that it has written so far once that matches; rejects when it ends before. One at a time. */
  until(pattern: RegExp): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#changed = () => {
        if (pattern.test(this.#text)) resolve(this.#text);
      };
      this.#changed();
      const fail = (): void => reject(new Error(`${this.#command} ended before ${pattern}:\n${this.#text}`));
      this.ended.then(fail, reject);
    });
  }

  kill(signal: NodeJS.Signals = 'SIGTERM'): void {
    this.child.kill(signal);
  }

  get #stderr(): string {
    return Buffer.concat(this.#errors).toString();
  }

  get #text(): string {
    return Buffer.concat(this.#out).toString() + this.#stderr;
  }

  #take(pieces: Buffer[], chunk: Buffer): void {
    pieces.push(chunk);
    this.#changed();
  }
}

/** Starts a program; it is killed after a while. */
export function start(command: readonly string[], options: RunOptions = {}): Started {
  return new Started(command, options);
}

/** Runs a program to its end. */
export function run(command: readonly string[], options: RunOptions = {}): Promise<Ended> {
  return start(command, options).ended;
}

/** The same for a program that must succeed: throws with what it said. */
export async function mustRun(command: readonly string[], options: RunOptions = {}): Promise<Ended> {
  const ended = await run(command, options);
  if (ended.code !== 0) throw new Error(`${ended.command}: code ${ended.code}\n${ended.stderr}\n${ended.stdout}`);
  return ended;
}

function environment(own: Readonly<Record<string, string>> = {}): Record<string, string> {
  return { PATH: `${process.env.PATH}:/usr/sbin:/sbin`, HOME: '/nonexistent', LC_ALL: 'C.UTF-8', TZ: 'UTC', ...own };
}
