/** In which order signature algorithms are offered: for host keys, and for users. Must know no rows. */

export const DEFAULT_HOST_KEYS: readonly string[] = [
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'rsa-sha2-512',
  'rsa-sha2-256',
];

export const LEGACY_HOST_KEYS: readonly string[] = [];

/** What users may sign with, by plain names: a name for certificates is allowed where its plain name is. */
export const DEFAULT_SIGNATURES: readonly string[] = [
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'rsa-sha2-512',
  'rsa-sha2-256',
];

export const LEGACY_SIGNATURES: readonly string[] = [];
