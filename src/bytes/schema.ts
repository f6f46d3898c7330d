/**
 * Declarations of byte layouts. A layout is a plain object from field name to one of the type names of RFC 4251 §5;
 * from it come the TypeScript type, the encoder and the decoder, which always rejects trailing bytes.
 */

import { SshError } from '../errors.ts';
import { Reader } from './reader.ts';
import { fromLatin1 } from './text.ts';
import { Writer } from './writer.ts';

/** Field type names of RFC 4251 §5, and a few of ours, and the TypeScript types that stand for them. */
export interface FieldTypes {
  readonly byte: number;
  readonly boolean: boolean;
  readonly uint32: number;
  readonly uint64: bigint;
  /** `string` of arbitrary bytes; decoded as a view. */
  readonly string: Uint8Array;
  /** `string` of human-readable UTF-8; what is not UTF-8 is decoded as U+FFFD. */
  readonly text: string;
  /** `string` that is a name: one character per byte. */
  readonly name: string;
  /** `mpint`, not negative: the big-endian bytes of the integer. */
  readonly mpint: Uint8Array;
  readonly 'name-list': readonly string[];
  /** `byte[16]`. */
  readonly 'byte[16]': Uint8Array;
  /** Everything to the end, undivided; only as the last field. */
  readonly rest: Uint8Array;
}

/** Name of a field type. */
export type FieldType = keyof FieldTypes;

/** A byte layout: fields in wire order. */
export type Layout = Readonly<Record<string, FieldType>>;

/** The value that a layout describes. */
export type ValueOf<L extends Layout> = { readonly [K in keyof L]: FieldTypes[L[K]] };

interface Codec<T> {
  readonly read: (reader: Reader) => T;
  readonly write: (writer: Writer, value: T) => void;
}

const codecs: { readonly [K in FieldType]: Codec<FieldTypes[K]> } = {
  byte: { read: (r) => r.u8(), write: (w, v) => w.u8(v) },
  boolean: { read: (r) => r.bool(), write: (w, v) => w.bool(v) },
  uint32: { read: (r) => r.u32(), write: (w, v) => w.u32(v) },
  uint64: { read: (r) => r.u64(), write: (w, v) => w.u64(v) },
  string: { read: (r) => r.string(), write: (w, v) => w.string(v) },
  text: { read: (r) => r.text(), write: (w, v) => w.string(v) },
  name: { read: (r) => r.name(), write: (w, v) => w.string(fromLatin1(v)) },
  mpint: { read: (r) => r.mpint(), write: (w, v) => w.mpint(v) },
  'name-list': { read: (r) => r.nameList(), write: (w, v) => w.nameList(v) },
  'byte[16]': { read: (r) => r.raw(16), write: (w, v) => w.raw(exactly(16, v)) },
  rest: { read: (r) => r.rest(), write: (w, v) => w.raw(v) },
};

function exactly(length: number, bytes: Uint8Array): Uint8Array {
  if (bytes.length !== length) throw new SshError('bad-argument', `Not ${length} bytes but ${bytes.length}`);
  return bytes;
}

/** Writes the fields of `value` in order. */
export function writeFields<L extends Layout>(writer: Writer, layout: L, value: ValueOf<L>): void {
  for (const key in layout) {
    const codec = codecs[layout[key] as FieldType] as Codec<unknown>;
    codec.write(writer, value[key]);
  }
}

/** Reads the fields in order; what follows stays in the reader. */
export function readFields<L extends Layout>(reader: Reader, layout: L): ValueOf<L> {
  const value: Record<string, unknown> = {};
  for (const key in layout) value[key] = codecs[layout[key] as FieldType].read(reader);
  return value as ValueOf<L>;
}

/** The bytes of `value`. */
export function encodeFields<L extends Layout>(layout: L, value: ValueOf<L>): Uint8Array {
  const writer = new Writer();
  writeFields(writer, layout, value);
  return writer.finish();
}

/** The value in `bytes`; throws `decode` when they are too few or too many. */
export function decodeFields<L extends Layout>(layout: L, bytes: Uint8Array, what = 'structure'): ValueOf<L> {
  const reader = new Reader(bytes);
  const value = readFields(reader, layout);
  reader.expectEnd(what);
  return value;
}
