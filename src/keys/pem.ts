/**
 * PEM armour (RFC 7468, RFC 1421 §4.6 headers), read leniently: keys arrive through editors, environment variables and
 * forms, so CRLF, indentation, a byte order mark, `\n` written as two characters, spaces in place of line ends, and text
 * around the block are all accepted. Must not know what the blocks hold.
 */

import { fromBase64 } from '../bytes/text.ts';

/** One block of armour. */
export interface PemBlock {
  /** What stands after BEGIN, such as `PRIVATE KEY`. */
  readonly label: string;
  /** Whether there are RFC 1421 headers that say ENCRYPTED. */
  readonly encrypted: boolean;
  /** What the base64 holds; `undefined` when it is not base64. */
  readonly bytes: Uint8Array | undefined;
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

/** Headers, where there are any, end at the first line without a colon that does not continue one. */
function blockOf(label: string, content: string): PemBlock {
  if (!content.includes(':')) return { label, encrypted: false, bytes: fromBase64(content) };
  const lines = content.split('\n').map((line) => line.trim());
  const last = lines.findLastIndex((line) => line.includes(':'));
  const headers = lines.slice(0, last + 1);
  const encrypted = headers.some((line) => /^Proc-Type:.*ENCRYPTED/.test(line));
  return { label, encrypted, bytes: fromBase64(lines.slice(last + 1).join('')) };
}
