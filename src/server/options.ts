/** What a server can be told, with the defaults, and the checks of what a caller passes. */

import { printable } from '../bytes/text.ts';
import { chooseAlgorithms, defaultSignatures } from '../core/algorithms/lists.ts';
import { elsewhere, type OptionTable, object } from '../core/option_checks.ts';
import {
  badArgument,
  requireKnown,
  requireNumbers,
  type SideOptions,
  sideSettings,
  sideTable,
  withoutUndefined,
} from '../core/options.ts';
import { signable } from '../core/side.ts';
import type { CryptoProvider } from '../crypto/provider.ts';
import type { SshError } from '../errors.ts';
import { PrivateKey } from '../keys/key_pair.ts';
import { parsePrivateKey, signerOf } from '../keys/private_key.ts';
import { type Signer, signatureAlgorithms } from '../keys/signature.ts';
import type { ConnectionSettings, ServerConnection } from './connection.ts';
import type { ForwardHandlers, Login, LoginHandlers } from './handlers.ts';
import { withCertificates } from './host_certificates.ts';
import { methodsOf } from './login.ts';
import type { SessionHandlers } from './session.ts';

/** Milliseconds after which a wait for the client ends. */
export interface ServerTimeouts {
  /** From the start to the client's identification. Default: 30 s. */
  readonly identification: number;
  /** For a key exchange; the first counts towards `login` instead. Default: 60 s. */
  readonly keyExchange: number;
  /** From the start to the end of the login. Default: 120 s. */
  readonly login: number;
  /** From our CLOSE of a channel to the client's. Default: 10 s. */
  readonly channelClose: number;
}

/** How much a server takes on. What comes beyond is refused. */
export interface ServerCapacity {
  /** Connections at once. Default: 1024. */
  readonly connections: number;
  /** Of those, how many may be not logged in yet. Default: 100. */
  readonly unauthenticated: number;
  /** Of those, how many may come from one address. Default: as many. */
  readonly unauthenticatedPerAddress: number;
  /** Sessions open at once in one connection. Default: 10, as in OpenSSH (MaxSessions). */
  readonly sessions: number;
  /** Programs that run at once in one connection, those of sessions that have ended with them. Default: 64. */
  readonly programs: number;
}

/** Options of a server. */
export interface ServerOptions extends SideOptions {
  /** What the server proves itself with: contents of key files, parsed keys, or anything that signs. At least one. */
  readonly hostKeys: readonly (string | Uint8Array | PrivateKey | Signer)[];
  /**
   * Certificates for these keys: contents of `-cert.pub` files, or blobs. A client that knows their authority needs to know no
   * key. Default: none.
   */
  readonly hostCertificates?: readonly (string | Uint8Array)[] | undefined;
  /** Who may log in. Required: there is no default. */
  readonly auth: LoginHandlers;
  /** What users may start. Default: nothing. */
  readonly session?: SessionHandlers | undefined;
  /** What users may have forwarded. Default: nothing. */
  readonly forward?: ForwardHandlers | undefined;
  /** Text that clients show before the login. */
  readonly banner?: string | undefined;
  /** Signature algorithms that users may sign with. Each counts with a certificate too. Default: all that puressh verifies; `ssh-rsa` only with `algorithms: 'legacy'`. */
  readonly signatures?: readonly string[] | undefined;
  readonly timeouts?: Partial<ServerTimeouts> | undefined;
  readonly capacity?: Partial<ServerCapacity> | undefined;
  /**
   * Called with every connection as it begins; its `closed` tells the end. One that is closed here is not served, nor one at
   * which this throws.
   */
  readonly onConnection?: ((connection: ServerConnection) => void) | undefined;
  /** Called when somebody has logged in, before anything that they ask for; where it throws, the connection ends. */
  readonly onLogin?: ((login: Login, connection: ServerConnection) => void) | undefined;
  /** Called with what a function of yours threw, and with what a listener met. Default: nobody is told. What it throws itself is dropped. */
  readonly onError?: ((error: SshError) => void) | undefined;
}

/** For whoever adds options of their own. Functions, lists and groups are checked below, with words of their own. */
export const serverTable: OptionTable<ServerOptions> = {
  hostKeys: elsewhere,
  hostCertificates: elsewhere,
  auth: elsewhere,
  session: elsewhere,
  forward: elsewhere,
  banner: elsewhere,
  signatures: elsewhere,
  timeouts: object,
  capacity: object,
  onConnection: elsewhere,
  onLogin: elsewhere,
  onError: elsewhere,
  ...sideTable,
};

/** Options with everything in its place. */
export interface ServerSettings extends ConnectionSettings {
  readonly capacity: ServerCapacity;
  readonly onConnection: (connection: ServerConnection) => void;
  readonly onLogin: (login: Login, connection: ServerConnection) => void;
}

const DEFAULT_CAPACITY: ServerCapacity = {
  connections: 1024,
  unauthenticated: 100,
  unauthenticatedPerAddress: Number.POSITIVE_INFINITY,
  sessions: 10,
  programs: 64,
};

