/**
 * Private key files: finds out what a file is, hands it to the reader of its format, and says clearly what to do with one
 * that cannot be read. Then signs with what came out. Must not know where files are.
 */

import { wipe } from '../bytes/secret.ts';
import { decodeExactly, printable, utf8 } from '../bytes/text.ts';
import { whenReady } from '../crypto/maybe_promise.ts';
import type { CryptoProvider, MaybePromise } from '../crypto/provider.ts';
import { SshError, type SshErrorCode } from '../errors.ts';
import { KdfBounds, type KdfLimits } from './kdf_limits.ts';
import { checkContent, checkNames } from './key_arguments.ts';
import type { KeyFile, KeyFileFormat } from './key_file.ts';
import { KeyFileErrors } from './key_file_errors.ts';
import type { PrivateKey } from './key_pair.ts';
import { parsePem } from './pem.ts';
import { readPemKey } from './pem_key.ts';
import { PPK_HEADER, readPpk } from './ppk.ts';
import { algorithmsOf, encodeSignature, type Signer, signatureAlgorithms } from './signature.ts';

/** Largest key file in bytes: OpenSSH's MAX_KEY_FILE_SIZE, far above an armoured RSA key of 16384 bits. */
export const MAX_KEY_FILE = 1048576;

/** How to read a private key. */
export interface PrivateKeyOptions {
  /** What messages call the file, usually its path. */
  readonly name?: string;
  /** Text counts as its UTF-8 bytes. A file that is not encrypted needs none, and one given for it is not looked at. */
  readonly passphrase?: string | Uint8Array;
  /** Bounds on what a passphrase may cost to try; the defaults take what every tool writes by default, and much more. */
  readonly limits?: Partial<KdfLimits>;
}

/** What can be known of a private key file without its passphrase. */
export interface PeekedKey {
  readonly format: KeyFileFormat;
  readonly encrypted: boolean;
  /** The blob of the public key, where it stands in the clear: in openssh-key-v1, PPK, and most of what is not encrypted. */
  readonly publicBlob?: Uint8Array;
  /** The blob of a certificate for the key, where a PPK holds one. */
  readonly certificate?: Uint8Array;
  readonly comment?: string;
}

/** Codes of errors from below, where nobody knows that the bytes are a key file. */
const BELOW: ReadonlySet<SshErrorCode> = new Set(['decode', 'crypto', 'not-supported']);

/**
 * The private key in a file: openssh-key-v1, PKCS#1, PKCS#8, SEC1 or PPK, encrypted or not, as text or bytes. Answers at once,
 * though an encrypted one may take seconds in plain JavaScript. Throws
 * `key-format-unsupported` for another format or kind of key (the message says which, and what to do),
 * `key-cipher-unsupported` for a cipher or key derivation that is not known or costs more than `limits` allow,
 * `key-passphrase-needed`, `key-passphrase-wrong`, and `key-corrupt` for a damaged file. Where nothing authenticates
 * what is encrypted, one whose ciphertext is damaged may look like a wrong passphrase. Nothing secret gets into messages.
 */
export function parsePrivateKey(
  file: string | Uint8Array,
  crypto: CryptoProvider,
  options: PrivateKeyOptions = {},
): PrivateKey {
  checkContent('parsePrivateKey', 'the file', file);
  checkNames('parsePrivateKey', options, ['name', 'passphrase', 'limits']);
  const { passphrase } = options;
  if (passphrase !== undefined) checkContent('parsePrivateKey', 'the passphrase', passphrase);
  const errors = new KeyFileErrors(options.name);
  const bounds = new KdfBounds(options.limits, errors);
  const bytes = typeof passphrase === 'string' ? utf8(passphrase) : passphrase;
  try {
    return asKeyFile(errors, () =>
      identify(file, errors).open({
        crypto,
        errors,
        bounds,
        passphrase(how) {
          if (bytes === undefined) throw errors.passphraseNeeded(how);
          return bytes;
        },
      }),
    );
  } finally {
    if (bytes !== undefined && bytes !== passphrase) wipe(bytes);
  }
}

