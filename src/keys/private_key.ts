/**
 * Private key files: finds out what a file is, hands it to the reader of its format, and says clearly what to do with one
 * that cannot be read. Then signs with what came out. Must not know where files are.
 */

import { decodeLenient, printable } from '../bytes/text.ts';
import type { CryptoProvider, MaybePromise } from '../crypto/provider.ts';
import { SshError, type SshErrorCode } from '../errors.ts';
import { KeyFileErrors } from './key_file_errors.ts';
import type { PrivateKey } from './key_pair.ts';
import { parseOpensshKey } from './openssh_key.ts';
import { type PemBlock, parsePem } from './pem.ts';
import { parsePkcs8 } from './pkcs8.ts';
import { algorithmsOf, encodeSignature, type Signer, signatureAlgorithms, whenReady } from './signature.ts';

/** Largest key file in bytes: OpenSSH's MAX_KEY_FILE_SIZE, far above an armoured RSA key of 16384 bits. */
export const MAX_KEY_FILE = 1048576;

/** How to read a private key. */
export interface PrivateKeyOptions {
  /** What messages call the file, usually its path. */
  readonly name?: string;
}

/** Codes of errors from below, where nobody knows that the bytes are a key file. */
const BELOW: ReadonlySet<SshErrorCode> = new Set(['decode', 'crypto', 'not-supported']);

/**
 * The private key in a file: openssh-key-v1 or PKCS#8, not encrypted. Throws `key-passphrase-needed` for an encrypted
 * file, `key-format-unsupported` for another format or kind of key (the message says which, and what to do) and
 * `key-corrupt` for a damaged one. Nothing secret gets into messages.
 */
export function parsePrivateKey(
  file: string | Uint8Array,
  crypto: CryptoProvider,
  options: PrivateKeyOptions = {},
): PrivateKey {
  const errors = new KeyFileErrors(options.name);
  if (file.length > MAX_KEY_FILE) throw errors.unsupported(`longer than ${MAX_KEY_FILE} bytes`, 'give a private key');
  const text = typeof file === 'string' ? file : decodeLenient(file);
  const blocks = parsePem(text);
  const block = blocks.find(({ label }) => label.endsWith('PRIVATE KEY')) ?? blocks[0];
  if (block === undefined) throw unarmoured(text, errors);
  if ('unclosed' in block) throw errors.corrupt(`it has no line -----END ${block.label}-----`);
  try {
    return parseBlock(block, crypto, errors);
  } catch (error) {
    if (error instanceof SshError && BELOW.has(error.code)) throw errors.corrupt(error.message);
    throw error;
  }
}

function parseBlock(block: PemBlock, crypto: CryptoProvider, errors: KeyFileErrors): PrivateKey {
  const { label, bytes } = block;
  const convert = `\`ssh-keygen -p -f ${errors.file}\` rewrites it in the format of OpenSSH`;
  switch (label) {
    case 'OPENSSH PRIVATE KEY':
      return parseOpensshKey(decoded(bytes, errors), crypto, errors);
    case 'PRIVATE KEY':
      return parsePkcs8(decoded(bytes, errors), crypto, errors);
    case 'ENCRYPTED PRIVATE KEY':
      throw errors.passphraseNeeded('PKCS#8');
    case 'RSA PRIVATE KEY':
      throw errors.unsupported(`${block.encrypted ? 'an encrypted' : 'a'} PKCS#1 RSA key`, convert);
    case 'EC PRIVATE KEY':
      throw errors.unsupported(`${block.encrypted ? 'an encrypted' : 'a'} SEC1 EC key`, convert);
    case 'DSA PRIVATE KEY':
      throw errors.unsupported('a DSA key', 'SSH no longer uses DSA: make an Ed25519 key');
  }
  if (label.endsWith('PRIVATE KEY')) throw errors.unsupported(`a key with the label ${label}`, convert);
  if (label.endsWith('PUBLIC KEY')) throw givenPublic(errors);
  throw errors.unsupported(`a ${label}`, 'give the private key that belongs to it');
}

function decoded(bytes: Uint8Array | undefined, errors: KeyFileErrors): Uint8Array {
  if (bytes === undefined) throw errors.corrupt('what stands between BEGIN and END is not base64');
  return bytes;
}

/** What a file without PEM armour looks like. */
function unarmoured(text: string, errors: KeyFileErrors): SshError {
  const start = text.replace(/^\ufeff/, '').trimStart();
  if (start === '') return errors.unsupported('empty', 'give a private key');
  if (start.startsWith('PuTTY-User-Key-File-')) {
    const advice = `\`puttygen ${errors.file} -O private-openssh-new -o NEW\` converts it`;
    return errors.unsupported('a PuTTY key (PPK)', advice);
  }
  if (/^---- BEGIN SSH2 [A-Z ]*PRIVATE KEY ----/.test(start)) {
    return errors.unsupported('a key of ssh.com (SSH2)', `\`ssh-keygen -i -f ${errors.file}\` converts it`);
  }
  if (/^---- BEGIN SSH2 PUBLIC KEY ----|^(?:sk-)?(?:ssh|ecdsa)-[!-~]+[ \t]+AAAA/.test(start))
    return givenPublic(errors);
  if (/^0[\u0080-\uffff]/.test(start)) {
    const advice = `\`openssl pkey -inform DER -in ${errors.file}\` writes it as PEM`;
    return errors.unsupported('binary, perhaps DER', advice);
  }
  if (start.startsWith('{')) return errors.unsupported('JSON, perhaps a JWK', 'give a key in OpenSSH or PKCS#8 format');
  return errors.unsupported('no private key that puressh knows', 'its text should begin with -----BEGIN');
}

function givenPublic(errors: KeyFileErrors): SshError {
  return errors.unsupported('a public key', 'give the private one, usually the file of the same name without .pub');
}

/** A signer for a private key in memory. */
export function signerOf(crypto: CryptoProvider, key: PrivateKey): Signer {
  const { type, blob } = key.publicKey;
  const algorithms = algorithmsOf(type);
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
