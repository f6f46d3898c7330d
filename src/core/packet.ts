/**
 * The binary packet protocol, RFC 4253 §6: framing, padding, bounds and sequence numbers. Bounds are checked before anything
 * is allocated or awaited. Does not know what a payload means.
 */

import { concat, copy, putUint32 } from '../bytes/bytes.ts';
import type { ChunkQueue } from '../bytes/chunks.ts';
import { printable } from '../bytes/text.ts';
import type { RandomSource } from '../crypto/provider.ts';
import { protocolError, SshError } from '../errors.ts';
import { DisconnectReason } from '../wire/numbers.ts';
import type { Deflater, Inflater } from './compression.ts';
import { plainOpen, plainSeal } from './protection/none.ts';
import { LENGTH_SIZE, type Open, type Seal } from './protection/types.ts';

/** Padding is at least four bytes. */
const MIN_PADDING = 4;

/** The smallest packet, packet_length included where it counts: RFC 4253 §6. */
const MIN_PACKET = 16;

/** Random bytes for padding are drawn this many at a time. */
const PADDING_POOL = 4096;

/** Bytes of a packet from which on it is put together in memory that is used again: to make and collect it costs more than a copy. */
const SCRATCH_FROM = 4096;

/** Of text where a packet must stand, as much is awaited and quoted as this, or one line. */
const MAX_TEXT = 200;

const LF = 0x0a;

/** What passed in one direction since its keys were taken. */
export interface Traffic {
  readonly bytes: number;
  readonly packets: number;
}

/** Turns received bytes into payloads. */
export class PacketReader implements Traffic {
  #open: Open = plainOpen;
  #inflater: Inflater | undefined;
  #sequence: number;
  /** Bytes of the packet that is awaited, once its length is known. */
  #total: number | undefined;
  /** Where the length is hidden: one whose length is not acceptable, or what is left to the size of the largest one behind one that failed. */
  #awaited: 'packet' | 'bad length' | 'rest' = 'packet';
  #bytes = 0;
  #packets = 0;
  #exclusive = false;
  readonly #input: ChunkQueue;
  readonly #maxLength: number;

  /** `sequence`: of the first packet. */
  constructor(input: ChunkQueue, maxLength: number, sequence = 0) {
    this.#input = input;
    this.#maxLength = maxLength;
    this.#sequence = sequence;
  }

  /** Sequence number of the next packet. */
  get sequence(): number {
    return this.#sequence;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get packets(): number {
    return this.#packets;
  }

  /** Whether nothing but its packet is in the memory of the last payload: it was decrypted to memory of its own. */
  get exclusive(): boolean {
    return this.#exclusive;
  }

  /** Whether a packet has begun whose end nobody may learn: it may be one that has failed. */
  get hidesEnd(): boolean {
    return this.#total !== undefined && this.#open.hidesLength === true;
  }

  /** Takes the keys that the peer's NEWKEYS announced; strict key exchange starts numbering anew. */
  rekey(open: Open, resetSequence: boolean): void {
    this.#open = open;
    this.#bytes = 0;
    this.#packets = 0;
    if (resetSequence) this.#sequence = 0;
  }

  /** Decompresses the payloads that follow, or does not any more. */
  decompress(inflater: Inflater | undefined): void {
    this.#inflater = inflater;
  }

