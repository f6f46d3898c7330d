/** The list of names in a NAME reply: draft-ietf-secsh-filexfer-02 §7. Names are bytes; the draft states no encoding. */

import { DecodeError } from '../../bytes/reader.ts';
import { Writer } from '../../bytes/writer.ts';
import { type Attributes, encodeAttributes, readAttributes, readWithAttributes } from './attrs.ts';

/** One name as it came. */
export interface NameEntry {
  /** The file name, as a view of the packet. */
  readonly name: Uint8Array;
  /** A line for people in the manner of `ls -l`, as a view; not to be parsed. */
  readonly longname: Uint8Array;
  readonly attrs: Attributes;
}

/** Bytes of the smallest entry: two empty strings and no attributes. */
const SMALLEST_ENTRY = 12;

/** The `count` entries that fill `bytes`. */
export function decodeNames(count: number, bytes: Uint8Array): NameEntry[] {
  if (count > bytes.length / SMALLEST_ENTRY) {
    throw new DecodeError(`${count} names stated, room for ${Math.floor(bytes.length / SMALLEST_ENTRY)}`);
  }
  return readWithAttributes(bytes, 'SSH_FXP_NAME', (reader, stray) => {
    const entries: NameEntry[] = [];
    for (let i = 0; i < count; i++) {
      entries.push({ name: reader.string(), longname: reader.string(), attrs: readAttributes(reader, stray) });
    }
    return entries;
  });
}

/** The bytes of entries, for the `entries` field of NAME. */
export function encodeNames(
  entries: readonly {
    readonly name: string | Uint8Array;
    readonly longname: string | Uint8Array;
    readonly attrs: Attributes;
  }[],
): Uint8Array {
  const writer = new Writer(1024);
  for (const { name, longname, attrs } of entries) {
    writer.string(name).string(longname).raw(encodeAttributes(attrs, 'clamp'));
  }
  return writer.finish();
}
