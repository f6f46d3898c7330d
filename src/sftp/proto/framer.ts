/**
 * Cuts a byte stream into SFTP packets (draft-ietf-secsh-filexfer-02 §3), fed with chunks of any size. The payload of a
 * DATA is handed on in views as it arrives, that of a WRITE in views once all of it is here; neither is ever gathered. Every
 * other packet is handed on whole. Knows no requests.
 */

import { uint32At } from '../../bytes/bytes.ts';
import { ChunkQueue } from '../../bytes/chunks.ts';
import { latin1, printable } from '../../bytes/text.ts';
import { protocolError, SshError } from '../../errors.ts';
import { DATA_HEADER, dataLength, packetName, packets, WRITE_HEADER } from './packets.ts';

/**
 * Longest packet taken from a peer, without its length field. OpenSSH sends and takes 256 KiB; the slack is for servers
 * that count the payload only. The draft (§3) asks for 34000. Servers that put a whole directory into one NAME need more.
 */
export const MAX_PACKET: number = 256 * 1024 + 1024;

/** Text of a start-up file that is quoted in an error. */
const QUOTED_TEXT = 200;

/** Longest handle of the draft (§6.3). */
const LONGEST_HANDLE = 256;

/** Where a framer delivers. */
export interface FramerSink {
  /** A packet, from its type byte on; it may be a view of a chunk. */
  packet(packet: Uint8Array): void;
  /** A DATA begins: `length` bytes of payload follow through `data`, then `dataEnd`. */
  dataStart?(id: number, length: number): void;
  /** A piece of the payload, as a view of a chunk. */
  data?(bytes: Uint8Array): void;
  dataEnd?(): void;
  /**
   * A WRITE: from its type byte up to its payload, whose length the last uint32 says, and the payload in views of chunks. What
   * stands behind the payload is left out; one that is too short for its payload comes through `packet`.
   */
  write?(header: Uint8Array, payload: readonly Uint8Array[]): void;
  /** Whether to hand on nothing more for now: asked before each packet, `resume` goes on. */
  holds?(): boolean;
}

export interface FramerOptions {
  /** Longest packet taken. Default: `MAX_PACKET`. */
  readonly maxPacket?: number;
  /**
   * Whether a packet has to come first that is not text, as to a client, whose first words may be those of a login
   * shell. Default: false.
   */
  readonly expectGreeting?: boolean;
  /** Who sends, for errors. Default: `server`. */
  readonly peer?: Peer;
}

/** The side that a framer hears. */
type Peer = 'server' | 'client';

export class Framer {
  readonly #sink: FramerSink;
  readonly #maxPacket: number;
  readonly #queue = new ChunkQueue();
  /** Length of the packet that is being received; -1 between packets. */
  #length = -1;
  /** Payload of a DATA still to come; -1 outside one. */
  #dataLeft = -1;
  #greeted: boolean;
  readonly #peer: Peer;

  constructor(sink: FramerSink, options: FramerOptions = {}) {
    this.#sink = sink;
    this.#maxPacket = options.maxPacket ?? MAX_PACKET;
    this.#greeted = !(options.expectGreeting ?? false);
    this.#peer = options.peer ?? 'server';
  }

  /** Takes the next bytes of the stream. Throws `protocol`, `decode` or `sftp-unavailable`; the stream is lost then. */
  push(chunk: Uint8Array): void {
    this.#queue.push(chunk);
    this.resume();
  }

  /** Bytes that wait for those behind them. */
  get waiting(): number {
    return this.#queue.length;
  }

  /** Goes on after the sink held; throws as `push`. */
  resume(): void {
    while (this.#dataLeft >= 0 ? this.#payload() : !(this.#sink.holds?.() ?? false) && this.#packet());
  }

  /** Hands on a piece of payload; false when there is none yet. */
  #payload(): boolean {
    if (this.#dataLeft > 0) {
      const piece = this.#queue.takeSome(this.#dataLeft);
      if (piece === undefined) return false;
      this.#dataLeft -= piece.length;
      this.#sink.data?.(piece);
    }
    if (this.#dataLeft === 0) {
      this.#dataLeft = -1;
      this.#length = -1;
      this.#sink.dataEnd?.();
    }
    return true;
  }

