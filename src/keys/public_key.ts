/**
 * Public keys and their blobs: RFC 8709 §4 (ssh-ed25519), RFC 5656 §3.1 (ecdsa-sha2-*), RFC 4253 §6.6 (ssh-rsa), OpenSSH's
 * PROTOCOL.u2f (sk-*), and the SHA-256 fingerprints that OpenSSH shows. Must not know private keys, certificates, files, or
 * who trusts a key.
 */

import { copy } from '../bytes/bytes.ts';
import { bitLength, trimZeros } from '../bytes/mpint.ts';
import { DecodeError, Reader } from '../bytes/reader.ts';
import { base64, decodeUtf8, fromBase64, printable } from '../bytes/text.ts';
import { Writer } from '../bytes/writer.ts';
import type { CryptoProvider, CurveName, RsaPublicKey } from '../crypto/provider.ts';
import { MAX_EXPONENT_BITS, MAX_MODULUS_BITS, MIN_MODULUS_BITS } from '../crypto/rsa_rule.ts';
import { SshError } from '../errors.ts';

/** Longest key type name in characters: RFC 4251 §6. */
const MAX_KEY_TYPE = 64;

/** Key types of RFC 5656 with the required curves of its §10.1. */
export type EcdsaKeyType = 'ecdsa-sha2-nistp256' | 'ecdsa-sha2-nistp384' | 'ecdsa-sha2-nistp521';

/** What SSH and the provider call a curve, and how many bytes a scalar or a coordinate has. */
export interface EcdsaCurve {
  readonly curve: CurveName;
  readonly name: string;
  readonly size: number;
}

/** The curve of each ECDSA key type. */
export const ecdsaCurves: Readonly<Record<EcdsaKeyType, EcdsaCurve>> = {
  'ecdsa-sha2-nistp256': { curve: 'p256', name: 'nistp256', size: 32 },
  'ecdsa-sha2-nistp384': { curve: 'p384', name: 'nistp384', size: 48 },
  'ecdsa-sha2-nistp521': { curve: 'p521', name: 'nistp521', size: 66 },
};

/** Keys that a security key holds (PROTOCOL.u2f). */
export type SecurityKeyType = 'sk-ssh-ed25519@openssh.com' | 'sk-ecdsa-sha2-nistp256@openssh.com';

/**
 * The numbers of a public key, without their encoding: 32 bytes, an uncompressed point, or two integers. `application`: for
 * what a security key made the key, as a rule `ssh:`.
 */
export type PublicKeyParts =
  | { readonly type: 'ssh-ed25519'; readonly publicKey: Uint8Array }
  | { readonly type: EcdsaKeyType; readonly curve: CurveName; readonly point: Uint8Array }
  | { readonly type: 'ssh-rsa'; readonly key: RsaPublicKey }
  | { readonly type: 'sk-ssh-ed25519@openssh.com'; readonly publicKey: Uint8Array; readonly application: string }
  | {
      readonly type: 'sk-ecdsa-sha2-nistp256@openssh.com';
      readonly curve: 'p256';
      readonly point: Uint8Array;
      readonly application: string;
    };

/**
 * A public key, and its blob as SSH writes it: the same key has the same blob, however it came. The bytes are its own.
 */
export type PublicKey = PublicKeyParts & { readonly blob: Uint8Array };

/** Key types that puressh computes with. */
export type KeyType = PublicKey['type'];

/** Whether `type` is an ECDSA key type. */
export function isEcdsaType(type: string): type is EcdsaKeyType {
  return Object.hasOwn(ecdsaCurves, type);
}

/**
 * The public key in `blob`. Throws `decode` for anything malformed, `not-supported` for another key type. With `crypto`
 * the point of an ECDSA key is also checked to lie on its curve.
 */
export function parsePublicKey(blob: Uint8Array, crypto?: Pick<CryptoProvider, 'ecdsa'>): PublicKey {
  const own = copy(blob);
  const reader = new Reader(own);
  const type = readType(reader);
  const parts = readKeyParts(reader, type, crypto);
  reader.expectEnd(`${type} key`);
  // zeros before the numbers of RSA make another blob, but no other key: what is trusted or revoked by blob must be the same
  return { ...parts, blob: parts.type === 'ssh-rsa' ? copy(encodePublicKey(parts)) : own };
}

/** The key type that `blob` starts with; nothing else of it is looked at. Throws `decode` if there is none. */
export function keyTypeOf(blob: Uint8Array): string {
  return readType(new Reader(blob));
}

/** The blob of a public key. */
export function encodePublicKey(key: PublicKeyParts): Uint8Array {
  const writer = new Writer().string(key.type);
  switch (key.type) {
    case 'ssh-ed25519':
      return writer.string(key.publicKey).finish();
    case 'ssh-rsa':
      return writer.mpint(key.key.exponent).mpint(key.key.modulus).finish();
    case 'sk-ssh-ed25519@openssh.com':
      return writer.string(key.publicKey).string(key.application).finish();
    case 'sk-ecdsa-sha2-nistp256@openssh.com':
      return writer.string(ecdsaCurves['ecdsa-sha2-nistp256'].name).string(key.point).string(key.application).finish();
    default:
      return writer.string(ecdsaCurves[key.type].name).string(key.point).finish();
  }
}

function readType(reader: Reader): string {
  const type = reader.name();
  if (type.length > MAX_KEY_TYPE || !/^[!-~]+$/.test(type)) {
    throw new DecodeError(`Not a key type: '${printable(type, MAX_KEY_TYPE)}'`);
  }
  return type;
}

