/**
 * chacha20-poly1305@openssh.com (draft-ietf-sshm-chacha20-poly1305): one 64-byte key, its first half for the packet, its
 * second for the length. The nonce is the sequence number, so it must be rekeyed before 2^32 packets.
 */

import { copy, putUint32, uint32At } from '../../bytes/bytes.ts';
import { equalSecret } from '../../bytes/secret.ts';
import type { CryptoProvider } from '../../crypto/provider.ts';
import { LENGTH_SIZE, type Open, type Seal } from './types.ts';

const framing = { blockSize: 8, lengthCounts: false, tagSize: 16 } as const;

class Keys {
  readonly #crypto: CryptoProvider;
  readonly #packetKey: Uint8Array;
  readonly #lengthKey: Uint8Array;
  readonly #nonce: Uint8Array = new Uint8Array(8);

  constructor(crypto: CryptoProvider, key: Uint8Array) {
    this.#crypto = crypto;
    this.#packetKey = copy(key.subarray(0, 32));
    this.#lengthKey = copy(key.subarray(32, 64));
  }

  #nonceOf(sequence: number): Uint8Array {
    putUint32(this.#nonce, 4, sequence);
    return this.#nonce;
  }

  length(sequence: number, bytes: Uint8Array): Uint8Array {
    return this.#crypto.chacha20.apply(this.#lengthKey, this.#nonceOf(sequence), 0, bytes);
  }

  body(sequence: number, bytes: Uint8Array): Uint8Array {
    return this.#crypto.chacha20.apply(this.#packetKey, this.#nonceOf(sequence), 1, bytes);
  }

  tag(sequence: number, length: Uint8Array, body: Uint8Array): Uint8Array {
    return this.#crypto.chacha20.authenticate(this.#packetKey, this.#nonceOf(sequence), length, body);
  }
}

export function chachaSeal(crypto: CryptoProvider, key: Uint8Array): Seal {
  const keys = new Keys(crypto, key);
  return {
    ...framing,
    seal(sequence, packet, out) {
      const length = keys.length(sequence, packet.subarray(0, LENGTH_SIZE));
      const body = keys.body(sequence, packet.subarray(LENGTH_SIZE));
      out.push(length, body, keys.tag(sequence, length, body));
    },
  };
}

export function chachaOpen(crypto: CryptoProvider, key: Uint8Array): Open {
  const keys = new Keys(crypto, key);
  return {
    ...framing,
    headerSize: LENGTH_SIZE,
    length: (sequence, header) => uint32At(keys.length(sequence, copy(header)), 0),
    open(sequence, packet) {
      const end = packet.length - framing.tagSize;
      const body = packet.subarray(LENGTH_SIZE, end);
      const tag = keys.tag(sequence, packet.subarray(0, LENGTH_SIZE), body);
      return equalSecret(tag, packet.subarray(end)) ? keys.body(sequence, body) : undefined;
    },
  };
}
