/** Rows of user authentication: RFC 4252 §5–8, RFC 4256 §3. Numbers 60–79 mean what the running method says. */

/** Messages 50–53, common to all methods. */
export const userauth = {
  /** The fields of the method follow. */
  request: {
    number: 50,
    name: 'SSH_MSG_USERAUTH_REQUEST',
    category: 'auth-request',
    fields: { user: 'text', service: 'name', method: 'name', rest: 'rest' },
  },
  failure: {
    number: 51,
    name: 'SSH_MSG_USERAUTH_FAILURE',
    category: 'auth-reply',
    fields: { methods: 'name-list', partialSuccess: 'boolean' },
  },
  success: { number: 52, name: 'SSH_MSG_USERAUTH_SUCCESS', category: 'auth-reply', fields: {} },
  banner: {
    number: 53,
    name: 'SSH_MSG_USERAUTH_BANNER',
    category: 'auth-reply',
    fields: { message: 'text', language: 'name' },
  },
} as const;

/** Message 60 while `publickey` runs: the server would accept this key (RFC 4252 §7). */
export const publicKeyAuth = {
  ok: {
    number: 60,
    name: 'SSH_MSG_USERAUTH_PK_OK',
    category: 'auth-reply',
    fields: { algorithm: 'name', publicKey: 'string' },
  },
} as const;

/** Message 60 while `password` runs: the password has to be changed (RFC 4252 §8). */
export const passwordAuth = {
  changeRequest: {
    number: 60,
    name: 'SSH_MSG_USERAUTH_PASSWD_CHANGEREQ',
    category: 'auth-reply',
    fields: { prompt: 'text', language: 'name' },
  },
} as const;

/** Messages 60 and 61 while `keyboard-interactive` runs (RFC 4256 §3.2, §3.4). */
export const keyboardAuth = {
  /** `count` prompts follow, each a string and a boolean (echo). */
  infoRequest: {
    number: 60,
    name: 'SSH_MSG_USERAUTH_INFO_REQUEST',
    category: 'auth-reply',
    fields: { title: 'text', instruction: 'text', language: 'name', count: 'uint32', prompts: 'rest' },
  },
  /** `count` strings follow. */
  infoResponse: {
    number: 61,
    name: 'SSH_MSG_USERAUTH_INFO_RESPONSE',
    category: 'auth-request',
    fields: { count: 'uint32', responses: 'rest' },
  },
} as const;

/** What follows the method name in a USERAUTH_REQUEST. */
export const requestBody = {
  password: { change: 'boolean', password: 'text' },
  passwordChange: { change: 'boolean', oldPassword: 'text', newPassword: 'text' },
  publicKeyQuery: { signed: 'boolean', algorithm: 'name', publicKey: 'string' },
  publicKeySigned: { signed: 'boolean', algorithm: 'name', publicKey: 'string', signature: 'string' },
  keyboardInteractive: { language: 'name', submethods: 'text' },
} as const;

/** The bytes that a `publickey` signature covers (RFC 4252 §7). */
export const signedRequest = {
  sessionId: 'string',
  number: 'byte',
  user: 'text',
  service: 'name',
  method: 'name',
  signed: 'boolean',
  algorithm: 'name',
  publicKey: 'string',
} as const;
