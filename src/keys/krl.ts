/**
 * Key revocation lists: OpenSSH's PROTOCOL.krl, as `ssh-keygen -k` makes them, and plain lists of public keys, which OpenSSH takes in
 * their place. A list is checked whole when it is read, and searched in the bytes it came in: nothing of it is ever expanded. Must
 * not know where lists are, nor whose keys they are about.
 */

import { copy, equalBytes } from '../bytes/bytes.ts';
import { trimZeros } from '../bytes/mpint.ts';
import { DecodeError, Reader } from '../bytes/reader.ts';
import { decodeLenient, fromBase64, printable, utf8 } from '../bytes/text.ts';
import { Writer } from '../bytes/writer.ts';
import type { CryptoProvider } from '../crypto/provider.ts';
import { SshError } from '../errors.ts';
import { isCertificateType } from './certificate.ts';
import { keyTypeOf } from './public_key.ts';
import { parseShownKey, type ShownKey } from './shown_key.ts';

/** Largest list in bytes; half a million revoked keys by their SHA-256. A limit on memory, and on the time of a search. */
export const MAX_KRL: number = 16 * 1024 * 1024;
/** Most sections: one for each authority, and a few more. */
const MAX_SECTIONS = 4096;
/** Largest bitmap in bytes: 2^24 serial numbers, which is what OpenSSH reads. */
const MAX_BITMAP = 2 * 1024 * 1024;

const MAGIC = 0x5353_484b_524c_0a00n;
const FORMAT = 1;

const section = { certificates: 1, keys: 2, sha1: 3, signature: 4, sha256: 5, extension: 255 } as const;
const part = { serials: 0x20, range: 0x21, bitmap: 0x22, keyIds: 0x23, extension: 0x39 } as const;

/** Bytes of SSH strings one behind the other, each of which revokes a key: by its blob, or by a digest of that. */
interface RevokedKeys {
  readonly by: 'blob' | 'sha1' | 'sha256';
  readonly items: Uint8Array;
}

/** Certificates of one authority, or, where `authority` is empty, of all: parts as they are in the file. */
interface RevokedCertificates {
  readonly authority: Uint8Array;
  readonly parts: Uint8Array;
}

/** A key revocation list that was read. */
export interface Krl {
  /** The number that its maker gave it; later lists have a higher one. 0 for a plain list of keys. */
  readonly version: bigint;
  /** When it was made: seconds since 1970. 0 for a plain list of keys. */
  readonly generated: bigint;
  readonly comment: string;
  readonly keys: readonly RevokedKeys[];
  readonly certificates: readonly RevokedCertificates[];
}

/** What of a key is revoked: itself, the authority that certified it, or its certificate, by serial number or key id. */
export interface Revocation {
  readonly what: 'key' | 'authority' | 'serial' | 'key-id';
}

/** Whether the bytes begin as a KRL does. */
export function isKrl(bytes: Uint8Array): boolean {
  return bytes.length >= 8 && new Reader(bytes).u64() === MAGIC;
}

/**
 * The list in a file. Throws `decode` for anything malformed or larger than 16 MiB, `not-supported` for another format and for an
 * extension that whoever does not know it must not leave aside. Signatures over lists are skipped, as OpenSSH does.
 */
export function parseKrl(bytes: Uint8Array): Krl {
  checkSize(bytes);
  const reader = new Reader(copy(bytes));
  if (bytes.length < 8 || reader.u64() !== MAGIC) throw new DecodeError('Not a key revocation list');
  const format = reader.u32();
  if (format !== FORMAT) throw notSupported(`A key revocation list of format ${format}; ${FORMAT} is read`);
  const version = reader.u64();
  const generated = reader.u64();
  reader.u64(); // flags, of which there are none
  reader.string(); // reserved
  const comment = decodeLenient(reader.string());
  const keys: RevokedKeys[] = [];
  const certificates: RevokedCertificates[] = [];
  for (let count = 0; reader.remaining > 0; count++) {
    if (count === MAX_SECTIONS) throw new DecodeError(`More than ${MAX_SECTIONS} sections in a key revocation list`);
    const kind = reader.u8();
    const content = reader.string();
    if (kind === section.signature) reader.string();
    else if (kind === section.certificates) certificates.push(readCertificates(content));
    else if (kind === section.keys) keys.push(readKeys('blob', content));
    else if (kind === section.sha1) keys.push(readKeys('sha1', content, 20));
    else if (kind === section.sha256) keys.push(readKeys('sha256', content, 32));
    else if (kind === section.extension) readExtension(content);
    else throw new DecodeError(`A section of kind ${kind} in a key revocation list`);
  }
  return { version, generated, comment, keys, certificates };
}

