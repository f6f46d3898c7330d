/**
 * Public keys as one line of text, `type base64 comment`: the `.pub` files of OpenSSH. The key may be of any type.
 * Must not know the options of authorized_keys, nor files.
 */

import { base64, decodeLenient, fromBase64, printable } from '../bytes/text.ts';
import { SshError } from '../errors.ts';
import { keyTypeOf } from './public_key.ts';

/** What a public key line says. */
export interface PublicKeyLine {
  readonly type: string;
  readonly blob: Uint8Array;
  readonly comment: string;
}

/**
 * The first line of `text` that is neither empty nor a comment. Throws `key-format-unsupported` if it is no public key
 * line, `key-corrupt` if its base64 is damaged or holds a key of another type.
 */
export function parsePublicKeyLine(text: string): PublicKeyLine {
  const line = firstLine(text);
  const [, type, digits, comment] = /^(\S+)[ \t]+(\S+)(?:[ \t]+(.*))?$/.exec(line) ?? [];
  if (type === undefined || digits === undefined || type.startsWith('-')) {
    throw new SshError(
      'key-format-unsupported',
      `Not a public key line 'type base64 comment': '${printable(line, 60)}'`,
    );
  }
  const blob = fromBase64(digits);
  if (blob === undefined) throw corrupt(type, 'its base64 is not base64');
  const found = typeIn(blob);
  if (found !== type) {
    throw corrupt(type, found === undefined ? 'its base64 holds no key' : `its base64 holds a key of type ${found}`);
  }
  return { type, blob, comment: comment?.trimEnd() ?? '' };
}

/** The blob of a key, or of a certificate: given as it is, or as the text or bytes of a `.pub` file. Throws as `parsePublicKeyLine`. */
export function blobIn(material: string | Uint8Array): Uint8Array {
  // a blob begins with the length of its type, so with a zero; no text does
  if (typeof material !== 'string' && material[0] === 0) return material;
  return parsePublicKeyLine(typeof material === 'string' ? material : decodeLenient(material)).blob;
}

/** `type base64 comment`, without an end of line. Throws `bad-argument` for a comment of several lines. */
export function formatPublicKeyLine(blob: Uint8Array, comment = ''): string {
  if (/[\r\n]/.test(comment)) throw new SshError('bad-argument', `A comment of several lines: '${printable(comment)}'`);
  const line = `${keyTypeOf(blob)} ${base64(blob)}`;
  return comment === '' ? line : `${line} ${comment}`;
}

function firstLine(text: string): string {
  for (const raw of text.replace(/^\ufeff/, '').split(/\r\n|\n|\r/)) {
    const line = raw.trim();
    if (line !== '' && !line.startsWith('#')) return line;
  }
  return '';
}

function typeIn(blob: Uint8Array): string | undefined {
  try {
    return keyTypeOf(blob);
  } catch (error) {
    if (error instanceof SshError) return undefined;
    throw error;
  }
}

function corrupt(type: string, detail: string): SshError {
  return new SshError('key-corrupt', `The ${printable(type, 64)} public key line is damaged: ${detail}`);
}
