/** One value each way: INIT and REPLY of most methods (RFC 5656 §4, RFC 8731 §3, RFC 4253 §8), and of the group exchange (RFC 4419 §3). */

import { wipe } from '../../bytes/secret.ts';
import type { Agreement } from '../../crypto/provider.ts';
import { ecdh, type groupExchange } from '../../wire/exchange.ts';
import { decode, encode } from '../../wire/message.ts';
import {
  attempt,
  type ClientEnd,
  copyEach,
  expectRow,
  type Method,
  type MethodHost,
  type ServerEnd,
} from './method.ts';

/** The messages that the values go in. */
type ValueRows = Pick<typeof ecdh | typeof groupExchange, 'init' | 'reply'>;

/** Says its value and waits for the server's. `group`: what else is hashed. */
export function agreementClient(
  agreement: Agreement,
  host: MethodHost<ClientEnd>,
  rows: ValueRows = ecdh,
  group?: Uint8Array,
): Method {
  const { secret, publicValue: clientPublic } = agreement.generate(host.random);
  host.send(encode(rows.init, { publicValue: clientPublic }));
  return {
    receive(payload) {
      expectRow(payload, rows.reply);
      const { hostKey, publicValue, signature } = copyEach(decode(rows.reply, payload));
      host.settle(
        attempt(() => agreement.finish(secret, publicValue)),
        (shared) => {
          wipe(secret);
          host.finished({ hostKey, signature, values: { group, clientPublic, serverPublic: publicValue }, shared });
        },
      );
    },
  };
}

/** Waits for the client's value and answers it. */
export function agreementServer(
  agreement: Agreement,
  host: MethodHost<ServerEnd>,
  rows: ValueRows = ecdh,
  group?: Uint8Array,
): Method {
  return {
    receive(payload) {
      expectRow(payload, rows.init);
      const { publicValue: clientPublic } = copyEach(decode(rows.init, payload));
      host.settle(
        attempt(() => agreement.respond(host.random, clientPublic)),
        ({ publicValue, shared }) => {
          host.finished({
            values: { group, clientPublic, serverPublic: publicValue },
            shared,
            reply: (hostKey, signature) => encode(rows.reply, { hostKey, publicValue, signature }),
          });
        },
      );
    },
  };
}
