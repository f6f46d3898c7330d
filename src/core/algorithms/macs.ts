/** MACs as rows: RFC 6668, RFC 4253 §6.4; the `-etm` forms are OpenSSH PROTOCOL §1.5. */

import type { CryptoProvider, Mac } from '../../crypto/provider.ts';

export interface MacRow {
  readonly primitive: keyof CryptoProvider['macs'];
  /** Bytes of the key, and of the MAC before it is cut. */
  readonly size: number;
  /** Bytes of the MAC that are sent. */
  readonly tagSize: number;
  /** Encrypt-then-MAC: the MAC covers the ciphertext. */
  readonly etm: boolean;
}

/** 96 bits of a MAC, the first ones (RFC 2104 §5). */
const SHORT = 12;

function row(primitive: MacRow['primitive'], size: number, form: { etm?: true; short?: true } = {}): MacRow {
  return { primitive, size, tagSize: form.short ? SHORT : size, etm: form.etm ?? false };
}

/** Every MAC that puressh can speak, by its SSH name. */
export const macs: ReadonlyMap<string, MacRow> = new Map<string, MacRow>([
  ['hmac-sha2-256-etm@openssh.com', row('hmac-sha256', 32, { etm: true })],
  ['hmac-sha2-512-etm@openssh.com', row('hmac-sha512', 64, { etm: true })],
  ['hmac-sha2-256', row('hmac-sha256', 32)],
  ['hmac-sha2-512', row('hmac-sha512', 64)],
  ['hmac-sha1-etm@openssh.com', row('hmac-sha1', 20, { etm: true })],
  ['hmac-sha1', row('hmac-sha1', 20)],
  ['hmac-sha1-96-etm@openssh.com', row('hmac-sha1', 20, { etm: true, short: true })],
  ['hmac-sha1-96', row('hmac-sha1', 20, { short: true })],
  ['hmac-md5-etm@openssh.com', row('hmac-md5', 16, { etm: true })],
  ['hmac-md5', row('hmac-md5', 16)],
  ['hmac-md5-96-etm@openssh.com', row('hmac-md5', 16, { etm: true, short: true })],
  ['hmac-md5-96', row('hmac-md5', 16, { short: true })],
]);

/** The MAC of a row, as long as it is sent. */
export function macOf(crypto: CryptoProvider, row: MacRow, key: Uint8Array): Mac {
  const mac = crypto.macs[row.primitive].create(key);
  if (row.tagSize === row.size) return mac;
  return { compute: (first, second) => mac.compute(first, second).subarray(0, row.tagSize) };
}
