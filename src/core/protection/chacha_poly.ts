/**
 * chacha20-poly1305@openssh.com (draft-ietf-sshm-chacha20-poly1305): one 64-byte key, its first half for the packet, its
 * second for the length. The nonce is the sequence number, so it must be rekeyed before 2^32 packets.
 */

import { copy, putUint32, uint32At } from '../../bytes/bytes.ts';
import { equalSecret } from '../../bytes/secret.ts';
import type { CryptoProvider } from '../../crypto/provider.ts';
import { LENGTH_SIZE, type Open, type Seal } from './types.ts';

const framing = { blockSize: 8, lengthCounts: false, tagSize: 16 } as const;

/** Bytes of the ChaCha20 key stream that become the Poly1305 key. */
const POLY_KEY_SIZE = 32;

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

  tag(sequence: number, sealed: Uint8Array): Uint8Array {
    const zeros = new Uint8Array(POLY_KEY_SIZE);
    const key = this.#crypto.chacha20.apply(this.#packetKey, this.#nonceOf(sequence), 0, zeros);
    return this.#crypto.poly1305.compute(key, sealed);
  }
}

/** `result`, which a primitive may have made elsewhere, in the place of `target`. */
function inPlace(target: Uint8Array, result: Uint8Array): void {
  if (result.buffer !== target.buffer || result.byteOffset !== target.byteOffset) target.set(result);
}

export function chachaSeal(crypto: CryptoProvider, key: Uint8Array): Seal {
  const keys = new Keys(crypto, key);
  return {
    ...framing,
    seal(sequence, packet, out) {
      const length = packet.subarray(0, LENGTH_SIZE);
      const body = packet.subarray(LENGTH_SIZE);
      inPlace(length, keys.length(sequence, length));
      inPlace(body, keys.body(sequence, body));
      out.push(packet, keys.tag(sequence, packet));
    },
  };
}

export function chachaOpen(crypto: CryptoProvider, key: Uint8Array): Open {
  const keys = new Keys(crypto, key);
  return {
    ...framing,
    length: (sequence, header) => uint32At(keys.length(sequence, copy(header)), 0),
    open(sequence, packet) {
      const end = packet.length - framing.tagSize;
      const tag = keys.tag(sequence, packet.subarray(0, end));
      if (!equalSecret(tag, packet.subarray(end))) return undefined;
      return keys.body(sequence, packet.subarray(LENGTH_SIZE, end));
    },
  };
}
