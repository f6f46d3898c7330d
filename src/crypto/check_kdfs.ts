/** The self test of the key derivations that a runtime offers; what `check.ts` is for the other primitives. */

import { hex, utf8 } from '../bytes/text.ts';
import type { Argon2Kind, Kdfs } from './kdfs.ts';
import { argon2Answers, pbkdf2Answers, scryptAnswer } from './known_kdfs.ts';
import type { HashName } from './provider.ts';

const password = () => utf8('password');

const tests: { readonly [K in keyof Kdfs]: (kdf: Kdfs[K]) => boolean } = {
  pbkdf2: (pbkdf2) =>
    (Object.keys(pbkdf2Answers) as HashName[]).every(
      (hash) => hex(pbkdf2(hash, password(), utf8('salt'), 2, 20)) === pbkdf2Answers[hash],
    ),
  scrypt: (scrypt) => hex(scrypt(new Uint8Array(0), new Uint8Array(0), { n: 16, r: 1, p: 1 }, 64)) === scryptAnswer,
  argon2: (argon2) =>
    (Object.keys(argon2Answers) as Argon2Kind[]).every(
      (kind) =>
        hex(argon2(kind, password(), utf8('somesalt'), { memory: 256, passes: 2, lanes: 2 }, 32)) ===
        argon2Answers[kind],
    ),
  bcrypt: () => false, // no runtime has it
};

/** Whether `kdf` gives the known answers, as plain bytes. Says no rather than throw. */
export function kdfAnswers<K extends keyof Kdfs>(name: K, kdf: Kdfs[K]): boolean {
  try {
    return tests[name](kdf);
  } catch {
    return false;
  }
}
