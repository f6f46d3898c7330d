/**
 * Key derivations of `node:crypto`. Argon2 is there from Node 24.7 on, and in Bun; bcrypt nowhere. Nothing here is trusted
 * before its self test.
 */

import * as nodeCrypto from 'node:crypto';
import { plain } from '../../bytes/bytes.ts';
import type { Kdfs } from '../kdfs.ts';

/** What older runtimes lack, and with them their types. */
interface WithArgon2 {
  readonly argon2Sync?: (algorithm: string, parameters: Readonly<Record<string, unknown>>) => Uint8Array;
}

const { argon2Sync } = nodeCrypto as WithArgon2;

export const kdfs: Partial<Kdfs> = {
  pbkdf2: (hash, password, salt, iterations, size) =>
    plain(nodeCrypto.pbkdf2Sync(password, salt, iterations, size, hash)),
  scrypt: (password, salt, { n, r, p }, size) =>
    // twice what RFC 7914 needs: the bound counts more than the two arrays, and whoever calls has bounded them
    plain(nodeCrypto.scryptSync(password, salt, size, { N: n, r, p, maxmem: 256 * r * (n + p + 2) })),
  ...(argon2Sync && {
    argon2: (kind, message, nonce, { memory, passes, lanes }, size) =>
      plain(argon2Sync(`argon2${kind}`, { message, nonce, memory, passes, parallelism: lanes, tagLength: size })),
  }),
};
