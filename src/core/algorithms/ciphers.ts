/** Ciphers as rows: RFC 4253 §6.3, RFC 4344 §4, RFC 5647, chacha20-poly1305@openssh.com. How a row becomes a seal or an open. */

import type { CryptoProvider } from '../../crypto/provider.ts';
import { gcmOpen, gcmSeal } from '../protection/aes_gcm.ts';
import { cbcMacOpen } from '../protection/cbc_mac.ts';
import { chachaOpen, chachaSeal } from '../protection/chacha_poly.ts';
import { etmOpen, etmSeal } from '../protection/etm.ts';
import { streamMacOpen, streamMacSeal } from '../protection/stream_mac.ts';
import type { Open, Seal } from '../protection/types.ts';
import { type MacRow, macOf } from './macs.ts';

/** What one direction takes from the key schedule. */
export interface DirectionKeys {
  readonly key: Uint8Array;
  readonly iv: Uint8Array;
  readonly macKey: Uint8Array;
}

/** A cipher that needs a MAC beside it. */
export interface StreamCipherRow {
  readonly kind: 'stream';
  readonly keySize: number;
  readonly ivSize: number;
  seal(crypto: CryptoProvider, keys: DirectionKeys, mac: MacRow): Seal;
  open(crypto: CryptoProvider, keys: DirectionKeys, mac: MacRow): Open;
}

/** A cipher that authenticates by itself; the negotiated MAC is not used. */
export interface AeadCipherRow {
  readonly kind: 'aead';
  readonly keySize: number;
  readonly ivSize: number;
  seal(crypto: CryptoProvider, keys: DirectionKeys): Seal;
  open(crypto: CryptoProvider, keys: DirectionKeys): Open;
}

export type CipherRow = StreamCipherRow | AeadCipherRow;

const AES_BLOCK = 16;
const DES_BLOCK = 8;

function ctr(primitive: keyof CryptoProvider['streams'], keySize: number): StreamCipherRow {
  return {
    kind: 'stream',
    keySize,
    ivSize: 16,
    seal(crypto, keys, mac) {
      const stream = crypto.streams[primitive].create(keys.key, keys.iv);
      const make = mac.etm ? etmSeal : streamMacSeal;
      return make(stream, macOf(crypto, mac, keys.macKey), mac.tagSize, AES_BLOCK);
    },
    open(crypto, keys, mac) {
      const stream = crypto.streams[primitive].create(keys.key, keys.iv);
      const make = mac.etm ? etmOpen : streamMacOpen;
      return make(stream, macOf(crypto, mac, keys.macKey), mac.tagSize, AES_BLOCK);
    },
  };
}

function cbc(primitive: keyof CryptoProvider['cbc'], keySize: number, blockSize: number): StreamCipherRow {
  return {
    kind: 'stream',
    keySize,
    ivSize: blockSize,
    seal(crypto, keys, mac) {
      const chain = crypto.cbc[primitive].create(keys.key, keys.iv, 'encrypt');
      const make = mac.etm ? etmSeal : streamMacSeal;
      return make(chain, macOf(crypto, mac, keys.macKey), mac.tagSize, blockSize);
    },
    open(crypto, keys, mac) {
      const chain = crypto.cbc[primitive].create(keys.key, keys.iv, 'decrypt');
      const make = mac.etm ? etmOpen : cbcMacOpen;
      return make(chain, macOf(crypto, mac, keys.macKey), mac.tagSize, blockSize);
    },
  };
}

function gcm(primitive: keyof CryptoProvider['aeads'], keySize: number): AeadCipherRow {
  return {
    kind: 'aead',
    keySize,
    ivSize: 12,
    seal: (crypto, keys) => gcmSeal(crypto.aeads[primitive].create(keys.key), keys.iv),
    open: (crypto, keys) => gcmOpen(crypto.aeads[primitive].create(keys.key), keys.iv),
  };
}

/** Every cipher that puressh can speak, by its SSH name. */
export const ciphers: ReadonlyMap<string, CipherRow> = new Map<string, CipherRow>([
  [
    'chacha20-poly1305@openssh.com',
    {
      kind: 'aead',
      keySize: 64,
      ivSize: 0,
      seal: (crypto, keys) => chachaSeal(crypto, keys.key),
      open: (crypto, keys) => chachaOpen(crypto, keys.key),
    },
  ],
  ['aes128-gcm@openssh.com', gcm('aes128-gcm', 16)],
  ['aes256-gcm@openssh.com', gcm('aes256-gcm', 32)],
  ['aes128-ctr', ctr('aes128-ctr', 16)],
  ['aes192-ctr', ctr('aes192-ctr', 24)],
  ['aes256-ctr', ctr('aes256-ctr', 32)],
  ['aes128-cbc', cbc('aes128-cbc', 16, AES_BLOCK)],
  ['aes192-cbc', cbc('aes192-cbc', 24, AES_BLOCK)],
  ['aes256-cbc', cbc('aes256-cbc', 32, AES_BLOCK)],
  ['3des-cbc', cbc('3des-cbc', 24, DES_BLOCK)],
]);
