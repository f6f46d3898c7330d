/** Rows of the transport layer: RFC 4253 §11, §7, §10; RFC 8308 §2.3; OpenSSH PROTOCOL §1.8 (ping). */

/** Messages 1–21, 192 and 193. */
export const transport = {
  disconnect: {
    number: 1,
    name: 'SSH_MSG_DISCONNECT',
    category: 'disconnect',
    fields: { reason: 'uint32', description: 'text', language: 'name' },
  },
  ignore: { number: 2, name: 'SSH_MSG_IGNORE', category: 'control', fields: { data: 'string' } },
  unimplemented: { number: 3, name: 'SSH_MSG_UNIMPLEMENTED', category: 'control', fields: { sequence: 'uint32' } },
  debug: {
    number: 4,
    name: 'SSH_MSG_DEBUG',
    category: 'control',
    fields: { alwaysDisplay: 'boolean', message: 'text', language: 'name' },
  },
  serviceRequest: {
    number: 5,
    name: 'SSH_MSG_SERVICE_REQUEST',
    category: 'service-request',
    fields: { service: 'name' },
  },
  serviceAccept: {
    number: 6,
    name: 'SSH_MSG_SERVICE_ACCEPT',
    category: 'service-accept',
    fields: { service: 'name' },
  },
  /** `count` extensions follow as pairs of strings: see `core/ext_info.ts`. */
  extInfo: { number: 7, name: 'SSH_MSG_EXT_INFO', category: 'ext-info', fields: { count: 'uint32', pairs: 'rest' } },
  kexinit: {
    number: 20,
    name: 'SSH_MSG_KEXINIT',
    category: 'kexinit',
    fields: {
      cookie: 'byte[16]',
      kex: 'name-list',
      hostKey: 'name-list',
      cipherToServer: 'name-list',
      cipherToClient: 'name-list',
      macToServer: 'name-list',
      macToClient: 'name-list',
      compressionToServer: 'name-list',
      compressionToClient: 'name-list',
      languageToServer: 'name-list',
      languageToClient: 'name-list',
      firstKexPacketFollows: 'boolean',
      reserved: 'uint32',
    },
  },
  newkeys: { number: 21, name: 'SSH_MSG_NEWKEYS', category: 'newkeys', fields: {} },
  ping: { number: 192, name: 'SSH_MSG_PING', category: 'ping', fields: { data: 'string' } },
  pong: { number: 193, name: 'SSH_MSG_PONG', category: 'ping', fields: { data: 'string' } },
} as const;
