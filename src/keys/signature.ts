/**
 * Signature algorithms and signature blobs: RFC 4253 §6.6, RFC 5656 §3.1.2, RFC 8332 §3, RFC 8709 §6. One row per
 * algorithm; negotiation, host keys and user authentication all read this table. Must not know key files, nor what is signed.
 */

import { resizeInteger } from '../bytes/mpint.ts';
import { Reader } from '../bytes/reader.ts';
import { Writer } from '../bytes/writer.ts';
import { whenReady } from '../crypto/maybe_promise.ts';
import type { CryptoProvider, HashName, MaybePromise } from '../crypto/provider.ts';
import { SshError } from '../errors.ts';
import type { PrivateKeySecret } from './key_pair.ts';
import { type EcdsaKeyType, ecdsaCurves, type PublicKey } from './public_key.ts';
import { fixedWidth, ifDecodes } from './signature_body.ts';
import { verifySecurityKey, verifyWebauthn } from './sk_signature.ts';

/**
 * One signature algorithm. `body` is the second string of a signature blob, what follows the name; `more` is what follows that,
 * as only signatures of security keys have it.
 */
export interface SignatureAlgorithm {
  /** What is negotiated. */
  readonly name: string;
  /** The name in the signature blob: of a `-cert-` algorithm that of its key. */
  readonly plain: string;
  /** Type of the keys, or of the certificates, that it works with. */
  readonly keyType: string;
  /** Off unless it is asked for. */
  readonly legacy?: true;
  /** Made by a browser, for the pages of any site that the key was made for: it can be a user's, not one of an authority or a host. */
  readonly byBrowser?: true;
  /** False for a malformed signature and for a key of another type. */
  verify(
    crypto: CryptoProvider,
    key: PublicKey,
    message: Uint8Array,
    body: Uint8Array,
    more: Uint8Array,
  ): MaybePromise<boolean>;
  /**
   * The body of a signature; throws `bad-argument` for a key of another type. Absent where only an agent or hardware can sign,
   * and of certificates, whose key signs with the plain algorithm.
   */
  readonly sign?: (crypto: CryptoProvider, secret: PrivateKeySecret, message: Uint8Array) => MaybePromise<Uint8Array>;
}

/** Something that signs with one key: a key file, an agent, hardware. */
export interface Signer {
  /** The key blob, or the blob of a certificate for the key. */
  readonly publicKey: Uint8Array;
  readonly keyType: string;
  /** Signature algorithms that it can use, best first. */
  readonly algorithms: readonly string[];
  readonly comment?: string;
  /** To sign costs a person something, such as a touch or a passphrase: a server is asked first whether the key would do (RFC 4252 §7). */
  readonly queryFirst?: boolean;
  /** The signature blob over `message`, made with `algorithm`, one of `algorithms`. */
  sign(message: Uint8Array, algorithm: string): MaybePromise<Uint8Array>;
}

type Row = Omit<SignatureAlgorithm, 'plain'>;

const ed25519: Row = {
  name: 'ssh-ed25519',
  keyType: 'ssh-ed25519',
  verify: (crypto, key, message, body, more) =>
    key.type === 'ssh-ed25519' &&
    body.length === 64 &&
    more.length === 0 &&
    crypto.ed25519.verify(key.publicKey, message, body),
  sign(crypto, secret, message) {
    if (secret.type !== 'ssh-ed25519') throw otherKey('ssh-ed25519', 'ssh-ed25519', secret);
    return crypto.ed25519.sign(secret.seed, message);
  },
};

function ecdsa(name: EcdsaKeyType): Row {
  const { curve, size } = ecdsaCurves[name];
  return {
    name,
    keyType: name,
    verify(crypto, key, message, body, more) {
      const signature = fixedWidth(body, size);
      if (key.type !== name || signature === undefined || more.length !== 0) return false;
      return crypto.ecdsa[curve].verify(key.point, message, signature);
    },
    sign(crypto, secret, message) {
      if (secret.type !== name) throw otherKey(name, name, secret);
      return whenReady(crypto.ecdsa[curve].sign(secret.scalar, message), (signature) =>
        new Writer().mpint(signature.subarray(0, size)).mpint(signature.subarray(size)).finish(),
      );
    },
  };
}

