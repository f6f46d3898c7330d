/**
 * The part of DER (X.690 §10) that key files use. Strict: definite, minimal lengths; minimal, non-negative integers;
 * low tag numbers. Values are views. Knows no structure, only elements.
 */

import { DecodeError } from '../bytes/reader.ts';

/** Identifier octets: class, constructed bit and tag number (X.690 §8.1.2). */
const TAG = { integer: 0x02, bitString: 0x03, octetString: 0x04, null: 0x05, oid: 0x06, sequence: 0x30 } as const;

/** A cursor over the elements of one constructed value. Throws `decode` for anything that is not DER. */
export class DerReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Whether every element was read. */
  get done(): boolean {
    return this.#at === this.#bytes.length;
  }

  /** Throws unless every element was read. */
  expectEnd(what: string): void {
    if (!this.done) throw new DecodeError(`${this.#bytes.length - this.#at} bytes too many at the end of ${what}`);
  }

  /** SEQUENCE. */
  sequence(): DerReader {
    return new DerReader(this.#element(TAG.sequence, 'SEQUENCE'));
  }

  /** INTEGER that is not negative: its bytes without the leading zero of the encoding; zero is no bytes. */
  integer(): Uint8Array {
    const body = this.#element(TAG.integer, 'INTEGER');
    const [first, second] = body;
    if (first === undefined) throw new DecodeError('Empty INTEGER');
    if (first >= 0x80) throw new DecodeError('Negative INTEGER');
    if (first === 0 && second !== undefined && second < 0x80) throw new DecodeError('INTEGER with superfluous zeros');
    return first === 0 ? body.subarray(1) : body;
  }

  /** INTEGER that is a small number, such as a version. */
  smallInteger(): number {
    const body = this.integer();
    if (body.length > 1) throw new DecodeError('INTEGER too large');
    return body[0] ?? 0;
  }

  /** INTEGER that is a count or a size: below 2^48. */
  number(): number {
    const body = this.integer();
    if (body.length > 6) throw new DecodeError('INTEGER too large');
    let value = 0;
    for (const byte of body) value = value * 256 + byte;
    return value;
  }

  /** Whether the next element is one of that kind: what is OPTIONAL is told by its tag. */
  isNext(kind: keyof typeof TAG): boolean {
    return this.#bytes[this.#at] === TAG[kind];
  }

  /** OCTET STRING. */
  octetString(): Uint8Array {
    return this.#element(TAG.octetString, 'OCTET STRING');
  }

  /** BIT STRING of whole bytes. */
  bitString(): Uint8Array {
    return wholeBytes(this.#element(TAG.bitString, 'BIT STRING'));
  }

  /** NULL. */
  null(): void {
    if (this.#element(TAG.null, 'NULL').length !== 0) throw new DecodeError('NULL with content');
  }

  /** OBJECT IDENTIFIER in dotted form. */
  oid(): string {
    return dotted(this.#element(TAG.oid, 'OBJECT IDENTIFIER'));
  }

  /** The content of the context-specific element `[number]`, if that is what comes next. */
  context(number: number, form: 'primitive' | 'constructed'): Uint8Array | undefined {
    const tag = (form === 'constructed' ? 0xa0 : 0x80) | number;
    return this.#bytes[this.#at] === tag ? this.#element(tag, `[${number}]`) : undefined;
  }

  #element(tag: number, what: string): Uint8Array {
    const found = this.#byte(what);
    if (found !== tag) throw new DecodeError(`${what} expected, tag 0x${found.toString(16).padStart(2, '0')} found`);
    const length = this.#length(what);
    if (length > this.#bytes.length - this.#at) throw new DecodeError(`Truncated ${what}`);
    const start = this.#at;
    this.#at += length;
    return this.#bytes.subarray(start, this.#at);
  }

  /** X.690 §10.1: the definite form, in as few octets as hold it. Three of them are more than any key file needs. */
  #length(what: string): number {
    const first = this.#byte(what);
    if (first < 0x80) return first;
    const count = first & 0x7f;
    if (count === 0 || count > 3) throw new DecodeError(`Bad length of ${what}`);
    let length = 0;
    for (let i = 0; i < count; i++) length = length * 256 + this.#byte(what);
    if (length < 0x80 || length < 256 ** (count - 1)) throw new DecodeError(`Length of ${what} is not minimal`);
    return length;
  }

  #byte(what: string): number {
    const byte = this.#bytes[this.#at];
    if (byte === undefined) throw new DecodeError(`Truncated ${what}`);
    this.#at++;
    return byte;
  }
}

/** The one element that `bytes` consists of. */
export function onlyElement<T>(bytes: Uint8Array, read: (reader: DerReader) => T): T {
  const reader = new DerReader(bytes);
  const value = read(reader);
  reader.expectEnd('an element');
  return value;
}

/** Whether `bytes` are one SEQUENCE, of which nothing but the outermost length is looked at. */
export function isSequence(bytes: Uint8Array): boolean {
  try {
    onlyElement(bytes, (reader) => reader.sequence());
    return true;
  } catch (error) {
    if (error instanceof DecodeError) return false;
    throw error;
  }
}

/** The bytes of a BIT STRING's content, which starts with the number of unused bits. */
export function wholeBytes(content: Uint8Array): Uint8Array {
  if (content[0] !== 0) throw new DecodeError('BIT STRING that does not end on a byte');
  return content.subarray(1);
}

/** X.690 §8.19: base 128, the first two arcs in one number. */
function dotted(body: Uint8Array): string {
  const arcs: number[] = [];
  let arc = 0;
  let fresh = true;
  for (const byte of body) {
    if (fresh && byte === 0x80) throw new DecodeError('OBJECT IDENTIFIER that is not minimal');
    arc = arc * 128 + (byte & 0x7f);
    if (arc > 0xffffffff) throw new DecodeError('OBJECT IDENTIFIER with a huge arc');
    fresh = byte < 0x80;
    if (fresh) {
      arcs.push(arc);
      arc = 0;
    }
  }
  const [first, ...others] = arcs;
  if (first === undefined || !fresh) throw new DecodeError('Truncated OBJECT IDENTIFIER');
  const top = Math.min(2, Math.floor(first / 40));
  return [top, first - top * 40, ...others].join('.');
}
