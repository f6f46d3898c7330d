/** The error of an agent that refused, broke its protocol, or cannot be reached. */

import { SshError } from '../errors.ts';

export function agentFailed(message: string, cause?: unknown): SshError {
  return new SshError('agent-failed', message, cause === undefined ? {} : { cause });
}