/**
 * What `parseKrl` reads, or a plain list: a public key, also that of an authority, in each line that is neither empty nor a comment;
 * of a certificate it is the key in it that is revoked, as in OpenSSH. Throws `decode` where a line is something else: a key that is
 * meant to be revoked must not be missed.
 */
export function parseRevoked(bytes: Uint8Array): Krl {
  if (isKrl(bytes)) return parseKrl(bytes);
  checkSize(bytes);
  const writer = new Writer();
  decodeLenient(bytes)
    .replace(/^\ufeff/, '')
    .split(/\r?\n/)
    .forEach((raw, index) => {
      const line = raw.trim();
      if (line !== '' && !line.startsWith('#')) writer.string(readLine(line, index + 1));
    });
  return { version: 0n, generated: 0n, comment: '', keys: [{ by: 'blob', items: writer.finish() }], certificates: [] };
}

function readLine(line: string, number: number): Uint8Array {
  const [type = '', digits = ''] = line.split(/[ \t]+/);
  const blob = fromBase64(digits);
  const start = new Writer().string(type).finish();
  if (blob === undefined || type === '' || !equalBytes(blob.subarray(0, start.length), start)) {
    throw new DecodeError(`Line ${number} of the revoked keys is no public key: '${printable(line, 40)}'`);
  }
  try {
    return parseShownKey(blob).key.blob;
  } catch (error) {
    if (!(error instanceof SshError)) throw error;
    // a type that is not known is compared as it stands
    if (error.code === 'not-supported' && !isCertificateType(type)) return blob;
    throw new DecodeError(`Line ${number} of the revoked keys: ${error.message}`);
  }
}

function checkSize(bytes: Uint8Array): void {
  if (bytes.length > MAX_KRL) throw new DecodeError(`Revoked keys of ${bytes.length} bytes; ${MAX_KRL} are read`);
}

function notSupported(message: string): SshError {
  return new SshError('not-supported', message);
}

function readKeys(by: RevokedKeys['by'], items: Uint8Array, size?: number): RevokedKeys {
  for (const item of strings(items)) {
    if (size !== undefined && item.length !== size) {
      throw new DecodeError(`A ${by} digest of ${item.length} bytes in a key revocation list`);
    }
    if (size === undefined && item.length === 0) throw new DecodeError('An empty key in a key revocation list');
  }
  return { by, items };
}

function readExtension(content: Uint8Array): void {
  const reader = new Reader(content);
  const name = reader.string();
  const critical = reader.bool();
  reader.string();
  reader.expectEnd('extension of a key revocation list');
  if (critical) throw notSupported(`A key revocation list with the critical extension '${printable(name, 60)}'`);
}

function readCertificates(content: Uint8Array): RevokedCertificates {
  const reader = new Reader(content);
  const authority = reader.string();
  if (authority.length > 0) keyTypeOf(authority);
  reader.string(); // reserved
  const parts = reader.rest();
  for (const each of partsOf(parts)) checkPart(each);
  return { authority, parts };
}

interface Part {
  readonly kind: number;
  readonly content: Uint8Array;
}

function* partsOf(bytes: Uint8Array): Generator<Part> {
  const reader = new Reader(bytes);
  while (reader.remaining > 0) yield { kind: reader.u8(), content: reader.string() };
}

