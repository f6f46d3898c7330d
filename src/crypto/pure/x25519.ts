/** X25519 (RFC 7748), by noble. Points of small order are refused before the ladder runs. */

import { x25519 as noble } from '@noble/curves/ed25519.js';
import { agreement, type GroupOperations } from '../agreement.ts';
import type { Agreement } from '../provider.ts';

const SIZE = 32;

/** X25519 by the operations given, with the checks that every provider makes. */
export function x25519Over(by: GroupOperations): Agreement {
  return agreement({
    name: 'X25519',
    secretSize: SIZE,
    publicSize: SIZE,
    newSecret: (random) => random(SIZE), // any 32 bytes: RFC 7748 §5 clamps them in use
    publicValue: by.publicValue,
    shared: by.shared,
  });
}

export const x25519: Agreement = x25519Over({
  publicValue: (secret) => noble.getPublicKey(secret),
  shared: (secret, publicValue) => noble.getSharedSecret(secret, publicValue),
});
