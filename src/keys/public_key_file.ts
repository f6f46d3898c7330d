/**
 * Public keys as files: lines of OpenSSH, RFC 4716, SubjectPublicKeyInfo (RFC 5280 §4.1.2.7) and RSAPublicKey (RFC 8017 §A.1.1) in
 * PEM, and the public half of private key files. Must not know where files are.
 */

import { base64, decodeUtf8, fromBase64, latin1, printable } from '../bytes/text.ts';
import { SshError } from '../errors.ts';
import { type DerReader, onlyElement } from './der.ts';
import { bitString, integer, nothing, oid, sequence } from './der_write.ts';
import { checkContent, checkNames } from './key_arguments.ts';
import { KeyFileErrors } from './key_file_errors.ts';
import { formatPem, parsePem, wrapped } from './pem.ts';
import { KIND } from './pkcs8.ts';
import { curveOid } from './pkcs8_write.ts';
import { PPK_HEADER } from './ppk.ts';
import { MAX_KEY_FILE, peekPrivateKey } from './private_key.ts';
import { ecdsaCurves, encodePublicKey, isEcdsaType, keyTypeOf, parsePublicKey } from './public_key.ts';
import { formatPublicKeyLine, parsePublicKeyLine } from './public_key_line.ts';
import { readCurve, unsupportedKind } from './sec1.ts';

/** A key, or a certificate, and what stands beside it. */
export interface PublicKeyFile {
  readonly blob: Uint8Array;
  readonly comment: string;
}

/** How to write a public key. */
export interface PublicKeyFormat {
  /** A line of OpenSSH (the default), RFC 4716, or SubjectPublicKeyInfo in PEM, which certificates and `sk-` keys do not have. */
  readonly format?: 'openssh' | 'rfc4716' | 'pkcs8';
  /** Not in `pkcs8`. */
  readonly comment?: string;
}

/** RFC 4716 §3.3: a line has at most 72 bytes. */
const HEADER_WIDTH = 72;
/** RFC 4716 §3.3.2 and §3.3: a tag has at most 64 bytes, a value 1024; here with as much again. */
const MAX_HEADER = 2176;
/** Base64 in a line, as ssh-keygen has it. */
const BODY_WIDTH = 70;
const BEGIN = '---- BEGIN SSH2 PUBLIC KEY ----';
const END = '---- END SSH2 PUBLIC KEY ----';

/**
 * The public key in a file of any format. Keys of types that puressh does not know are read from lines and RFC 4716 too. Throws
 * `key-format-unsupported`, `key-corrupt`, and `key-passphrase-needed` for a private key whose public half is encrypted too.
 */
export function parsePublicKeyFile(file: string | Uint8Array, name?: string): PublicKeyFile {
  checkContent('parsePublicKeyFile', 'the file', file);
  const errors = new KeyFileErrors(name, 'public');
  if (file.length > MAX_KEY_FILE) throw errors.unsupported(`longer than ${MAX_KEY_FILE} bytes`, 'give a key file');
  const text = typeof file === 'string' ? file : (decodeUtf8(file) ?? latin1(file));
  const start = text.replace(/^\ufeff/, '').trimStart();
  if (start.startsWith(PPK_HEADER)) return ofPrivate(file, name);
  const plain = start.includes('\n') ? start : start.replace(/\\r\\n|\\n|\\r/g, '\n');
  if (plain.startsWith('---- BEGIN SSH2 PUBLIC')) return readRfc4716(plain, errors);
  const [block] = parsePem(text);
  if (block === undefined) return readLine(plain);
  if ('unclosed' in block) throw errors.corrupt(`it has no line -----END ${block.label}-----`);
  if (block.label.endsWith('PRIVATE KEY') || block.label === 'EC PARAMETERS') return ofPrivate(file, name);
  if (block.label !== 'PUBLIC KEY' && block.label !== 'RSA PUBLIC KEY') {
    throw errors.unsupported(`a ${block.label}`, 'give a public key');
  }
  if (block.bytes === undefined) throw errors.corrupt('what stands between BEGIN and END is not base64');
  try {
    return { blob: block.label === 'PUBLIC KEY' ? readSpki(block.bytes, errors) : readRsa(block.bytes), comment: '' };
  } catch (error) {
    if (error instanceof SshError && error.code === 'decode') throw errors.corrupt(error.message);
    throw error;
  }
}

function readLine(text: string): PublicKeyFile {
  const { blob, comment } = parsePublicKeyLine(text);
  return { blob, comment };
}

function ofPrivate(file: string | Uint8Array, name: string | undefined): PublicKeyFile {
  const { publicBlob, certificate, comment = '', encrypted, format } = peekPrivateKey(file, name);
  const blob = certificate ?? publicBlob;
  if (blob !== undefined) return { blob, comment };
  const errors = new KeyFileErrors(name);
  if (encrypted) throw errors.passphraseNeeded(`${format}, its public half too`);
  throw errors.unsupported(`${format} without its public half`, 'read it as a private key, which gives both');
}

