/** What the reader of each format of private key files gives, and what it needs to open one. Must not know any format. */

import { equalBytes } from '../bytes/bytes.ts';
import type { CryptoProvider } from '../crypto/provider.ts';
import type { KdfBounds } from './kdf_limits.ts';
import type { KeyFileErrors } from './key_file_errors.ts';
import { keyPairOf, type PrivateKey, type PrivateKeySecret } from './key_pair.ts';
import { ecdsaCurves, encodePublicKey, isEcdsaType } from './public_key.ts';

/** Formats of private key files: openssh-key-v1, PKCS#1, PKCS#8, SEC1, and that of PuTTY. */
export type KeyFileFormat = 'openssh' | 'pkcs1' | 'pkcs8' | 'sec1' | 'ppk';

/** What can be known of a private key file without its passphrase, and how to open it. */
export interface KeyFile {
  readonly format: KeyFileFormat;
  readonly encrypted: boolean;
  /** The public key, where it stands in the clear. */
  readonly publicBlob?: Uint8Array | undefined;
  /** The certificate of the key that stands in a PPK. */
  readonly certificate?: Uint8Array | undefined;
  readonly comment?: string | undefined;
  /** Throws what `errors` makes, `decode`, `crypto` or `not-supported`. */
  open(opening: Opening): PrivateKey;
}

/** What a file is opened with. */
export interface Opening {
  readonly crypto: CryptoProvider;
  readonly errors: KeyFileErrors;
  readonly bounds: KdfBounds;
  /** The passphrase, only to be read; `key-passphrase-needed` if there is none. `how` says how the file is encrypted. */
  passphrase(how: string): Uint8Array;
}

/** A secret, and what the file gives of its public half beside it: a point, or the 32 bytes of Ed25519. */
export interface Found {
  readonly secret: PrivateKeySecret;
  readonly publicHalf?: Uint8Array | undefined;
}

/** The key of a secret; `key-corrupt` if the public half beside it is that of another. */
export function keyOf({ secret, publicHalf }: Found, { crypto, errors }: Opening): PrivateKey {
  const key = keyPairOf(crypto, secret);
  const { publicKey } = key;
  if (publicHalf !== undefined && publicKey.type !== 'ssh-rsa') {
    const half = 'point' in publicKey ? publicKey.point : publicKey.publicKey;
    if (!equalBytes(half, publicHalf)) throw errors.halvesDiffer();
  }
  return key;
}

/** The public key, as far as it stands in the file: nothing is computed. */
export function publicBlobOf({ secret, publicHalf }: Found): Uint8Array | undefined {
  if (secret.type === 'ssh-rsa') return encodePublicKey(secret);
  if (publicHalf === undefined) return undefined;
  if (!isEcdsaType(secret.type)) return encodePublicKey({ type: 'ssh-ed25519', publicKey: publicHalf });
  return encodePublicKey({ type: secret.type, curve: ecdsaCurves[secret.type].curve, point: publicHalf });
}
