/** The peer's refusal of a channel as an error: RFC 4254 §5.1. */

import { printable } from '../bytes/text.ts';
import { SshError } from '../errors.ts';
import { OpenFailureReason } from '../wire/numbers.ts';

/** `description` is the peer's own text. */
export function openFailure(reason: number, description: string): SshError {
  const name = Object.entries(OpenFailureReason).find(([, value]) => value === reason)?.[0] ?? 'unknown reason';
  return new SshError(
    'channel-open-failed',
    `The peer refused the channel (${reason}, ${name}): ${printable(description)}; ` +
      'a server that limits sessions (MaxSessions) refuses one channel too many',
    { fault: 'peer' },
  );
}
