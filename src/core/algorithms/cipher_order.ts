/** In which order ciphers, MACs and compression are offered. Must know no rows. */

const CHACHA = ['chacha20-poly1305@openssh.com'];
const GCM = ['aes128-gcm@openssh.com', 'aes256-gcm@openssh.com'];
const CTR = ['aes128-ctr', 'aes192-ctr', 'aes256-ctr'];

/** `fastAes`: whether AES is faster here than ChaCha20. */
export function defaultCiphers(fastAes: boolean): readonly string[] {
  return fastAes ? [...GCM, ...CHACHA, ...CTR] : [...CHACHA, ...GCM, ...CTR];
}

/** Weak in their mode (CVE-2008-5161), triple DES in its block size too (CVE-2016-2183). */
export const LEGACY_CIPHERS: readonly string[] = ['aes128-cbc', 'aes192-cbc', 'aes256-cbc', '3des-cbc'];

export const DEFAULT_MACS: readonly string[] = [
  'hmac-sha2-256-etm@openssh.com',
  'hmac-sha2-512-etm@openssh.com',
  'hmac-sha2-256',
  'hmac-sha2-512',
];

/** Over hashes that are broken, or cut to 96 bits. */
export const LEGACY_MACS: readonly string[] = [
  'hmac-sha1-etm@openssh.com',
  'hmac-sha1',
  'hmac-sha1-96-etm@openssh.com',
  'hmac-sha1-96',
  'hmac-md5-etm@openssh.com',
  'hmac-md5',
  'hmac-md5-96-etm@openssh.com',
  'hmac-md5-96',
];

/** Where nobody gave a library to compress with. */
export const NO_COMPRESSION: readonly string[] = ['none'];

/** Where somebody did. What compresses only after the login stands first: nobody unknown gets at the library then. */
export const COMPRESSION: readonly string[] = ['zlib@openssh.com', 'zlib', 'none'];
