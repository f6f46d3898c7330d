/** What compression has to offer (RFC 4253 §6.2). The library that does it is the caller's: nothing here imports one. */

/** One direction that leaves. */
export interface Deflater {
  /**
   * The payload, which is the parts one after the other, compressed and ended by a partial or sync flush, so that the peer can
   * decompress all of it. The parts are only read. The result is the receiver's.
   */
  deflate(parts: readonly Uint8Array[]): Uint8Array;
}

/** One direction that arrives. */
export interface Inflater {
  /** The payload that `compressed` holds. Throws `limit` where it has more than `most` bytes, `protocol` where it is damaged. */
  inflate(compressed: Uint8Array, most: number): Uint8Array;
}

/** A library that speaks zlib (RFC 1950). Each stream that it makes lives as long as the keys of one direction. */
export interface CompressionLibrary {
  deflater(): Deflater;
  inflater(): Inflater;
}
