/** Writes PKCS#8 (RFC 5958), in the clear or by PBES2 with PBKDF2 and AES-256-CBC. Must not know other formats. */

import { bigintFromBytes, minimalBytes } from '../bytes/mpint.ts';
import { wipe } from '../bytes/secret.ts';
import type { CryptoProvider, RsaPrivateKey } from '../crypto/provider.ts';
import { bitString, context, integer, nothing, octetString, oid, sequence } from './der_write.ts';
import { keyCipher, padBlocks } from './key_cipher.ts';
import type { PrivateKey } from './key_pair.ts';
import { AES256_CBC, HMAC_SHA256, PBES2, PBKDF2 } from './pbes2.ts';
import { formatPem } from './pem.ts';
import { KIND } from './pkcs8.ts';
import type { EcdsaKeyType } from './public_key.ts';
import { curveTypes } from './sec1.ts';

const SALT = 16;

/** The file's text. `iterations` are those of PBKDF2. */
export function writePkcs8(
  crypto: CryptoProvider,
  key: PrivateKey,
  encryption?: { readonly passphrase: Uint8Array; readonly iterations: number },
): string {
  const info = infoOf(key);
  if (encryption === undefined) return formatPem('PRIVATE KEY', info);
  const { passphrase, iterations } = encryption;
  const cipher = keyCipher('aes256-cbc');
  const salt = Uint8Array.from(crypto.random(SALT));
  const vector = Uint8Array.from(crypto.random(cipher.vectorSize));
  const secret = crypto.kdfs.pbkdf2('sha256', passphrase, salt, iterations, cipher.keySize);
  const padded = padBlocks(info, cipher.blockSize);
  const [sealed] = cipher.encrypt(crypto, secret, vector, padded) as [Uint8Array];
  for (const bytes of [secret, padded, info]) wipe(bytes);
  const prf = sequence(oid(HMAC_SHA256), nothing());
  const derivation = sequence(oid(PBKDF2), sequence(octetString(salt), integer(iterations), prf));
  const scheme = sequence(oid(AES256_CBC), octetString(vector));
  const algorithm = sequence(oid(PBES2), sequence(derivation, scheme));
  return formatPem('ENCRYPTED PRIVATE KEY', sequence(algorithm, octetString(sealed)));
}

/** The object identifier of a key type's curve. */
export function curveOid(type: EcdsaKeyType): string {
  const [dotted] = Object.entries(curveTypes).find(([, each]) => each === type) as [string, EcdsaKeyType];
  return dotted;
}

function infoOf(key: PrivateKey): Uint8Array {
  const secret = key.secret();
  switch (secret.type) {
    case 'ssh-ed25519':
      return sequence(integer(0), sequence(oid(KIND.ed25519)), octetString(octetString(secret.seed)));
    case 'ssh-rsa':
      return sequence(integer(0), sequence(oid(KIND.rsa), nothing()), octetString(pkcs1Of(secret.key)));
    default: {
      const point = 'point' in key.publicKey ? [context(1, bitString(key.publicKey.point))] : [];
      const inner = sequence(integer(1), octetString(secret.scalar), ...point);
      return sequence(integer(0), sequence(oid(KIND.ec), oid(curveOid(secret.type))), octetString(inner));
    }
  }
}

/** RFC 8017 §A.1.2. */
function pkcs1Of(key: RsaPrivateKey): Uint8Array {
  const { modulus, exponent, privateExponent, prime1, prime2, coefficient } = key;
  const reduced = (prime: Uint8Array) => minimalBytes(bigintFromBytes(privateExponent) % (bigintFromBytes(prime) - 1n));
  const numbers = [modulus, exponent, privateExponent, prime1, prime2, reduced(prime1), reduced(prime2), coefficient];
  return sequence(integer(0), ...numbers.map(integer));
}
