/**
 * What the user's ssh_config(5) says about a host, as options of `connect`. What a runtime brings along comes in as functions;
 * must not know where files are.
 */

import type { AuthMethod } from './client/auth.ts';
import type { ConfiguredAlgorithms, HostConfig } from './config/host_config.ts';
import { type ConfigFile, parseConfigOptions, placeName } from './config/parse.ts';
import { type ConfigQuery, resolveConfig } from './config/resolve.ts';
import { dialThrough, stationName } from './configured_jump.ts';
import { type KeyQuestions, type KeySources, keyMethodsOf } from './configured_keys.ts';
import { type AskHostKey, policyOf, type TrustFiles } from './configured_trust.ts';
import type { ClientOptions } from './connect.ts';
import { DEFAULT_SIGNATURES, LEGACY_SIGNATURES } from './core/algorithms/host_key_order.ts';
import { type AlgorithmCategory, knownAlgorithms } from './core/algorithms/lists.ts';
import type { CompressionLibrary } from './core/compression.ts';
import { callback, checkTable, elsewhere, type OptionTable, text } from './core/option_checks.ts';
import type { CryptoProvider, MaybePromise } from './crypto/provider.ts';
import { SshError } from './errors.ts';
import { matchPattern } from './keys/host_pattern.ts';
import { plainAlgorithm } from './keys/signature.ts';
import type { SshClient } from './ssh_client.ts';

/** Which configuration to read, and for whom. */
export interface HostConfigOptions {
  /** One file in place of the user's and the one for everybody; `none`: no file. */
  readonly file?: string | undefined;
  /** Lines that come before any file, such as `Port=2222`. */
  readonly options?: readonly string[] | undefined;
  /** Default: what the configuration says, or else the name of the user here. */
  readonly user?: string | undefined;
  /**
   * Runs the command of `Match exec` and says whether it succeeded. Default: such a line, where it would be run, is refused with
   * `bad-config`. puressh itself runs none.
   */
  readonly matchExec?: ((command: string) => MaybePromise<boolean>) | undefined;
}

/** Options of `sshConfig`. */
export interface SshConfigOptions extends HostConfigOptions, KeyQuestions {
  /** For `StrictHostKeyChecking ask`: whether a host key that is not known is right. Default: it is refused. */
  readonly askHostKey?: AskHostKey | undefined;
  /** Further ways to log in, behind the keys, at the host and at each server on the way to it. */
  readonly login?: ((config: HostConfig) => MaybePromise<readonly AuthMethod[]>) | undefined;
  /** What compresses where the configuration says `Compression yes`. Default: nothing does. */
  readonly compression?: CompressionLibrary | undefined;
  /** Default: `auto`. */
  readonly crypto?: ClientOptions['crypto'];
}

const table: OptionTable<SshConfigOptions> = {
  file: text,
  options: { expected: 'a list of lines', fits: Array.isArray },
  user: text,
  matchExec: callback,
  passphrase: callback,
  onSkipped: callback,
  askHostKey: callback,
  login: callback,
  compression: elsewhere,
  crypto: elsewhere,
};

/** What `connect` takes, of a configuration. */
export type ConfiguredOptions = Omit<ClientOptions, 'signal' | 'early' | 'onBanner'>;

/** What a runtime brings along. */
export interface ConfigParts extends KeySources, TrustFiles {
  files(file?: string): Promise<readonly ConfigFile[]>;
  /** This machine and its user. */
  facts(): Pick<ConfigQuery, 'localUser' | 'localHost' | 'home' | 'userId' | 'env'>;
  readonly crypto: CryptoProvider;
  connect(options: ClientOptions): Promise<SshClient>;
}

/** The configuration of a host. Rejects with `bad-config`, `not-supported` or `bad-local-file`. */
export async function hostConfigWith(
  parts: ConfigParts,
  host: string,
  options: HostConfigOptions = {},
): Promise<HostConfig> {
  checkTable('sshConfig', options, table);
  if (typeof host !== 'string' || host === '') throw new SshError('bad-argument', 'The host must be a name');
  const { file, options: lines = [], user, matchExec } = options;
  const files = [parseConfigOptions(lines), ...(await parts.files(file))];
  const { crypto } = parts;
  return await resolveConfig(files, { ...parts.facts(), host, user, crypto, ...(matchExec && { matchExec }) });
}

/** The same as options of `connect`. */
export async function sshConfigWith(
  parts: ConfigParts,
  host: string,
  options: SshConfigOptions = {},
): Promise<ConfiguredOptions> {
  return await connectOptionsOf(parts, await hostConfigWith(parts, host, options), options);
}

/** Options of `connect` for a configuration that was read before; `trail`: the servers that the connection is for. */
export async function connectOptionsOf(
  parts: ConfigParts,
  config: HostConfig,
  options: SshConfigOptions,
  trail: readonly string[] = [stationName(config)],
): Promise<ConfiguredOptions> {
  checkTable('sshConfig', options, table);
  const { crypto, login, compression, askHostKey } = options;
  const { connectTimeout: connect, proxyJump, sources } = config;
  const keys = await keyMethodsOf(config, parts, options);
  const more = (await login?.(config)) ?? [];
  const alive = ['serveraliveinterval', 'serveralivecountmax'].some((keyword) => sources.has(keyword));
  return {
    host: config.host,
    port: config.port,
    username: config.user,
    auth: inOrder(config, [...keys, ...more]),
    hostKey: policyOf(config, parts, askHostKey),
    identitiesOnly: config.identitiesOnly,
    ...algorithmsOf(config, compression),
    ...hostKeyOrderOf(config),
    ...(connect === undefined ? {} : { timeouts: { connect } }),
    ...(alive ? { keepalive: keepaliveOf(config) } : {}),
    ...(crypto === undefined ? {} : { crypto }),
    ...(proxyJump.length === 0 ? {} : { dial: dialThrough(proxyJump, trail, jumpParts(parts, options)) }),
  };
}

