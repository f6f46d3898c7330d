/**
 * The cryptography that puressh stands on, as plain tables of primitives. Knows nothing of SSH: no packet formats, no
 * key blobs, no algorithm names of RFC 4253. `pure/` implements all of it with noble; `native/` some of it with the runtime.
 *
 * Ownership: inputs named `data` may be overwritten by the callee and must not be used after the call; every other input is
 * only read, and not kept: keys are wiped by whoever gave them. Results are the caller's, and plain `Uint8Array`s, never a
 * subclass. Bulk primitives are synchronous; asymmetric ones may answer with a promise.
 */

import type { Kdfs } from './kdfs.ts';

export type { Argon2Cost, Argon2Kind, KdfHash, Kdfs, ScryptCost } from './kdfs.ts';

/** A value now, or later. */
export type MaybePromise<T> = T | Promise<T>;

/** Gives `length` unpredictable bytes. Deterministic sources exist for replay and tests only. */
export type RandomSource = (length: number) => Uint8Array;

export type HashName = 'sha1' | 'sha256' | 'sha384' | 'sha512';
export type MacName = 'hmac-md5' | 'hmac-sha1' | 'hmac-sha256' | 'hmac-sha512';
export type StreamName = 'aes128-ctr' | 'aes192-ctr' | 'aes256-ctr';
export type CbcName = 'aes128-cbc' | 'aes192-cbc' | 'aes256-cbc' | '3des-cbc';
export type AeadName = 'aes128-gcm' | 'aes256-gcm';

/** A hash function. */
export interface Hash {
  /** Bytes of a digest. */
  readonly size: number;
  digest(message: Uint8Array): Uint8Array;
}

/** A keyed MAC, ready for many messages. */
export interface Mac {
  /** MAC of `first` ‖ `second`. */
  compute(first: Uint8Array, second: Uint8Array): Uint8Array;
}

/** HMAC (RFC 2104) over one hash. */
export interface MacPrimitive {
  /** Bytes of a MAC. */
  readonly size: number;
  create(key: Uint8Array): Mac;
}

/** A stream cipher that keeps its position: each call goes on where the last one ended. */
export interface Stream {
  /** `data` with the key stream applied; may be `data` itself. */
  apply(data: Uint8Array): Uint8Array;
}

/** AES in counter mode (SP 800-38A), 128-bit big-endian counter that starts at `counter`. */
export interface StreamPrimitive {
  readonly keySize: number;
  create(key: Uint8Array, counter: Uint8Array): Stream;
}

/**
 * A block cipher in CBC mode (SP 800-38A §6.2), without padding: AES, or triple DES with three keys (SP 800-67). What it creates
 * takes whole blocks, else it throws `bad-argument`; each call chains on to the last one.
 */
export interface CbcPrimitive {
  readonly keySize: number;
  readonly blockSize: 8 | 16;
  create(key: Uint8Array, iv: Uint8Array, direction: 'encrypt' | 'decrypt'): Stream;
}

/** A keyed AEAD, ready for many messages. */
export interface Aead {
  /** Ciphertext and tag of `data`, as pieces to be sent one after the other. */
  seal(nonce: Uint8Array, associated: Uint8Array, data: Uint8Array): Uint8Array[];
  /** Plaintext of `data`, which is ciphertext ‖ tag; `undefined` when the tag does not match. */
  open(nonce: Uint8Array, associated: Uint8Array, data: Uint8Array): Uint8Array | undefined;
}

/** AES-GCM (SP 800-38D) with a 12-byte nonce and a 16-byte tag. */
export interface AeadPrimitive {
  readonly keySize: number;
  readonly nonceSize: number;
  readonly tagSize: number;
  create(key: Uint8Array): Aead;
}

/** ChaCha20 as D. J. Bernstein defined it: 64-bit little-endian counter, 64-bit nonce. */
export interface ChaCha {
  /** `data` with the key stream from block `counter` (below 2^32 - 1) on applied; may be `data` itself. */
  apply(key: Uint8Array, nonce: Uint8Array, counter: number, data: Uint8Array): Uint8Array;
  /** Poly1305 of `first` ‖ `second` under the one-time key that block 0 of this key and nonce begins with (RFC 8439 §2.6). */
  authenticate(key: Uint8Array, nonce: Uint8Array, first: Uint8Array, second: Uint8Array): Uint8Array;
}

export type AgreementName = 'x25519' | 'p256' | 'p384' | 'p521';

/** The secret half of an ephemeral key pair. Opaque to all but the primitive that made it. */
export type AgreementSecret = Uint8Array;

/**
 * A key agreement, seen as a key encapsulation so that Diffie-Hellman and post-quantum methods look alike. Public values
 * have the encoding that SSH sends (RFC 7748 §5 bytes; uncompressed points of SEC 1 §2.3.3); shared secrets keep their
 * full width. Bad lengths, points off the curve and all-zero X25519 secrets throw `crypto`.
 */
export interface Agreement {
  /** The initiator's pair. */
  generate(random: RandomSource): { readonly secret: AgreementSecret; readonly publicValue: Uint8Array };
  /** The responder's value and the shared secret, from the initiator's value. */
  respond(
    random: RandomSource,
    initiator: Uint8Array,
  ): MaybePromise<{ readonly publicValue: Uint8Array; readonly shared: Uint8Array }>;
  /** The shared secret on the initiator's side. */
  finish(secret: AgreementSecret, responder: Uint8Array): MaybePromise<Uint8Array>;
}

export type KemName = 'mlkem768' | 'mlkem1024' | 'sntrup761';

