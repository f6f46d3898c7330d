/** Cuts a stream of bytes into the messages of the agent protocol: RFC 9987 §3. Either side reads them the same way. */

import { copy } from '../bytes/bytes.ts';
import { ChunkQueue } from '../bytes/chunks.ts';
import { Reader } from '../bytes/reader.ts';
import { Writer } from '../bytes/writer.ts';
import { SshError } from '../errors.ts';

/** The longest message in bytes, its number included: OpenSSH's limit in both directions (AGENT_MAX_LEN). */
export const MAX_FRAME: number = 256 * 1024;

/** A message. */
export interface Frame {
  readonly type: number;
  readonly body: Uint8Array;
}

export class FrameReader {
  readonly #queue = new ChunkQueue();

  /** Bytes that were taken in and belong to no message that was given out. */
  get length(): number {
    return this.#queue.length;
  }

  push(bytes: Uint8Array): void {
    this.#queue.push(bytes);
  }

  /** The next message, once it is whole. Throws `limit` for a length that none may have; nothing can be read behind it. */
  next(): Frame | undefined {
    const head = this.#queue.peek(4);
    if (head === undefined) return undefined;
    const size = new Reader(head).u32();
    if (size === 0 || size > MAX_FRAME) {
      const message = `A message of the agent protocol has 1 to ${MAX_FRAME} bytes, not ${size}`;
      throw new SshError('limit', message, { fault: 'peer' });
    }
    const frame = this.#queue.take(4 + size);
    return frame && { type: frame[4] as number, body: copy(frame.subarray(5)) };
  }
}

/** A message as it goes over the line. */
export function encodeFrame(type: number, body: Uint8Array = new Uint8Array(0)): Uint8Array {
  return new Writer(body.length + 5)
    .u32(body.length + 1)
    .u8(type)
    .raw(body)
    .finish();
}
