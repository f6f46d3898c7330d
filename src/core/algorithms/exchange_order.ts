/**
 * In which order key exchange methods are offered: those that a quantum computer does not break first, then by what they cost. Must
 * know no rows.
 */

export const DEFAULT_EXCHANGES: readonly string[] = [
  'mlkem768x25519-sha256',
  'sntrup761x25519-sha512',
  'sntrup761x25519-sha512@openssh.com',
  'mlkem768nistp256-sha256',
  'mlkem1024nistp384-sha384',
  'curve25519-sha256',
  'curve25519-sha256@libssh.org',
  'ecdh-sha2-nistp256',
  'ecdh-sha2-nistp384',
  'ecdh-sha2-nistp521',
  'diffie-hellman-group-exchange-sha256',
  'diffie-hellman-group16-sha512',
  'diffie-hellman-group18-sha512',
  'diffie-hellman-group14-sha256',
  'diffie-hellman-group15-sha512',
  'diffie-hellman-group17-sha512',
];

/** SHA-1, and a prime of 1024 bits. */
export const LEGACY_EXCHANGES: readonly string[] = [
  'diffie-hellman-group-exchange-sha1',
  'diffie-hellman-group14-sha1',
  'diffie-hellman-group1-sha1',
];
