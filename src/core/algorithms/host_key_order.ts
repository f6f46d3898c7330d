/** In which order signature algorithms are offered: for host keys, and for users. The rows stand in `keys/signature.ts`. */

import { certificateName } from '../../keys/signature.ts';

/** What users may sign with, by plain names: a name for certificates is allowed where its plain name is. */
export const DEFAULT_SIGNATURES: readonly string[] = [
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'rsa-sha2-512',
  'rsa-sha2-256',
  'sk-ssh-ed25519@openssh.com',
  'sk-ecdsa-sha2-nistp256@openssh.com',
  'webauthn-sk-ecdsa-sha2-nistp256@openssh.com',
];

/** SHA-1: only where it is asked for. */
export const LEGACY_SIGNATURES: readonly string[] = ['ssh-rsa'];

/** No browser answers for a host. */
const PLAIN = DEFAULT_SIGNATURES.filter((name) => !name.startsWith('webauthn-'));

/** Certificates stand last: who knows no authority has no use for them, and who knows one puts them first. */
export const DEFAULT_HOST_KEYS: readonly string[] = [...PLAIN, ...PLAIN.map(certificateName)];

export const LEGACY_HOST_KEYS: readonly string[] = ['ssh-rsa', certificateName('ssh-rsa')];
