/**
 * File attributes: draft-ietf-secsh-filexfer-02 §5. Each is there or not; none is ever made up. Times are unsigned
 * seconds since 1970, up to 2106.
 */

import { DecodeError, Reader } from '../../bytes/reader.ts';
import { Writer } from '../../bytes/writer.ts';
import { SshError } from '../../errors.ts';

/** What is known of a file. Every member is optional: a server sends what it has. */
export interface Attributes {
  /** Bytes; exact up to 2^53 − 1. A hint: special files say 0, growing files say less than there is. */
  readonly size?: number;
  /** Always together with `gid`. */
  readonly uid?: number;
  readonly gid?: number;
  /** POSIX mode; most servers set the file type bits (0o170000) too. */
  readonly permissions?: number;
  /** Seconds since 1970, 0..2^32 − 1; always together with `mtime`. */
  readonly atime?: number;
  readonly mtime?: number;
  /** Vendor attributes. */
  readonly extended?: readonly ExtendedAttribute[];
}

/** A vendor attribute. */
export interface ExtendedAttribute {
  readonly type: string;
  readonly data: Uint8Array;
}

const HAS = { size: 0x1, owner: 0x2, permissions: 0x4, times: 0x8, extended: 0x80000000 } as const;

/** CREATETIME and MODIFYTIME of version 4, which WS_FTP and Huawei set in version 3, as a rule with nothing behind. */
const STRAY = [0x10, 0x20] as const;

/** How to read the bits of version 4 in an answer of version 3: as noise, or with the uint64 of version 4 behind each. */
export type StrayBits = 'empty' | 'uint64';

/** Reads one set of attributes; what follows stays in the reader. */
export function readAttributes(reader: Reader, stray: StrayBits = 'empty'): Attributes {
  const flags = reader.u32();
  const attrs: { -readonly [K in keyof Attributes]: Attributes[K] } = {};
  if (flags & HAS.size) attrs.size = reader.u32() * 2 ** 32 + reader.u32();
  if (flags & HAS.owner) {
    attrs.uid = reader.u32();
    attrs.gid = reader.u32();
  }
  if (flags & HAS.permissions) attrs.permissions = reader.u32();
  if (flags & HAS.times) {
    attrs.atime = reader.u32();
    attrs.mtime = reader.u32();
  }
  if (stray === 'uint64') for (const bit of STRAY) if (flags & bit) reader.raw(8);
  if (flags & HAS.extended) attrs.extended = readExtended(reader);
  return attrs;
}

function readExtended(reader: Reader): ExtendedAttribute[] {
  const count = reader.u32();
  // A pair takes 8 bytes at least, so no count can cost more than the packet did.
  if (count > reader.remaining / 8) {
    throw new DecodeError(`${count} extended attributes stated, room for ${Math.floor(reader.remaining / 8)}`);
  }
  const pairs: ExtendedAttribute[] = [];
  for (let i = 0; i < count; i++) pairs.push({ type: reader.name(), data: reader.string().slice() });
  return pairs;
}

/**
 * What `read` makes of `bytes`, all of which it must use. Where attributes carry bits of version 4, first as if nothing
 * stood behind the bits, and only if that does not fit, with the fields of version 4.
 */
export function readWithAttributes<T>(
  bytes: Uint8Array,
  what: string,
  read: (reader: Reader, stray: StrayBits) => T,
): T {
  const attempt = (stray: StrayBits): T => {
    const reader = new Reader(bytes);
    const value = read(reader, stray);
    reader.expectEnd(what);
    return value;
  };
  try {
    return attempt('empty');
  } catch (error) {
    try {
      return attempt('uint64');
    } catch {
      throw error; // the first reading is the one the draft knows
    }
  }
}

/** The attributes that fill `bytes`. */
export function decodeAttributes(bytes: Uint8Array): Attributes {
  return readWithAttributes(bytes, 'attributes', readAttributes);
}

/** What to do with a time that no uint32 holds (before 1970, after 2106): throw `bad-argument`, or take the nearest. */
export type TimeRange = 'refuse' | 'clamp';

/** The bytes of `attrs`: exactly the members that are there. Throws `bad-argument` for values that do not fit. */
export function encodeAttributes(attrs: Attributes, times: TimeRange = 'refuse'): Uint8Array {
  if (typeof attrs !== 'object' || attrs === null) throw new SshError('bad-argument', 'Attributes are an object');
  const { size, uid, gid, permissions, atime, mtime, extended } = attrs;
  pairOrThrow('uid', uid, 'gid', gid);
  pairOrThrow('atime', atime, 'mtime', mtime);
  let flags = 0;
  if (size !== undefined) flags |= HAS.size;
  if (uid !== undefined) flags |= HAS.owner;
  if (permissions !== undefined) flags |= HAS.permissions;
  if (atime !== undefined) flags |= HAS.times;
  if (extended !== undefined) flags |= HAS.extended;
  const writer = new Writer(64);
  writer.u32(flags >>> 0);
  if (size !== undefined) writer.u64(sizeOrThrow(size));
  if (uid !== undefined && gid !== undefined) writer.u32(uid).u32(gid);
  if (permissions !== undefined) writer.u32(permissions);
  if (atime !== undefined && mtime !== undefined) {
    writer.u32(time('atime', atime, times)).u32(time('mtime', mtime, times));
  }
  if (extended !== undefined) {
    writer.u32(extended.length);
    for (const pair of extended) writer.string(pair.type).string(pair.data);
  }
  return writer.finish();
}

function pairOrThrow(a: string, left: number | undefined, b: string, right: number | undefined): void {
  if ((left === undefined) === (right === undefined)) return;
  throw new SshError('bad-argument', `SFTP 3 sets ${a} and ${b} together only: give both`);
}

function sizeOrThrow(size: number): bigint {
  if (Number.isSafeInteger(size) && size >= 0) return BigInt(size);
  throw new SshError('bad-argument', `Not a file size: ${size}`);
}

function time(name: string, seconds: number, range: TimeRange): number {
  if (Number.isInteger(seconds) && seconds >= 0 && seconds <= 0xffffffff) return seconds;
  if (range === 'clamp' && !Number.isNaN(seconds)) return Math.min(Math.max(Math.trunc(seconds), 0), 0xffffffff);
  throw new SshError('bad-argument', `${name} ${seconds} is no whole number of seconds from 1970 to 2106`);
}

/** Kind of a file, from the type bits of its permissions; `unknown` where the server sent none. */
export type FileKind =
  | 'file'
  | 'directory'
  | 'symlink'
  | 'block-device'
  | 'character-device'
  | 'fifo'
  | 'socket'
  | 'unknown';

const KINDS: Readonly<Record<number, FileKind>> = {
  1: 'fifo',
  2: 'character-device',
  4: 'directory',
  6: 'block-device',
  8: 'file',
  10: 'symlink',
  12: 'socket',
};

/** What kind of file `attrs` describe. */
export function fileKind(attrs: Attributes): FileKind {
  return attrs.permissions === undefined ? 'unknown' : (KINDS[(attrs.permissions >>> 12) & 15] ?? 'unknown');
}
