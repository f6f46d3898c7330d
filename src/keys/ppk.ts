/**
 * Private keys of PuTTY, PPK of version 2 and 3 (PuTTY manual, appendix C): lines of text around a public and a private blob, with
 * a MAC over both. Version 3 makes its keys from the passphrase by Argon2, version 2 by SHA-1. Must not know other formats.
 */

import { concat, equalBytes } from '../bytes/bytes.ts';
import { trimZeros } from '../bytes/mpint.ts';
import { Reader } from '../bytes/reader.ts';
import { equalSecret, wipe } from '../bytes/secret.ts';
import { fromBase64, fromHex, printable, utf8 } from '../bytes/text.ts';
import { Writer } from '../bytes/writer.ts';
import type { Argon2Cost, Argon2Kind } from '../crypto/kdfs.ts';
import type { CryptoProvider } from '../crypto/provider.ts';
import { SshError } from '../errors.ts';
import { keyCipher } from './key_cipher.ts';
import type { KeyFile, Opening } from './key_file.ts';
import type { KeyFileErrors } from './key_file_errors.ts';
import { ecdsaSecret, keyPairOf, type PrivateKey, type PrivateKeySecret } from './key_pair.ts';
import { isEcdsaType, type PublicKey } from './public_key.ts';
import { parseShownKey } from './shown_key.ts';

export const PPK_HEADER = 'PuTTY-User-Key-File-';
/** What version 2 hashes before the passphrase to get the key of its MAC. */
const MAC_LABEL = utf8('putty-private-key-file-mac-key');
const ED25519_SIZE = 32;
const BLOCK = 16;

const kinds: Readonly<Record<string, Argon2Kind>> = { Argon2d: 'd', Argon2i: 'i', Argon2id: 'id' };

/** The lines of a file, read but not understood. */
interface Lines {
  readonly version: 2 | 3;
  readonly algorithm: string;
  readonly encryption: string;
  readonly comment: string;
  readonly publicBlob: Uint8Array;
  readonly privateBlob: Uint8Array;
  readonly derivation: { readonly name: string; readonly cost: Argon2Cost; readonly salt: Uint8Array } | undefined;
  readonly mac: Uint8Array;
}

/** The secrets that a passphrase gives; an unencrypted file has only the key of its MAC. */
export interface PpkKeys {
  readonly key: Uint8Array;
  readonly vector: Uint8Array;
  readonly macKey: Uint8Array;
}

/**
 * The key in the text of a PPK. `encode` gives the bytes of a part of the text, since the MAC covers the comment as it is in
 * the file. Throws what `errors` makes, or `decode`.
 */
export function readPpk(text: string, encode: (text: string) => Uint8Array, errors: KeyFileErrors): KeyFile {
  const lines = readLines(text, errors);
  const encrypted = lines.encryption !== 'none';
  const shown = shownIn(lines);
  return {
    format: 'ppk',
    encrypted,
    publicBlob: shown?.key.blob ?? lines.publicBlob,
    certificate: shown?.certificate?.blob,
    comment: lines.comment,
    open: (opening) => open(lines, encode(lines.comment), opening),
  };
}

/** The public half, if it is of a kind that is known; what is wrong with it, opening will tell. */
function shownIn({ publicBlob }: Lines): ReturnType<typeof parseShownKey> | undefined {
  try {
    return parseShownKey(publicBlob);
  } catch (error) {
    if (error instanceof SshError) return undefined;
    throw error;
  }
}

function open(lines: Lines, comment: Uint8Array, opening: Opening): PrivateKey {
  const { crypto, errors } = opening;
  const { algorithm, publicBlob } = lines;
  if (!/^(?:ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(?:256|384|521))(?:-cert-v01@openssh\.com)?$/.test(algorithm)) {
    throw errors.unsupported(`a key of type ${printable(algorithm, 64)}`, 'use an Ed25519, ECDSA or RSA key');
  }
  const shown = parseShownKey(publicBlob, crypto);
  if (shown.type !== algorithm) throw errors.corrupt('its public key is not of its type');
  const how = lines.derivation === undefined ? 'PPK' : `PPK, ${lines.derivation.name}`;
  const keys = keysFor(lines, how, opening);
  const plain = lines.encryption === 'none' ? lines.privateBlob : decrypt(crypto, keys, lines.privateBlob);
  const mac = ppkMac(crypto, lines.version, keys, [algorithm, lines.encryption, comment, publicBlob, plain]);
  for (const secret of [keys.key, keys.vector, keys.macKey]) wipe(secret);
  if (!equalSecret(mac, lines.mac)) {
    // A wrong passphrase and a damaged file look alike here; but a private half that fits the public one needs the right passphrase.
    if (lines.encryption === 'none' || fits(plain, shown.key, lines, opening)) {
      throw errors.corrupt('its MAC does not match');
    }
    throw errors.passphraseWrong(how);
  }
  const key = keyIn(plain, shown.key, lines, opening);
  if (plain !== lines.privateBlob) wipe(plain);
  return key;
}

