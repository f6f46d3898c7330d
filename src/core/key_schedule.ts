/** From the shared secret to keys: RFC 4253 §7.2. */

import { concat } from '../bytes/bytes.ts';
import { wipe } from '../bytes/secret.ts';
import { utf8 } from '../bytes/text.ts';
import type { CryptoProvider, Hash } from '../crypto/provider.ts';
import { SshError } from '../errors.ts';
import { type CipherRow, ciphers, type DirectionKeys } from './algorithms/ciphers.ts';
import { type MacRow, macs } from './algorithms/macs.ts';
import type { DirectionAlgorithms } from './events.ts';
import type { Framing, Open, Seal } from './protection/types.ts';

/** What the letters A to F are derived from. */
export interface KeySource {
  readonly hash: Hash;
  /** K, encoded as the method says. */
  readonly secret: Uint8Array;
  readonly exchangeHash: Uint8Array;
  readonly sessionId: Uint8Array;
}

/** Letters of RFC 4253 §7.2 for IV, encryption key and integrity key. */
const LETTERS = { toServer: ['A', 'C', 'E'], toClient: ['B', 'D', 'F'] } as const;

export type Direction = keyof typeof LETTERS;

/** `size` bytes of key material for one letter. */
export function deriveKey(source: KeySource, letter: string, size: number): Uint8Array {
  const { hash, secret, exchangeHash, sessionId } = source;
  let material = hash.digest(concat(secret, exchangeHash, utf8(letter), sessionId));
  while (material.length < size) {
    material = concat(material, hash.digest(concat(secret, exchangeHash, material)));
  }
  return material.subarray(0, size);
}

function rowsOf(algorithms: DirectionAlgorithms): { cipher: CipherRow; mac: MacRow | undefined } {
  const cipher = ciphers.get(algorithms.cipher);
  if (cipher === undefined) throw new SshError('not-supported', `Cipher ${algorithms.cipher} has no row`);
  return { cipher, mac: algorithms.mac === undefined ? undefined : macs.get(algorithms.mac) };
}

function withKeys<T>(
  source: KeySource,
  direction: Direction,
  algorithms: DirectionAlgorithms,
  use: (cipher: CipherRow, mac: MacRow | undefined, keys: DirectionKeys) => T,
): T {
  const { cipher, mac } = rowsOf(algorithms);
  const [iv, key, macKey] = LETTERS[direction];
  const keys: DirectionKeys = {
    iv: deriveKey(source, iv, cipher.ivSize),
    key: deriveKey(source, key, cipher.keySize),
    macKey: deriveKey(source, macKey, mac?.size ?? 0),
  };
  try {
    return use(cipher, mac, keys);
  } finally {
    for (const bytes of [keys.iv, keys.key, keys.macKey]) wipe(bytes);
  }
}

function needMac(mac: MacRow | undefined): MacRow {
  if (mac === undefined) throw new SshError('not-supported', 'A cipher without authentication needs a MAC');
  return mac;
}

function compressed<T extends Framing>(protection: T, { compression }: DirectionAlgorithms): T {
  return compression === 'none' ? protection : { ...protection, compression };
}

/** The protection of the packets that leave in `direction`. */
export function sealFor(
  crypto: CryptoProvider,
  source: KeySource,
  direction: Direction,
  algorithms: DirectionAlgorithms,
): Seal {
  const seal = withKeys(source, direction, algorithms, (cipher, mac, keys) =>
    cipher.kind === 'aead' ? cipher.seal(crypto, keys) : cipher.seal(crypto, keys, needMac(mac)),
  );
  return compressed(seal, algorithms);
}

/** The opening of the packets that arrive in `direction`. */
export function openFor(
  crypto: CryptoProvider,
  source: KeySource,
  direction: Direction,
  algorithms: DirectionAlgorithms,
): Open {
  const open = withKeys(source, direction, algorithms, (cipher, mac, keys) =>
    cipher.kind === 'aead' ? cipher.open(crypto, keys) : cipher.open(crypto, keys, needMac(mac)),
  );
  return compressed(open, algorithms);
}
