/**
 * File names as text without loss. A name is bytes, as a rule UTF-8; a byte that is not part of valid UTF-8 becomes the lone
 * surrogate U+DC00 + byte (U+DC80 to U+DCFF), and comes back as that byte. Valid UTF-8 never decodes to a lone surrogate, so
 * that no two names become the same text. Not for text that is shown: see `printable`.
 */

import { SshError } from '../errors.ts';
import { join } from './bytes.ts';
import { decodeUtf8, utf8 } from './text.ts';

/** The text of a name; `encodeName` gives the same bytes again, whatever they are. */
export function decodeName(bytes: Uint8Array): string {
  const whole = decodeUtf8(bytes);
  if (whole !== undefined) return whole;
  let text = '';
  let start = 0;
  for (let at = 0; at < bytes.length; ) {
    const length = sequenceLength(bytes, at);
    if (length > 0) {
      at += length;
      continue;
    }
    text += decodeUtf8(bytes.subarray(start, at));
    text += String.fromCharCode(0xdc00 + (bytes[at] as number));
    at++;
    start = at;
  }
  return text + decodeUtf8(bytes.subarray(start));
}

/** The bytes of a name. Throws `bad-argument` for a lone surrogate that stands for no byte: it has no place in a name. */
export function encodeName(text: string): Uint8Array {
  if (!LONE_SURROGATE.test(text)) return utf8(text);
  const pieces = text.split(LONE_SURROGATES);
  return join(pieces.map((piece) => (LONE_SURROGATE.test(piece) ? escapedBytes(piece) : utf8(piece))));
}

/** With the flag `u` the halves of a pair are one character, so that only lone ones match. */
const LONE_SURROGATE = /[\ud800-\udfff]/u;
const LONE_SURROGATES = /([\ud800-\udfff]+)/u;

function escapedBytes(surrogates: string): Uint8Array {
  const bytes = new Uint8Array(surrogates.length);
  for (let i = 0; i < bytes.length; i++) {
    const code = surrogates.charCodeAt(i);
    if (code < 0xdc80 || code > 0xdcff) {
      throw new SshError(
        'bad-argument',
        `Not a file name: the lone surrogate U+${code.toString(16).toUpperCase()} stands for no byte`,
      );
    }
    bytes[i] = code - 0xdc00;
  }
  return bytes;
}

/** Bytes of the valid UTF-8 sequence at `at` (RFC 3629 §4), 0 when there is none. */
function sequenceLength(bytes: Uint8Array, at: number): number {
  const first = bytes[at] as number;
  if (first < 0x80) return 1;
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  return decodeUtf8(bytes.subarray(at, at + length)) === undefined ? 0 : length;
}
