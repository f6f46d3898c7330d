/** Cipher block chaining of `node:crypto`. Nothing here is trusted before its self test. */

import { createCipheriv, createDecipheriv } from 'node:crypto';
import { plain } from '../../bytes/bytes.ts';
import type { CbcName, CbcPrimitive, Stream } from '../provider.ts';
import { expectBlocks, expectLength } from '../refuse.ts';

function chained(algorithm: string, keySize: number, blockSize: 8 | 16): CbcPrimitive {
  return {
    keySize,
    blockSize,
    create(key, iv, direction): Stream {
      expectLength(key, keySize, 'Cipher key');
      expectLength(iv, blockSize, 'Initialization vector');
      const cipher =
        direction === 'encrypt' ? createCipheriv(algorithm, key, iv) : createDecipheriv(algorithm, key, iv);
      cipher.setAutoPadding(false); // else the last block is held back until the end
      return {
        apply(data) {
          expectBlocks(data, blockSize);
          return plain(cipher.update(data));
        },
      };
    },
  };
}

export const cbc: Readonly<Record<CbcName, CbcPrimitive>> = {
  'aes128-cbc': chained('aes-128-cbc', 16, 16),
  'aes192-cbc': chained('aes-192-cbc', 24, 16),
  'aes256-cbc': chained('aes-256-cbc', 32, 16),
  '3des-cbc': chained('des-ede3-cbc', 24, 8),
};