function fits(plain: Uint8Array, publicKey: PublicKey, lines: Lines, opening: Opening): boolean {
  try {
    keyIn(plain, publicKey, lines, opening);
    return true;
  } catch (error) {
    if (error instanceof SshError) return false;
    throw error;
  }
}

function keyIn(plain: Uint8Array, publicKey: PublicKey, { comment }: Lines, { crypto, errors }: Opening): PrivateKey {
  const reader = new Reader(plain);
  const secret = readSecret(reader, publicKey, errors);
  if (reader.remaining >= BLOCK) throw errors.corrupt('its private part is too long');
  const key = keyPairOf(crypto, secret, comment);
  if (!equalBytes(key.publicKey.blob, publicKey.blob)) throw errors.halvesDiffer();
  return key;
}

function readSecret(reader: Reader, publicKey: PublicKey, errors: KeyFileErrors): PrivateKeySecret {
  const { type } = publicKey;
  if (type === 'ssh-ed25519') {
    const body = reader.string(); // little-endian, in as few bytes as hold it
    if (body.length > ED25519_SIZE) throw errors.corrupt(`its Ed25519 seed has ${body.length} bytes`);
    const seed = new Uint8Array(ED25519_SIZE);
    seed.set(body);
    return { type, seed };
  }
  if (isEcdsaType(type)) return ecdsaSecret(type, reader.mpint());
  if (type !== 'ssh-rsa') throw errors.unsupported(`a key of type ${type}`, 'use an Ed25519, ECDSA or RSA key');
  const integer = () => trimZeros(reader.mpint()).slice();
  const [privateExponent, prime1, prime2, coefficient] = [integer(), integer(), integer(), integer()];
  return { type, key: { ...publicKey.key, privateExponent, prime1, prime2, coefficient } };
}

function keysFor(lines: Lines, how: string, opening: Opening): PpkKeys {
  const { crypto, errors, bounds } = opening;
  const nothing = new Uint8Array(0);
  if (lines.encryption === 'none') {
    return lines.version === 3
      ? { key: nothing, vector: nothing, macKey: nothing }
      : { key: nothing, vector: nothing, macKey: macKeyOf2(crypto, nothing) };
  }
  const advice = `\`puttygen ${errors.file} -o NEW\` writes it anew`;
  if (lines.encryption !== 'aes256-cbc') throw errors.cipherUnsupported(printable(lines.encryption, 40), advice);
  if (lines.privateBlob.length === 0 || lines.privateBlob.length % BLOCK !== 0) {
    throw errors.corrupt('its private part is cut off');
  }
  if (lines.version === 2) return keysOf2(crypto, opening.passphrase(how));
  const { derivation } = lines;
  if (derivation === undefined) throw errors.corrupt('it has no line Key-Derivation');
  const kind = Object.hasOwn(kinds, derivation.name) ? kinds[derivation.name] : undefined;
  if (kind === undefined) throw errors.cipherUnsupported(`a key from ${printable(derivation.name, 40)}`, advice);
  bounds.argon2(derivation.cost, derivation.salt);
  return ppkKeys3(crypto, kind, opening.passphrase(how), derivation.salt, derivation.cost);
}

/** The keys of version 3: 80 bytes of Argon2. */
export function ppkKeys3(
  { kdfs }: CryptoProvider,
  kind: Argon2Kind,
  passphrase: Uint8Array,
  salt: Uint8Array,
  cost: Argon2Cost,
): PpkKeys {
  const derived = kdfs.argon2(kind, passphrase, salt, cost, 80);
  const keys = { key: derived.slice(0, 32), vector: derived.slice(32, 48), macKey: derived.slice(48) };
  wipe(derived);
  return keys;
}

function keysOf2(crypto: CryptoProvider, passphrase: Uint8Array): PpkKeys {
  const [first, second] = [0, 1].map((count) => {
    const input = concat(Uint8Array.of(0, 0, 0, count), passphrase);
    const digest = crypto.hashes.sha1.digest(input);
    wipe(input);
    return digest;
  }) as [Uint8Array, Uint8Array];
  const key = concat(first, second.subarray(0, 12));
  for (const secret of [first, second]) wipe(secret);
  return { key, vector: new Uint8Array(BLOCK), macKey: macKeyOf2(crypto, passphrase) };
}

function macKeyOf2(crypto: CryptoProvider, passphrase: Uint8Array): Uint8Array {
  const input = concat(MAC_LABEL, passphrase);
  const digest = crypto.hashes.sha1.digest(input);
  wipe(input);
  return digest;
}

function decrypt(crypto: CryptoProvider, { key, vector }: PpkKeys, data: Uint8Array): Uint8Array {
  return keyCipher('aes256-cbc').decrypt(crypto, key, vector, data) as Uint8Array;
}

