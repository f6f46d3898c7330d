/**
 * The private key format of OpenSSH, `openssh-key-v1` (PROTOCOL.key), without passphrase. Must not know its armour, nor
 * other formats.
 */

import { equalBytes } from '../bytes/bytes.ts';
import { trimZeros } from '../bytes/mpint.ts';
import { Reader } from '../bytes/reader.ts';
import { printable, utf8 } from '../bytes/text.ts';
import type { CryptoProvider } from '../crypto/provider.ts';
import type { KeyFileErrors } from './key_file_errors.ts';
import { ecdsaSecret, keyPairOf, type PrivateKey, type PrivateKeySecret } from './key_pair.ts';
import { ecdsaCurves, encodePublicKey, isEcdsaType, type PublicKeyParts, parsePublicKey } from './public_key.ts';

const MAGIC = utf8('openssh-key-v1\0');
/** PROTOCOL.key: the private section fills whole cipher blocks, and the block of cipher `none` is 8 bytes. */
const BLOCK = 8;

/** A secret, and the public half that the private section gives beside it. */
interface Found {
  readonly secret: PrivateKeySecret;
  readonly publicHalf: PublicKeyParts;
}

/** The key in the bytes of an `OPENSSH PRIVATE KEY` block. Throws what `errors` makes, `decode` or `crypto`. */
export function parseOpensshKey(bytes: Uint8Array, crypto: CryptoProvider, errors: KeyFileErrors): PrivateKey {
  const reader = new Reader(bytes);
  if (!equalBytes(reader.raw(Math.min(MAGIC.length, bytes.length)), MAGIC)) {
    throw errors.corrupt('it does not start with openssh-key-v1');
  }
  const cipher = reader.name();
  const kdf = reader.name();
  const kdfOptions = reader.string();
  const count = reader.u32();
  if (cipher !== 'none') throw errors.passphraseNeeded(`${printable(cipher, 40)}, ${printable(kdf, 40)}`);
  if (kdf !== 'none' || kdfOptions.length !== 0) throw errors.corrupt('it has a key derivation, but no cipher');
  if (count !== 1) throw errors.unsupported(`a bundle of ${count} keys`, 'give it one key per file');
  const publicBlob = reader.string();
  const section = reader.string();
  reader.expectEnd('the key file');
  const { key, publicHalf } = parseSection(section, crypto, errors);
  // Compares values, not encodings: some writers put superfluous zeros before RSA numbers.
  for (const half of [publicHalf, parsePublicKey(publicBlob)]) {
    if (!equalBytes(encodePublicKey(half), key.publicKey.blob)) {
      throw errors.corrupt('its public and its private half do not belong together');
    }
  }
  return key;
}

function parseSection(
  section: Uint8Array,
  crypto: CryptoProvider,
  errors: KeyFileErrors,
): { readonly key: PrivateKey; readonly publicHalf: PublicKeyParts } {
  if (section.length % BLOCK !== 0) throw errors.corrupt('its private section is cut off');
  const reader = new Reader(section);
  const check = reader.u32();
  if (reader.u32() !== check) throw errors.corrupt('its two check numbers differ');
  const { secret, publicHalf } = readKey(reader, reader.name(), errors);
  const comment = reader.text();
  const padding = reader.rest();
  if (!padding.every((byte, i) => byte === ((i + 1) & 0xff))) throw errors.corrupt('its padding is not 1, 2, 3 …');
  return { key: keyPairOf(crypto, secret, comment), publicHalf };
}

function readKey(reader: Reader, type: string, errors: KeyFileErrors): Found {
  if (type === 'ssh-ed25519') {
    const publicKey = reader.string();
    const pair = reader.string(); // the seed, then the public key once more
    if (pair.length !== 64 || !equalBytes(pair.subarray(32), publicKey)) {
      throw errors.corrupt('its Ed25519 halves do not belong together');
    }
    return { secret: { type, seed: pair.slice(0, 32) }, publicHalf: { type, publicKey } };
  }
  if (type === 'ssh-rsa') {
    const [modulus, exponent, privateExponent] = [integer(reader), integer(reader), integer(reader)];
    const [coefficient, prime1, prime2] = [integer(reader), integer(reader), integer(reader)];
    const key = { modulus, exponent, privateExponent, prime1, prime2, coefficient };
    return { secret: { type, key }, publicHalf: { type, key } };
  }
  if (isEcdsaType(type)) {
    const { curve, name } = ecdsaCurves[type];
    if (reader.name() !== name) throw errors.corrupt('its curve is not that of its type');
    const point = reader.string();
    return { secret: ecdsaSecret(type, reader.mpint()), publicHalf: { type, curve, point } };
  }
  if (type.startsWith('sk-'))
    throw errors.unsupported('the handle of a security key', 'use an Ed25519, ECDSA or RSA key');
  throw errors.unsupported(`a key of type ${printable(type, 64)}`, 'use an Ed25519, ECDSA or RSA key');
}

/** An integer as bytes of its own, without leading zeros. */
function integer(reader: Reader): Uint8Array {
  return trimZeros(reader.mpint()).slice();
}
