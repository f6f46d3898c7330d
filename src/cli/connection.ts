/** From what the command line says to a connection that is logged in: whom to trust, and what to log in with. */

import { homedir } from 'node:os';
import process from 'node:process';
import { printableLines } from '../bytes/text.ts';
import type { AuthMethod } from '../client/auth.ts';
import type { HostKeyPolicy } from '../client/host_key.ts';
import { SshError } from '../errors.ts';
import type { SshClient } from '../ssh_client.ts';
import type { AlgorithmChoice, ConnectionChoice, TrustChoice } from './connection_args.ts';
import { type Library, loadLibrary } from './entry.ts';
import { readFirstLine } from './first_line.ts';
import { type DefaultIdentities, defaultIdentities } from './identities.ts';
import { ownName } from './own_name.ts';
import type { HostTarget } from './target.ts';
import { Terminal } from './terminal.ts';

/** Connects and logs in. Rejects with an `SshError`. */
export async function openConnection(
  target: HostTarget,
  choice: ConnectionChoice,
  signal: AbortSignal,
): Promise<SshClient> {
  const { ssh, clearer } = await openEarly(target, choice, signal);
  try {
    await ssh.loggedIn;
    return ssh;
  } catch (error) {
    throw clearer(error);
  }
}

/** A connection whose login may still be under way. */
export interface EarlyConnection {
  readonly ssh: SshClient;
  /** What went wrong, with what is known about the login if that is it. */
  clearer(error: unknown): unknown;
}

/** The same without waiting for the login: what is asked meanwhile costs no round trip of its own. */
export async function openEarly(
  target: HostTarget,
  choice: ConnectionChoice,
  signal: AbortSignal,
): Promise<EarlyConnection> {
  const library = await loadLibrary();
  const username = target.username ?? namedAfterUser();
  const ownKeys = choice.identities.length > 0 ? undefined : await defaultIdentities(homedir());
  const terminal = openTerminal();
  const deadline = new Deadline(choice.timeout, signal);
  const options = {
    host: target.host,
    port: choice.port,
    username,
    auth: [
      ...(ownKeys?.usable ?? choice.identities).map((path) => library.keyFile(path)),
      ...(await passwordMethods(library, choice, `${username}@${target.host}`, terminal, deadline)),
    ],
    hostKey: policyOf(library, choice.trust),
    crypto: choice.crypto,
    window: choice.window,
    maxWindow: choice.maxWindow,
    algorithms: listsOf(choice.algorithms),
    // A server's greeting is for people; in a pipe, standard error is for what went wrong.
    ...(terminal === undefined ? {} : { onBanner: (text: string) => void process.stderr.write(bannerText(text)) }),
  };
  const clearer = (error: unknown): unknown => deadline.passed ?? withSkippedKeys(error, ownKeys);
  const stop = (): void => deadline.stop();
  try {
    const ssh = await library.connect({ ...options, signal: deadline.signal, early: true });
    ssh.loggedIn.then(stop, stop);
    return { ssh, clearer };
  } catch (error) {
    stop();
    throw clearer(error);
  }
}

function openTerminal(): Terminal | undefined {
  const { stdin, stderr } = process;
  return stdin.isTTY && stderr.isTTY ? new Terminal(stdin, stderr) : undefined;
}

function bannerText(text: string): string {
  const shown = printableLines(text);
  return shown.endsWith('\n') ? shown : `${shown}\n`;
}

function namedAfterUser(): string {
  const name = ownName();
  if (name !== undefined) return name;
  throw new SshError('bad-argument', 'Nobody knows your user name here: write user@host');
}

async function passwordMethods(
  library: Library,
  choice: ConnectionChoice,
  who: string,
  terminal: Terminal | undefined,
  deadline: Deadline,
): Promise<AuthMethod[]> {
  if (choice.passwordStdin) return [library.password(await readFirstLine(process.stdin))];
  if (terminal === undefined) return [];
  const ask = (prompt: string, echo: boolean): Promise<string> => deadline.pausedFor(() => terminal.ask(prompt, echo));
  return [
    library.password(() => ask(`${who}'s password: `, false), { newPassword: (prompt) => newPassword(prompt, ask) }),
    library.keyboardInteractive(async ({ title, instruction, prompts }) => {
      for (const text of [title, instruction]) if (text !== '') process.stderr.write(bannerText(text));
      const answers: string[] = [];
      for (const { text, echo } of prompts) answers.push(await ask(`(${who}) ${text}`, echo));
      return answers;
    }),
  ];
}

/** Asks twice, since nobody sees what is typed. */
async function newPassword(prompt: string, ask: (prompt: string, echo: boolean) => Promise<string>): Promise<string> {
  process.stderr.write(bannerText(prompt));
  for (;;) {
    const first = await ask('New password: ', false);
    if ((await ask('New password again: ', false)) === first) return first;
    process.stderr.write('The two differ.\n');
  }
}

function policyOf(library: Library, trust: TrustChoice): HostKeyPolicy {
  switch (trust.kind) {
    case 'known-hosts':
      return trust.acceptNew ? library.acceptNew(trust.file) : library.knownHosts(trust.file);
    case 'pin':
      return library.pin(trust.fingerprints);
    case 'insecure-accept-any':
      return library.insecureAcceptAny();
  }
}

function listsOf(choice: AlgorithmChoice): Record<string, readonly string[] | string> {
  const { kex, hostKey, cipher, mac } = choice;
  const lists = { kex, hostKeys: hostKey, ciphers: cipher, macs: mac };
  const given = Object.entries(lists).filter(([, names]) => names !== undefined);
  return Object.fromEntries(given) as Record<string, readonly string[] | string>;
}

/** Says which of the user's keys were left out, where that may be why nobody was let in. */
function withSkippedKeys(error: unknown, identities: DefaultIdentities | undefined): unknown {
  if (!(error instanceof SshError) || error.code !== 'auth-failed' || !identities?.skipped.length) return error;
  const names = identities.skipped.join(', ');
  const message = `${error.message}; not tried, since encrypted or in another format: ${names}`;
  return new SshError(error.code, message, { fault: error.fault, cause: error });
}

/** The limit of `--timeout`: it stands still while a person types. */
class Deadline {
  readonly signal: AbortSignal;
  /** The error, once the time is over. */
  passed: SshError | undefined;
  readonly #own = new AbortController();
  #left: number;
  #since = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #limit: number | undefined;

  constructor(limit: number | undefined, signal: AbortSignal) {
    this.#limit = limit;
    this.#left = limit ?? 0;
    this.signal = AbortSignal.any([signal, this.#own.signal]);
    this.#run();
  }

  /** The time that `work` takes does not count. */
  async pausedFor<T>(work: () => Promise<T>): Promise<T> {
    this.stop();
    try {
      return await work();
    } finally {
      this.#run();
    }
  }

  stop(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#left -= performance.now() - this.#since;
  }

  #run(): void {
    if (this.#limit === undefined) return;
    this.#since = performance.now();
    this.#timer = setTimeout(
      () => {
        const message = `Not logged in within ${(this.#limit as number) / 1000} s (--timeout)`;
        this.passed = new SshError('timeout', message, { fault: 'network' });
        this.#own.abort();
      },
      Math.max(0, this.#left),
    );
  }
}
