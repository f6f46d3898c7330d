/** Cipher block chaining (SP 800-38A §6.2) as a stream that keeps its position: AES by noble, triple DES by `des.ts`. */

import { cbc as aesCbc } from '@noble/ciphers/aes.js';
import { copy } from '../../bytes/bytes.ts';
import type { CbcName, CbcPrimitive, Stream } from '../provider.ts';
import { expectBlocks, expectLength } from '../refuse.ts';
import { TripleDes } from './des.ts';

const AES_BLOCK = 16;
const DES_BLOCK = 8;
const bare = { disablePadding: true };

function aes(keySize: number): CbcPrimitive {
  return {
    keySize,
    blockSize: AES_BLOCK,
    create(key, iv, direction): Stream {
      expectLength(key, keySize, 'AES key');
      expectLength(iv, AES_BLOCK, 'AES initialization vector');
      const own = copy(key);
      let previous = copy(iv);
      return {
        apply(data) {
          expectBlocks(data, AES_BLOCK);
          if (data.length === 0) return data;
          const cipher = aesCbc(own, previous, bare);
          const result = direction === 'encrypt' ? cipher.encrypt(data) : cipher.decrypt(data);
          const encrypted = direction === 'encrypt' ? result : data;
          previous = encrypted.slice(encrypted.length - AES_BLOCK);
          return result;
        },
      };
    },
  };
}

const tripleDes: CbcPrimitive = {
  keySize: 24,
  blockSize: DES_BLOCK,
  create(key, iv, direction): Stream {
    expectLength(key, 24, 'Triple DES key');
    expectLength(iv, DES_BLOCK, 'DES initialization vector');
    const cipher = new TripleDes(key, iv);
    return {
      apply(data) {
        expectBlocks(data, DES_BLOCK);
        if (direction === 'encrypt') cipher.encrypt(data);
        else cipher.decrypt(data);
        return data;
      },
    };
  },
};

export const cbc: Readonly<Record<CbcName, CbcPrimitive>> = {
  'aes128-cbc': aes(16),
  'aes192-cbc': aes(24),
  'aes256-cbc': aes(32),
  '3des-cbc': tripleDes,
};
