/** X25519 (RFC 7748), by noble, which refuses points of small order before its ladder runs. */

import { x25519 as noble } from '@noble/curves/ed25519.js';
import { isAllZero } from '../../bytes/secret.ts';
import { agreement, type GroupOperations } from '../agreement.ts';
import type { Agreement } from '../provider.ts';
import { refused } from '../refuse.ts';

const SIZE = 32;

/** X25519 by the operations given, with the checks that every provider makes. */
export function x25519Over(by: GroupOperations): Agreement {
  return agreement({
    name: 'X25519',
    secretSize: SIZE,
    publicSize: SIZE,
    newSecret: (random) => random(SIZE), // any 32 bytes: RFC 7748 §5 clamps them in use
    publicValue: by.publicValue,
    shared(secret, publicValue) {
      const shared = by.shared(secret, publicValue);
      // RFC 7748 §6.1, RFC 8731 §3: a point of small order makes a secret that everyone knows. The NIST curves have no
      // such point, and one good point of each has an x coordinate of zero.
      if (isAllZero(shared)) throw refused('All-zero X25519 shared secret');
      return shared;
    },
  });
}

/** The base point, u = 9 (RFC 7748 §4.1). */
const basePoint: Uint8Array = new Uint8Array(SIZE);
basePoint[0] = 9;

export const x25519: Agreement = x25519Over({
  // The ladder takes 2 ms more than noble's `getPublicKey`, whose first use spends 60 ms on tables for later ones.
  publicValue: (secret) => noble.getSharedSecret(secret, basePoint),
  shared: (secret, publicValue) => noble.getSharedSecret(secret, publicValue),
});