  /** The next payload, a view; `undefined` while its packet is not whole. Throws `protocol`, `integrity`, `limit`. */
  next(): Uint8Array | undefined {
    const open = this.#open;
    if (this.#total === undefined) {
      const header = this.#input.peek(open.headerSize);
      if (header === undefined) return undefined;
      let length = open.length(this.#sequence, header);
      if (!this.#acceptable(length) && open.hidesLength) {
        length = this.#largest;
        this.#awaited = 'bad length';
      } else if (!this.#acceptable(length)) {
        if (open !== plainOpen || !isText(header)) throw this.#badLength(length);
        const text = this.#line();
        if (text === undefined) return undefined;
        throw textError(text);
      }
      this.#total = LENGTH_SIZE + length + open.tagSize;
    }
    const packet = this.#input.take(this.#total);
    if (packet === undefined) return undefined;
    this.#bytes += packet.length;
    this.#packets++;
    this.#total = undefined;
    const body = this.#awaited === 'rest' ? undefined : open.open(this.#sequence, packet);
    if (body === undefined || this.#awaited !== 'packet') return this.#corrupted(packet);
    const padding = body[0] as number;
    const end = body.length - padding;
    if (padding < MIN_PADDING || end <= 1) {
      throw protocolError(`Packet of ${body.length} bytes with ${padding} bytes of padding holds no message`);
    }
    this.#sequence = (this.#sequence + 1) >>> 0;
    this.#exclusive = body.length === body.buffer.byteLength;
    return this.#inflater === undefined ? body.subarray(1, end) : this.#inflated(body.subarray(1, end));
  }

  /**
   * The packet fails its integrity check. Where the length is hidden, this is told once as many bytes are there, and have been put through
   * the cipher and the MAC, as the largest packet has: neither the moment nor the cost says where the packet ended.
   */
  #corrupted(packet: Uint8Array): Uint8Array | undefined {
    const { hidesLength, tagSize } = this.#open;
    const largest = LENGTH_SIZE + this.#largest + tagSize;
    if (this.#awaited === 'packet' && hidesLength && packet.length < largest) {
      this.#awaited = 'rest';
      this.#total = largest - packet.length;
      return this.next();
    }
    if (this.#awaited === 'rest') this.#open.open(this.#sequence, concat(packet, new Uint8Array(tagSize)));
    throw new SshError(
      'integrity',
      `Packet ${this.#sequence} fails its integrity check: it was changed on the way, or the peer's cipher is at fault`,
      { fault: 'peer', disconnect: DisconnectReason.macError },
    );
  }

  #inflated(compressed: Uint8Array): Uint8Array {
    const payload = (this.#inflater as Inflater).inflate(compressed, this.#maxLength);
    if (payload.length === 0) throw protocolError('A compressed packet holds no message');
    this.#exclusive = payload.length === payload.buffer.byteLength;
    return payload;
  }

  /** What stands where a packet must, when it is text: the error for the end of input in the middle of it. */
  get textError(): SshError | undefined {
    const header = this.#open === plainOpen && this.#total === undefined ? this.#input.peek(LENGTH_SIZE) : undefined;
    return header !== undefined && isText(header) ? textError(this.#rest()) : undefined;
  }

  #acceptable(length: number): boolean {
    const { blockSize, lengthCounts } = this.#open;
    const counted = length + (lengthCounts ? LENGTH_SIZE : 0);
    const least = lengthCounts ? MIN_PACKET : Math.max(blockSize, 8);
    return length <= this.#maxLength && counted >= least && counted % blockSize === 0;
  }

  /** The largest acceptable length. */
  get #largest(): number {
    const { blockSize } = this.#open;
    return Math.floor((LENGTH_SIZE + this.#maxLength) / blockSize) * blockSize - LENGTH_SIZE;
  }

  #badLength(length: number): SshError {
    const { blockSize } = this.#open;
    return protocolError(
      `Packet length ${length} is not acceptable: it must be at most ${this.#maxLength} and fill blocks of ${blockSize} bytes`,
    );
  }

  /** The text that stands where a packet must; `undefined` while its line may go on. */
  #line(): Uint8Array | undefined {
    const end = this.#input.indexOf(LF);
    if (end > 0) return this.#input.peek(Math.min(end, MAX_TEXT));
    return this.#input.length < MAX_TEXT ? undefined : this.#rest();
  }

  #rest(): Uint8Array {
    return this.#input.peek(Math.min(this.#input.length, MAX_TEXT)) as Uint8Array;
  }
}

