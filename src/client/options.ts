/** What a client can be told, with the defaults, and the checks of what a caller passes. */

import { printable } from '../bytes/text.ts';
import type { AlgorithmLists } from '../core/algorithms/lists.ts';
import type { KeepaliveConfig } from '../core/keepalive.ts';
import { defaultLimits, type Limits } from '../core/limits.ts';
import type { Quirks } from '../core/quirks.ts';
import { defaultRekeyLimits, type RekeyLimits } from '../core/rekey.ts';
import { SshError } from '../errors.ts';
import { SSH_PORT } from '../wire/numbers.ts';
import type { AuthMethod } from './auth.ts';
import { type HostKeyPolicy, POLICY_CHOICES } from './host_key.ts';
import { MAX_AUTH_FAILURES } from './login.ts';

/** How the software identifies itself (RFC 4253 §4.2). */
export const SOFTWARE = 'puressh_0.1.0';

/** Receive window of a channel in bytes: as OpenSSH's. */
export const DEFAULT_WINDOW: number = 2 * 1024 * 1024;

/** The most data in one packet to us; strict servers refuse channels that allow more. */
export const DEFAULT_MAX_PACKET = 32768;

/** A dead peer is noticed after two minutes: four times this without a sign of life. */
export const DEFAULT_KEEPALIVE: KeepaliveConfig = { interval: 30_000, count: 3 };

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

/** The limits that are not times. */
export type SizeLimits = Omit<Limits, 'identificationTime' | 'keyExchangeTime' | 'authTime' | 'channelCloseTime'>;

/** Options of a connection. */
export interface ConnectOptions {
  /** The name or address of the server; host keys are looked up under it. */
  readonly host: string;
  /** Default: 22. */
  readonly port?: number | undefined;
  readonly username: string;
  /** Ways to log in, in order of preference; empty for a server that asks for nothing. */
  readonly auth: readonly AuthMethod[];
  /** Whether the server's key is trusted. Required: there is no default. */
  readonly hostKey: HostKeyPolicy;
  /** Lists to offer in place of the defaults. */
  readonly algorithms?: Partial<AlgorithmLists> | undefined;
  /** When keys are exchanged anew. Default: after 1 GiB or an hour. */
  readonly rekey?: Partial<RekeyLimits> | undefined;
  /** Receive window of every channel in bytes. Default: 2 MiB. */
  readonly window?: number | undefined;
  /** The most data bytes in one packet to us. Default: 32768. */
  readonly maxPacket?: number | undefined;
  /** Default: a sign of life is asked for after 30 s of silence, and three may stay without any. `false`: off. */
  readonly keepalive?: Partial<KeepaliveConfig> | false | undefined;
  readonly timeouts?: Partial<Timeouts> | undefined;
  readonly limits?: Partial<SizeLimits> | undefined;
  /** Refused attempts to log in before giving up. Default: 5. */
  readonly maxAuthFailures?: number | undefined;
  /** Gives up connecting; has no effect after. */
  readonly signal?: AbortSignal | undefined;
  /** Text of the server to show before the login, sanitised; line feeds stay. */
  readonly onBanner?: ((text: string) => void) | undefined;
  /** The software version of our identification. Default: puressh and its version. */
  readonly software?: string | undefined;
  /** What to take the server for, in place of what is known about its software. */
  readonly quirks?: Partial<Quirks> | undefined;
}

/** Options with everything in its place. */
export interface Settings {
  readonly host: string;
  readonly port: number;
  readonly username: string;
  readonly auth: readonly AuthMethod[];
  readonly hostKey: HostKeyPolicy;
  readonly algorithms: Partial<AlgorithmLists>;
  readonly rekey: RekeyLimits;
  readonly window: number;
  readonly maxPacket: number;
  readonly keepalive: KeepaliveConfig;
  readonly limits: Limits;
  readonly maxAuthFailures: number;
  readonly signal: AbortSignal | undefined;
  readonly onBanner: ((text: string) => void) | undefined;
  readonly software: string;
  readonly quirks: Partial<Quirks>;
}

/** Bytes that a packet of data may have beside the data: headers, padding, a MAC. */
const PACKET_OVERHEAD = 1024;

