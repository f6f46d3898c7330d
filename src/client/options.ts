/** What a client can be told, with the defaults, and the checks of what a caller passes. */

import { printable } from '../bytes/text.ts';
import { defaultSignatures } from '../core/algorithms/lists.ts';
import {
  abortSignal,
  callback,
  checkTable,
  elsewhere,
  flag,
  type OptionTable,
  object,
  oneOf,
} from '../core/option_checks.ts';
import {
  badArgument,
  requireInteger,
  requireKnown,
  requireNumbers,
  requireText,
  type SideOptions,
  type SideSettings,
  sideSettings,
  sideTable,
  withoutUndefined,
} from '../core/options.ts';
import { signatureAlgorithms } from '../keys/signature.ts';
import { SSH_PORT } from '../wire/numbers.ts';
import type { AuthMethod } from './auth.ts';
import { type HostKeyPolicy, POLICY_CHOICES } from './host_key.ts';
import { MAX_AUTH_FAILURES } from './login.ts';

/** Milliseconds after which a wait for the peer ends. A person or a policy that is asked is not timed. */
export interface Timeouts {
  /** For a TCP connection. Default: 20 s. */
  readonly connect: number;
  /** From then to the server's identification. Default: 30 s. */
  readonly identification: number;
  /** For a key exchange. Default: 60 s. */
  readonly keyExchange: number;
  /** For each answer in authentication. Default: 120 s. */
  readonly auth: number;
  /** From our CLOSE of a channel to the peer's. Default: 10 s. */
  readonly channelClose: number;
}

/** Options of a connection. */
export interface ConnectOptions extends SideOptions {
  /** The name or address of the server; host keys are looked up under it. */
  readonly host: string;
  /** Default: 22. */
  readonly port?: number | undefined;
  readonly username: string;
  /** Ways to log in, in order of preference; empty for a server that asks for nothing. */
  readonly auth: readonly AuthMethod[];
  /** Whether the server's key is trusted. Required: there is no default. */
  readonly hostKey: HostKeyPolicy;
  /**
   * `known-first`: algorithms for the types of keys that the host is known under are offered first. `fixed`: in the order of
   * `algorithms.hostKeys`, whoever the host is, so that nobody on the line sees which hosts are known. Default: `known-first`.
   */
  readonly hostKeyOrder?: 'known-first' | 'fixed' | undefined;
  readonly timeouts?: Partial<Timeouts> | undefined;
  /** Refused attempts to log in before giving up; a key that the server was only asked about counts as well. Default: 5. */
  readonly maxAuthFailures?: number | undefined;
  /** Whether of an agent's keys only those are tried that `auth` names too, such as by their public files. Default: false. */
  readonly identitiesOnly?: boolean | undefined;
  /** Whether a login that no key has signed for is an error: a server may let in whoever comes, to ask for secrets then. Default: false. */
  readonly requireSignature?: boolean | undefined;
  /**
   * Signature algorithms that keys may log in with, by the names of plain keys, certificates included. Default: all that
   * puressh makes, and SHA-1 (`ssh-rsa`) only where `algorithms` is `'legacy'`.
   */
  readonly signatures?: readonly string[] | undefined;
  /** Gives up connecting and logging in; has no effect after. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Whether `connect` resolves when the first key, or a password that is known, is about to be sent: what is asked of the
   * client then waits for the login, or goes right behind it where the server is known to bear that. What fails, `loggedIn`
   * and all that was asked reject with. Default: false.
   */
  readonly early?: boolean | undefined;
  /** Text of the server to show before the login, sanitised; line feeds stay. */
  readonly onBanner?: ((text: string) => void) | undefined;
}

/** Options with everything in its place. */
export interface Settings extends SideSettings {
  readonly host: string;
  readonly port: number;
  readonly username: string;
  readonly auth: readonly AuthMethod[];
  readonly hostKey: HostKeyPolicy;
  readonly hostKeyOrder: 'known-first' | 'fixed';
  readonly maxAuthFailures: number;
  readonly identitiesOnly: boolean;
  readonly requireSignature: boolean;
  readonly signatures: readonly string[];
  readonly signal: AbortSignal | undefined;
  readonly onBanner: ((text: string) => void) | undefined;
  readonly early: boolean;
}

