/**
 * Text and bytes: UTF-8, hex, base64, and the sanitising of text that came from a peer (RFC 4251 §9.2: control
 * characters must not reach a terminal). Knows no protocol.
 */

import { SshError } from '../errors.ts';

const encoder = new TextEncoder();
const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const lenient = new TextDecoder('utf-8', { ignoreBOM: true });

/** UTF-8 bytes of `text`. */
export function utf8(text: string): Uint8Array {
  return encoder.encode(text);
}

/** `bytes` as they are, or the UTF-8 bytes of a string. */
export function toBytes(value: string | Uint8Array): Uint8Array {
  return typeof value === 'string' ? encoder.encode(value) : value;
}

/** Text of UTF-8 bytes; `undefined` when they are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return strict.decode(bytes);
  } catch {
    return undefined;
  }
}

/** Text of UTF-8 bytes, with U+FFFD in place of what is not UTF-8. */
export function decodeLenient(bytes: Uint8Array): string {
  return lenient.decode(bytes);
}

/**
 * Text of bytes in whatever encoding, and the way back for it and what is made of it, such that what stays keeps its bytes: UTF-8
 * where they are that, else a character for each byte.
 */
export function decodeExactly(bytes: Uint8Array): { text: string; encode: (text: string) => Uint8Array } {
  const text = decodeUtf8(bytes);
  return text === undefined ? { text: latin1(bytes), encode: fromLatin1 } : { text, encode: utf8 };
}

/** One character per byte (ISO 8859-1): loses nothing, for names that are ASCII on the wire. */
export function latin1(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}

/** The bytes of which `latin1` makes `text`; throws `bad-argument` for characters above U+00FF. */
export function fromLatin1(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < bytes.length; i++) {
    const code = text.charCodeAt(i);
    if (code > 0xff) throw new SshError('bad-argument', `Not a name of one byte a character: ${printable(text, 40)}`);
    bytes[i] = code;
  }
  return bytes;
}

/** Lower-case hex digits of `bytes`. */
export function hex(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += byte.toString(16).padStart(2, '0');
  return text;
}

/** Bytes of hex digits; white space is ignored. Throws `bad-argument` for anything else. */
export function fromHex(text: string): Uint8Array {
  const digits = text.replace(/\s+/g, '');
  if (digits.length % 2 !== 0 || /[^0-9a-fA-F]/.test(digits)) {
    throw new SshError('bad-argument', `Not hex digits: ${printable(text, 40)}`);
  }
  const bytes = new Uint8Array(digits.length / 2);
  for (let i = 0; i < bytes.length; i++) bytes[i] = Number.parseInt(digits.slice(2 * i, 2 * i + 2), 16);
  return bytes;
}

const BINARY_STEP = 0x6000; // a multiple of 3, small enough for one call of String.fromCharCode

/** Base64 (RFC 4648 §4) with padding. */
export function base64(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += BINARY_STEP) {
    text += btoa(String.fromCharCode(...bytes.subarray(at, at + BINARY_STEP)));
  }
  return text;
}

/** Bytes of base64 text, padded or not, white space ignored; `undefined` when it is not base64. */
export function fromBase64(text: string): Uint8Array | undefined {
  const packed = text.replace(/\s+/g, '');
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(packed)) return undefined;
  try {
    const binary = atob(packed);
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
    return bytes;
  } catch {
    return undefined;
  }
}

/**
 * C0, DEL, C1, the bidirectional controls that can reorder what a terminal shows, and the separators U+2028 and U+2029, at which
 * `node:readline` and others end a line: nobody may write into a log what looks like a line of its own.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is the purpose
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/**
 * Text from a peer made safe to show: control and bidirectional characters, and ends of lines, become `\xNN` or `\uNNNN`, and what is
 * longer than `max` characters is cut with an ellipsis.
 */
export function printable(value: string | Uint8Array, max = 200): string {
  const text = typeof value === 'string' ? value : decodeLenient(value);
  const cut = text.length > max ? `${text.slice(0, max)}…` : text;
  return cut.replace(UNPRINTABLE, (c) => {
    const code = c.charCodeAt(0);
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`;
  });
}

/** As `printable`, but line feeds and tabs stay: for banners and prompts of several lines. */
export function printableLines(value: string | Uint8Array, max = 65536): string {
  const text = typeof value === 'string' ? value : decodeLenient(value);
  return text
    .slice(0, max)
    .replace(/\r\n?/g, '\n')
    .split('\n')
    .map((line) =>
      line
        .split('\t')
        .map((part) => printable(part, max))
        .join('\t'),
    )
    .join('\n');
}
