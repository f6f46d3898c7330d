/** Options that clients and servers have alike, with their defaults, and the checks of what a caller passes. */

import { printable } from '../bytes/text.ts';
import { SshError } from '../errors.ts';
import { type AlgorithmsOption, chooseAlgorithms } from './algorithms/lists.ts';
import type { CompressionLibrary } from './compression.ts';
import { formatIdentification } from './ident.ts';
import type { KeepaliveConfig } from './keepalive.ts';
import { defaultLimits, type Limits } from './limits.ts';
import { elsewhere, type OptionTable, object } from './option_checks.ts';
import type { Quirks } from './quirks.ts';
import { defaultRekeyLimits, type RekeyLimits } from './rekey.ts';
import { MAX_WINDOW } from './window.ts';

/** How the software identifies itself (RFC 4253 §4.2). */
export const SOFTWARE = 'puressh_0.1.0';

/** Receive window of a channel in bytes at first: as OpenSSH's. */
export const DEFAULT_WINDOW: number = 2 * 1024 * 1024;

/** What it may grow to: enough for 300 MB/s over 100 ms, with room for as much again. */
export const DEFAULT_MAX_WINDOW: number = 64 * 1024 * 1024;

/** The most data in one packet to us; strict peers refuse channels that allow more. */
const DEFAULT_MAX_PACKET = 32768;

/** A dead peer is noticed after two minutes: four times this without a sign of life. */
const DEFAULT_KEEPALIVE: KeepaliveConfig = { interval: 30_000, count: 3 };

/** Bytes that a packet of data may have beside the data: headers, padding, a MAC. */
const PACKET_OVERHEAD = 1024;

/** The limits that are not times. */
export type SizeLimits = Omit<
  Limits,
  'identificationTime' | 'keyExchangeTime' | 'authTime' | 'loginTime' | 'channelCloseTime'
>;

/** Options of either side of a connection. */
export interface SideOptions {
  /** What to offer in place of the defaults: lists, or `'legacy'`. */
  readonly algorithms?: AlgorithmsOption | undefined;
  /** What compresses, such as `zlibFrom(pako)`. Default: nothing does. */
  readonly compression?: CompressionLibrary | undefined;
  /** When keys are exchanged anew. Default: after 1 GiB or an hour. */
  readonly rekey?: Partial<RekeyLimits> | undefined;
  /** Receive window of every channel in bytes, to begin with. Default: 2 MiB. */
  readonly window?: number | undefined;
  /**
   * Bytes that the window of a channel may grow to where the line is long and what arrives is taken. All channels of a connection
   * together grow by at most `maxWindow` − `window`. Default: 64 MiB, or `window` if that is more; equal to `window`: none grows.
   */
  readonly maxWindow?: number | undefined;
  /** The most data bytes in one packet to us. Default: 32768. */
  readonly maxPacket?: number | undefined;
  /** Default: a sign of life is asked for after 30 s of silence, and three may stay without any. `false`: off. */
  readonly keepalive?: Partial<KeepaliveConfig> | false | undefined;
  readonly limits?: Partial<SizeLimits> | undefined;
  /** The software version of our identification. Default: puressh and its version. */
  readonly software?: string | undefined;
  /** What to take the peer for, in place of what is known about its software. */
  readonly quirks?: Partial<Quirks> | undefined;
}

/** For the tables of clients and servers; numbers are checked with their limits, below. */
export const sideTable: OptionTable<SideOptions> = {
  algorithms: { expected: "'legacy' or an object", fits: (value) => value === 'legacy' || object.fits(value) },
  compression: elsewhere,
  rekey: object,
  window: elsewhere,
  maxWindow: elsewhere,
  maxPacket: elsewhere,
  keepalive: elsewhere,
  limits: object,
  software: elsewhere,
  quirks: object,
};

/** The same with everything in its place. */
export interface SideSettings {
  readonly algorithms: AlgorithmsOption;
  readonly compression: CompressionLibrary | undefined;
  readonly rekey: RekeyLimits;
  readonly window: number;
  readonly maxWindow: number;
  readonly maxPacket: number;
  readonly keepalive: KeepaliveConfig;
  readonly limits: Limits;
  readonly software: string;
  readonly quirks: Partial<Quirks>;
}

