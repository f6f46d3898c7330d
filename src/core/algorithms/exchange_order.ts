/** In which order key exchange methods are offered. Must know no rows. */

export const DEFAULT_EXCHANGES: readonly string[] = [
  'curve25519-sha256',
  'curve25519-sha256@libssh.org',
  'ecdh-sha2-nistp256',
  'ecdh-sha2-nistp384',
  'ecdh-sha2-nistp521',
];

export const LEGACY_EXCHANGES: readonly string[] = [];
