/**
 * PEM armour (RFC 7468, RFC 1421 §4.6 headers), read leniently: keys arrive through editors, environment variables and
 * forms, so CRLF, indentation, a byte order mark, `\n` written as two characters, spaces in place of line ends, and text
 * around the block are all accepted. Must not know what the blocks hold.
 */

import { base64, fromBase64 } from '../bytes/text.ts';

/** One block of armour. */
export interface PemBlock {
  /** What stands after BEGIN, such as `PRIVATE KEY`. */
  readonly label: string;
  /** What the RFC 1421 headers say about encryption, if they do. */
  readonly encryption?: PemEncryption;
  /** What the base64 holds; `undefined` when it is not base64. */
  readonly bytes: Uint8Array | undefined;
}

/** DEK-Info of RFC 1421 §4.6.1.3, as OpenSSL writes it; both are missing where only Proc-Type says that there is encryption. */
export interface PemEncryption {
  /** Such as `AES-128-CBC`. */
  readonly cipher?: string;
  /** The initialization vector in hex. */
  readonly vector?: string;
}

/** A block that has a BEGIN line and no END line for it. */
export interface UnclosedPem {
  readonly label: string;
  readonly unclosed: true;
}

/** The blocks of `text` in order. */
export function parsePem(text: string): (PemBlock | UnclosedPem)[] {
  const plain = text.replace(/\\r\\n|\\n|\\r/g, '\n').replace(/\r\n?/g, '\n');
  const blocks: (PemBlock | UnclosedPem)[] = [];
  let at = 0;
  for (;;) {
    const begin = plain.indexOf('-----BEGIN ', at);
    if (begin < 0) return blocks;
    const labelAt = begin + '-----BEGIN '.length;
    const labelEnd = plain.indexOf('-----', labelAt);
    const label = labelEnd < 0 ? '' : plain.slice(labelAt, labelEnd);
    if (!/^[A-Z0-9 ]{1,64}$/.test(label)) {
      at = labelAt;
      continue;
    }
    const end = plain.indexOf(`-----END ${label}-----`, labelEnd);
    if (end < 0) {
      blocks.push({ label, unclosed: true });
      return blocks;
    }
    blocks.push(blockOf(label, plain.slice(labelEnd + 5, end)));
    at = end + 1;
  }
}

/** Headers, where there are any, end at the last line with a colon; or, if there is but one line, behind DEK-Info. */
function blockOf(label: string, content: string): PemBlock {
  if (!content.includes(':')) return { label, bytes: fromBase64(content) };
  const dek = /DEK-Info:\s*([A-Za-z0-9-]{1,40})(?:\s*,\s*([0-9A-Fa-f]{1,64})(?![^\s]))?/.exec(content);
  const lastColon = content.lastIndexOf(':');
  const lineEnd = content.indexOf('\n', lastColon);
  const dekEnd = dek === null ? 0 : dek.index + dek[0].length;
  const start = dekEnd > lastColon ? dekEnd : lineEnd < 0 ? content.length : lineEnd;
  const bytes = fromBase64(content.slice(start));
  if (dek === null && !/Proc-Type:[^\n]{0,40}ENCRYPTED/.test(content)) return { label, bytes };
  const [, cipher, vector] = dek ?? [];
  const encryption = { ...(cipher === undefined ? {} : { cipher }), ...(vector === undefined ? {} : { vector }) };
  return { label, bytes, encryption };
}

/** A block of armour with lines of `width` characters: 64 in RFC 7468, 70 in the files of OpenSSH. */
export function formatPem(label: string, bytes: Uint8Array, width = 64): string {
  return `-----BEGIN ${label}-----\n${wrapped(base64(bytes), width)}-----END ${label}-----\n`;
}

/** `text` in lines of at most `width` characters, each with its end. */
export function wrapped(text: string, width: number): string {
  let lines = '';
  for (let at = 0; at < text.length; at += width) lines += `${text.slice(at, at + width)}\n`;
  return lines;
}
