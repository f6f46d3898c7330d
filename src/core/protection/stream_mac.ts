/** A stream cipher with encrypt-and-MAC: RFC 4253 §6.4, RFC 4344 §4. The MAC covers sequence number ‖ plaintext packet. */

import { copy, putUint32, uint32At } from '../../bytes/bytes.ts';
import { equalSecret } from '../../bytes/secret.ts';
import type { Mac, Stream } from '../../crypto/provider.ts';
import { LENGTH_SIZE, type Open, type Seal } from './types.ts';

/** Alignment of AES-CTR: its block, although the stream would not need it (RFC 4253 §6). */
const AES_BLOCK = 16;

export function streamMacSeal(stream: Stream, mac: Mac, tagSize: number): Seal {
  const prefix = new Uint8Array(4);
  return {
    blockSize: AES_BLOCK,
    lengthCounts: true,
    tagSize,
    seal(sequence, packet, out) {
      putUint32(prefix, 0, sequence);
      const tag = mac.compute(prefix, packet);
      out.push(stream.apply(packet), tag);
    },
  };
}

export function streamMacOpen(stream: Stream, mac: Mac, tagSize: number): Open {
  // sequence number ‖ packet_length in the clear: the first eight bytes that the MAC covers
  const prefix = new Uint8Array(4 + LENGTH_SIZE);
  return {
    blockSize: AES_BLOCK,
    lengthCounts: true,
    tagSize,
    length(_sequence, header) {
      prefix.set(stream.apply(copy(header)), 4);
      return uint32At(prefix, 4);
    },
    open(sequence, packet) {
      const end = packet.length - tagSize;
      const plain = stream.apply(packet.subarray(LENGTH_SIZE, end));
      putUint32(prefix, 0, sequence);
      return equalSecret(mac.compute(prefix, plain), packet.subarray(end)) ? plain : undefined;
    },
  };
}
