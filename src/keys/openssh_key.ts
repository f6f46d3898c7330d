/**
 * The private key format of OpenSSH, `openssh-key-v1` (PROTOCOL.key): plain, or encrypted under a passphrase through bcrypt.
 * Must not know its armour, nor other formats.
 */

import { concat, equalBytes } from '../bytes/bytes.ts';
import { trimZeros } from '../bytes/mpint.ts';
import { Reader } from '../bytes/reader.ts';
import { wipe } from '../bytes/secret.ts';
import { printable, utf8 } from '../bytes/text.ts';
import { SshError } from '../errors.ts';
import { namedCipher } from './key_cipher.ts';
import type { KeyFile, Opening } from './key_file.ts';
import type { KeyFileErrors } from './key_file_errors.ts';
import { ecdsaSecret, keyPairOf, type PrivateKey, type PrivateKeySecret } from './key_pair.ts';
import {
  ecdsaCurves,
  encodePublicKey,
  isEcdsaType,
  keyTypeOf,
  type PublicKeyParts,
  parsePublicKey,
} from './public_key.ts';

export const MAGIC: Uint8Array = utf8('openssh-key-v1\0');
/** PROTOCOL.key: the private section fills whole cipher blocks, and the block of cipher `none` is 8 bytes. */
export const PLAIN_BLOCK = 8;

/** What is around the private section. */
interface Envelope {
  readonly cipher: string;
  readonly kdf: string;
  readonly kdfOptions: Uint8Array;
  readonly publicBlob: Uint8Array;
  readonly section: Uint8Array;
  /** What stands behind it, of a cipher that authenticates. */
  readonly tag: Uint8Array;
}

/** A private section, read. The public half is given there beside the secret. */
interface Section {
  readonly secret: PrivateKeySecret;
  readonly publicHalf: PublicKeyParts;
  readonly comment: string;
}

/** The key in the bytes of an `OPENSSH PRIVATE KEY` block. Throws what `errors` makes, or `decode`. */
export function readOpensshKey(bytes: Uint8Array, errors: KeyFileErrors): KeyFile {
  const envelope = readEnvelope(bytes, errors);
  const encrypted = envelope.cipher !== 'none';
  return {
    format: 'openssh',
    encrypted,
    publicBlob: envelope.publicBlob.slice(),
    comment: encrypted ? undefined : plainComment(envelope.section, errors),
    open: (opening) => open(envelope, opening),
  };
}

function readEnvelope(bytes: Uint8Array, errors: KeyFileErrors): Envelope {
  const reader = new Reader(bytes);
  if (!equalBytes(reader.raw(Math.min(MAGIC.length, bytes.length)), MAGIC)) {
    throw errors.corrupt('it does not start with openssh-key-v1');
  }
  const cipher = reader.name();
  const kdf = reader.name();
  const kdfOptions = reader.string();
  const count = reader.u32();
  if (cipher === 'none' && (kdf !== 'none' || kdfOptions.length !== 0)) {
    throw errors.corrupt('it has a key derivation, but no cipher');
  }
  if (count !== 1) throw errors.unsupported(`a bundle of ${count} keys`, 'give it one key per file');
  const publicBlob = reader.string();
  const section = reader.string();
  const tag = reader.rest();
  if (cipher === 'none') new Reader(tag).expectEnd('the key file');
  return { cipher, kdf, kdfOptions, publicBlob, section, tag };
}

function open(envelope: Envelope, opening: Opening): PrivateKey {
  checkType(keyTypeOf(envelope.publicBlob), opening.errors);
  if (envelope.cipher === 'none') return keyIn(envelope.section, envelope.publicBlob, opening);
  const plain = decrypt(envelope, opening);
  try {
    return keyIn(plain, envelope.publicBlob, opening);
  } finally {
    wipe(plain);
  }
}

function keyIn(plain: Uint8Array, publicBlob: Uint8Array, { crypto, errors }: Opening): PrivateKey {
  const { secret, publicHalf, comment } = readSection(plain, errors);
  const key = keyPairOf(crypto, secret, comment);
  // Compares values, not encodings: some writers put superfluous zeros before RSA numbers.
  for (const half of [publicHalf, parsePublicKey(publicBlob)]) {
    if (!equalBytes(encodePublicKey(half), key.publicKey.blob)) throw errors.halvesDiffer();
  }
  return key;
}

