/** Fingerprints of keys in either of the forms that `ssh-keygen -l` shows. */

import { hex } from '../bytes/text.ts';
import type { CryptoProvider } from '../crypto/provider.ts';
import { isCertificateType, parseCertificate } from './certificate.ts';
import { fingerprint, keyTypeOf } from './public_key.ts';

/**
 * `SHA256:` and base64, or `MD5:` and pairs of hex digits with colons. Of a certificate: that of the key in it, as OpenSSH has
 * it. Throws `decode` for what is no key blob.
 */
export function keyFingerprint(
  crypto: Pick<CryptoProvider, 'hashes' | 'md5'>,
  blob: Uint8Array,
  hash: 'sha256' | 'md5' = 'sha256',
): string {
  const plain = isCertificateType(keyTypeOf(blob)) ? parseCertificate(blob).key.blob : blob;
  if (hash === 'sha256') return fingerprint(crypto, plain);
  return `MD5:${hex(crypto.md5.digest(plain)).replace(/..(?!$)/g, '$&:')}`;
}
