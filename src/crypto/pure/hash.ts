/** MD5 (RFC 1321), SHA-1, SHA-2 (FIPS 180-4) and HMAC over them (RFC 2104), by noble. */

import { hmac } from '@noble/hashes/hmac.js';
import { md5 as nobleMd5, sha1 } from '@noble/hashes/legacy.js';
import { sha256, sha384, sha512 } from '@noble/hashes/sha2.js';
import type { Hash, HashName, Mac, MacName, MacPrimitive } from '../provider.ts';

const nobleHashes = { md5: nobleMd5, sha1, sha256, sha384, sha512 };

type AnyHash = keyof typeof nobleHashes;

function hash(name: AnyHash): Hash {
  const digest = nobleHashes[name];
  return { size: digest.outputLen, digest };
}

export const hashes: Readonly<Record<HashName, Hash>> = {
  sha1: hash('sha1'),
  sha256: hash('sha256'),
  sha384: hash('sha384'),
  sha512: hash('sha512'),
};

export const md5: Hash = hash('md5');

function mac(name: AnyHash): MacPrimitive {
  const digest = nobleHashes[name];
  return {
    size: digest.outputLen,
    create(key): Mac {
      // Two states: `keyed` has taken the padded key and stays so; `running` is set back to it for every message,
      // which costs no hashing of the key and no allocation.
      const keyed = hmac.create(digest, key);
      const running = keyed.clone();
      return {
        compute(first, second) {
          keyed._cloneInto(running);
          running.update(first).update(second);
          const result = new Uint8Array(digest.outputLen);
          running.digestInto(result);
          return result;
        },
      };
    },
  };
}

export const macs: Readonly<Record<MacName, MacPrimitive>> = {
  'hmac-md5': mac('md5'),
  'hmac-sha1': mac('sha1'),
  'hmac-sha256': mac('sha256'),
  'hmac-sha512': mac('sha512'),
};
