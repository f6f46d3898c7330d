/** A message of every number that is as good as it can be, and how the reactions to all of them are written down. */

import { concat } from '../../src/bytes/bytes.ts';
import { utf8 } from '../../src/bytes/text.ts';
import { channelDataHeader, channelExtendedDataHeader, connection } from '../../src/wire/connection.ts';
import { ecdh } from '../../src/wire/exchange.ts';
import { encode } from '../../src/wire/message.ts';
import { transport } from '../../src/wire/transport.ts';
import { userauth } from '../../src/wire/userauth.ts';

const empty = new Uint8Array(0);

/** What a side does about one message: messages that it sends, then events that it tells, then how it ended. */
export type Reaction = string;

/** Reactions by number or range of numbers; later ranges win, and single numbers over ranges. */
export type Rules = Readonly<Record<string, Reaction>>;

/** What the rules say about `number`. */
export function expected(rules: Rules, number: number): Reaction {
  let found = '';
  // numeric keys come first in an object whatever the order of writing, so single numbers are looked up apart
  for (const [range, reaction] of Object.entries(rules)) {
    const [from, to] = range.split('-').map(Number);
    if (to !== undefined && number >= (from as number) && number <= to) found = reaction;
  }
  return rules[number] ?? found;
}

/** How reactions name a message. */
export function shortName(name: string): string {
  if (name === 'message 30') return 'ECDH_INIT';
  return name === 'message 31' ? 'ECDH_REPLY' : name.replace('SSH_MSG_', '');
}

/**
 * The message. Those about channels are for a side whose channel 0 is open with a request that waits for its answer, whose
 * channel 1 is being opened, and whose global request waits. 20 and 31 are the caller's, who knows the exchange.
 */
export function everyMessage(number: number): Uint8Array {
  switch (number) {
    case 1:
      return encode(transport.disconnect, { reason: 11, description: 'bye', language: '' });
    case 2:
      return encode(transport.ignore, { data: empty });
    case 3:
      return encode(transport.unimplemented, { sequence: 200 });
    case 4:
      return encode(transport.debug, { alwaysDisplay: true, message: 'x', language: '' });
    case 5:
      return encode(transport.serviceRequest, { service: 'ssh-userauth' });
    case 6:
      return encode(transport.serviceAccept, { service: 'ssh-userauth' });
    case 7:
      return encode(transport.extInfo, { count: 0, pairs: empty });
    case 30:
      return encode(ecdh.init, { publicValue: new Uint8Array(32).fill(9) });
    case 31:
      return encode(ecdh.reply, { hostKey: empty, publicValue: empty, signature: empty });
    case 50:
      return encode(userauth.request, { user: 'u', service: 'ssh-connection', method: 'none', rest: empty });
    case 51:
      return encode(userauth.failure, { methods: ['password'], partialSuccess: false });
    case 53:
      return encode(userauth.banner, { message: 'x', language: '' });
    case 192:
    case 193:
      return encode(transport.ping, { data: utf8('x') }).with(0, number);
    default:
      return connectionMessage(number);
  }
}

/** 80–100; any other number stands alone. */
function connectionMessage(number: number): Uint8Array {
  switch (number) {
    case 80:
      return encode(connection.globalRequest, { request: 'x', wantReply: false, body: empty });
    case 90:
      return encode(connection.channelOpen, { kind: 'x', sender: 7, window: 1, maxPacket: 1, body: empty });
    case 91:
      return encode(connection.channelOpenConfirmation, {
        recipient: 1,
        sender: 8,
        window: 1,
        maxPacket: 1,
        body: empty,
      });
    case 92:
      return encode(connection.channelOpenFailure, { recipient: 1, reason: 1, description: '', language: '' });
    case 93:
      return encode(connection.channelWindowAdjust, { recipient: 0, bytes: 1 });
    case 94:
      return concat(channelDataHeader(0, 1), utf8('x'));
    case 95:
      return concat(channelExtendedDataHeader(0, 1, 1), utf8('x'));
    case 98:
      return encode(connection.channelRequest, { recipient: 0, request: 'x', wantReply: false, body: empty });
    case 96:
    case 97:
    case 99:
    case 100:
      return encode(connection.channelEof, { recipient: 0 }).with(0, number);
    default:
      return Uint8Array.of(number);
  }
}
