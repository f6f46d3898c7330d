/**
 * Extended requests that stand for themselves: OpenSSH PROTOCOL §4. What a server does not announce is `not-supported` before
 * anything is sent, except where a function says otherwise.
 */

import { Reader } from '../bytes/reader.ts';
import { decodeFields, encodeFields, type Layout, type ValueOf } from '../bytes/schema.ts';
import { decodeLenient } from '../bytes/text.ts';
import { Writer } from '../bytes/writer.ts';
import { protocolError, SshError } from '../errors.ts';
import { call } from './call.ts';
import type { Link } from './link.ts';
import { isMissing, needOffer, type OpenHandle, offers, oneName, realpath } from './operations.ts';
import type { CallOptions, RemotePath, SetstatOptions } from './options.ts';
import { joinPath, pathBytes } from './path.ts';
import { type Attributes, encodeAttributes } from './proto/attrs.ts';
import { extensions, type FileSystemStats, type OwnerNames, StatvfsFlag } from './proto/extensions.ts';
import { decodePacket, packets } from './proto/packets.ts';
import { whole } from './transfer.ts';

/** A row of `extensions`. */
interface Extension<L extends Layout = Layout> {
  readonly request: string;
  readonly version: string;
  readonly fields: L;
}

/** An extended request that is answered by a STATUS. */
async function change<L extends Layout>(
  link: Link,
  extension: Extension<L>,
  value: ValueOf<L>,
  operation: string,
  path: RemotePath,
  options: CallOptions,
): Promise<void> {
  if (link.greeting) await link.ready;
  needOffer(link, extension, operation);
  const body = encodeFields(extension.fields, value);
  await call(link, { row: packets.extended, value: { request: extension.request, body }, operation, path }, options);
}

/** An extended request that is answered by an EXTENDED_REPLY; whether it is offered is the caller's to know. */
export function ask<L extends Layout, T>(
  link: Link,
  extension: Extension<L>,
  value: ValueOf<L>,
  decode: (body: Uint8Array) => T,
  operation: string,
  path: RemotePath | undefined,
  options: CallOptions,
): Promise<T> {
  const spec = {
    row: packets.extended,
    value: { request: extension.request, body: encodeFields(extension.fields, value) },
    operation,
    path,
    expects: packets.extendedReply,
    decode: (packet: Uint8Array): T => decode(decodePacket(packets.extendedReply, packet).body),
  };
  return call(link, spec, options);
}

/** hardlink@openssh.com. */
export async function hardlink(link: Link, from: RemotePath, to: RemotePath, options: CallOptions): Promise<void> {
  const value = { from: pathBytes(from), to: pathBytes(to) };
  return change(link, extensions.hardlink, value, 'hardlink', to, options);
}

/** lsetstat@openssh.com. */
export async function lsetstat(
  link: Link,
  path: RemotePath,
  attrs: Attributes,
  options: SetstatOptions,
): Promise<void> {
  const value = { path: pathBytes(path), attrs: encodeAttributes(attrs, options.times) };
  return change(link, extensions.lsetstat, value, 'lsetstat', path, options);
}

/** statvfs@openssh.com. */
export async function statvfs(link: Link, path: RemotePath, options: CallOptions): Promise<FileSystemStats> {
  if (link.greeting) await link.ready;
  needOffer(link, extensions.statvfs, 'statvfs');
  const value = { path: pathBytes(path) };
  return ask(link, extensions.statvfs, value, decodeStats, 'statvfs', path, options);
}

/** fstatvfs@openssh.com. */
export async function fstatvfs({ link, handle, path }: OpenHandle, options: CallOptions): Promise<FileSystemStats> {
  needOffer(link, extensions.fstatvfs, 'fstatvfs');
  return ask(link, extensions.fstatvfs, { handle }, decodeStats, 'fstatvfs', path, options);
}