function checkType(type: string, errors: KeyFileErrors): void {
  if (type === 'ssh-ed25519' || type === 'ssh-rsa' || isEcdsaType(type)) return;
  if (type.startsWith('sk-')) {
    const advice = 'the key itself never leaves the device: add it to an agent with `ssh-add`, and use the agent';
    throw errors.unsupported('the handle of a security key', advice);
  }
  throw errors.unsupported(`a key of type ${printable(type, 64)}`, 'use an Ed25519, ECDSA or RSA key');
}

/** The private section in the clear; its first two numbers show that the passphrase was right. */
function decrypt(envelope: Envelope, opening: Opening): Uint8Array {
  const { crypto, errors, bounds } = opening;
  const { section, tag } = envelope;
  const how = `${printable(envelope.cipher, 40)}, ${printable(envelope.kdf, 40)}`;
  const cipher = namedCipher(envelope.cipher);
  const advice = 'encrypt it anew where it can be opened, with `ssh-keygen -p -Z aes256-ctr`';
  if (cipher === undefined) throw errors.cipherUnsupported(printable(envelope.cipher, 40), advice);
  if (envelope.kdf !== 'bcrypt') throw errors.cipherUnsupported(`a key from ${printable(envelope.kdf, 40)}`, advice);
  const options = new Reader(envelope.kdfOptions);
  const salt = options.string();
  const rounds = options.u32();
  options.expectEnd('the options of the key derivation');
  if (salt.length === 0) throw errors.corrupt('its salt is empty');
  bounds.bcrypt(rounds, salt);
  if (section.length === 0 || section.length % cipher.blockSize !== 0) throw cutOff(errors);
  if (tag.length !== cipher.tagSize) throw errors.corrupt(`it has ${tag.length} bytes of tag, not ${cipher.tagSize}`);
  const derived = crypto.kdfs.bcrypt(opening.passphrase(how), salt, rounds, cipher.keySize + cipher.vectorSize);
  const [key, vector] = [derived.slice(0, cipher.keySize), derived.slice(cipher.keySize)];
  const plain = cipher.decrypt(crypto, key, vector, concat(section, tag));
  for (const secret of [derived, key, vector]) wipe(secret);
  if (plain === undefined) throw errors.passphraseWrong(how);
  const reader = new Reader(plain);
  const check = reader.u32();
  if (reader.u32() !== check) throw errors.passphraseWrong(how);
  return plain;
}

function readSection(section: Uint8Array, errors: KeyFileErrors): Section {
  if (section.length % PLAIN_BLOCK !== 0) throw cutOff(errors);
  const reader = new Reader(section);
  const check = reader.u32();
  if (reader.u32() !== check) throw errors.corrupt('its two check numbers differ');
  const found = readKey(reader, reader.name(), errors);
  const comment = reader.text();
  const padding = reader.rest();
  if (!padding.every((byte, i) => byte === ((i + 1) & 0xff))) throw errors.corrupt('its padding is not 1, 2, 3 …');
  return { ...found, comment };
}

function readKey(reader: Reader, type: string, errors: KeyFileErrors): Omit<Section, 'comment'> {
  checkType(type, errors);
  if (type === 'ssh-ed25519') {
    const publicKey = reader.string();
    const pair = reader.string(); // the seed, then the public key once more
    if (pair.length !== 64 || !equalBytes(pair.subarray(32), publicKey)) {
      throw errors.corrupt('its Ed25519 halves do not belong together');
    }
    return { secret: { type, seed: pair.slice(0, 32) }, publicHalf: { type, publicKey } };
  }
  if (isEcdsaType(type)) {
    const { curve, name } = ecdsaCurves[type];
    if (reader.name() !== name) throw errors.corrupt('its curve is not that of its type');
    const point = reader.string();
    return { secret: ecdsaSecret(type, reader.mpint()), publicHalf: { type, curve, point } };
  }
  const [modulus, exponent, privateExponent] = [integer(reader), integer(reader), integer(reader)];
  const [coefficient, prime1, prime2] = [integer(reader), integer(reader), integer(reader)];
  const key = { modulus, exponent, privateExponent, prime1, prime2, coefficient };
  return { secret: { type: 'ssh-rsa', key }, publicHalf: { type: 'ssh-rsa', key } };
}

/** An integer as bytes of its own, without leading zeros. */
function integer(reader: Reader): Uint8Array {
  return trimZeros(reader.mpint()).slice();
}

/** The comment of a file in the clear; `undefined` where the section cannot be read, which opening it will tell. */
function plainComment(section: Uint8Array, errors: KeyFileErrors): string | undefined {
  try {
    return readSection(section, errors).comment;
  } catch (error) {
    if (error instanceof SshError) return undefined;
    throw error;
  }
}

function cutOff(errors: KeyFileErrors): SshError {
  return errors.corrupt('its private section is cut off');
}