/** Checks the options and adds the defaults; throws `bad-argument`. */
export function settingsOf(options: ConnectOptions): Settings {
  if (typeof options !== 'object' || options === null)
    throw bad('The options are missing: host, username, auth, hostKey');
  const { host, username, auth, hostKey, signal } = options;
  const timeouts = options.timeouts ?? {};
  requireText('host', host);
  requireText('username', username);
  if (typeof hostKey?.check !== 'function') throw bad(`hostKey is required: ${POLICY_CHOICES}`);
  if (!Array.isArray(auth)) throw bad('auth must be a list, such as [key(text), password(text)]; it may be empty');
  if (signal !== undefined && typeof signal?.addEventListener !== 'function')
    throw bad('signal must be an AbortSignal');
  requireNumbers('timeouts', timeouts, 1);
  requireNumbers('limits', options.limits ?? {}, 0);
  const limits = { ...defaultLimits, ...withoutUndefined(options.limits), ...timesOf(timeouts) };
  const maxPacket = options.maxPacket ?? DEFAULT_MAX_PACKET;
  requireInteger('maxPacket', maxPacket, 1, limits.packetLength - PACKET_OVERHEAD);
  const window = options.window ?? DEFAULT_WINDOW;
  requireInteger('window', window, maxPacket, 0xffffffff);
  const port = options.port ?? SSH_PORT;
  requireInteger('port', port, 1, 65535);
  const rekey = { ...defaultRekeyLimits, ...withoutUndefined(options.rekey) };
  requireNumbers('rekey', rekey, 1);
  // RFC 4344 §3.1; the nonces of chacha20-poly1305 would repeat at 2^32
  requireInteger('rekey.packets', rekey.packets, 1, defaultRekeyLimits.packets);
  const maxAuthFailures = options.maxAuthFailures ?? MAX_AUTH_FAILURES;
  requireNumbers('options', { maxAuthFailures }, 1);
  return {
    host,
    port,
    username,
    auth,
    hostKey,
    algorithms: withoutUndefined(options.algorithms),
    rekey,
    window,
    maxPacket,
    keepalive: keepaliveOf(options.keepalive),
    limits,
    maxAuthFailures,
    signal,
    onBanner: options.onBanner,
    software: options.software ?? SOFTWARE,
    quirks: withoutUndefined(options.quirks),
  };
}

function keepaliveOf(keepalive: ConnectOptions['keepalive']): KeepaliveConfig {
  if (keepalive === false) return { interval: Number.POSITIVE_INFINITY, count: 0 };
  const config = { ...DEFAULT_KEEPALIVE, ...withoutUndefined(keepalive) };
  requireNumbers('keepalive', { interval: config.interval }, 1);
  requireNumbers('keepalive', { count: config.count }, 0);
  return config;
}

function timesOf(timeouts: Partial<Timeouts>): Partial<Limits> {
  return withoutUndefined({
    identificationTime: timeouts.identification,
    keyExchangeTime: timeouts.keyExchange,
    authTime: timeouts.auth,
    channelCloseTime: timeouts.channelClose,
  });
}

/** A member that is there but `undefined` counts as absent. */
function withoutUndefined<T extends object>(value: T | undefined): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(value ?? {}).filter(([, member]) => member !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> };
}

function requireText(name: string, value: unknown): void {
  if (typeof value === 'string' && value !== '' && !value.includes('\0')) return;
  throw bad(`${name} must be a text that is not empty and has no null byte`);
}

function requireInteger(name: string, value: number, least: number, most: number): void {
  if (Number.isInteger(value) && value >= least && value <= most) return;
  throw bad(`${name} must be an integer from ${least} to ${most}, not ${printable(String(value), 40)}`);
}

/** Infinity is a number too: without end. What is not said, `undefined`, is no mistake. */
function requireNumbers(group: string, values: object, least: number): void {
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined || (typeof value === 'number' && value >= least)) continue;
    throw bad(`${group}.${name} must be a number of at least ${least}, not ${printable(String(value), 40)}`);
  }
}

function bad(message: string): SshError {
  return new SshError('bad-argument', message);
}
