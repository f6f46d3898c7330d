/**
 * A chained cipher with encrypt-and-MAC: RFC 4253 §6.3 and §6.4. The first block must be deciphered to know the length; what
 * is wrong with that length the peer must not learn, since anybody on the way could put a block of another packet in its place
 * (CVE-2008-5161). To seal, `stream_mac.ts` does.
 */

import { copy, putUint32, uint32At } from '../../bytes/bytes.ts';
import { equalSecret } from '../../bytes/secret.ts';
import type { Mac, Stream } from '../../crypto/provider.ts';
import { LENGTH_SIZE, type Open } from './types.ts';

export function cbcMacOpen(stream: Stream, mac: Mac, tagSize: number, blockSize: number): Open {
  const prefix = new Uint8Array(4);
  let first: Uint8Array = new Uint8Array(0);
  return {
    blockSize,
    lengthCounts: true,
    tagSize,
    headerSize: blockSize,
    hidesLength: true,
    length(_sequence, header) {
      first = stream.apply(copy(header));
      return uint32At(first, 0);
    },
    open(sequence, packet) {
      const end = packet.length - tagSize;
      const plain = packet.subarray(0, end);
      plain.set(first);
      if (end > blockSize) plain.set(stream.apply(packet.subarray(blockSize, end)), blockSize);
      putUint32(prefix, 0, sequence);
      return equalSecret(mac.compute(prefix, plain), packet.subarray(end)) ? plain.subarray(LENGTH_SIZE) : undefined;
    },
  };
}
