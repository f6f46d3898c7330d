/**
 * Rows of the key exchange methods, numbers 30–49, which mean what the negotiated method says: RFC 4253 §8, RFC 5656 §4, RFC 8731 §3,
 * RFC 4419 §5. Integers are strings here, since their owner has to see whether they are written as they must be.
 */

/** One value each way: Diffie-Hellman in a fixed group, elliptic-curve and hybrid methods. */
export const ecdh = {
  init: { number: 30, name: 'SSH_MSG_KEX_ECDH_INIT', category: 'exchange', fields: { publicValue: 'string' } },
  reply: {
    number: 31,
    name: 'SSH_MSG_KEX_ECDH_REPLY',
    category: 'exchange',
    fields: { hostKey: 'string', publicValue: 'string', signature: 'string' },
  },
} as const;

/** The group exchange. Sizes in bits. */
export const groupExchange = {
  /** Of clients older than RFC 4419. */
  requestOld: {
    number: 30,
    name: 'SSH_MSG_KEX_DH_GEX_REQUEST_OLD',
    category: 'exchange',
    fields: { wanted: 'uint32' },
  },
  request: {
    number: 34,
    name: 'SSH_MSG_KEX_DH_GEX_REQUEST',
    category: 'exchange',
    fields: { least: 'uint32', wanted: 'uint32', most: 'uint32' },
  },
  group: {
    number: 31,
    name: 'SSH_MSG_KEX_DH_GEX_GROUP',
    category: 'exchange',
    fields: { prime: 'string', generator: 'string' },
  },
  init: { number: 32, name: 'SSH_MSG_KEX_DH_GEX_INIT', category: 'exchange', fields: { publicValue: 'string' } },
  reply: {
    number: 33,
    name: 'SSH_MSG_KEX_DH_GEX_REPLY',
    category: 'exchange',
    fields: { hostKey: 'string', publicValue: 'string', signature: 'string' },
  },
} as const;
