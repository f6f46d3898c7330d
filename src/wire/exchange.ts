/** Rows of the key exchange methods, numbers 30–49, which mean what the negotiated method says: RFC 5656 §4, RFC 8731 §3. */

/** Elliptic-curve and hybrid methods: one value each way. */
export const ecdh = {
  init: { number: 30, name: 'SSH_MSG_KEX_ECDH_INIT', category: 'exchange', fields: { publicValue: 'string' } },
  reply: {
    number: 31,
    name: 'SSH_MSG_KEX_ECDH_REPLY',
    category: 'exchange',
    fields: { hostKey: 'string', publicValue: 'string', signature: 'string' },
  },
} as const;
