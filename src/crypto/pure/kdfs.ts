/** Key derivation from passphrases: PBKDF2, scrypt and Argon2 by noble, bcrypt by `bcrypt.ts`. */

import { argon2d, argon2i, argon2id } from '@noble/hashes/argon2.js';
import { sha1 } from '@noble/hashes/legacy.js';
import { pbkdf2 } from '@noble/hashes/pbkdf2.js';
import { scrypt } from '@noble/hashes/scrypt.js';
import { sha256, sha384, sha512 } from '@noble/hashes/sha2.js';
import type { Kdfs } from '../kdfs.ts';
import { bcryptPbkdf } from './bcrypt.ts';

const hashes = { sha1, sha256, sha384, sha512 };
const argon2 = { d: argon2d, i: argon2i, id: argon2id };
/** Whoever calls has bounded the memory; noble's own bound, in bytes, must not be in the way. */
const maxmem = 0xffffffff;

export const kdfs: Kdfs = {
  pbkdf2: (hash, password, salt, iterations, size) =>
    pbkdf2(hashes[hash], password, salt, { c: iterations, dkLen: size }),
  scrypt: (password, salt, { n, r, p }, size) => scrypt(password, salt, { N: n, r, p, dkLen: size, maxmem }),
  argon2: (kind, password, salt, { memory, passes, lanes }, size) =>
    argon2[kind](password, salt, { m: memory, t: passes, p: lanes, dkLen: size, maxmem }),
  bcrypt: bcryptPbkdf,
};
