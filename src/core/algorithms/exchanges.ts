/** Key exchange methods as rows: RFC 8731, RFC 5656 §4. Each is one agreement and one hash. */

import type { AgreementName, HashName } from '../../crypto/provider.ts';

export interface ExchangeRow {
  readonly agreement: AgreementName;
  readonly hash: HashName;
  /** How the shared secret enters the exchange hash and the key schedule: RFC 8731 §3.1 (mpint), RFC 10042 (string). */
  readonly secretAs: 'mpint' | 'string';
}

const curve25519: ExchangeRow = { agreement: 'x25519', hash: 'sha256', secretAs: 'mpint' };

/** Every method that puressh can speak, by its SSH name. */
export const exchanges: ReadonlyMap<string, ExchangeRow> = new Map<string, ExchangeRow>([
  ['curve25519-sha256', curve25519],
  ['curve25519-sha256@libssh.org', curve25519],
  ['ecdh-sha2-nistp256', { agreement: 'p256', hash: 'sha256', secretAs: 'mpint' }],
  ['ecdh-sha2-nistp384', { agreement: 'p384', hash: 'sha384', secretAs: 'mpint' }],
  ['ecdh-sha2-nistp521', { agreement: 'p521', hash: 'sha512', secretAs: 'mpint' }],
]);
