/**
 * From what the command line says, and the user's configuration, to a connection that is logged in: whom to trust, and what to log
 * in with. Options of the command come before the configuration.
 */

import { spawn } from 'node:child_process';
import process from 'node:process';
import type { Agent } from '../agent/agent.ts';
import type { AuthMethod } from '../client/auth.ts';
import type { HostKeyPolicy } from '../client/host_key.ts';
import type { HostConfig } from '../config/host_config.ts';
import type { ConfiguredOptions, SshConfigOptions } from '../configured.ts';
import { SshError, type SshErrorCode } from '../errors.ts';
import type { SshClient } from '../ssh_client.ts';
import { fileError } from '../transports/file_error.ts';
import { loadCompression } from './compression.ts';
import type { AlgorithmChoice, ConnectionChoice, TrustChoice } from './connection_args.ts';
import { Deadline } from './deadline.ts';
import { type Library, loadLibrary } from './entry.ts';
import { readFirstLine } from './first_line.ts';
import { bannerText, openTerminal, Questions } from './questions.ts';
import type { HostTarget } from './target.ts';

/** A connection that is logged in. */
export interface OpenConnection {
  readonly ssh: SshClient;
  /** The agent that sessions forward, if the configuration wants that. */
  readonly agent: Agent | undefined;
}

/** Connects and logs in. Rejects with an `SshError`. */
export async function openConnection(
  target: HostTarget,
  choice: ConnectionChoice,
  signal: AbortSignal,
): Promise<OpenConnection> {
  const { ssh, agent, clearer } = await openEarly(target, choice, signal);
  try {
    await ssh.loggedIn;
    return { ssh, agent };
  } catch (error) {
    throw clearer(error);
  }
}

/** A connection whose login may still be under way. */
export interface EarlyConnection extends OpenConnection {
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
  const source = sourceOf(target, choice);
  const config = trusting(await library.hostConfig(target.host, source), choice.trust);
  if (config.user === '') throw new SshError('bad-argument', 'Nobody knows your user name here: write user@host');
  const terminal = config.batchMode ? undefined : openTerminal();
  const deadline = new Deadline(choice.timeout, signal);
  const questions = terminal && new Questions(terminal, deadline);
  const skipped: Skipped[] = [];
  const configured = await library.connectOptions(config, {
    ...source,
    compression: config.compression ? await loadCompression() : undefined,
    crypto: choice.crypto,
    onSkipped: (name, error) => void skipped.push({ name, error }),
    login: await loginOf(library, choice, questions, config),
    ...(questions && {
      passphrase: (path) => questions.passphrase(path),
      askHostKey: (offer) => questions.hostKey(offer),
    }),
  });
  const clearer = (error: unknown): unknown => deadline.passed ?? withSkippedKeys(error, skipped);
  const stop = (): void => deadline.stop();
  try {
    const ssh = await library.connect({
      ...configured,
      ...chosen(library, choice, configured, questions),
      // A server's greeting is for people; in a pipe, standard error is for what went wrong.
      ...(terminal === undefined ? {} : { onBanner: (text: string) => void process.stderr.write(bannerText(text)) }),
      signal: deadline.signal,
      early: true,
    });
    ssh.loggedIn.then(stop, stop);
    return { ssh, agent: forwardedAgent(library, config), clearer };
  } catch (error) {
    stop();
    throw clearer(error);
  }
}

/** Which configuration is read; keys that the command line names take the place of the usual ones. */
function sourceOf(
  { username }: HostTarget,
  { port, identities, config, configLines, compress, matchExec }: ConnectionChoice,
): Pick<SshConfigOptions, 'file' | 'options' | 'user' | 'matchExec'> {
  const lines = [
    ...(port === undefined ? [] : [`Port=${port}`]),
    ...(compress ? ['Compression=yes'] : []),
    ...configLines,
    ...(identities.length === 0 ? [] : ['IdentityFile=none']),
  ];
  return { file: config, options: lines, user: username, ...(matchExec ? { matchExec: succeeds } : {}) };
}

