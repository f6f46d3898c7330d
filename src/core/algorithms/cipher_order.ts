/** In which order ciphers, MACs and compression are offered. Must know no rows. */

const CHACHA = ['chacha20-poly1305@openssh.com'];
const GCM = ['aes128-gcm@openssh.com', 'aes256-gcm@openssh.com'];
const CTR = ['aes128-ctr', 'aes192-ctr', 'aes256-ctr'];

/** `fastAes`: whether AES is faster here than ChaCha20. */
export function defaultCiphers(fastAes: boolean): readonly string[] {
  return fastAes ? [...GCM, ...CHACHA, ...CTR] : [...CHACHA, ...GCM, ...CTR];
}

export const LEGACY_CIPHERS: readonly string[] = [];

export const DEFAULT_MACS: readonly string[] = [
  'hmac-sha2-256-etm@openssh.com',
  'hmac-sha2-512-etm@openssh.com',
  'hmac-sha2-256',
  'hmac-sha2-512',
];

export const LEGACY_MACS: readonly string[] = [];

/** Where nobody gave a library to compress with. */
export const NO_COMPRESSION: readonly string[] = ['none'];

/** Where somebody did. What compresses only after the login stands first: nobody unknown gets at the library then. */
export const COMPRESSION: readonly string[] = ['zlib@openssh.com', 'zlib', 'none'];