/** Checks the options and adds the defaults; throws `bad-argument`, or what is wrong with a host key. */
export async function serverSettings(options: ServerOptions, crypto: CryptoProvider): Promise<ServerSettings> {
  if (typeof options !== 'object' || options === null) throw badArgument('The options are missing: hostKeys, auth');
  const { auth, hostKeys, session = {}, forward = {}, banner = '' } = options;
  if (typeof auth !== 'object' || auth === null) {
    throw badArgument('auth is required: functions such as { password, publickey }, see LoginHandlers');
  }
  if (typeof banner !== 'string') throw badArgument(`banner must be a text, not ${typeof banner}`);
  requireFunctions('auth', auth, ['none', 'password', 'publickey', 'keyboardInteractive']);
  requireFunctions('session', session, ['exec', 'shell']);
  requireFunctions('session.subsystems', session.subsystems ?? {}, Object.keys(session.subsystems ?? {}));
  requireFunctions('forward', forward, ['connect', 'listen']);
  requireFunctions('options', options, ['onConnection', 'onLogin', 'onError']);
  const methods = methodsOf(auth);
  if (methods.length === 0 && auth.none === undefined) {
    throw badArgument('auth has no function, so nobody could log in: give publickey, password or keyboardInteractive');
  }
  if (!Array.isArray(hostKeys) || hostKeys.length === 0) {
    throw badArgument(
      'hostKeys needs at least one key, in a list: the content of a key file, or generateKey() for a test',
    );
  }
  const timeouts = options.timeouts ?? {};
  const known: ServerTimeouts = { identification: 0, keyExchange: 0, login: 0, channelClose: 0 };
  requireKnown('timeouts', timeouts, known);
  requireNumbers('timeouts', timeouts, 1);
  requireKnown('capacity', options.capacity, DEFAULT_CAPACITY);
  const capacity = { ...DEFAULT_CAPACITY, ...withoutUndefined(options.capacity) };
  requireNumbers('capacity', capacity, 1);
  const signatures = signaturesOf(options);
  const times = withoutUndefined({
    identificationTime: timeouts.identification,
    keyExchangeTime: timeouts.keyExchange,
    loginTime: timeouts.login,
    channelCloseTime: timeouts.channelClose,
  });
  const settings = sideSettings(options, times);
  const keys = await Promise.all(hostKeys.map((key) => signerFor(key, crypto)));
  const signers = withCertificates(keys, options.hostCertificates);
  // what would end every connection is told before there is one
  signable(chooseAlgorithms(crypto, settings.algorithms, settings.compression).hostKeys, signers);
  const { onConnection = () => {}, onLogin = () => {} } = options;
  const onError = (error: SshError): void => tell(options, error);
  const handlers = { auth, methods, session, forward };
  return { ...settings, ...handlers, hostKeys: signers, banner, signatures, capacity, onConnection, onLogin, onError };
}

/** Who is told of errors has none to tell: what it throws, now or later, must not end the program, for a client can bring it about. */
function tell(options: ServerOptions, error: SshError): void {
  try {
    const result: unknown = options.onError?.(error);
    if (result instanceof Promise) result.catch(() => {});
  } catch {
    // nobody is left who could be told
  }
}

function signaturesOf({ signatures: given, algorithms }: ServerOptions): readonly string[] {
  if (given === undefined) return defaultSignatures(algorithms);
  const known = [...signatureAlgorithms.values()].filter(({ name, plain }) => name === plain).map(({ name }) => name);
  if (!Array.isArray(given) || given.length === 0) {
    throw badArgument('signatures must be a list with at least one algorithm; leave it out for the default');
  }
  const unknown: unknown = given.find((name) => !known.includes(name));
  if (unknown === undefined) return given;
  const name = printable(String(unknown), 64);
  throw badArgument(
    `signatures names "${name}", which puressh does not know; it knows ${known.join(', ')}, each also with a certificate`,
  );
}

/** The named members, where they are there, must be functions; others are the caller's own. */
function requireFunctions(group: string, value: object, names: readonly string[]): void {
  if (typeof value !== 'object' || value === null) throw badArgument(`${group} must be an object with functions`);
  for (const name of names) {
    const member: unknown = value[name as keyof typeof value];
    if (member !== undefined && typeof member !== 'function') {
      throw badArgument(`${group}.${name} must be a function, not ${typeof member}`);
    }
  }
}

async function signerFor(key: ServerOptions['hostKeys'][number], crypto: CryptoProvider): Promise<Signer> {
  if (key instanceof PrivateKey) return signerOf(crypto, key);
  if (typeof key === 'string' || key instanceof Uint8Array) return signerOf(crypto, parsePrivateKey(key, crypto));
  if (typeof key?.sign === 'function' && Array.isArray(key.algorithms)) return key;
  throw badArgument(`A host key is the content of a key file, a key, or a signer, not ${typeof key}`);
}