/** Ways to log in that the configuration allows; in its order, if it has one. */
function inOrder({ authMethods, authOrderGiven }: HostConfig, methods: readonly AuthMethod[]): readonly AuthMethod[] {
  const allowed = methods.filter(({ method }) => authMethods.includes(method));
  if (!authOrderGiven) return allowed;
  return allowed.toSorted((a, b) => authMethods.indexOf(a.method) - authMethods.indexOf(b.method));
}

function jumpParts(parts: ConfigParts, options: SshConfigOptions): Parameters<typeof dialThrough>[2] {
  return {
    // as OpenSSH: what was given for the host itself is not for the servers on the way
    configOf: (host, user, lines) => hostConfigWith(parts, host, { ...options, user, options: lines }),
    optionsOf: (config, trail) => connectOptionsOf(parts, config, options, trail),
    connect: (each) => parts.connect(each),
  };
}

function keepaliveOf({ serverAliveInterval, serverAliveCountMax, sources }: HostConfig): ClientOptions['keepalive'] {
  if (serverAliveInterval > 0) return { interval: serverAliveInterval, count: serverAliveCountMax };
  return sources.has('serveraliveinterval') ? false : { count: serverAliveCountMax };
}

function algorithmsOf(
  config: HostConfig,
  compression: CompressionLibrary | undefined,
): Pick<ClientOptions, 'algorithms' | 'compression' | 'signatures'> {
  const { signatures } = config.algorithms;
  const categories: readonly ('kex' | 'hostKeys' | 'ciphers' | 'macs')[] = ['kex', 'hostKeys', 'ciphers', 'macs'];
  const lists = categories.map((each) => [each, listOf(config, each)]).filter(([, list]) => list !== undefined);
  return {
    ...(lists.length === 0 ? {} : { algorithms: Object.fromEntries(lists) }),
    ...(signatures === undefined ? {} : { signatures: signaturesOf(config, signatures) }),
    ...(config.compression && compression !== undefined ? { compression } : {}),
  };
}

/** As OpenSSH: an order that somebody has written stays, whatever keys the host is known under. */
function hostKeyOrderOf({ algorithms: { hostKeys } }: HostConfig): Pick<ClientOptions, 'hostKeyOrder'> {
  return hostKeys === undefined || /^[-+]/.test(hostKeys) ? {} : { hostKeyOrder: 'fixed' };
}

const KEYWORDS = {
  kex: 'KexAlgorithms',
  hostKeys: 'HostKeyAlgorithms',
  ciphers: 'Ciphers',
  macs: 'MACs',
  signatures: 'PubkeyAcceptedAlgorithms',
} as const;

/** A list without the names that only OpenSSH knows. */
function listOf(config: HostConfig, category: AlgorithmCategory & keyof ConfiguredAlgorithms): string | undefined {
  const text = config.algorithms[category];
  if (text === undefined || text.startsWith('-')) return text;
  const known = knownAlgorithms(category);
  const [prefix, names] = split(text);
  const kept = names.filter((name) => known.some((each) => matchPattern(each, name)));
  if (kept.length > 0) return prefix + kept.join(',');
  if (prefix !== '') return undefined;
  throw noneKnown(config, category, known);
}

/** User signatures by plain names: a certificate is signed with as its key is. */
function signaturesOf(config: HostConfig, text: string): readonly string[] {
  const known = [...DEFAULT_SIGNATURES, ...LEGACY_SIGNATURES];
  const [prefix, names] = split(text);
  const matches = (name: string): boolean =>
    names.some((pattern) => matchPattern(name, pattern) || plainAlgorithm(pattern) === name);
  const named = names.flatMap((pattern) =>
    known.filter((name) => matchPattern(name, pattern) || plainAlgorithm(pattern) === name),
  );
  const others = DEFAULT_SIGNATURES.filter((name) => !matches(name));
  const chosen = { '+': [...DEFAULT_SIGNATURES, ...named], '-': others, '^': [...named, ...others], '': named }[prefix];
  if (chosen.length === 0) throw noneKnown(config, 'signatures', known);
  return [...new Set(chosen)];
}

type Prefix = '+' | '-' | '^' | '';

function split(text: string): readonly [Prefix, readonly string[]] {
  const [prefix = ''] = /^[-+^]/.exec(text) ?? [];
  return [prefix as Prefix, text.slice(prefix.length).split(',')];
}

function noneKnown(config: HostConfig, category: keyof typeof KEYWORDS, known: readonly string[]): SshError {
  const keyword = KEYWORDS[category];
  const origin = config.sources.get(keyword.toLowerCase());
  const what = `${keyword} names nothing that puressh knows: it knows ${known.join(', ')}`;
  return new SshError('not-supported', origin === undefined ? what : `${placeName(origin)}: ${what}`);
}