const table: OptionTable<ConnectOptions> = {
  host: elsewhere,
  port: elsewhere,
  username: elsewhere,
  auth: elsewhere,
  hostKey: elsewhere,
  hostKeyOrder: oneOf('known-first', 'fixed'),
  timeouts: object,
  maxAuthFailures: elsewhere,
  identitiesOnly: flag,
  requireSignature: flag,
  signatures: elsewhere,
  signal: abortSignal,
  early: flag,
  onBanner: callback,
  ...sideTable,
};

/** With what `ClientOptions` adds. */
const clientTable = { ...table, crypto: elsewhere, dial: callback };

/** Checks the options and adds the defaults; throws `bad-argument`. */
export function settingsOf(options: ConnectOptions): Settings {
  if (typeof options !== 'object' || options === null)
    throw badArgument('The options are missing: host, username, auth, hostKey');
  checkTable('connect', options, clientTable);
  const { host, username, auth, hostKey, signal } = options;
  const timeouts = options.timeouts ?? {};
  requireText('host', host);
  requireText('username', username);
  if (typeof hostKey?.check !== 'function') throw badArgument(`hostKey is required: ${POLICY_CHOICES}`);
  requireMethods(auth);
  requireKnown('timeouts', timeouts, {
    connect: 0,
    identification: 0,
    keyExchange: 0,
    auth: 0,
    channelClose: 0,
  } satisfies Timeouts);
  requireNumbers('timeouts', timeouts, 1);
  const port = options.port ?? SSH_PORT;
  requireInteger('port', port, 1, 65535);
  const maxAuthFailures = options.maxAuthFailures ?? MAX_AUTH_FAILURES;
  requireNumbers('options', { maxAuthFailures }, 1);
  const times = withoutUndefined({
    identificationTime: timeouts.identification,
    keyExchangeTime: timeouts.keyExchange,
    authTime: timeouts.auth,
    channelCloseTime: timeouts.channelClose,
  });
  const { onBanner, hostKeyOrder = 'known-first', identitiesOnly = false, requireSignature = false } = options;
  const signatures = signaturesOf(options.signatures, defaultSignatures(options.algorithms));
  const early = options.early === true;
  return {
    ...sideSettings(options, times),
    host,
    port,
    username,
    auth,
    hostKey,
    hostKeyOrder,
    maxAuthFailures,
    identitiesOnly,
    requireSignature,
    signatures,
    signal,
    onBanner,
    early,
  };
}

/** What each way to log in must have. A value that is none is not shown: it may be a password. */
const members: Readonly<Record<string, readonly string[]>> = {
  publickey: ['signer', 'signers'],
  password: ['password'],
  'keyboard-interactive': ['answer'],
};

function requireMethods(auth: unknown): void {
  if (!Array.isArray(auth)) {
    throw badArgument('auth must be a list, such as [key(text), password(text)]; it may be empty');
  }
  auth.forEach((entry: unknown, index) => {
    const given = (typeof entry === 'object' && entry !== null ? entry : {}) as Readonly<Record<string, unknown>>;
    const wanted = Object.hasOwn(members, String(given.method)) ? members[String(given.method)] : [];
    if (wanted?.some((name) => typeof given[name] === 'function')) return;
    const ways = 'keyFile(), agent(), key(), password() or keyboardInteractive()';
    const found = entry === null ? 'null' : typeof entry;
    throw badArgument(`auth[${index}] must be a way to log in, as ${ways} make them, not ${found}`);
  });
}

function signaturesOf(given: ConnectOptions['signatures'], usual: readonly string[]): readonly string[] {
  if (given === undefined) return usual;
  const known = [...signatureAlgorithms.keys()];
  if (!Array.isArray(given)) throw badArgument(`signatures must be a list of names, such as ${usual[0]}`);
  const unknown: unknown = given.find((name) => !signatureAlgorithms.has(name));
  if (unknown === undefined) return given;
  const name = printable(String(unknown), 64);
  throw badArgument(`signatures names "${name}", which puressh does not know; it knows ${known.join(', ')}`);
}
