/** What a peer only says: DISCONNECT and DEBUG (RFC 4253 §11.1, §11.3). Its text is sanitised here. */

import { Reader } from '../bytes/reader.ts';
import { printable } from '../bytes/text.ts';
import { SshError } from '../errors.ts';
import { decode } from '../wire/message.ts';
import { DisconnectReason } from '../wire/numbers.ts';
import { transport } from '../wire/transport.ts';
import type { Event } from './events.ts';

/** The peer's DISCONNECT as an error. */
export function disconnectError(payload: Uint8Array, phase: string): SshError {
  // some devices leave out the language tag, or the text too: the reason must not be lost for that
  const reader = new Reader(payload, 1);
  const reason = reader.u32();
  const description = reader.remaining > 0 ? reader.string() : '';
  const name = Object.entries(DisconnectReason).find(([, value]) => value === reason)?.[0] ?? 'unknown reason';
  return new SshError('disconnected', `The peer disconnected (${reason}, ${name}): ${printable(description)}`, {
    fault: 'peer',
    phase,
  });
}

export function debugEvent(payload: Uint8Array): Event {
  const { alwaysDisplay, message } = decode(transport.debug, payload);
  return { type: 'debug', text: printable(message, 1000), alwaysDisplay };
}
