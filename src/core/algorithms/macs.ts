/** MACs as rows: RFC 6668; the `-etm` forms are OpenSSH PROTOCOL §1.5. */

import type { CryptoProvider } from '../../crypto/provider.ts';

export interface MacRow {
  readonly primitive: keyof CryptoProvider['macs'];
  /** Bytes of key and of MAC. */
  readonly size: number;
  /** Encrypt-then-MAC: the MAC covers the ciphertext. */
  readonly etm: boolean;
}

/** Every MAC that puressh can speak, by its SSH name. */
export const macs: ReadonlyMap<string, MacRow> = new Map<string, MacRow>([
  ['hmac-sha2-256-etm@openssh.com', { primitive: 'hmac-sha256', size: 32, etm: true }],
  ['hmac-sha2-512-etm@openssh.com', { primitive: 'hmac-sha512', size: 64, etm: true }],
  ['hmac-sha2-256', { primitive: 'hmac-sha256', size: 32, etm: false }],
  ['hmac-sha2-512', { primitive: 'hmac-sha512', size: 64, etm: false }],
]);