/** Whether a header is printable ASCII: a length field of such bytes is no length. */
function isText(header: Uint8Array): boolean {
  return header.every((byte) => (byte >= 0x20 && byte < 0x7f) || byte === LF || byte === 0x0d);
}

function textError(text: Uint8Array): SshError {
  return new SshError(
    'identification',
    `The peer sent the text "${printable(text).trim()}" where a packet must stand: it does not speak SSH 2`,
    { fault: 'peer', phase: 'identification' },
  );
}

/** Copies the pieces of `out`, from `first` on, that are still in `memory`. */
function keepFrom(memory: ArrayBufferLike, out: Uint8Array[], first: number): void {
  for (let i = first; i < out.length; i++) {
    const piece = out[i] as Uint8Array;
    if (piece.buffer === memory) out[i] = copy(piece);
  }
}

/** Turns payloads into bytes to send. */
export class PacketWriter implements Traffic {
  #seal: Seal = plainSeal;
  #deflater: Deflater | undefined;
  #sequence: number;
  #bytes = 0;
  #packets = 0;
  #scratch: Uint8Array = new Uint8Array(0);
  #pool: Uint8Array = new Uint8Array(0);
  #poolAt = 0;
  readonly #random: RandomSource;

  /** `sequence`: of the first packet. */
  constructor(random: RandomSource, sequence = 0) {
    this.#random = random;
    this.#sequence = sequence;
  }

  /** Sequence number of the next packet. */
  get sequence(): number {
    return this.#sequence;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get packets(): number {
    return this.#packets;
  }

  /** Takes the keys that our NEWKEYS announced; strict key exchange starts numbering anew. */
  rekey(seal: Seal, resetSequence: boolean): void {
    this.#seal = seal;
    this.#bytes = 0;
    this.#packets = 0;
    if (resetSequence) this.#sequence = 0;
  }

  /** Compresses the payloads that follow, or does not any more. */
  compress(deflater: Deflater | undefined): void {
    this.#deflater = deflater;
  }

  /** Pushes the packet of the payload, which is the parts one after the other, to `out`; returns its size in bytes. */
  write(payload: readonly Uint8Array[], out: Uint8Array[]): number {
    const parts = this.#deflater === undefined ? payload : [this.#deflater.deflate(payload)];
    const { blockSize, lengthCounts, tagSize } = this.#seal;
    let size = 0;
    for (const part of parts) size += part.length;
    const aligned = 1 + size + (lengthCounts ? LENGTH_SIZE : 0);
    let padding = blockSize - (aligned % blockSize);
    if (padding < MIN_PADDING) padding += blockSize;
    while (aligned + padding < MIN_PACKET) padding += blockSize;
    const packet = this.#memory(LENGTH_SIZE + 1 + size + padding);
    putUint32(packet, 0, packet.length - LENGTH_SIZE);
    packet[4] = padding;
    let at = 5;
    for (const part of parts) {
      packet.set(part, at);
      at += part.length;
    }
    packet.set(this.#padding(padding), at);
    const first = out.length;
    this.#seal.seal(this.#sequence, packet, out);
    if (packet.buffer === this.#scratch.buffer) keepFrom(packet.buffer, out, first);
    this.#sequence = (this.#sequence + 1) >>> 0;
    this.#packets++;
    this.#bytes += packet.length + tagSize;
    return packet.length + tagSize;
  }

  /** Most packets of a transfer are long and leave as the cipher's own output: they are put together in one place. */
  #memory(size: number): Uint8Array {
    if (size < SCRATCH_FROM) return new Uint8Array(size);
    if (this.#scratch.length < size) this.#scratch = new Uint8Array(size);
    return this.#scratch.subarray(0, size);
  }

  #padding(count: number): Uint8Array {
    if (this.#poolAt + count > this.#pool.length) {
      this.#pool = this.#random(PADDING_POOL);
      this.#poolAt = 0;
    }
    this.#poolAt += count;
    return this.#pool.subarray(this.#poolAt - count, this.#poolAt);
  }
}
