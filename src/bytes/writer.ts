/** A growing buffer that writes the data types of RFC 4251 §5. */

import { SshError } from '../errors.ts';
import { putUint32 } from './bytes.ts';
import { mpintBody } from './mpint.ts';
import { fromLatin1, toBytes } from './text.ts';

export class Writer {
  #bytes: Uint8Array;
  #length = 0;

  constructor(capacity = 128) {
    this.#bytes = new Uint8Array(capacity);
  }

  /** How many bytes were written. */
  get length(): number {
    return this.#length;
  }

  /** Makes room first, and only then may `#bytes` be looked at: it may be another array now. */
  #room(count: number): number {
    const needed = this.#length + count;
    if (needed > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
      grown.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = grown;
    }
    const at = this.#length;
    this.#length = needed;
    return at;
  }

  /** `byte`. */
  u8(value: number): this {
    const at = this.#room(1);
    this.#bytes[at] = value;
    return this;
  }

  /** `boolean`. */
  bool(value: boolean): this {
    return this.u8(value ? 1 : 0);
  }

  /** `uint32`; throws `bad-argument` for what is no uint32. */
  u32(value: number): this {
    if (!(value >= 0 && value <= 0xffffffff && Number.isInteger(value))) {
      throw new SshError('bad-argument', `Not a uint32: ${value}`);
    }
    const at = this.#room(4);
    putUint32(this.#bytes, at, value);
    return this;
  }

  /** `uint64`; throws `bad-argument` for what is no uint64. */
  u64(value: bigint): this {
    if (value < 0n || value > 0xffffffffffffffffn) throw new SshError('bad-argument', `Not a uint64: ${value}`);
    return this.u32(Number(value >> 32n)).u32(Number(value & 0xffffffffn));
  }

  /** Bytes as they are. */
  raw(bytes: Uint8Array): this {
    const at = this.#room(bytes.length);
    this.#bytes.set(bytes, at);
    return this;
  }

  /** `string` of bytes, or of text as UTF-8. */
  string(value: string | Uint8Array): this {
    const bytes = toBytes(value);
    return this.u32(bytes.length).raw(bytes);
  }

  /** `mpint` of the unsigned big-endian integer in `bytes`. */
  mpint(bytes: Uint8Array): this {
    return this.string(mpintBody(bytes));
  }

  /** `name-list`; throws `bad-argument` for names with characters above U+00FF. */
  nameList(names: readonly string[]): this {
    return this.string(fromLatin1(names.join(',')));
  }

  /** What was written, as a view; the writer must not be used after. */
  finish(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }
}
