/**
 * Key exchange methods as rows: RFC 8731, RFC 5656 §4, RFC 4253 §8, RFC 8268, RFC 4419, draft-ietf-sshm-mlkem-hybrid-kex,
 * draft-ietf-sshm-ntruprime-ssh. Each is one hash and one way to agree.
 */

import { type ModpBits, modpAgreement, modpGroup } from '../../crypto/groups.ts';
import type { Agreement, AgreementName, CryptoProvider, HashName, KemName } from '../../crypto/provider.ts';
import { hybrid } from './hybrid.ts';

export type ExchangeRow = {
  readonly hash: HashName;
  /** How the shared secret enters the exchange hash and the key schedule: RFC 8731 §3.1 (mpint); of hybrids as a string. */
  readonly secretAs: 'mpint' | 'string';
  /** Broken or weak: offered only by the legacy preset. */
  readonly legacy?: true;
} & (
  | /** One value each way: messages 30 and 31. */ {
      readonly kind: 'agreement';
      readonly agreement: (crypto: CryptoProvider) => Agreement;
    }
  | /** The server chooses a group first: RFC 4419, messages 30 to 34. */ { readonly kind: 'group-exchange' }
);

function classical(name: AgreementName, hash: HashName): ExchangeRow {
  return { kind: 'agreement', hash, secretAs: 'mpint', agreement: (crypto) => crypto.agreements[name] };
}

function quantumSafe(kem: KemName, name: AgreementName, hash: HashName): ExchangeRow {
  return {
    kind: 'agreement',
    hash,
    secretAs: 'string',
    agreement: (crypto) => hybrid(crypto.kems[kem], crypto.agreements[name], crypto.hashes[hash]),
  };
}

function modp(bits: ModpBits, hash: HashName): ExchangeRow {
  return {
    kind: 'agreement',
    hash,
    secretAs: 'mpint',
    agreement: (crypto) => modpAgreement(crypto.modularPower, modpGroup(bits)),
  };
}

function groupExchange(hash: HashName): ExchangeRow {
  return { kind: 'group-exchange', hash, secretAs: 'mpint' };
}

const curve25519 = classical('x25519', 'sha256');
const sntrup761 = quantumSafe('sntrup761', 'x25519', 'sha512');

/** Every method that puressh can speak, by its SSH name. */
export const exchanges: ReadonlyMap<string, ExchangeRow> = new Map<string, ExchangeRow>([
  ['mlkem768x25519-sha256', quantumSafe('mlkem768', 'x25519', 'sha256')],
  ['sntrup761x25519-sha512', sntrup761],
  ['sntrup761x25519-sha512@openssh.com', sntrup761],
  ['mlkem768nistp256-sha256', quantumSafe('mlkem768', 'p256', 'sha256')],
  ['mlkem1024nistp384-sha384', quantumSafe('mlkem1024', 'p384', 'sha384')],
  ['curve25519-sha256', curve25519],
  ['curve25519-sha256@libssh.org', curve25519],
  ['ecdh-sha2-nistp256', classical('p256', 'sha256')],
  ['ecdh-sha2-nistp384', classical('p384', 'sha384')],
  ['ecdh-sha2-nistp521', classical('p521', 'sha512')],
  ['diffie-hellman-group-exchange-sha256', groupExchange('sha256')],
  ['diffie-hellman-group14-sha256', modp(2048, 'sha256')],
  ['diffie-hellman-group15-sha512', modp(3072, 'sha512')],
  ['diffie-hellman-group16-sha512', modp(4096, 'sha512')],
  ['diffie-hellman-group17-sha512', modp(6144, 'sha512')],
  ['diffie-hellman-group18-sha512', modp(8192, 'sha512')],
  ['diffie-hellman-group-exchange-sha1', { ...groupExchange('sha1'), legacy: true }],
  ['diffie-hellman-group14-sha1', { ...modp(2048, 'sha1'), legacy: true }],
  ['diffie-hellman-group1-sha1', { ...modp(1024, 'sha1'), legacy: true }],
]);
