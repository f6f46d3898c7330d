/** RSA private keys in PKCS#1 (RFC 8017 §A.1.2). Must not know its armour, nor other formats. */

import { onlyElement } from './der.ts';
import type { Found } from './key_file.ts';
import type { KeyFileErrors } from './key_file_errors.ts';

/** The two reduced private exponents are not kept: they follow from the rest. */
export function readPkcs1(content: Uint8Array, errors: KeyFileErrors): Found {
  const key = onlyElement(content, (reader) => reader.sequence());
  if (key.smallInteger() !== 0) throw errors.unsupported('a multi-prime RSA key', 'use a key with two primes');
  const integer = () => key.integer().slice();
  const [modulus, exponent, privateExponent] = [integer(), integer(), integer()];
  const [prime1, prime2] = [integer(), integer()];
  key.integer(); // d mod (p − 1)
  key.integer(); // d mod (q − 1)
  const coefficient = integer();
  key.expectEnd('RSAPrivateKey');
  const secret = { modulus, exponent, privateExponent, prime1, prime2, coefficient };
  return { secret: { type: 'ssh-rsa', key: secret } };
}
