/**
 * A bounded cursor over the data types of RFC 4251 §5. Every read checks what is left before it looks, so a length
 * field can never reach past the end nor cause an allocation. What it returns are views; copy to keep.
 */

import { SshError } from '../errors.ts';
import { uint32At } from './bytes.ts';
import { decodeLenient, latin1 } from './text.ts';

/** Bytes that do not have the shape they must have. The layer that owns the bytes says whose fault that is. */
export class DecodeError extends SshError {
  constructor(message: string) {
    super('decode', message, { fault: 'peer', disconnect: 2 });
  }
}

export class Reader {
  readonly bytes: Uint8Array;
  #at: number;

  constructor(bytes: Uint8Array, at = 0) {
    this.bytes = bytes;
    this.#at = at;
  }

  /** Index of the next byte. */
  get at(): number {
    return this.#at;
  }

  /** How many bytes are left. */
  get remaining(): number {
    return this.bytes.length - this.#at;
  }

  #take(count: number, what: string): number {
    if (count > this.remaining) {
      throw new DecodeError(`Truncated ${what}: ${count} bytes needed at offset ${this.#at}, ${this.remaining} left`);
    }
    const start = this.#at;
    this.#at += count;
    return start;
  }

  /** `byte`: 0..255. */
  u8(): number {
    return this.bytes[this.#take(1, 'byte')] as number;
  }

  /** `boolean`: any value but zero is true. */
  bool(): boolean {
    return this.u8() !== 0;
  }

  /** `uint32`. */
  u32(): number {
    return uint32At(this.bytes, this.#take(4, 'uint32'));
  }

  /** `uint64`. */
  u64(): bigint {
    const at = this.#take(8, 'uint64');
    return (BigInt(uint32At(this.bytes, at)) << 32n) | BigInt(uint32At(this.bytes, at + 4));
  }

  /** `byte[count]`, as a view. */
  raw(count: number): Uint8Array {
    const start = this.#take(count, 'byte array');
    return this.bytes.subarray(start, start + count);
  }

  /** `string`, as a view. */
  string(): Uint8Array {
    const length = this.u32();
    const start = this.#take(length, 'string');
    return this.bytes.subarray(start, start + length);
  }

  /** `string` as text; bytes that are not UTF-8 become U+FFFD. For human-readable fields. */
  text(): string {
    return decodeLenient(this.string());
  }

  /** `string` that holds a name: one character per byte, so that nothing is lost and nothing merges. */
  name(): string {
    return latin1(this.string());
  }

  /** `mpint` that is not negative: its body, as a view. */
  mpint(): Uint8Array {
    const body = this.string();
    if (body.length > 0 && (body[0] as number) >= 0x80) throw new DecodeError('Negative mpint');
    return body;
  }

  /** `name-list`. An empty string is an empty list. */
  nameList(): string[] {
    const text = this.name();
    return text === '' ? [] : text.split(',');
  }

  /** All that is left, as a view. */
  rest(): Uint8Array {
    return this.raw(this.remaining);
  }

  /** Throws unless every byte was read. */
  expectEnd(what = 'message'): void {
    if (this.remaining !== 0) throw new DecodeError(`${this.remaining} bytes too many at the end of ${what}`);
  }
}
