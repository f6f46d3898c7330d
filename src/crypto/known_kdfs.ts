/**
 * Known answers of the key derivations: RFC 6070 with other hashes too, RFC 7914 §12, and test.c of the reference implementation
 * of Argon2, whose password, salt and length they share.
 */

import type { Argon2Kind } from './kdfs.ts';
import type { HashName } from './provider.ts';

/** PBKDF2 of `password` and `salt`, two iterations, the first 20 bytes. */
export const pbkdf2Answers: Readonly<Record<HashName, string>> = {
  sha1: 'ea6c014dc72d6f8ccd1ed92ace1d41f0d8de8957',
  sha256: 'ae4d0c95af6b46d32d0adff928f06dd02a303f8e',
  sha384: '54f775c6d790f21930459162fc535dbf04a93918',
  sha512: 'e1d9c16aa681708a45f5c7c4e215ceb66e011a2e',
};

/** scrypt of nothing and no salt; N 16, r 1, p 1. */
export const scryptAnswer: string =
  '77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442' +
  'fcd0069ded0948f8326a753a0fc81f17e8d3e0fb2e0d3628cf35e20c38d18906';

/** Argon2 of `password` and `somesalt`; 256 KiB, 2 passes, 2 lanes. */
export const argon2Answers: Readonly<Partial<Record<Argon2Kind, string>>> = {
  d: '7b69c92d7c3889aad1281dbc8baefc12cc37c80f1c75e33ef2c2d40c28ebc573',
  i: '4ff5ce2769a1d7f4c8a491df09d41a9fbe90e5eb02155a13e4c01e20cd4eab61',
  id: '6d093c501fd5999645e0ea3bf620d7b8be7fd2db59c20d9fff9539da2bf57037',
};
