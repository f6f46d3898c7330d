/** Which algorithms are offered, in which order. Tables say what can be spoken; these lists say what is. */

import { printable } from '../../bytes/text.ts';
import type { CryptoProvider } from '../../crypto/provider.ts';
import { SshError } from '../../errors.ts';
import { matchPattern } from '../../keys/host_pattern.ts';
import type { CompressionLibrary } from '../compression.ts';
import {
  COMPRESSION,
  DEFAULT_MACS,
  defaultCiphers,
  LEGACY_CIPHERS,
  LEGACY_MACS,
  NO_COMPRESSION,
} from './cipher_order.ts';
import { ciphers } from './ciphers.ts';
import { DEFAULT_EXCHANGES, LEGACY_EXCHANGES } from './exchange_order.ts';
import { exchanges } from './exchanges.ts';
import { DEFAULT_HOST_KEYS, DEFAULT_SIGNATURES, LEGACY_HOST_KEYS, LEGACY_SIGNATURES } from './host_key_order.ts';
import { macs } from './macs.ts';

/** Names in order of preference, as KEXINIT carries them; both directions of a connection use the same lists. */
export interface AlgorithmLists {
  readonly kex: readonly string[];
  readonly hostKeys: readonly string[];
  readonly ciphers: readonly string[];
  readonly macs: readonly string[];
  readonly compression: readonly string[];
}

export type AlgorithmCategory = keyof AlgorithmLists;

/**
 * What to offer in place of the defaults. `'legacy'`, or `preset: 'legacy'`, puts the names that are broken or weak behind the
 * defaults, for peers that have nothing else. Each category: a list of names in place of the default one, or text as in
 * OpenSSH's configuration: `a,b` in its place, `+a,b` behind it, `^a,b` before it, `-a,b` taken out of it. In text `*` and `?` stand
 * for any characters, and so for all names that puressh knows, legacy ones with them, or, after `-`, for those of the list.
 */
export type AlgorithmsOption =
  | 'legacy'
  | ({ readonly preset?: 'default' | 'legacy' | undefined } & {
      readonly [C in AlgorithmCategory]?: readonly string[] | string | undefined;
    });

/** What is to be known of a provider. */
type Speed = Pick<CryptoProvider, 'fastAes'>;

/** The defaults; the provider says whether AES or ChaCha20 is the faster one here. With a library, compression is offered. */
export function defaultAlgorithms(crypto: Speed, compression?: CompressionLibrary): AlgorithmLists {
  return {
    kex: DEFAULT_EXCHANGES,
    hostKeys: DEFAULT_HOST_KEYS,
    ciphers: defaultCiphers(crypto.fastAes),
    macs: DEFAULT_MACS,
    compression: compression === undefined ? NO_COMPRESSION : COMPRESSION,
  };
}

/** What the legacy preset adds. */
export const legacyAlgorithms: AlgorithmLists = {
  kex: LEGACY_EXCHANGES,
  hostKeys: LEGACY_HOST_KEYS,
  ciphers: LEGACY_CIPHERS,
  macs: LEGACY_MACS,
  compression: [],
};

const CATEGORIES: readonly AlgorithmCategory[] = ['kex', 'hostKeys', 'ciphers', 'macs', 'compression'];

/** Every name of a category that puressh can speak. */
export function knownAlgorithms(category: AlgorithmCategory): readonly string[] {
  switch (category) {
    case 'kex':
      return [...exchanges.keys()];
    case 'hostKeys':
      return [...DEFAULT_HOST_KEYS, ...LEGACY_HOST_KEYS];
    case 'ciphers':
      return [...ciphers.keys()];
    case 'macs':
      return [...macs.keys()];
    case 'compression':
      return COMPRESSION;
  }
}

/** Signature algorithms that users may sign with, by plain names. */
export function defaultSignatures(option?: AlgorithmsOption): readonly string[] {
  return isLegacy(option) ? [...DEFAULT_SIGNATURES, ...LEGACY_SIGNATURES] : DEFAULT_SIGNATURES;
}

