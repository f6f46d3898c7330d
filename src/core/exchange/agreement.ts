/** Methods with one value each way: SSH_MSG_KEX_ECDH_INIT, SSH_MSG_KEX_ECDH_REPLY (RFC 5656 §4, RFC 8731 §3, RFC 4253 §8). */

import { wipe } from '../../bytes/secret.ts';
import type { Agreement } from '../../crypto/provider.ts';
import { ecdh } from '../../wire/exchange.ts';
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

/** Says its value and waits for the server's. */
export function agreementClient(agreement: Agreement, host: MethodHost<ClientEnd>): Method {
  const { secret, publicValue: clientPublic } = agreement.generate(host.random);
  host.send(encode(ecdh.init, { publicValue: clientPublic }));
  return {
    receive(payload) {
      expectRow(payload, ecdh.reply);
      const { hostKey, publicValue, signature } = copyEach(decode(ecdh.reply, payload));
      host.settle(
        attempt(() => agreement.finish(secret, publicValue)),
        (shared) => {
          wipe(secret);
          host.finished({ hostKey, signature, values: { clientPublic, serverPublic: publicValue }, shared });
        },
      );
    },
  };
}

/** Waits for the client's value and answers it. */
export function agreementServer(agreement: Agreement, host: MethodHost<ServerEnd>): Method {
  return {
    receive(payload) {
      expectRow(payload, ecdh.init);
      const { publicValue: clientPublic } = copyEach(decode(ecdh.init, payload));
      host.settle(
        attempt(() => agreement.respond(host.random, clientPublic)),
        ({ publicValue, shared }) => {
          host.finished({
            values: { clientPublic, serverPublic: publicValue },
            shared,
            reply: (hostKey, signature) => encode(ecdh.reply, { hostKey, publicValue, signature }),
          });
        },
      );
    },
  };
}
