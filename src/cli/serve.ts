/** `puressh serve`: an SFTP server over a directory or over files in memory, until a signal ends it. */

import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import process from 'node:process';
import { printable } from '../bytes/text.ts';
import { SshError, toSshError } from '../errors.ts';
import type { ListenAddress } from '../io/listen.ts';
import type { PrivateKey } from '../keys/key_pair.ts';
import type { SshServer } from '../serve.ts';
import type { SftpBackend } from '../sftp/server/backend.ts';
import { addressName } from '../transports/connect_error.ts';
import { fileError } from '../transports/file_error.ts';
import { type Admission, admissionOf } from './admission.ts';
import { type Library, loadLibrary } from './entry.ts';
import { errorLine, noticeLine } from './exit.ts';
import { eventJson, Journal } from './journal.ts';
import { print } from './output.ts';
import type { ServeCommand } from './serve_args.ts';
import { Visitors } from './visitors.ts';

/** Serves until `signal` fires, whose reason it rejects with. Rejects with an `SshError` where it cannot serve. */
export async function serve(command: ServeCommand, signal: AbortSignal): Promise<number> {
  const end = new End(signal);
  const library = await loadLibrary();
  const backend = filesFor(command, library);
  const hostKeys = await hostKeysFor(command, library);
  const admission = await Promise.race([admissionOf(command, library), end.reached]);
  for (const notice of admission.notices) say(notice);
  const kind = command.json ? 'json' : command.quiet ? 'none' : 'lines';
  const visitors = new Visitors(new Journal(kind, (error) => end.reach(error)));
  const server = await library.listen({
    host: command.host,
    port: command.port,
    hostKeys,
    auth: admission.handlers(visitors),
    crypto: command.crypto,
    sftp: (login) => {
      visitors.session(login);
      return backend;
    },
    sftpOptions: { readOnly: command.readOnly, onError: (error) => complain(toSshError(error, 'internal')) },
    onConnection: (connection) => visitors.add(connection),
    onLogin: (login) => visitors.welcome(login),
    onError: complain,
    signal,
  });
  try {
    await announce({ command, admission, hostKeys, server });
    return await end.reached;
  } finally {
    await server.close();
  }
}

/** The end of serving: the signal, or nobody who reads what is written. */
class End {
  /** Only ever rejects. */
  readonly reached: Promise<never>;
  #reject: (error: unknown) => void = () => {};

  constructor(signal: AbortSignal) {
    this.reached = new Promise((_, reject) => {
      this.#reject = reject;
    });
    this.reached.catch(() => {}); // it may come before anybody waits
    signal.addEventListener('abort', () => this.reach(signal.reason), { once: true });
    if (signal.aborted) this.reach(signal.reason);
  }

  reach(error: unknown): void {
    this.#reject(error);
  }
}

function filesFor({ root, readOnly }: ServeCommand, library: Library): SftpBackend {
  return root === undefined ? library.memoryFiles() : library.directory(root, { readOnly });
}

async function hostKeysFor({ hostKeys }: ServeCommand, library: Library): Promise<PrivateKey[]> {
  if (hostKeys.length === 0) return [library.generateKey()];
  return Promise.all(
    hostKeys.map(async (path) => {
      const content = await readFile(path).catch((error) => {
        throw fileError('read the host key', path, error);
      });
      try {
        return library.parsePrivateKey(content, library.pureProvider, { name: path });
      } catch (error) {
        throw error instanceof SshError && error.code === 'key-passphrase-needed'
          ? encryptedHostKey(path, error)
          : error;
      }
    }),
  );
}

/** Nobody is asked when a server starts. */
function encryptedHostKey(path: string, cause: SshError): SshError {
  const advice = '`puressh keygen convert --no-passphrase --output NEW FILE` makes one in the clear';
  const message = `The host key ${printable(path)} is encrypted, which that of a server must not be; ${advice}`;
  return new SshError(cause.code, message, { cause });
}

interface Serving {
  readonly command: ServeCommand;
  readonly admission: Admission;
  readonly hostKeys: readonly PrivateKey[];
  readonly server: SshServer;
}

/** Tells how to reach the server, and what it does that might surprise. */
async function announce(serving: Serving): Promise<void> {
  const { command, admission, hostKeys, server } = serving;
  const { host, port } = server.address as ListenAddress;
  const keys = server.fingerprints.map((fingerprint, index) => {
    return { type: (hostKeys[index] as PrivateKey).publicKey.type, fingerprint };
  });
  const root = command.root === undefined ? null : resolve(command.root);
  const { username } = admission;
  const facts = { host, port, username, root, readOnly: command.readOnly, hostKeys: keys };
  if (!isLoopback(host)) say(reachableWarning(facts, admission));
  if (command.json) {
    await print(`${eventJson({ event: 'listening', ...facts })}\n`);
  } else {
    await print(`${welcomeText(facts, command.hostKeys.length === 0)}\n`);
  }
  if (admission.madePassword !== undefined) {
    say(`The password of ${username}, made for this run: ${admission.madePassword}`);
  }
}

/** What the object of the event `listening` has. */
export interface ServingFacts {
  readonly host: string;
  readonly port: number;
  readonly username: string;
  readonly root: string | null;
  readonly readOnly: boolean;
  readonly hostKeys: readonly { readonly type: string; readonly fingerprint: string }[];
}

/** What people read when the server is there. */
export function welcomeText(facts: ServingFacts, isKeyMade: boolean): string {
  const { host, port, username, hostKeys } = facts;
  const to = isEverywhere(host) ? hostname() : host;
  const target = `${username}@${to.includes(':') ? `[${to}]` : to}`;
  const made = isKeyMade ? ', made for this run: the next has another, unless --host-key names a file' : '';
  return [
    `Serving ${filesText(facts)} over SFTP on ${addressName(host, port)}, to ${username}`,
    ...hostKeys.map(({ type, fingerprint }) => `Host key ${fingerprint} (${type})${made}`),
    `  sftp -P ${port} ${shellWord(target)}`,
    `  puressh ls -P ${port} --pin ${hostKeys[0]?.fingerprint} ${shellWord(`${target}:`)}`,
    'Ctrl-C ends it.',
  ].join('\n');
}

function filesText({ root, readOnly }: ServingFacts): string {
  if (root === null) return 'files in memory, which are gone when it ends,';
  return `${printable(root, 1024)}${readOnly ? ', read-only,' : ''}`;
}

function reachableWarning(facts: ServingFacts, { madePassword }: Admission): string {
  const { host, port, username, root, readOnly } = facts;
  const what = root === null ? 'the files in memory' : printable(root, 1024);
  const secret = madePassword === undefined ? 'the password or key' : 'the password';
  return (
    `WARNING: other machines can reach ${addressName(host, port)}: ` +
    `whoever has ${secret} of ${username} can ${readOnly ? 'read' : 'read and change'} ${what}`
  );
}

/** RFC 1122 §3.2.1.3, RFC 4291 §2.5.3, and the former written as IPv6. */
export function isLoopback(host: string): boolean {
  return host === '::1' || /^(?:::ffff:)?127\.\d+\.\d+\.\d+$/i.test(host);
}

/** Addresses that stand for every one of the machine, and that no client can connect to. */
function isEverywhere(host: string): boolean {
  return host === '::' || host === '0.0.0.0';
}

/** As a POSIX shell takes it for one word that means itself. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** What a client or the system made go wrong: no reason to end. */
function complain(error: SshError): void {
  process.stderr.write(`${errorLine(error)}\n`);
}

function say(text: string): void {
  process.stderr.write(`${noticeLine(text)}\n`);
}
