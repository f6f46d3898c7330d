/**
 * The packets of SFTP version 3, one row each: draft-ietf-secsh-filexfer-02 §3–§8. READ, WRITE and DATA, which carry
 * or ask for file data, are coded by hand as (header, payload) so that the payload is never copied. Knows no SSH.
 *
 * On the wire a packet is a uint32 length, which does not count itself, a type byte, and the fields.
 */

import { putUint32, uint32At } from '../../bytes/bytes.ts';
import { DecodeError, Reader } from '../../bytes/reader.ts';
import { type Layout, readFields, type ValueOf, writeFields } from '../../bytes/schema.ts';
import { Writer } from '../../bytes/writer.ts';

/** One kind of packet. */
export interface PacketRow<L extends Layout = Layout> {
  readonly number: number;
  /** Its name in the draft, such as `SSH_FXP_OPEN`. */
  readonly name: string;
  readonly fields: L;
}

/** The value that a row describes. */
export type PacketOf<R extends PacketRow> = ValueOf<R['fields']>;

/** Attributes (`attrs.ts`), name lists (`names.ts`), and the tolerant end of STATUS (`status.ts`) are `rest` here. */
export const packets = {
  /** `extensions`: pairs of strings to the end, see `readPairs`. */
  init: { number: 1, name: 'SSH_FXP_INIT', fields: { version: 'uint32', extensions: 'rest' } },
  version: { number: 2, name: 'SSH_FXP_VERSION', fields: { version: 'uint32', extensions: 'rest' } },
  open: {
    number: 3,
    name: 'SSH_FXP_OPEN',
    fields: { id: 'uint32', path: 'string', flags: 'uint32', attrs: 'rest' },
  },
  close: { number: 4, name: 'SSH_FXP_CLOSE', fields: { id: 'uint32', handle: 'string' } },
  read: {
    number: 5,
    name: 'SSH_FXP_READ',
    fields: { id: 'uint32', handle: 'string', offset: 'uint64', length: 'uint32' },
  },
  write: {
    number: 6,
    name: 'SSH_FXP_WRITE',
    fields: { id: 'uint32', handle: 'string', offset: 'uint64', data: 'string' },
  },
  lstat: { number: 7, name: 'SSH_FXP_LSTAT', fields: { id: 'uint32', path: 'string' } },
  fstat: { number: 8, name: 'SSH_FXP_FSTAT', fields: { id: 'uint32', handle: 'string' } },
  setstat: { number: 9, name: 'SSH_FXP_SETSTAT', fields: { id: 'uint32', path: 'string', attrs: 'rest' } },
  fsetstat: { number: 10, name: 'SSH_FXP_FSETSTAT', fields: { id: 'uint32', handle: 'string', attrs: 'rest' } },
  opendir: { number: 11, name: 'SSH_FXP_OPENDIR', fields: { id: 'uint32', path: 'string' } },
  readdir: { number: 12, name: 'SSH_FXP_READDIR', fields: { id: 'uint32', handle: 'string' } },
  remove: { number: 13, name: 'SSH_FXP_REMOVE', fields: { id: 'uint32', path: 'string' } },
  mkdir: { number: 14, name: 'SSH_FXP_MKDIR', fields: { id: 'uint32', path: 'string', attrs: 'rest' } },
  rmdir: { number: 15, name: 'SSH_FXP_RMDIR', fields: { id: 'uint32', path: 'string' } },
  realpath: { number: 16, name: 'SSH_FXP_REALPATH', fields: { id: 'uint32', path: 'string' } },
  stat: { number: 17, name: 'SSH_FXP_STAT', fields: { id: 'uint32', path: 'string' } },
  rename: { number: 18, name: 'SSH_FXP_RENAME', fields: { id: 'uint32', from: 'string', to: 'string' } },
  readlink: { number: 19, name: 'SSH_FXP_READLINK', fields: { id: 'uint32', path: 'string' } },
  /** The draft says linkpath, targetpath; OpenSSH and most servers take targetpath, linkpath. */
  symlink: { number: 20, name: 'SSH_FXP_SYMLINK', fields: { id: 'uint32', first: 'string', second: 'string' } },
  /** `text`: message and language tag, either of which may be missing or malformed, see `readStatusText`. */
  status: { number: 101, name: 'SSH_FXP_STATUS', fields: { id: 'uint32', code: 'uint32', text: 'rest' } },
  handle: { number: 102, name: 'SSH_FXP_HANDLE', fields: { id: 'uint32', handle: 'string' } },
  data: { number: 103, name: 'SSH_FXP_DATA', fields: { id: 'uint32', data: 'string' } },
  name: { number: 104, name: 'SSH_FXP_NAME', fields: { id: 'uint32', count: 'uint32', entries: 'rest' } },
  attrs: { number: 105, name: 'SSH_FXP_ATTRS', fields: { id: 'uint32', attrs: 'rest' } },
  extended: { number: 200, name: 'SSH_FXP_EXTENDED', fields: { id: 'uint32', request: 'name', body: 'rest' } },
  extendedReply: { number: 201, name: 'SSH_FXP_EXTENDED_REPLY', fields: { id: 'uint32', body: 'rest' } },
} as const;

/** The version that this is. */
export const SFTP_VERSION = 3;

/** Open flags: draft §6.3. TRUNC and EXCL mean something only beside CREAT. */
export const OpenFlag = { read: 1, write: 2, append: 4, create: 8, truncate: 0x10, exclusive: 0x20 } as const;