function decodeStats(body: Uint8Array): FileSystemStats {
  const { flags, ...counts } = decodeFields(extensions.statvfs.reply, body, 'the figures of a file system');
  const entries = Object.entries(counts).map(([name, value]) => [name, Number(value)]);
  const figures = Object.fromEntries(entries) as { readonly [K in keyof typeof counts]: number };
  const has = (flag: number): boolean => (flags & BigInt(flag)) !== 0n;
  return { ...figures, readOnly: has(StatvfsFlag.readOnly), noSetuid: has(StatvfsFlag.noSetuid) };
}

/** copy-data: `length` bytes, or up to the end of the file where it is 0. */
export function copyData(
  from: OpenHandle,
  to: OpenHandle,
  offset: number,
  length: number,
  options: CallOptions,
): Promise<void> {
  const value = {
    from: from.handle,
    fromOffset: BigInt(offset),
    length: BigInt(length),
    to: to.handle,
    toOffset: BigInt(offset),
  };
  return change(from.link, extensions.copyData, value, 'copy-data', to.path, options);
}

/**
 * expand-path@openssh.com. Where it is not offered: REALPATH, from where the session starts for `~`; another user's home is
 * `not-supported` then.
 */
export async function expandPath(link: Link, path: RemotePath, options: CallOptions): Promise<RemotePath> {
  const bytes = pathBytes(path);
  if (link.greeting) await link.ready;
  if (offers(link, extensions.expandPath)) {
    const { request, fields } = extensions.expandPath;
    const body = encodeFields(fields, { path: bytes });
    return oneName(link, packets.extended, { request, body }, 'expand-path', path, options);
  }
  if (bytes[0] !== 0x7e) return realpath(link, path, options);
  if (bytes.length === 1) return realpath(link, '.', options);
  if (bytes[1] !== 0x2f) needOffer(link, extensions.expandPath, 'expand-path');
  try {
    return await realpath(link, joinPath('.', bytes.subarray(2)), options);
  } catch (error) {
    if (!isMissing(error)) throw error;
    // Not all servers have REALPATH of what is not there.
    return joinPath(await realpath(link, '.', options), bytes.subarray(2));
  }
}

/**
 * home-directory. The own one is what `~` expands to, where the server knows that, or else where the session starts: many
 * servers take no empty name. Other users are `not-supported` where it is not offered.
 */
export async function homeDirectory(link: Link, username: string, options: CallOptions): Promise<RemotePath> {
  if (username === '') return expandPath(link, '~', options);
  if (link.greeting) await link.ready;
  needOffer(link, extensions.homeDirectory, 'home-directory');
  const { request, fields } = extensions.homeDirectory;
  const body = encodeFields(fields, { username: pathBytes(username) });
  return oneName(link, packets.extended, { request, body }, 'home-directory', username, options);
}

/** users-groups-by-id@openssh.com. */
export async function ownerNames(
  link: Link,
  users: readonly number[],
  groups: readonly number[],
  options: CallOptions,
): Promise<OwnerNames> {
  if (link.greeting) await link.ready;
  needOffer(link, extensions.ownerNames, 'users-groups-by-id');
  const ids = (list: readonly number[]): Uint8Array => {
    const writer = new Writer(4 * list.length);
    for (const id of list) {
      if (whole('an id', id, 0) > 0xffffffff) throw new SshError('bad-argument', `An id has 32 bits: ${id} has more`);
      writer.u32(id);
    }
    return writer.finish();
  };
  const decode = (body: Uint8Array): OwnerNames => {
    const reply = decodeFields(extensions.ownerNames.reply, body, 'the names of owners');
    return { users: readNames(reply.users, users.length), groups: readNames(reply.groups, groups.length) };
  };
  const value = { users: ids(users), groups: ids(groups) };
  return ask(link, extensions.ownerNames, value, decode, 'users-groups-by-id', undefined, options);
}

function readNames(bytes: Uint8Array, count: number): string[] {
  const reader = new Reader(bytes);
  const names: string[] = [];
  while (reader.remaining > 0) names.push(decodeLenient(reader.string()));
  if (names.length !== count) throw protocolError(`SFTP: ${names.length} names answer a request for ${count}`);
  return names;
}