  /** Hands on one packet, or the beginning of a DATA; false when it is not there yet. */
  #packet(): boolean {
    const queue = this.#queue;
    if (this.#length < 0) {
      const field = queue.peek(4);
      if (field === undefined) return false;
      this.#length = this.#checked(uint32At(field, 0));
    }
    const head = queue.peek(5);
    if (head === undefined) return false;
    if (head[4] === packets.data.number && this.#sink.dataStart !== undefined) return this.#dataStart();
    const size = 4 + this.#length;
    if (queue.length < size) return false;
    this.#length = -1;
    this.#greeted = true;
    if (head[4] === packets.write.number && this.#sink.write !== undefined && this.#write(size)) return true;
    this.#sink.packet((queue.take(size) as Uint8Array).subarray(4));
    return true;
  }

  /**
   * Hands on the WRITE of `size` bytes at the front; false when its payload would not fit. The Go package of SFTP (up to 1.13.5,
   * which rclone uses) sends its whole buffer behind the few bytes that a WRITE is to have: OpenSSH takes it, too.
   */
  #write(size: number): boolean {
    const queue = this.#queue;
    if (size < WRITE_HEADER) return false;
    const handle = uint32At(queue.peek(13) as Uint8Array, 9);
    const start = WRITE_HEADER + handle;
    if (handle > LONGEST_HANDLE || start > size) return false;
    const length = uint32At(queue.peek(start) as Uint8Array, start - 4);
    if (length > size - start) return false;
    const header = (queue.take(start) as Uint8Array).subarray(4);
    const payload = queue.takePieces(length) as Uint8Array[];
    if (length < size - start) queue.takePieces(size - start - length);
    this.#sink.write?.(header, payload);
    return true;
  }

  #dataStart(): boolean {
    if (this.#length < DATA_HEADER - 4) throw protocolError(`SFTP: SSH_FXP_DATA of ${this.#length} bytes is too short`);
    const header = this.#queue.take(DATA_HEADER);
    if (header === undefined) return false;
    this.#dataLeft = dataLength(header);
    this.#sink.dataStart?.(uint32At(header, 5), this.#dataLeft);
    return true;
  }

  #checked(length: number): number {
    if (length >= 1 && length <= this.#maxPacket) return length;
    if (!this.#greeted) throw this.#notSftp();
    const peer = this.#peer;
    if (length === 0) throw protocolError(`SFTP: the ${peer} sent a packet of no bytes, which has no type`);
    throw protocolError(
      `SFTP: the ${peer} announced a packet of ${length} bytes, the limit is ${this.#maxPacket}; ` +
        `if the ${peer} is sound, set the option maxPacket higher`,
    );
  }

  /** The error for a stream that begins with anything but a packet: as a rule the output of a login shell. */
  #notSftp(): SshError {
    const bytes = this.#queue.peek(Math.min(this.#queue.length, QUOTED_TEXT)) as Uint8Array;
    return notSftp(bytes, this.#peer);
  }

  /**
   * What to say when the stream ends: `undefined` between packets, else the error that tells what was cut short or, if
   * nothing but text ever came, quotes it. The code does not depend on the byte at which a peer that dies happens to
   * stop; and the connection below may well live on.
   */
  end(): SshError | undefined {
    if (!this.#greeted && this.#queue.length > 0) return this.#notSftp();
    if (this.#dataLeft < 0 && this.#length < 0 && this.#queue.length === 0) return undefined;
    const type = this.#dataLeft >= 0 ? packets.data.number : this.#queue.peek(5)?.[4];
    const what = type === undefined ? 'a packet' : packetName(type);
    return new SshError('channel-closed', `SFTP: the stream ended inside ${what}`, { fault: 'peer' });
  }
}

function notSftp(bytes: Uint8Array, peer: Peer): SshError {
  const start = bytes.subarray(0, 4);
  const isText = start.every((byte) => (byte >= 0x20 && byte < 0x7f) || (byte >= 9 && byte <= 13) || byte === 0x1b);
  // The pieces of a text that were cut in the middle of a character are shown byte by byte.
  const quoted = printable(isText ? bytes : latin1(start), QUOTED_TEXT);
  const message = `Instead of SFTP the ${peer} sent "${quoted}"`;
  if (peer === 'client') return protocolError(message, { operation: 'init' });
  const hint =
    ': a start-up file of the login shell prints output on the server; make it silent when no terminal is attached';
  return new SshError('sftp-unavailable', isText ? message + hint : message, { fault: 'peer', operation: 'init' });
}
