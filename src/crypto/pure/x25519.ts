/** X25519 (RFC 7748), by noble. Points of small order are refused before the ladder runs. */

import { x25519 as noble } from '@noble/curves/ed25519.js';
import { agreement, type DiffieHellman } from '../agreement.ts';
import type { Agreement } from '../provider.ts';

export const X25519_SIZE = 32;

const group: DiffieHellman = {
  name: 'X25519',
  secretSize: X25519_SIZE,
  publicSize: X25519_SIZE,
  newSecret: (random) => random(X25519_SIZE), // any 32 bytes: RFC 7748 §5 clamps them in use
  publicValue: (secret) => noble.getPublicKey(secret),
  shared: (secret, publicValue) => noble.getSharedSecret(secret, publicValue),
};

export const x25519: Agreement = agreement(group);