const byNumber = new Map<number, PacketRow>(Object.values(packets).map((row) => [row.number, row]));

/** The row of a packet type; `undefined` for types that version 3 does not assign. */
export function packetRow(type: number): PacketRow | undefined {
  return byNumber.get(type);
}

/** Name of a packet type for errors, such as `SSH_FXP_DATA` or `packet type 77`. */
export function packetName(type: number): string {
  return byNumber.get(type)?.name ?? `packet type ${type}`;
}

/** A whole packet, its length field included. */
export function encodePacket<R extends PacketRow>(row: R, value: PacketOf<R>): Uint8Array {
  const writer = new Writer();
  writer.u32(0).u8(row.number);
  writeFields(writer, row.fields, value as ValueOf<Layout>);
  const packet = writer.finish();
  putUint32(packet, 0, packet.length - 4);
  return packet;
}

/**
 * The fields of `packet`, which starts with the type byte that the caller has looked at. Byte fields are views. Throws
 * `decode` on any other shape.
 */
export function decodePacket<R extends PacketRow>(row: R, packet: Uint8Array): PacketOf<R> {
  const reader = new Reader(packet, 1);
  const value = readFields(reader, row.fields);
  reader.expectEnd(row.name);
  return value as PacketOf<R>;
}

/** An extension in INIT or VERSION: a name and a value, which is by habit a version number as text. */
export interface ExtensionPair {
  readonly name: string;
  readonly value: Uint8Array;
}

/** The pairs of strings that fill `bytes`. */
export function readPairs(bytes: Uint8Array): ExtensionPair[] {
  const reader = new Reader(bytes);
  const pairs: ExtensionPair[] = [];
  while (reader.remaining > 0) pairs.push({ name: reader.name(), value: reader.string() });
  return pairs;
}

/** The bytes of extension pairs, for `init` and `version`. */
export function encodePairs(
  pairs: readonly { readonly name: string; readonly value: string | Uint8Array }[],
): Uint8Array {
  const writer = new Writer();
  for (const pair of pairs) writer.string(pair.name).string(pair.value);
  return writer.finish();
}

/** Bytes of a DATA before its payload: length, type, id, payload length. */
export const DATA_HEADER = 13;

/** Bytes of a WRITE before its payload, without those of the handle. */
export const WRITE_HEADER = 25;

/** A whole READ of `length` bytes at `offset`, at most 2^53 − 1. */
export function encodeRead(id: number, handle: Uint8Array, offset: number, length: number): Uint8Array {
  const packet = new Uint8Array(25 + handle.length);
  const at = putHead(packet, packets.read.number, packet.length - 4, id, handle, offset);
  putUint32(packet, at, length);
  return packet;
}

/** A WRITE at `offset` (at most 2^53 − 1) up to its payload of `length` bytes, which follows as it is. */
export function writeHeader(id: number, handle: Uint8Array, offset: number, length: number): Uint8Array {
  const header = new Uint8Array(WRITE_HEADER + handle.length);
  const at = putHead(header, packets.write.number, header.length - 4 + length, id, handle, offset);
  putUint32(header, at, length);
  return header;
}

/** A DATA up to its payload of `length` bytes, which follows as it is. */
export function dataHeader(id: number, length: number): Uint8Array {
  const header = new Uint8Array(DATA_HEADER);
  putUint32(header, 0, DATA_HEADER - 4 + length);
  header[4] = packets.data.number;
  putUint32(header, 5, id);
  putUint32(header, 9, length);
  return header;
}

/** READ and WRITE begin alike; returns where their last uint32 goes. */
function putHead(
  bytes: Uint8Array,
  type: number,
  length: number,
  id: number,
  handle: Uint8Array,
  offset: number,
): number {
  putUint32(bytes, 0, length);
  bytes[4] = type;
  putUint32(bytes, 5, id);
  putUint32(bytes, 9, handle.length);
  bytes.set(handle, 13);
  const at = 13 + handle.length;
  putUint32(bytes, at, Math.floor(offset / 2 ** 32));
  putUint32(bytes, at + 4, offset % 2 ** 32);
  return at + 8;
}

/** The fields of a WRITE, or of a READ whose `data` is empty and whose `length` says what is asked. */
export interface BulkRequest {
  readonly id: number;
  readonly handle: Uint8Array;
  /** Exact up to 2^53 − 1. */
  readonly offset: number;
  readonly length: number;
  /** A view of the packet. */
  readonly data: Uint8Array;
}

/** Decodes a READ or WRITE, from its type byte on. */
export function decodeBulk(packet: Uint8Array): BulkRequest {
  const reader = new Reader(packet, 1);
  const id = reader.u32();
  const handle = reader.string();
  const offset = reader.u32() * 2 ** 32 + reader.u32();
  const length = reader.u32();
  const data = packet[0] === packets.write.number ? reader.raw(length) : reader.raw(0);
  reader.expectEnd(packetName(packet[0] as number));
  return { id, handle, offset, length, data };
}

/** The payload length of a DATA from the first `DATA_HEADER` bytes of it; throws `decode` when the lengths disagree. */
export function dataLength(header: Uint8Array): number {
  const packet = uint32At(header, 0);
  const length = uint32At(header, 9);
  if (packet !== DATA_HEADER - 4 + length) {
    throw new DecodeError(`SSH_FXP_DATA of ${packet} bytes does not hold the ${length} bytes of data it states`);
  }
  return length;
}
