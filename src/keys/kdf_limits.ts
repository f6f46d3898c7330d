/**
 * How much a key file may make its reader compute: the cost stands in the file, which somebody else may have written. Checked
 * before anything is derived.
 */

import type { Argon2Cost, ScryptCost } from '../crypto/kdfs.ts';
import { SshError } from '../errors.ts';
import { checkNames } from './key_arguments.ts';
import type { KeyFileErrors } from './key_file_errors.ts';

/** The highest costs that are computed. Raise one to read a file that needs more. */
export interface KdfLimits {
  /** Rounds of bcrypt, of 4 ms and block each in JavaScript. Default 1024: forty times what OpenSSH writes by default. */
  readonly bcryptRounds: number;
  /** Iterations of PBKDF2. Default 10,000,000: some ten times today's advice. */
  readonly pbkdf2Iterations: number;
  /** Memory of scrypt, 128·N·r, in bytes. Default 256 MiB. */
  readonly scryptMemory: number;
  /** Work of scrypt, N·r·p. Default 2^24: half a minute in JavaScript. */
  readonly scryptWork: number;
  /** Memory of Argon2 in KiB. Default 262144, 256 MiB; puttygen takes 8 MiB. */
  readonly argon2Memory: number;
  /** Work of Argon2, memory in KiB × passes. Default 4194304, which is 4 GiB: a minute in JavaScript. */
  readonly argon2Work: number;
  /** Lanes of Argon2. Default 16. */
  readonly argon2Lanes: number;
}

export const DEFAULT_KDF_LIMITS: KdfLimits = {
  bcryptRounds: 1024,
  pbkdf2Iterations: 10_000_000,
  scryptMemory: 256 * 1024 * 1024,
  scryptWork: 2 ** 24,
  argon2Memory: 256 * 1024,
  argon2Work: 4 * 1024 * 1024,
  argon2Lanes: 16,
};

/** Longest salt that is taken, in bytes: every writer's has 8 to 64. */
const MAX_SALT = 1024;

/** The defaults with what the caller gave; `bad-argument` for what is no limit. */
function checkedLimits(limits: Partial<KdfLimits> = {}): KdfLimits {
  checkNames('limits', limits, Object.keys(DEFAULT_KDF_LIMITS));
  const all: Record<string, number> = { ...DEFAULT_KDF_LIMITS };
  for (const [name, value] of Object.entries(limits)) {
    if (value === undefined) continue;
    if (!Number.isSafeInteger(value) || value < 1) {
      throw new SshError('bad-argument', `limits: ${name} must be a whole number of at least 1, not ${String(value)}`);
    }
    all[name] = value;
  }
  return all as unknown as KdfLimits;
}

/** Refuses costs that are none (`key-corrupt`), and those above the limits (`key-cipher-unsupported`). */
export class KdfBounds {
  readonly #limits: KdfLimits;
  readonly #errors: KeyFileErrors;

  constructor(limits: Partial<KdfLimits> | undefined, errors: KeyFileErrors) {
    this.#limits = checkedLimits(limits);
    this.#errors = errors;
  }

  bcrypt(rounds: number, salt: Uint8Array): void {
    this.#positive('bcrypt rounds', rounds);
    this.#salt(salt);
    this.#below('bcryptRounds', 'bcrypt rounds', rounds);
  }

  pbkdf2(iterations: number, salt: Uint8Array): void {
    this.#positive('PBKDF2 iterations', iterations);
    this.#salt(salt);
    this.#below('pbkdf2Iterations', 'PBKDF2 iterations', iterations);
  }

  scrypt({ n, r, p }: ScryptCost, salt: Uint8Array): void {
    for (const [name, value] of Object.entries({ N: n, r, p })) this.#positive(`scrypt ${name}`, value);
    this.#salt(salt);
    if (n < 2 || !Number.isInteger(Math.log2(n))) throw this.#errors.corrupt(`its scrypt N is ${n}, no power of two`);
    this.#below('scryptMemory', 'bytes of memory for scrypt', 128 * n * r);
    this.#below('scryptWork', 'blocks of scrypt (N·r·p)', n * r * p);
  }

  argon2({ memory, passes, lanes }: Argon2Cost, salt: Uint8Array): void {
    for (const [name, value] of Object.entries({ memory, passes, lanes })) this.#positive(`Argon2 ${name}`, value);
    this.#salt(salt);
    if (salt.length < 8) throw this.#errors.corrupt(`its Argon2 salt has ${salt.length} bytes, not 8 at least`);
    this.#below('argon2Lanes', 'lanes of Argon2', lanes);
    this.#below('argon2Memory', 'KiB of memory for Argon2', memory);
    this.#below('argon2Work', 'KiB of memory × passes for Argon2', memory * passes);
    if (memory < 8 * lanes) throw this.#errors.corrupt(`its Argon2 memory is ${memory} KiB for ${lanes} lanes`);
  }

  #positive(what: string, value: number): void {
    if (!Number.isInteger(value) || value < 1) throw this.#errors.corrupt(`its ${what} are ${value}`);
  }

  #salt(salt: Uint8Array): void {
    if (salt.length > MAX_SALT) throw this.#errors.corrupt(`its salt has ${salt.length} bytes`);
  }

  #below(limit: keyof KdfLimits, what: string, value: number): void {
    const most = this.#limits[limit];
    if (value > most) throw this.#errors.tooCostly(`${value} ${what}; at most ${most} are computed`, limit);
  }
}