/** The parts of a key of `type`, which is what follows the type in its blob. Throws as `parsePublicKey`. */
export function readKeyParts(reader: Reader, type: string, crypto?: Pick<CryptoProvider, 'ecdsa'>): PublicKeyParts {
  switch (type) {
    case 'ssh-ed25519':
      return { type, publicKey: readEd25519(reader, type) };
    case 'ssh-rsa': {
      const exponent = trimZeros(reader.mpint());
      const modulus = trimZeros(reader.mpint());
      checkRsa(modulus, exponent);
      return { type, key: { modulus, exponent } };
    }
    case 'sk-ssh-ed25519@openssh.com':
      return { type, publicKey: readEd25519(reader, type), application: readApplication(reader, type) };
    case 'sk-ecdsa-sha2-nistp256@openssh.com': {
      readCurve(reader, 'ecdsa-sha2-nistp256');
      const point = readPoint(reader, 'ecdsa-sha2-nistp256', crypto);
      return { type, curve: 'p256', point, application: readApplication(reader, type) };
    }
  }
  if (isEcdsaType(type)) {
    const curve = readCurve(reader, type);
    return { type, curve, point: readPoint(reader, type, crypto) };
  }
  throw new SshError('not-supported', `Key type '${type}' is not one that puressh supports`, { fault: 'peer' });
}

function readEd25519(reader: Reader, type: string): Uint8Array {
  const publicKey = reader.string();
  if (publicKey.length !== 32) throw new DecodeError(`An ${type} key has 32 bytes, not ${publicKey.length}`);
  return publicKey;
}

function readApplication(reader: Reader, type: string): string {
  const application = decodeUtf8(reader.string());
  if (application === undefined) throw new DecodeError(`The application of an ${type} key is not UTF-8`);
  return application;
}

function readCurve(reader: Reader, type: EcdsaKeyType): CurveName {
  const { curve, name } = ecdsaCurves[type];
  const found = reader.name();
  if (found !== name) throw new DecodeError(`An ${type} key names the curve '${printable(found, 40)}'`);
  return curve;
}

/** OpenSSH too reads uncompressed points only, though RFC 5656 §3.1 allows compressed ones. */
function readPoint(reader: Reader, type: EcdsaKeyType, crypto: Pick<CryptoProvider, 'ecdsa'> | undefined): Uint8Array {
  const point = reader.string();
  const { curve, size } = ecdsaCurves[type];
  if (point.length !== 2 * size + 1 || point[0] !== 4) {
    throw new DecodeError(`An ${type} key needs an uncompressed point of ${2 * size + 1} bytes`);
  }
  if (crypto !== undefined && !crypto.ecdsa[curve].isPublicKey(point)) {
    throw new DecodeError(`The point of an ${type} key is not on the curve`);
  }
  return point;
}

/** The limits of every provider, checked before anything is computed with the key. */
function checkRsa(modulus: Uint8Array, exponent: Uint8Array): void {
  const bits = bitLength(modulus);
  if (bits < MIN_MODULUS_BITS || bits > MAX_MODULUS_BITS) {
    throw new DecodeError(`An RSA modulus of ${bits} bits; ${MIN_MODULUS_BITS} to ${MAX_MODULUS_BITS} are accepted`);
  }
  const exponentBits = bitLength(exponent);
  if (exponentBits < 2 || exponentBits > MAX_EXPONENT_BITS || !isOdd(exponent)) {
    throw new DecodeError(`An RSA exponent must be odd and have 2 to ${MAX_EXPONENT_BITS} bits`);
  }
  if (!isOdd(modulus)) throw new DecodeError('An even RSA modulus');
}

function isOdd(bytes: Uint8Array): boolean {
  return ((bytes.at(-1) ?? 0) & 1) === 1;
}

/** The fingerprint of a key blob as OpenSSH shows it: `SHA256:` and the digest in base64 without padding. */
export function fingerprint(crypto: Pick<CryptoProvider, 'hashes'>, blob: Uint8Array): string {
  return showDigest(crypto.hashes.sha256.digest(blob));
}

/**
 * A fingerprint that someone typed, in the form that `fingerprint` gives. `SHA256:` may be missing, and the base64 may be
 * padded. Throws `bad-argument` for anything else.
 */
export function parseFingerprint(text: string): string {
  const trimmed = text.trim();
  const label = /^([A-Za-z0-9-]+):/.exec(trimmed)?.[1];
  if (label !== undefined && label.toUpperCase() !== 'SHA256') {
    throw badFingerprint(text, /^MD5$|^[0-9a-f]{2}$/i.test(label) ? 'MD5 is not accepted' : `'${label}' is not SHA256`);
  }
  const digits = trimmed.slice(label === undefined ? 0 : label.length + 1);
  const digest = /^[A-Za-z0-9+/]{43}=?$/.test(digits) ? fromBase64(digits) : undefined;
  if (digest === undefined) throw badFingerprint(text, '43 base64 digits are needed');
  const shown = showDigest(digest);
  if (!shown.endsWith(digits.slice(0, 43))) throw badFingerprint(text, 'its last digit cannot stand there');
  return shown;
}

function showDigest(digest: Uint8Array): string {
  return `SHA256:${base64(digest).replace(/=+$/, '')}`;
}

function badFingerprint(text: string, why: string): SshError {
  const shown = printable(text, 100);
  return new SshError(
    'bad-argument',
    `Not a SHA256 fingerprint: '${shown}' (${why}); \`ssh-keygen -lf FILE\` shows it`,
  );
}
