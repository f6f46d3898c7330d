/**
 * Key derivation from passphrases, as key files need it. Every function answers at once, takes the passphrase as bytes, and
 * computes whatever cost it is given: the bounds are the caller's (`keys/kdf_limits.ts`).
 */

/** The hash under the HMAC of PBKDF2. */
export type KdfHash = 'sha1' | 'sha256' | 'sha384' | 'sha512';

/** Cost of scrypt (RFC 7914 §2): 128·N·r bytes of memory, p times. `n` is a power of two above 1. */
export interface ScryptCost {
  readonly n: number;
  readonly r: number;
  readonly p: number;
}

/** Cost of Argon2 (RFC 9106 §3.1): `memory` in KiB, at least 8 for each lane. */
export interface Argon2Cost {
  readonly memory: number;
  readonly passes: number;
  readonly lanes: number;
}

/** The three ways in which Argon2 picks the blocks that it reads (RFC 9106 §3.4.1). */
export type Argon2Kind = 'd' | 'i' | 'id';

/** The functions; each gives `size` bytes. */
export interface Kdfs {
  /** PBKDF2 with HMAC (RFC 8018 §5.2). */
  pbkdf2(hash: KdfHash, password: Uint8Array, salt: Uint8Array, iterations: number, size: number): Uint8Array;
  /** scrypt (RFC 7914). */
  scrypt(password: Uint8Array, salt: Uint8Array, cost: ScryptCost, size: number): Uint8Array;
  /** Argon2 of version 1.3 (RFC 9106), without secret and associated data. */
  argon2(kind: Argon2Kind, password: Uint8Array, salt: Uint8Array, cost: Argon2Cost, size: number): Uint8Array;
  /** bcrypt_pbkdf of OpenBSD, as openssh-key-v1 uses it (OpenSSH PROTOCOL.key §3). */
  bcrypt(password: Uint8Array, salt: Uint8Array, rounds: number, size: number): Uint8Array;
}