/** Runs a command of `Match exec` in the user's shell, as OpenSSH does. */
function succeeds(command: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const shell = process.env.SHELL || '/bin/sh';
    const child = spawn(shell, ['-c', command], { stdio: ['ignore', 'ignore', 'inherit'] });
    child.on('error', (error) => reject(fileError('run', shell, error)));
    child.on('close', (code) => resolve(code === 0));
  });
}

/** Ways to log in beside keys, at the host and at each server on the way. */
async function loginOf(
  library: Library,
  choice: ConnectionChoice,
  questions: Questions | undefined,
  target: HostConfig,
): Promise<(config: HostConfig) => readonly AuthMethod[]> {
  if (choice.passwordStdin) {
    const password = await readFirstLine(process.stdin);
    // it is the host's, and no other server's
    return (config) => (config === target ? [library.password(password)] : []);
  }
  if (questions === undefined) return () => [];
  return ({ user, originalHost }) => questions.loginMethods(library, `${user}@${originalHost}`);
}

/** What the command line says in place of the configuration. */
function chosen(
  library: Library,
  choice: ConnectionChoice,
  configured: ConfiguredOptions,
  questions: Questions | undefined,
): Partial<ConfiguredOptions> {
  const { algorithms } = configured;
  const named = choice.identities.map((path) =>
    library.keyFile(path, questions === undefined ? {} : { passphrase: () => questions.passphrase(path) }),
  );
  return {
    auth: [...named, ...configured.auth],
    ...policyOf(library, choice.trust),
    ...(choice.window === undefined ? {} : { window: choice.window }),
    ...(choice.maxWindow === undefined ? {} : { maxWindow: choice.maxWindow }),
    algorithms: {
      ...(choice.legacy ? { preset: 'legacy' } : {}),
      ...(typeof algorithms === 'object' ? algorithms : {}),
      ...listsOf(choice.algorithms),
    },
  };
}

/** The files of `--known-hosts` and `--accept-new` take the place of the configuration's; what it says is revoked stays so. */
function trusting(config: HostConfig, trust: TrustChoice): HostConfig {
  if (trust.kind !== 'known-hosts') return config;
  return {
    ...config,
    ...(trust.file === undefined ? {} : { userKnownHostsFiles: [trust.file], globalKnownHostsFiles: [] }),
    strictHostKeyChecking: trust.acceptNew ? 'accept-new' : 'yes',
  };
}

function policyOf(library: Library, trust: TrustChoice): { readonly hostKey?: HostKeyPolicy } {
  switch (trust.kind) {
    case 'config':
    case 'known-hosts':
      return {};
    case 'pin':
      return { hostKey: library.pin(trust.fingerprints) };
    case 'insecure-accept-any':
      return { hostKey: library.insecureAcceptAny() };
  }
}

function listsOf(choice: AlgorithmChoice): Record<string, readonly string[] | string> {
  const { kex, hostKey, cipher, mac } = choice;
  const lists = { kex, hostKeys: hostKey, ciphers: cipher, macs: mac };
  const given = Object.entries(lists).filter(([, names]) => names !== undefined);
  return Object.fromEntries(given) as Record<string, readonly string[] | string>;
}

function forwardedAgent(library: Library, { forwardAgent, identityAgent }: HostConfig): Agent | undefined {
  if (forwardAgent === false) return undefined;
  return library.agent(forwardAgent === true ? identityAgent : forwardAgent);
}

/** How a login fails for which no key was right. */
const LOGIN_FAILURES: readonly SshErrorCode[] = ['auth-failed', 'key-passphrase-needed', 'key-passphrase-wrong'];

interface Skipped {
  readonly name: string;
  readonly error: SshError;
}

/** Says which of the user's keys were left out, where that may be why nobody was let in. */
function withSkippedKeys(error: unknown, skipped: readonly Skipped[]): unknown {
  if (!(error instanceof SshError) || skipped.length === 0 || !LOGIN_FAILURES.includes(error.code)) return error;
  const names = skipped
    .map(({ name, error: { code } }) => `${name} (${code})`)
    .sort()
    .join(', ');
  const message = `${error.message}; not tried: ${names}`;
  return new SshError(error.code, message, { fault: error.fault, cause: error });
}
