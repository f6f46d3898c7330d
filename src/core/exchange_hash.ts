/** The exchange hash H, one routine for all methods: RFC 4253 §8, RFC 5656 §4, RFC 8731 §3.1, RFC 4419 §3. */

import { Writer } from '../bytes/writer.ts';
import type { Hash } from '../crypto/provider.ts';

const NOTHING = new Uint8Array(0);

/** What both sides know when the exchange ends. Identifications without CR LF, KEXINITs as payloads. */
export interface ExchangeInputs {
  readonly clientIdentification: Uint8Array;
  readonly serverIdentification: Uint8Array;
  readonly clientKexinit: Uint8Array;
  readonly serverKexinit: Uint8Array;
  readonly hostKey: Uint8Array;
  /** Of a group exchange, as it is hashed: the sizes that the client asked for, p, g. */
  readonly group?: Uint8Array | undefined;
  readonly clientPublic: Uint8Array;
  readonly serverPublic: Uint8Array;
}

/** The shared secret K as it enters hashes: an mpint, or for hybrid methods a string. */
export function encodeSecret(shared: Uint8Array, as: 'mpint' | 'string'): Uint8Array {
  const writer = new Writer(shared.length + 5);
  return (as === 'mpint' ? writer.mpint(shared) : writer.string(shared)).finish();
}

/** H over the inputs and the encoded secret. */
export function exchangeHash(hash: Hash, inputs: ExchangeInputs, secret: Uint8Array): Uint8Array {
  const writer = new Writer(4096)
    .string(inputs.clientIdentification)
    .string(inputs.serverIdentification)
    .string(inputs.clientKexinit)
    .string(inputs.serverKexinit)
    .string(inputs.hostKey)
    .raw(inputs.group ?? NOTHING)
    .string(inputs.clientPublic)
    .string(inputs.serverPublic)
    .raw(secret);
  return hash.digest(writer.finish());
}
