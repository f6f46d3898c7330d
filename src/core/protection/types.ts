/**
 * How packets are protected, one direction each. Sequence numbers are passed in, so a reset by strict key exchange is one
 * assignment in `packet.ts`. Neither side knows keys' origin, sockets, or what payloads mean.
 */

/** Figures of the framing: RFC 4253 §6. */
export interface Framing {
  /** The alignment of packets, at least 8. */
  readonly blockSize: number;
  /** Whether the 4 bytes of packet_length count for the alignment: not where they travel outside the encryption. */
  readonly lengthCounts: boolean;
  /** Bytes of MAC or tag after the packet. */
  readonly tagSize: number;
  /** How payloads are compressed under the same keys; absent: not at all. */
  readonly compression?: string;
}

/** Protects outgoing packets. */
export interface Seal extends Framing {
  /**
   * Protects `packet` (packet_length ‖ padding_length ‖ payload ‖ padding), which may be written over, and pushes what has to
   * be sent to `out`. Parts of `packet` may be among it: whoever uses its memory again copies them before.
   */
  seal(sequence: number, packet: Uint8Array, out: Uint8Array[]): void;
}

/** Checks and opens incoming packets. `length` then `open`, in turn, once each per packet. */
export interface Open extends Framing {
  /** How many bytes `length` has to see: four, or a block where they cannot be deciphered alone. */
  readonly headerSize: number;
  /**
   * The length must not be told by what is refused, nor when, since it is the plaintext of what was sent, which may be somebody
   * else's (CVE-2008-5161): where it is not acceptable, or the MAC is wrong, as much is read as the largest packet has.
   */
  readonly hidesLength?: true;
  /** packet_length from the first `headerSize` bytes as they arrived, which are only read. */
  length(sequence: number, header: Uint8Array): number;
  /**
   * `packet` is everything as it arrived, header and tag included, and is the callee's. Returns
   * padding_length ‖ payload ‖ padding, or `undefined` when the MAC or tag does not match.
   */
  open(sequence: number, packet: Uint8Array): Uint8Array | undefined;
}

/** packet_length is four bytes. */
export const LENGTH_SIZE = 4;