function* strings(bytes: Uint8Array): Generator<Uint8Array> {
  const reader = new Reader(bytes);
  while (reader.remaining > 0) yield reader.string();
}

function checkPart({ kind, content }: Part): void {
  switch (kind) {
    case part.serials:
      if (content.length % 8 !== 0) throw new DecodeError('A list of serial numbers that ends within one');
      return;
    case part.range: {
      const { from, to } = readRange(content);
      if (from > to) throw new DecodeError(`A range of serial numbers from ${from} to ${to}`);
      return;
    }
    case part.bitmap: {
      const { offset, bits } = readBitmap(content);
      if (bits.length > MAX_BITMAP) throw new DecodeError(`A bitmap of ${bits.length} bytes; ${MAX_BITMAP} are read`);
      const last = offset + BigInt(bits.length * 8 - (bits.length > 0 ? Math.clz32(bits[0] as number) - 24 : 0)) - 1n;
      if (last > 0xffff_ffff_ffff_ffffn) throw new DecodeError('A bitmap of serial numbers beyond 64 bits');
      return;
    }
    case part.keyIds:
      for (const _ of strings(content));
      return;
    case part.extension:
      readExtension(content);
      return;
    default:
      throw new DecodeError(`A part of kind ${kind} in a key revocation list`);
  }
}

function readRange(content: Uint8Array): { readonly from: bigint; readonly to: bigint } {
  const reader = new Reader(content);
  const range = { from: reader.u64(), to: reader.u64() };
  reader.expectEnd('range of serial numbers');
  return range;
}

/** Bit 0, the last of the last byte, is for the serial number `offset`. */
function readBitmap(content: Uint8Array): { readonly offset: bigint; readonly bits: Uint8Array } {
  const reader = new Reader(content);
  const offset = reader.u64();
  const bits = trimZeros(reader.mpint());
  reader.expectEnd('bitmap of serial numbers');
  return { offset, bits };
}

/** What of the key, or of the certificate around it, the list revokes; nothing if it does not. */
export function revocationOf(crypto: Pick<CryptoProvider, 'hashes'>, krl: Krl, key: ShownKey): Revocation | undefined {
  if (isRevokedKey(crypto, krl, key.key.blob)) return { what: 'key' };
  if (key.certificate === undefined) return undefined;
  const { authority, serial, keyId } = key.certificate;
  if (isRevokedKey(crypto, krl, authority.blob)) return { what: 'authority' };
  const id = utf8(keyId);
  for (const revoked of krl.certificates) {
    if (revoked.authority.length > 0 && !equalBytes(revoked.authority, authority.blob)) continue;
    for (const { kind, content } of partsOf(revoked.parts)) {
      if (kind === part.keyIds && has(content, id)) return { what: 'key-id' };
      // 0 is the serial number of all certificates that have none
      if (serial !== 0n && hasSerial(kind, content, serial)) return { what: 'serial' };
    }
  }
  return undefined;
}

function isRevokedKey(crypto: Pick<CryptoProvider, 'hashes'>, krl: Krl, blob: Uint8Array): boolean {
  return krl.keys.some(({ by, items }) => has(items, by === 'blob' ? blob : crypto.hashes[by].digest(blob)));
}

function has(items: Uint8Array, wanted: Uint8Array): boolean {
  for (const item of strings(items)) if (equalBytes(item, wanted)) return true;
  return false;
}

function hasSerial(kind: number, content: Uint8Array, serial: bigint): boolean {
  switch (kind) {
    case part.serials: {
      const reader = new Reader(content);
      while (reader.remaining > 0) if (reader.u64() === serial) return true;
      return false;
    }
    case part.range: {
      const { from, to } = readRange(content);
      return from <= serial && serial <= to;
    }
    case part.bitmap: {
      const { offset, bits } = readBitmap(content);
      const at = serial - offset;
      if (at < 0n || at >= BigInt(bits.length * 8)) return false;
      const bit = Number(at);
      return (((bits[bits.length - 1 - (bit >> 3)] as number) >> (bit & 7)) & 1) === 1;
    }
    default:
      return false;
  }
}
