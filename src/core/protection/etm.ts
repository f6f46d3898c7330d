/** A stream or chained cipher with encrypt-then-MAC: OpenSSH PROTOCOL §1.5. packet_length is in the clear; the MAC is checked before decryption. */

import { putUint32, uint32At } from '../../bytes/bytes.ts';
import { equalSecret } from '../../bytes/secret.ts';
import type { Mac, Stream } from '../../crypto/provider.ts';
import { LENGTH_SIZE, type Open, type Seal } from './types.ts';

export function etmSeal(stream: Stream, mac: Mac, tagSize: number, blockSize: number): Seal {
  const prefix = new Uint8Array(4 + LENGTH_SIZE);
  return {
    blockSize,
    lengthCounts: false,
    tagSize,
    seal(sequence, packet, out) {
      const length = packet.subarray(0, LENGTH_SIZE);
      putUint32(prefix, 0, sequence);
      prefix.set(length, 4);
      const body = stream.apply(packet.subarray(LENGTH_SIZE));
      out.push(length, body, mac.compute(prefix, body));
    },
  };
}

export function etmOpen(stream: Stream, mac: Mac, tagSize: number, blockSize: number): Open {
  const prefix = new Uint8Array(4 + LENGTH_SIZE);
  return {
    blockSize,
    lengthCounts: false,
    tagSize,
    headerSize: LENGTH_SIZE,
    length: (_sequence, header) => uint32At(header, 0),
    open(sequence, packet) {
      const end = packet.length - tagSize;
      const body = packet.subarray(LENGTH_SIZE, end);
      putUint32(prefix, 0, sequence);
      prefix.set(packet.subarray(0, LENGTH_SIZE), 4);
      if (!equalSecret(mac.compute(prefix, body), packet.subarray(end))) return undefined;
      return stream.apply(body);
    },
  };
}