function rsa(name: string, hash: HashName): Row {
  return {
    name,
    keyType: 'ssh-rsa',
    verify(crypto, key, message, body, more) {
      if (key.type !== 'ssh-rsa' || body.length > key.key.modulus.length || more.length !== 0) return false;
      // RFC 8332 §3 wants the length of the modulus; peers that drop leading zeros are met as OpenSSH meets them.
      const signature = resizeInteger(body, key.key.modulus.length);
      return signature !== undefined && crypto.rsa.verify(key.key, hash, message, signature);
    },
    sign(crypto, secret, message) {
      if (secret.type !== 'ssh-rsa') throw otherKey(name, 'ssh-rsa', secret);
      return crypto.rsa.sign(secret.key, hash, message);
    },
  };
}

const plainRows: readonly SignatureAlgorithm[] = [
  ed25519,
  ecdsa('ecdsa-sha2-nistp256'),
  ecdsa('ecdsa-sha2-nistp384'),
  ecdsa('ecdsa-sha2-nistp521'),
  rsa('rsa-sha2-512', 'sha512'),
  rsa('rsa-sha2-256', 'sha256'),
  { name: 'sk-ssh-ed25519@openssh.com', keyType: 'sk-ssh-ed25519@openssh.com', verify: verifySecurityKey },
  {
    name: 'sk-ecdsa-sha2-nistp256@openssh.com',
    keyType: 'sk-ecdsa-sha2-nistp256@openssh.com',
    verify: verifySecurityKey,
  },
  {
    name: 'webauthn-sk-ecdsa-sha2-nistp256@openssh.com',
    keyType: 'sk-ecdsa-sha2-nistp256@openssh.com',
    byBrowser: true,
    verify: verifyWebauthn,
  } as const,
  { ...rsa('ssh-rsa', 'sha1'), legacy: true } as const,
].map((row) => ({ ...row, plain: row.name }));

/** What OpenSSH calls the certificate of a key type, and the algorithm of a key that shows one (PROTOCOL.certkeys). */
export function certificateName(plain: string): string {
  return `${plain.replace(/@openssh\.com$/, '')}-cert-v01@openssh.com`;
}

/** The key signs as without the certificate, which only changes what the peer is shown. */
function certificateRow({ sign: _, ...row }: SignatureAlgorithm): SignatureAlgorithm {
  return { ...row, name: certificateName(row.name), keyType: certificateName(row.keyType) };
}

/** Every algorithm that puressh verifies, by name: those of plain keys, then those of certificates; for each type the best stands first. */
export const signatureAlgorithms: ReadonlyMap<string, SignatureAlgorithm> = new Map(
  [...plainRows, ...plainRows.map(certificateRow)].map((row) => [row.name, row]),
);

/**
 * Names of the algorithms for keys, or certificates, of one type, best first; none for a type that puressh does not know. Those
 * with SHA-1 only if they are asked for, and last.
 */
export function algorithmsOf(keyType: string, withLegacy = false): string[] {
  const rows = [...signatureAlgorithms.values()].filter((row) => row.keyType === keyType);
  return rows.filter((row) => withLegacy || row.legacy !== true).map((row) => row.name);
}

/** Those of `algorithmsOf` that authorities and hosts sign with. */
export function authorityAlgorithms(keyType: string): string[] {
  return algorithmsOf(keyType).filter((name) => signatureAlgorithms.get(name)?.byBrowser !== true);
}

/** The name in signature blobs of `name`: of an algorithm with a certificate that of its key, of every other its own. */
export function plainAlgorithm(name: string): string {
  return signatureAlgorithms.get(name)?.plain ?? name;
}

/** A signature blob. */
export function encodeSignature(algorithm: string, body: Uint8Array): Uint8Array {
  return new Writer(algorithm.length + body.length + 8).string(algorithm).string(body).finish();
}

/**
 * Whether `blob` is a signature of `message` under `key`, made with `algorithm`, one of plain keys: the blob has to name that
 * algorithm and no other. Malformed blobs, unknown algorithms and keys of another type are false, never errors.
 */
export function verifySignature(
  crypto: CryptoProvider,
  algorithm: string,
  key: PublicKey,
  message: Uint8Array,
  blob: Uint8Array,
): MaybePromise<boolean> {
  const row = signatureAlgorithms.get(algorithm);
  const parts = ifDecodes(() => {
    const reader = new Reader(blob);
    const found = reader.name();
    return { found, body: reader.string(), more: reader.rest() };
  });
  if (row === undefined || row.keyType !== key.type || parts === undefined || parts.found !== algorithm) return false;
  return row.verify(crypto, key, message, parts.body, parts.more);
}

function otherKey(name: string, keyType: string, secret: PrivateKeySecret): SshError {
  return new SshError('bad-argument', `${name} signs with keys of type ${keyType}, not with ${secret.type}`);
}