/** The MAC over the strings that a file consists of: algorithm, encryption, comment, public and private blob in the clear. */
export function ppkMac(
  crypto: CryptoProvider,
  version: 2 | 3,
  { macKey }: PpkKeys,
  parts: readonly (string | Uint8Array)[],
): Uint8Array {
  const writer = new Writer();
  for (const part of parts) writer.string(part);
  const covered = writer.finish();
  const mac = crypto.macs[version === 3 ? 'hmac-sha256' : 'hmac-sha1'].create(macKey);
  const tag = mac.compute(covered, new Uint8Array(0));
  wipe(covered);
  return tag;
}

/** Takes lines in the order that PuTTY writes them in, which is the only one that it reads. */
class LineReader {
  readonly #lines: readonly string[];
  readonly #errors: KeyFileErrors;
  #at = 0;

  constructor(text: string, errors: KeyFileErrors) {
    this.#lines = text.split('\n');
    this.#errors = errors;
  }

  /** The value of the next line, whose name must be that. */
  value(name: string): string {
    const line = this.#next(name);
    const prefix = `${name}:`;
    if (!line.startsWith(prefix)) throw this.#errors.corrupt(`it has no line ${name} where one must stand`);
    return line.slice(prefix.length).replace(/^ /, '');
  }

  /** Whether the next line has that name. */
  isNext(name: string): boolean {
    return this.#lines[this.#at]?.trimStart().startsWith(`${name}:`) ?? false;
  }

  count(name: string): number {
    const value = this.value(name).trim();
    if (!/^\d{1,10}$/.test(value)) throw this.#errors.corrupt(`its ${name} is no number`);
    return Number(value);
  }

  hex(name: string): Uint8Array {
    const value = this.value(name).trim();
    if (!/^(?:[0-9a-fA-F]{2})*$/.test(value)) throw this.#errors.corrupt(`its ${name} is not hex`);
    return fromHex(value);
  }

  /** A blob in as many lines of base64 as the line `name` says. */
  blob(name: string): Uint8Array {
    const count = this.count(name);
    if (count > this.#lines.length) throw this.#errors.corrupt(`its ${name} is more than it has`);
    let digits = '';
    for (let i = 0; i < count; i++) digits += this.#next(name).trim();
    const bytes = fromBase64(digits);
    if (bytes === undefined) throw this.#errors.corrupt(`what follows ${name} is not base64`);
    return bytes;
  }

  expectEnd(): void {
    if (this.#lines.slice(this.#at).some((line) => line.trim() !== '')) {
      throw this.#errors.corrupt('something stands behind its MAC');
    }
  }

  #next(name: string): string {
    const line = this.#lines[this.#at];
    if (line === undefined) throw this.#errors.corrupt(`it ends before ${name}`);
    this.#at++;
    return line.trimStart();
  }
}

function readLines(text: string, errors: KeyFileErrors): Lines {
  // The end of a line is CRLF, LF or CR; two characters `\n` only where there is no other.
  const plain = text.trimStart().replace(/\r\n?/g, '\n');
  const reader = new LineReader(plain.trim().includes('\n') ? plain : plain.replace(/\\r\\n|\\n|\\r/g, '\n'), errors);
  const [, number] = new RegExp(`^${PPK_HEADER}(\\d{1,3}):`).exec(plain) ?? [];
  if (number !== '2' && number !== '3') {
    const advice = `\`puttygen ${errors.file} -o NEW\` writes it anew`;
    throw errors.unsupported(`a PuTTY key of version ${number ?? 'unknown'}`, advice);
  }
  const version = number === '2' ? 2 : 3;
  const algorithm = reader.value(`${PPK_HEADER}${number}`).trim();
  const encryption = reader.value('Encryption').trim();
  const comment = reader.value('Comment');
  const publicBlob = reader.blob('Public-Lines');
  const derivation = reader.isNext('Key-Derivation') ? readDerivation(reader) : undefined;
  const privateBlob = reader.blob('Private-Lines');
  if (reader.isNext('Private-Hash')) {
    const advice = `\`puttygen ${errors.file} -o NEW\` writes it anew`;
    throw errors.unsupported('a PuTTY key without MAC', advice);
  }
  const mac = reader.hex('Private-MAC');
  reader.expectEnd();
  return { version, algorithm, encryption, comment, publicBlob, privateBlob, derivation, mac };
}

function readDerivation(reader: LineReader): Lines['derivation'] {
  const name = reader.value('Key-Derivation').trim();
  const cost = {
    memory: reader.count('Argon2-Memory'),
    passes: reader.count('Argon2-Passes'),
    lanes: reader.count('Argon2-Parallelism'),
  };
  return { name, cost, salt: reader.hex('Argon2-Salt') };
}