/** Checks the options and adds the defaults; throws `bad-argument`. `times` in milliseconds, as the limits name them. */
export function sideSettings(options: SideOptions, times: Partial<Limits>): SideSettings {
  requireKnown('limits', options.limits, defaultLimits);
  requireNumbers('limits', options.limits ?? {}, 0);
  const limits = { ...defaultLimits, ...withoutUndefined(options.limits), ...times };
  const maxPacket = options.maxPacket ?? DEFAULT_MAX_PACKET;
  requireInteger('maxPacket', maxPacket, 1, limits.packetLength - PACKET_OVERHEAD);
  const window = options.window ?? DEFAULT_WINDOW;
  requireInteger('window', window, maxPacket, MAX_WINDOW);
  const maxWindow = options.maxWindow ?? Math.max(window, DEFAULT_MAX_WINDOW);
  requireInteger('maxWindow', maxWindow, window, MAX_WINDOW);
  requireKnown('rekey', options.rekey, defaultRekeyLimits);
  const rekey = { ...defaultRekeyLimits, ...withoutUndefined(options.rekey) };
  requireNumbers('rekey', rekey, 1);
  // RFC 4344 §3.1; the nonces of chacha20-poly1305 would repeat at 2^32
  requireInteger('rekey.packets', rekey.packets, 1, defaultRekeyLimits.packets);
  const { software = SOFTWARE, algorithms = {} } = options;
  formatIdentification(software);
  const compression = compressionOf(options.compression);
  chooseAlgorithms({ fastAes: false }, algorithms, compression); // for what it throws: the lists are made where the provider is known
  return {
    algorithms,
    compression,
    rekey,
    window,
    maxWindow,
    maxPacket,
    keepalive: keepaliveOf(options.keepalive),
    limits,
    software,
    quirks: withoutUndefined(options.quirks),
  };
}

function compressionOf(library: SideOptions['compression']): CompressionLibrary | undefined {
  if (library === undefined) return undefined;
  const { deflater, inflater } = Object(library) as Partial<CompressionLibrary>;
  if (typeof deflater === 'function' && typeof inflater === 'function') return library;
  throw badArgument('compression must be an object with functions deflater and inflater, such as zlibFrom(pako)');
}

function keepaliveOf(keepalive: SideOptions['keepalive']): KeepaliveConfig {
  if (keepalive === false) return { interval: Number.POSITIVE_INFINITY, count: 0 };
  requireKnown('keepalive', keepalive, DEFAULT_KEEPALIVE);
  const config = { ...DEFAULT_KEEPALIVE, ...withoutUndefined(keepalive) };
  requireNumbers('keepalive', { interval: config.interval }, 1);
  requireNumbers('keepalive', { count: config.count }, 0);
  return config;
}

/** A member that is there but `undefined` counts as absent. */
export function withoutUndefined<T extends object>(
  value: T | undefined,
): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(value ?? {}).filter(([, member]) => member !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> };
}

export function requireText(name: string, value: unknown): void {
  if (typeof value === 'string' && value !== '' && !value.includes('\0')) return;
  throw badArgument(`${name} must be a text that is not empty and has no null byte`);
}

export function requireInteger(name: string, value: number, least: number, most: number): void {
  if (Number.isInteger(value) && value >= least && value <= most) return;
  throw badArgument(`${name} must be an integer from ${least} to ${most}, not ${printable(String(value), 40)}`);
}

/** A misspelt member would leave the default in force, although its caller has said something else. */
export function requireKnown(group: string, given: object | undefined, known: object): void {
  const unknown = Object.keys(given ?? {}).find((name) => !Object.hasOwn(known, name));
  if (unknown === undefined) return;
  const there = Object.keys(known).join(', ');
  throw badArgument(`${group} has no member ${printable(unknown, 80)}; there are ${there}`);
}

/** Infinity is a number too: without end. What is not said, `undefined`, is no mistake. */
export function requireNumbers(group: string, values: object, least: number): void {
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined || (typeof value === 'number' && value >= least)) continue;
    throw badArgument(`${group}.${name} must be a number of at least ${least}, not ${printable(String(value), 40)}`);
  }
}

export function badArgument(message: string): SshError {
  return new SshError('bad-argument', message);
}