function isLegacy(option: AlgorithmsOption | undefined): boolean {
  return option === 'legacy' || option?.preset === 'legacy';
}

/**
 * The lists to offer. `compression`: the library that compresses; without one nothing but `none` can be offered. Throws
 * `bad-argument` for a category, a preset or a name that puressh does not know, and for a list that is empty.
 */
export function chooseAlgorithms(
  crypto: Speed,
  option: AlgorithmsOption = {},
  compression?: CompressionLibrary,
): AlgorithmLists {
  const wanted = checked(option);
  const lists: Record<AlgorithmCategory, readonly string[]> = { ...defaultAlgorithms(crypto, compression) };
  for (const category of CATEGORIES) {
    if (isLegacy(option)) lists[category] = [...lists[category], ...legacyAlgorithms[category]];
    const names = wanted[category];
    if (names !== undefined) lists[category] = chosen(category, names, lists[category]);
  }
  const needless = lists.compression.find((name) => name !== 'none');
  if (needless !== undefined && compression === undefined) {
    const message = `algorithms.compression names ${needless}: give the library that compresses as the option compression, such as zlibFrom(pako)`;
    throw new SshError('bad-argument', message);
  }
  return lists;
}

type Wanted = Exclude<AlgorithmsOption, 'legacy'>;

/** A misspelt list would leave the defaults on offer, although its caller has narrowed them. */
function checked(option: AlgorithmsOption): Wanted {
  if (option === 'legacy') return {};
  if (typeof option !== 'object' || option === null || Array.isArray(option)) {
    const shown = printable(String(option), 40);
    throw new SshError('bad-argument', `algorithms must be 'legacy' or an object with lists, not ${shown}`);
  }
  const known: readonly string[] = [...CATEGORIES, 'preset'];
  const misspelt = Object.keys(option).find((category) => !known.includes(category));
  if (misspelt !== undefined) {
    const message = `algorithms has no list ${printable(misspelt, 80)}; there are ${CATEGORIES.join(', ')}`;
    throw new SshError('bad-argument', message);
  }
  const { preset } = option;
  if (preset === undefined || preset === 'default' || preset === 'legacy') return option;
  throw new SshError(
    'bad-argument',
    `algorithms.preset must be 'default' or 'legacy', not ${printable(String(preset), 40)}`,
  );
}

function chosen(
  category: AlgorithmCategory,
  wanted: readonly string[] | string,
  base: readonly string[],
): readonly string[] {
  if (typeof wanted !== 'string' && !Array.isArray(wanted)) {
    throw new SshError('bad-argument', `algorithms.${category} must be a list of names, or text such as '+a,b'`);
  }
  const names = typeof wanted === 'string' ? fromText(category, wanted, base) : wanted;
  if (names.length === 0) throw new SshError('bad-argument', `algorithms.${category} is empty: name at least one`);
  const known = knownAlgorithms(category);
  for (const name of names) {
    if (known.includes(name)) continue;
    throw new SshError(
      'bad-argument',
      `algorithms.${category} names "${printable(String(name))}", which puressh does not know; it knows ${known.join(', ')}`,
    );
  }
  return [...new Set(names)];
}

/** ssh_config(5), KexAlgorithms. */
function fromText(category: AlgorithmCategory, text: string, base: readonly string[]): readonly string[] {
  const sign = /^[-+^]/.exec(text)?.[0] ?? '';
  const items = text
    .slice(sign.length)
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
  if (sign === '-') return base.filter((name) => !items.some((item) => matchPattern(name, item)));
  const known = knownAlgorithms(category);
  // what matches nothing stays as it is, and is refused as a name that is not known
  const names = items.flatMap((item) => {
    const found = known.filter((name) => matchPattern(name, item));
    return found.length > 0 ? found : [item];
  });
  if (sign === '+') return [...base, ...names];
  return sign === '^' ? [...names, ...base] : names;
}
