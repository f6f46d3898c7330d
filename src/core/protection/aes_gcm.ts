/**
 * AES-GCM: RFC 5647 §7 as `aes*-gcm@openssh.com` has it. packet_length is associated data; the nonce is 4 fixed bytes and a
 * 64-bit invocation counter of its own, not the sequence number, so strict key exchange does not touch it.
 */

import { copy, uint32At } from '../../bytes/bytes.ts';
import type { Aead } from '../../crypto/provider.ts';
import { LENGTH_SIZE, type Open, type Seal } from './types.ts';

const framing = { blockSize: 16, lengthCounts: false, tagSize: 16 } as const;

/** Adds one to the invocation counter in bytes 4..11 (RFC 5647 §7.1). */
function advance(nonce: Uint8Array): void {
  for (let i = 11; i >= 4; i--) {
    const next = ((nonce[i] as number) + 1) & 0xff;
    nonce[i] = next;
    if (next !== 0) return;
  }
}

export function gcmSeal(aead: Aead, iv: Uint8Array): Seal {
  const nonce = copy(iv);
  return {
    ...framing,
    seal(_sequence, packet, out) {
      const length = packet.subarray(0, LENGTH_SIZE);
      out.push(length, ...aead.seal(nonce, length, packet.subarray(LENGTH_SIZE)));
      advance(nonce);
    },
  };
}

export function gcmOpen(aead: Aead, iv: Uint8Array): Open {
  const nonce = copy(iv);
  return {
    ...framing,
    headerSize: LENGTH_SIZE,
    length: (_sequence, header) => uint32At(header, 0),
    open(_sequence, packet) {
      const plain = aead.open(nonce, packet.subarray(0, LENGTH_SIZE), packet.subarray(LENGTH_SIZE));
      advance(nonce);
      return plain;
    },
  };
}
