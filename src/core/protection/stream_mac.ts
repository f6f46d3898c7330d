/**
 * A stream cipher with encrypt-and-MAC: RFC 4253 §6.4, RFC 4344 §4. The MAC covers sequence number ‖ plaintext packet. Packets
 * fill blocks of the cipher, although a stream would not need it (RFC 4253 §6). The seal serves chained ciphers too.
 */

import { copy, putUint32, uint32At } from '../../bytes/bytes.ts';
import { equalSecret } from '../../bytes/secret.ts';
import type { Mac, Stream } from '../../crypto/provider.ts';
import { LENGTH_SIZE, type Open, type Seal } from './types.ts';

export function streamMacSeal(stream: Stream, mac: Mac, tagSize: number, blockSize: number): Seal {
  const prefix = new Uint8Array(4);
  return {
    blockSize,
    lengthCounts: true,
    tagSize,
    seal(sequence, packet, out) {
      putUint32(prefix, 0, sequence);
      const tag = mac.compute(prefix, packet);
      out.push(stream.apply(packet), tag);
    },
  };
}

export function streamMacOpen(stream: Stream, mac: Mac, tagSize: number, blockSize: number): Open {
  // sequence number ‖ packet_length in the clear: the first eight bytes that the MAC covers
  const prefix = new Uint8Array(4 + LENGTH_SIZE);
  return {
    blockSize,
    lengthCounts: true,
    tagSize,
    headerSize: LENGTH_SIZE,
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