/** What a private key file says without its passphrase. Throws as `parsePrivateKey`, but nothing about passphrases. */
export function peekPrivateKey(file: string | Uint8Array, name?: string): PeekedKey {
  checkContent('peekPrivateKey', 'the file', file);
  const errors = new KeyFileErrors(name);
  const { format, encrypted, publicBlob, certificate, comment } = asKeyFile(errors, () => identify(file, errors));
  return {
    format,
    encrypted,
    ...(publicBlob === undefined ? {} : { publicBlob }),
    ...(certificate === undefined ? {} : { certificate }),
    ...(comment === undefined ? {} : { comment }),
  };
}

/** Makes of errors from below what they mean for a file: it is damaged. */
function asKeyFile<T>(errors: KeyFileErrors, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof SshError && BELOW.has(error.code)) throw errors.corrupt(error.message);
    throw error;
  }
}

function identify(file: string | Uint8Array, errors: KeyFileErrors): KeyFile {
  if (file.length > MAX_KEY_FILE) throw errors.unsupported(`longer than ${MAX_KEY_FILE} bytes`, 'give a private key');
  const { text, encode } = typeof file === 'string' ? { text: file, encode: utf8 } : decodeExactly(file);
  const start = text.replace(/^\ufeff/, '').trimStart();
  if (start.startsWith(PPK_HEADER)) return readPpk(start, encode, errors);
  const blocks = parsePem(text);
  const block = blocks.find(({ label }) => label.endsWith('PRIVATE KEY')) ?? blocks[0];
  if (block === undefined) throw unknown(start, errors);
  if ('unclosed' in block) throw errors.corrupt(`it has no line -----END ${block.label}-----`);
  return readPemKey(block, errors);
}

/** What a file without PEM armour looks like. */
function unknown(start: string, errors: KeyFileErrors): SshError {
  if (start === '') return errors.unsupported('empty', 'give a private key');
  if (/^---- BEGIN SSH2 [A-Z ]*PRIVATE KEY ----/.test(start)) {
    return errors.unsupported('a key of ssh.com (SSH2)', `\`ssh-keygen -i -f ${errors.file}\` converts it`);
  }
  if (start.startsWith('SSH PRIVATE KEY FILE FORMAT 1.1')) {
    return errors.unsupported('a key of SSH 1', 'nothing uses SSH 1 any more: make an Ed25519 key');
  }
  if (/^---- BEGIN SSH2 PUBLIC KEY ----|^(?:sk-)?(?:ssh|ecdsa)-[!-~]+[ \t]+AAAA/.test(start)) {
    return errors.givenPublic();
  }
  if (/^0[\u0080-\uffff]/.test(start)) {
    const advice = `\`openssl pkey -inform DER -in ${errors.file}\` writes it as PEM`;
    return errors.unsupported('binary, perhaps DER', advice);
  }
  if (start.startsWith('{')) return errors.unsupported('JSON, perhaps a JWK', 'give a key in OpenSSH or PKCS#8 format');
  return errors.unsupported('no private key that puressh knows', 'its text should begin with -----BEGIN');
}

/** A signer for a private key in memory. */
export function signerOf(crypto: CryptoProvider, key: PrivateKey): Signer {
  const { type, blob } = key.publicKey;
  const algorithms = algorithmsOf(type, true);
  return {
    publicKey: blob,
    keyType: type,
    algorithms,
    comment: key.comment,
    sign(message, name): MaybePromise<Uint8Array> {
      const row = algorithms.includes(name) ? signatureAlgorithms.get(name) : undefined;
      if (row?.sign === undefined) {
        const able = algorithms.join(', ');
        throw new SshError(
          'bad-argument',
          `A key of type ${type} cannot sign with ${printable(name, 64)}, only ${able}`,
        );
      }
      return whenReady(row.sign(crypto, key.secret(), message), (body) => encodeSignature(name, body));
    },
  };
}
