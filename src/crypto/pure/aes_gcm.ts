/** AES-GCM (SP 800-38D) with 12-byte nonces and 16-byte tags, by noble. */

import { gcm } from '@noble/ciphers/aes.js';
import type { AeadName, AeadPrimitive } from '../provider.ts';
import { expectLength } from '../refuse.ts';

const NONCE = 12;
const TAG = 16;

function galoisCounterMode(keySize: number): AeadPrimitive {
  return {
    keySize,
    nonceSize: NONCE,
    tagSize: TAG,
    create(key) {
      expectLength(key, keySize, 'AES key');
      const own = new Uint8Array(key);
      return {
        seal(nonce, associated, data) {
          expectLength(nonce, NONCE, 'GCM nonce');
          return [gcm(own, nonce, associated).encrypt(data)];
        },
        open(nonce, associated, data) {
          expectLength(nonce, NONCE, 'GCM nonce');
          if (data.length < TAG) return undefined;
          try {
            return gcm(own, nonce, associated).decrypt(data);
          } catch {
            return undefined; // lengths are right, so all that noble can object to is the tag
          }
        },
      };
    },
  };
}

export const aeads: Readonly<Record<AeadName, AeadPrimitive>> = {
  'aes128-gcm': galoisCounterMode(16),
  'aes256-gcm': galoisCounterMode(32),
};