/**
 * A key encapsulation mechanism: ML-KEM (FIPS 203) or Streamlined NTRU Prime (sntrup761). What comes from the peer throws
 * `crypto`, fault peer, if its length is wrong, or if a public key has coefficients that are not reduced; a ciphertext that
 * was tampered with gives a shared secret that nobody has, and no error.
 */
export interface Kem {
  readonly publicSize: number;
  readonly secretSize: number;
  readonly ciphertextSize: number;
  readonly sharedSize: 32;
  /** The initiator's pair. The secret is opaque to all but the primitive that made it. */
  generate(random: RandomSource): { readonly secret: Uint8Array; readonly publicValue: Uint8Array };
  /** A shared secret, and what tells it to the holder of the secret of `publicValue`. */
  encapsulate(
    random: RandomSource,
    publicValue: Uint8Array,
  ): MaybePromise<{ readonly ciphertext: Uint8Array; readonly shared: Uint8Array }>;
  /** The shared secret in `ciphertext`. */
  decapsulate(secret: Uint8Array, ciphertext: Uint8Array): MaybePromise<Uint8Array>;
}

/**
 * Ed25519 (RFC 8032): 32-byte public keys and seeds, 64-byte signatures. Bad lengths verify as false; which keys and
 * signatures are looked at in the first place says `ed25519_rule.ts`.
 */
export interface Ed25519 {
  publicKey(seed: Uint8Array): Uint8Array;
  sign(seed: Uint8Array, message: Uint8Array): MaybePromise<Uint8Array>;
  verify(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): MaybePromise<boolean>;
}

export type CurveName = 'p256' | 'p384' | 'p521';

/** ECDSA on one curve with the hash of RFC 5656 §6.2.1 (SHA-256, SHA-384, SHA-512). */
export interface Ecdsa {
  /** Bytes of a scalar, and of each half of a signature. */
  readonly size: number;
  readonly hash: HashName;
  /** The uncompressed point of a scalar. */
  publicKey(scalar: Uint8Array): Uint8Array;
  /** Whether `point` is an uncompressed point on the curve and not the point at infinity. */
  isPublicKey(point: Uint8Array): boolean;
  /** r ‖ s, each `size` bytes; nonces as RFC 6979 says, or hedged. */
  sign(scalar: Uint8Array, message: Uint8Array): MaybePromise<Uint8Array>;
  /** `signature` is r ‖ s, each `size` bytes. High s is accepted. Anything malformed verifies as false. */
  verify(point: Uint8Array, message: Uint8Array, signature: Uint8Array): MaybePromise<boolean>;
}

/** RSA public key; big-endian unsigned integers. */
export interface RsaPublicKey {
  readonly modulus: Uint8Array;
  readonly exponent: Uint8Array;
}

/** RSA private key; big-endian unsigned integers. */
export interface RsaPrivateKey extends RsaPublicKey {
  readonly privateExponent: Uint8Array;
  readonly prime1: Uint8Array;
  readonly prime2: Uint8Array;
  /** (inverse of prime2) mod prime1. */
  readonly coefficient: Uint8Array;
}

/**
 * RSASSA-PKCS1-v1_5 (RFC 8017 §8.2). Signatures are as long as the modulus; others verify as false. Keys outside the
 * limits of `rsa_rule.ts`, and private keys that do not fit together, throw `crypto`.
 */
export interface Rsa {
  sign(key: RsaPrivateKey, hash: HashName, message: Uint8Array): MaybePromise<Uint8Array>;
  verify(key: RsaPublicKey, hash: HashName, message: Uint8Array, signature: Uint8Array): MaybePromise<boolean>;
  /**
   * A new key with a modulus of exactly `bits` bits, 2048 to 16384, and the exponent 65537; throws `crypto` for another size.
   * A runtime takes its own randomness in place of `random`.
   */
  generate(bits: number, random: RandomSource): MaybePromise<RsaPrivateKey>;
}

export type ModularPower = (base: Uint8Array, exponent: Uint8Array, modulus: Uint8Array) => Uint8Array;

/** Every primitive, in one plain value that is passed in and never looked up. */
export interface CryptoProvider {
  /** For traces: `pure`, or `node+pure` where the runtime's own primitives lie over the pure ones. */
  readonly name: string;
  readonly random: RandomSource;
  readonly hashes: Readonly<Record<HashName, Hash>>;
  /** For fingerprints and old key files. Not among `hashes`, so that no signature can use it. */
  readonly md5: Hash;
  readonly macs: Readonly<Record<MacName, MacPrimitive>>;
  readonly streams: Readonly<Record<StreamName, StreamPrimitive>>;
  readonly cbc: Readonly<Record<CbcName, CbcPrimitive>>;
  readonly aeads: Readonly<Record<AeadName, AeadPrimitive>>;
  readonly chacha20: ChaCha;
  readonly agreements: Readonly<Record<AgreementName, Agreement>>;
  readonly kems: Readonly<Record<KemName, Kem>>;
  /**
   * base^exponent mod modulus, as wide as the modulus; big-endian unsigned integers. Throws `crypto`, fault peer, unless the
   * modulus is odd and has 8192 bits at most.
   */
  readonly modularPower: ModularPower;
  readonly ed25519: Ed25519;
  readonly ecdsa: Readonly<Record<CurveName, Ecdsa>>;
  readonly rsa: Rsa;
  readonly kdfs: Kdfs;
  /** Whether AES runs in hardware here: decides which cipher is offered first. */
  readonly fastAes: boolean;
}
