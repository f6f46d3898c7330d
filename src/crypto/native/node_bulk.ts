/** Hashes, MACs and ciphers of `node:crypto`, as Node, Deno and Bun offer it. Nothing here is trusted before its self test. */

import { createCipheriv, createDecipheriv, createHash, createHmac, createSecretKey } from 'node:crypto';
import { plain } from '../../bytes/bytes.ts';
import type {
  AeadName,
  AeadPrimitive,
  Hash,
  HashName,
  MacName,
  MacPrimitive,
  StreamName,
  StreamPrimitive,
} from '../provider.ts';
import { expectLength } from '../refuse.ts';

type AnyHash = HashName | 'md5';

function hash(name: AnyHash, size: number): Hash {
  return { size, digest: (message) => plain(createHash(name).update(message).digest()) };
}

export const hashes: Readonly<Record<HashName, Hash>> = {
  sha1: hash('sha1', 20),
  sha256: hash('sha256', 32),
  sha384: hash('sha384', 48),
  sha512: hash('sha512', 64),
};

export const md5: Hash = hash('md5', 16);

function mac(name: AnyHash, size: number): MacPrimitive {
  return {
    size,
    create(bytes) {
      const key = createSecretKey(bytes);
      return { compute: (first, second) => plain(createHmac(name, key).update(first).update(second).digest()) };
    },
  };
}

export const macs: Readonly<Record<MacName, MacPrimitive>> = {
  'hmac-md5': mac('md5', 16),
  'hmac-sha1': mac('sha1', 20),
  'hmac-sha256': mac('sha256', 32),
  'hmac-sha512': mac('sha512', 64),
};

const BLOCK = 16;

function counterMode(keySize: number): StreamPrimitive {
  const algorithm = `aes-${keySize * 8}-ctr`;
  return {
    keySize,
    create(key, counter) {
      expectLength(key, keySize, 'AES key');
      expectLength(counter, BLOCK, 'AES counter block');
      const cipher = createCipheriv(algorithm, key, counter);
      return { apply: (data) => plain(cipher.update(data)) };
    },
  };
}

export const streams: Readonly<Record<StreamName, StreamPrimitive>> = {
  'aes128-ctr': counterMode(16),
  'aes192-ctr': counterMode(24),
  'aes256-ctr': counterMode(32),
};

const NONCE = 12;
const TAG = 16;
const withTag = { authTagLength: TAG };

function galoisCounterMode(keySize: number): AeadPrimitive {
  const algorithm = keySize === 16 ? 'aes-128-gcm' : 'aes-256-gcm';
  return {
    keySize,
    nonceSize: NONCE,
    tagSize: TAG,
    create(bytes) {
      expectLength(bytes, keySize, 'AES key');
      const key = createSecretKey(bytes);
      return {
        seal(nonce, associated, data) {
          expectLength(nonce, NONCE, 'GCM nonce');
          const cipher = createCipheriv(algorithm, key, nonce, withTag);
          cipher.setAAD(associated);
          const sealed = cipher.update(data);
          cipher.final();
          return [plain(sealed), plain(cipher.getAuthTag())];
        },
        open(nonce, associated, data) {
          expectLength(nonce, NONCE, 'GCM nonce');
          if (data.length < TAG) return undefined;
          const decipher = createDecipheriv(algorithm, key, nonce, withTag);
          decipher.setAAD(associated);
          decipher.setAuthTag(data.subarray(data.length - TAG));
          const opened = decipher.update(data.subarray(0, data.length - TAG));
          try {
            decipher.final();
          } catch {
            return undefined; // the one thing `final` can object to is the tag
          }
          return plain(opened);
        },
      };
    },
  };
}

export const aeads: Readonly<Record<AeadName, AeadPrimitive>> = {
  'aes128-gcm': galoisCounterMode(16),
  'aes256-gcm': galoisCounterMode(32),
};
