/** What ends a connection, as one of our errors. */

import { protocolError, SshError, toSshError } from '../errors.ts';
import { DisconnectReason } from '../wire/numbers.ts';

/** An error as the reason of the terminal state: bytes of the peer that do not decode are a breach of the protocol. */
export function asFailure(error: unknown, phase: string): SshError {
  if (error instanceof SshError && error.code === 'decode')
    return protocolError(error.message, { phase, cause: error });
  if (error instanceof SshError) return error;
  return toSshError(error, 'internal', { phase, disconnect: DisconnectReason.protocolError });
}
