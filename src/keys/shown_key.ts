/** A key as it comes over the line: a plain one, or one with a certificate. Must not know who trusts it. */

import { copy } from '../bytes/bytes.ts';
import type { CryptoProvider, MaybePromise } from '../crypto/provider.ts';
import { type Certificate, isCertificateType, parseCertificate } from './certificate.ts';
import { keyTypeOf, type PublicKey, parsePublicKey } from './public_key.ts';
import { signatureAlgorithms, verifySignature } from './signature.ts';

/** A key that somebody shows. */
export interface ShownKey {
  /** The type that the blob begins with; of a certificate `…-cert-v01@openssh.com`. */
  readonly type: string;
  /** As it came, which is what signatures cover. */
  readonly blob: Uint8Array;
  /** The key itself, never a certificate. */
  readonly key: PublicKey;
  /** The certificate around it, of which nothing is verified yet. */
  readonly certificate?: Certificate;
}

/** The key, or the certificate, in `blob`. Throws `decode` and `not-supported` as `parsePublicKey` and `parseCertificate`. */
export function parseShownKey(blob: Uint8Array, crypto?: Pick<CryptoProvider, 'ecdsa'>): ShownKey {
  if (isCertificateType(keyTypeOf(blob))) {
    const certificate = parseCertificate(blob, crypto);
    return { type: certificate.type, blob: certificate.blob, key: certificate.key, certificate };
  }
  return { ...shownKey(parsePublicKey(blob, crypto)), blob: copy(blob) };
}

/** A plain key as it is shown. */
export function shownKey(key: PublicKey): ShownKey {
  return { type: key.type, blob: key.blob, key };
}

/**
 * Whether `signature` is one of `message` by the key that is shown, made with `algorithm`; false unless that is one for what is
 * shown: with a certificate a `-cert-` algorithm, without one a plain one. The certificate itself is not looked at.
 */
export function verifyShown(
  crypto: CryptoProvider,
  algorithm: string,
  shown: ShownKey,
  message: Uint8Array,
  signature: Uint8Array,
): MaybePromise<boolean> {
  const row = signatureAlgorithms.get(algorithm);
  if (row === undefined || row.keyType !== shown.type) return false;
  return verifySignature(crypto, row.plain, shown.key, message, signature);
}
