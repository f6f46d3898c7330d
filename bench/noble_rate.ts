/**
 * How fast noble alone opens packets of chacha20-poly1305@openssh.com, as large as OpenSSH's server sends them,
 * which takes 16 KiB at a time from the program on a channel: nothing of puressh takes part.
 *
 *   node noble_rate.js BYTES      prints { bytes, seconds }
 */

import { poly1305 } from '@noble/ciphers/_poly1305.js';
import { chacha20orig } from '@noble/ciphers/chacha.js';

const PAYLOAD = 16384;
const HEADERS = 9 + 1; // CHANNEL_DATA, padding_length
const PADDING = 8 - ((PAYLOAD + HEADERS) % 8) + 8;
const BODY = PAYLOAD + HEADERS + PADDING;
const LENGTH = 4;
const PACKETS = 64; // ahead of each other by more than the processor's nearest cache holds

const bytes = Number(process.argv[2]);
const packetKey = new Uint8Array(32).fill(7);
const lengthKey = new Uint8Array(32).fill(9);
const nonce = new Uint8Array(8);
const zeros = new Uint8Array(32);

function tagOf(length: Uint8Array, body: Uint8Array): Uint8Array {
  return poly1305
    .create(chacha20orig(packetKey, nonce, zeros, undefined, 0))
    .update(length)
    .update(body)
    .digest();
}

/** A packet, sealed, as it would arrive; its length stands apart so that the words of the body are aligned. */
interface Packet {
  readonly sequence: number;
  readonly length: Uint8Array;
  readonly body: Uint8Array;
  readonly tag: Uint8Array;
}

function seal(sequence: number): Packet {
  new DataView(nonce.buffer).setUint32(4, sequence);
  const length = chacha20orig(lengthKey, nonce, new Uint8Array(LENGTH), undefined, 0);
  const body = chacha20orig(packetKey, nonce, new Uint8Array(BODY).fill(sequence), undefined, 1);
  return { sequence, length, body, tag: tagOf(length, body) };
}

function open({ sequence, length, tag }: Packet, body: Uint8Array): boolean {
  new DataView(nonce.buffer).setUint32(4, sequence);
  chacha20orig(lengthKey, nonce, length, undefined, 0);
  const found = tagOf(length, body);
  chacha20orig(packetKey, nonce, body, body, 1);
  return found.every((byte, at) => byte === tag[at]);
}

function run(total: number): number {
  let milliseconds = 0;
  for (let at = 0; at * PAYLOAD < total; at++) {
    const packet = packets[at % PACKETS] as Packet;
    const body = packet.body.slice();
    const started = performance.now();
    if (!open(packet, body)) throw new Error(`packet ${packet.sequence} did not open`);
    milliseconds += performance.now() - started;
  }
  return milliseconds / 1000;
}

const packets = Array.from({ length: PACKETS }, (_, sequence) => seal(sequence));
run(32 * PACKETS * PAYLOAD); // until it is compiled
process.stdout.write(`${JSON.stringify({ bytes, seconds: run(bytes) })}\n`);
