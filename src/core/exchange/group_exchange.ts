/**
 * Diffie-Hellman group exchange (RFC 4419, RFC 8270), both roles: the client asks for a size, the server names a group, and then one
 * value goes each way. A server names the groups 14 to 18 of RFC 3526 and no others.
 */

import { mpintBody } from '../../bytes/mpint.ts';
import { Writer } from '../../bytes/writer.ts';
import { type ModpBits, type ModpGroup, modpAgreement, modpGroup, peerGroup } from '../../crypto/groups.ts';
import { groupExchange } from '../../wire/exchange.ts';
import { decode, encode, type MessageOf } from '../../wire/message.ts';
import { agreementClient, agreementServer } from './agreement.ts';
import {
  attempt,
  type ClientEnd,
  expectRow,
  kexError,
  type Method,
  type MethodHost,
  type ServerEnd,
} from './method.ts';

type Request = MessageOf<typeof groupExchange.request>;

/**
 * What a client asks for, in bits. Less than 2048 is too weak (RFC 8270), 3072 are as strong as AES-128 (RFC 3766 §5), and above 8192 an
 * exponentiation takes seconds.
 */
const ASKED: Request = { least: 2048, wanted: 3072, most: 8192 };

/** The sizes that a server has. */
const SIZES: readonly ModpBits[] = [2048, 3072, 4096, 6144, 8192];

/** What is hashed of a group: the sizes as they were sent, p, g (RFC 4419 §3). */
export function hashedGroup(sizes: readonly number[], { prime, generator }: ModpGroup): Uint8Array {
  const writer = new Writer(prime.length + 64);
  for (const bits of sizes) writer.u32(bits);
  return writer.mpint(prime).mpint(generator).finish();
}

/** Asks for a size, answers the group with a value, and waits for the server's. */
export function groupExchangeClient(host: MethodHost<ClientEnd>): Method {
  let running: Method | undefined;
  host.send(encode(groupExchange.request, ASKED));
  return {
    receive(payload) {
      if (running !== undefined) {
        running.receive(payload);
        return;
      }
      expectRow(payload, groupExchange.group);
      const { prime, generator } = decode(groupExchange.group, payload);
      const group = attempt(() => peerGroup(host.crypto, host.random, prime, generator, ASKED));
      const agreement = modpAgreement(host.crypto.modularPower, group);
      const asked = hashedGroup([ASKED.least, ASKED.wanted, ASKED.most], group);
      running = agreementClient(agreement, host, groupExchange, asked);
    },
  };
}

/** Waits for the size that the client wants, names a group, and answers the client's value. */
export function groupExchangeServer(host: MethodHost<ServerEnd>): Method {
  let running: Method | undefined;
  return {
    receive(payload) {
      if (running !== undefined) {
        running.receive(payload);
        return;
      }
      const { group, sizes } = requested(payload);
      const named = { prime: mpintBody(group.prime), generator: mpintBody(group.generator) };
      host.send(encode(groupExchange.group, named));
      const agreement = modpAgreement(host.crypto.modularPower, group);
      running = agreementServer(agreement, host, groupExchange, hashedGroup(sizes, group));
    },
  };
}

/** The group for a request, and the sizes in it. */
function requested(payload: Uint8Array): { readonly group: ModpGroup; readonly sizes: readonly number[] } {
  expectRow(payload, groupExchange.request, groupExchange.requestOld);
  if (payload[0] === groupExchange.request.number) {
    const request = decode(groupExchange.request, payload);
    return { group: groupFor(request), sizes: [request.least, request.wanted, request.most] };
  }
  const { wanted } = decode(groupExchange.requestOld, payload);
  const group = groupFor({ least: 0, wanted: Math.min(wanted, ASKED.most), most: ASKED.most });
  return { group, sizes: [wanted] };
}

/** The smallest group that is as large as wanted, else the largest that the client takes (RFC 4419 §3). */
function groupFor({ least, wanted, most }: Request): ModpGroup {
  if (least > wanted || wanted > most) {
    throw kexError(`Group exchange for ${wanted} bits, at least ${least} and at most ${most}: that cannot be`);
  }
  const sizes = SIZES.filter((bits) => bits >= least && bits <= most);
  const found = sizes.find((bits) => bits >= wanted) ?? sizes.at(-1);
  if (found !== undefined) return modpGroup(found);
  throw kexError(`Group exchange for ${least} to ${most} bits: there are groups of ${SIZES.join(', ')} bits`);
}
