/** A connection that is past everything but its channel. */

import { connection as rows } from '../../src/wire/connection.ts';
import { encode } from '../../src/wire/message.ts';
import type { Link, LinkOptions } from '../support/link.ts';
import { openLink } from '../support/link.ts';

const none = new Uint8Array(0);

/** A link that is logged in and has channel 0 open; the peer's number for it is 5, and it grants `window` bytes. */
export function withChannel(options: LinkOptions = {}, window = 1_000_000): Link {
  const link = openLink('whole', options);
  link.client.connection.openChannel('session', none);
  link.peer.expect(rows.channelOpen.number);
  link.peer.send(
    encode(rows.channelOpenConfirmation, { recipient: 0, sender: 5, window, maxPacket: 32768, body: none }),
  );
  link.pump();
  link.client.only('channel-opened');
  return link;
}
