/** What a server signs to prove that it holds a host key that a connection did not need: OpenSSH PROTOCOL §2.5. */

import { Writer } from '../bytes/writer.ts';

/** The global request in which a server tells its host keys: blobs, as strings one behind the other. */
export const HOST_KEYS = 'hostkeys-00@openssh.com';
/** The global request for proofs: blobs in, signature blobs out, in the same order. */
export const HOST_KEYS_PROVE = 'hostkeys-prove-00@openssh.com';

/** The bytes under the signature: no other message of SSH looks like them, and each connection has its own. */
export function hostKeyProof(sessionId: Uint8Array, blob: Uint8Array): Uint8Array {
  return new Writer().string(HOST_KEYS_PROVE).string(sessionId).string(blob).finish();
}