/** RFC 4716 §3: headers, of which a backslash at the end of a line goes on in the next, then base64. */
function readRfc4716(text: string, errors: KeyFileErrors): PublicKeyFile {
  const lines = text.split(/\r\n|\n|\r/).map((line) => line.trim());
  if (lines[0] !== BEGIN) throw errors.corrupt('its first line is damaged');
  const end = lines.indexOf(END);
  if (end < 0) throw errors.corrupt(`it has no line ${END}`);
  let at = 1;
  let comment = '';
  for (; at < end && lines[at]?.includes(':'); at++) {
    let header = lines[at] as string;
    while (header.endsWith('\\') && at + 1 < end) {
      header = header.slice(0, -1) + (lines[++at] as string);
      if (header.length > MAX_HEADER) throw errors.corrupt(`it has a header of more than ${MAX_HEADER} characters`);
    }
    const [, tag, value] = /^([^:]*):\s*(.*)$/.exec(header) ?? [];
    if (tag?.toLowerCase() === 'comment') comment = value?.replace(/^"(.*)"$/, '$1') ?? '';
  }
  const blob = fromBase64(lines.slice(at, end).join(''));
  if (blob === undefined) throw errors.corrupt('what stands between BEGIN and END is not base64');
  try {
    keyTypeOf(blob);
  } catch (error) {
    if (error instanceof SshError) throw errors.corrupt('its base64 holds no key');
    throw error;
  }
  return { blob, comment };
}

function readSpki(bytes: Uint8Array, errors: KeyFileErrors): Uint8Array {
  const info = onlyElement(bytes, (reader) => reader.sequence());
  const algorithm = info.sequence();
  const kind = algorithm.oid();
  const blob = readKind(kind, algorithm, info.bitString(), errors);
  algorithm.expectEnd('the algorithm');
  info.expectEnd('SubjectPublicKeyInfo');
  parsePublicKey(blob);
  return blob;
}

function readKind(kind: string, algorithm: DerReader, bits: Uint8Array, errors: KeyFileErrors): Uint8Array {
  switch (kind) {
    case KIND.ed25519:
      return encodePublicKey({ type: 'ssh-ed25519', publicKey: bits });
    case KIND.ec: {
      const type = readCurve(algorithm, errors);
      return encodePublicKey({ type, curve: ecdsaCurves[type].curve, point: bits });
    }
    case KIND.rsa:
      if (!algorithm.done) algorithm.null();
      return readRsa(bits);
    default:
      throw unsupportedKind(kind, errors);
  }
}

function readRsa(bytes: Uint8Array): Uint8Array {
  const key = onlyElement(bytes, (reader) => reader.sequence());
  const [modulus, exponent] = [key.integer(), key.integer()];
  key.expectEnd('RSAPublicKey');
  const blob = encodePublicKey({ type: 'ssh-rsa', key: { modulus, exponent } });
  parsePublicKey(blob);
  return blob;
}

/** A public key, or a certificate, as the text of a file. Throws `bad-argument`, and `not-supported` for what has no such form. */
export function formatPublicKey(blob: Uint8Array, options: PublicKeyFormat = {}): string {
  checkNames('formatPublicKey', options, ['format', 'comment']);
  const { format = 'openssh', comment = '' } = options;
  switch (format) {
    case 'openssh':
      return `${formatPublicKeyLine(blob, comment)}\n`;
    case 'rfc4716':
      if (/[\r\n]/.test(comment))
        throw new SshError('bad-argument', `A comment of several lines: '${printable(comment)}'`);
      keyTypeOf(blob);
      return `${BEGIN}\n${headerLines(comment)}${wrapped(base64(blob), BODY_WIDTH)}${END}\n`;
    case 'pkcs8':
      return formatPem('PUBLIC KEY', spkiOf(blob));
    default:
      throw new SshError('bad-argument', `No format of public keys: '${printable(format, 40)}'`);
  }
}

function headerLines(comment: string): string {
  if (comment === '') return '';
  const header = `Comment: "${comment}"`;
  let lines = '';
  let line = '';
  // by characters, none of which is cut; one has at most three bytes for each of its UTF-16 units
  for (const character of header) {
    if (new TextEncoder().encode(line + character).length >= HEADER_WIDTH) {
      lines += `${line}\\\n`;
      line = '';
    }
    line += character;
  }
  return `${lines}${line}\n`;
}

function spkiOf(blob: Uint8Array): Uint8Array {
  const key = parsePublicKey(blob);
  if (key.type === 'ssh-ed25519') return sequence(sequence(oid(KIND.ed25519)), bitString(key.publicKey));
  if (key.type === 'ssh-rsa') {
    const numbers = sequence(integer(key.key.modulus), integer(key.key.exponent));
    return sequence(sequence(oid(KIND.rsa), nothing()), bitString(numbers));
  }
  if (isEcdsaType(key.type) && 'point' in key) {
    return sequence(sequence(oid(KIND.ec), oid(curveOid(key.type))), bitString(key.point));
  }
  throw new SshError('not-supported', `A key of type ${key.type} has no form as SubjectPublicKeyInfo`);
}
