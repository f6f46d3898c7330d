/** The requests that several parts of the client make, one function each. */

import { encodeFields } from '../bytes/schema.ts';
import { printable } from '../bytes/text.ts';
import { protocolError, SshError } from '../errors.ts';
import { abortedError, type CallSpec, call } from './call.ts';
import type { Link } from './link.ts';
import type { CallOptions, RemotePath, SetstatOptions } from './options.ts';
import { pathBytes, remotePath } from './path.ts';
import { type Attributes, decodeAttributes, encodeAttributes } from './proto/attrs.ts';
import { extensions } from './proto/extensions.ts';
import { decodeNames } from './proto/names.ts';
import { decodePacket, OpenFlag, type PacketOf, type PacketRow, packets } from './proto/packets.ts';
import { FILE_ALREADY_EXISTS, isStatusError, NO_SUCH_PATH, Status } from './proto/status.ts';

/** An open remote file or directory. */
export interface OpenHandle {
  readonly link: Link;
  readonly handle: Uint8Array;
  readonly path: RemotePath;
  /**
   * How another channel may open it, to write anywhere in it; absent where it is not open for that. `fresh`: it was empty
   * when it was opened.
   */
  readonly reopen?: { readonly path: RemotePath; readonly fresh: boolean };
}

/** What a file is opened for: OPEN's flags (draft-ietf-secsh-filexfer-02 §6.3). */
export interface OpenFlags {
  readonly read?: boolean;
  readonly write?: boolean;
  /** Every write goes to the end; servers ignore its offset. */
  readonly append?: boolean;
  readonly create?: boolean;
  /** Empty an existing file; with `create`. */
  readonly truncate?: boolean;
  /** Fail if the file exists; with `create`. */
  readonly exclusive?: boolean;
}

/** Flags as text, as of fopen(3): `x` added means exclusive. */
export type OpenMode = 'r' | 'r+' | 'w' | 'wx' | 'w+' | 'wx+' | 'a' | 'ax' | 'a+' | 'ax+';

function modeFlags(mode: OpenMode): OpenFlags {
  if (!/^(r|[wa]x?)\+?$/.test(mode)) {
    throw new SshError(
      'bad-argument',
      `Not an open mode: ${printable(String(mode), 20)}; modes are r, r+, w, wx, w+, a, …`,
    );
  }
  const plus = mode.includes('+');
  return {
    read: mode.startsWith('r') || plus,
    write: !mode.startsWith('r') || plus,
    append: mode.startsWith('a'),
    create: !mode.startsWith('r'),
    truncate: mode.startsWith('w'),
    exclusive: mode.includes('x'),
  };
}

function flagBits(flags: OpenFlags): number {
  let bits = 0;
  for (const key of Object.keys(OpenFlag) as (keyof typeof OpenFlag)[]) if (flags[key]) bits |= OpenFlag[key];
  return bits;
}

/** Longest handle: the draft (§6.3) says 256, servers exist that go beyond. */
const MAX_HANDLE = 4096;

function decodeHandle(link: Link, path: Uint8Array, packet: Uint8Array): Uint8Array {
  const { handle } = decodePacket(packets.handle, packet);
  if (handle.length > MAX_HANDLE)
    throw protocolError(`SFTP: a handle of ${handle.length} bytes, the limit is ${MAX_HANDLE}`);
  const own = handle.slice();
  link.handles.opened(own, path);
  return own;
}

/**
 * OPEN. A handle that comes after the call was given up goes to `orphan`, which closes it. Errors name `shown`.
 */
export async function openFile(
  link: Link,
  path: RemotePath,
  flags: OpenFlags | OpenMode,
  attrs: Attributes,
  options: CallOptions,
  orphan: (file: OpenHandle) => void = closeQuietly,
  shown: RemotePath = path,
): Promise<OpenHandle> {
  const wanted = typeof flags === 'string' ? modeFlags(flags) : flags;
  const bits = flagBits(wanted);
  const value = { path: pathBytes(path), flags: bits, attrs: encodeAttributes(attrs) };
  const spec = {
    row: packets.open,
    value,
    operation: 'open',
    path: shown,
    expects: packets.handle,
    decode: (packet: Uint8Array) => decodeHandle(link, value.path, packet),
    orphan: (handle: Uint8Array) => orphan({ link, handle, path: shown }),
  };
  const handle = await handleOf(link, spec, options);
  if (!wanted.write || wanted.append) return { link, handle, path: shown };
  return { link, handle, path: shown, reopen: { path, fresh: (wanted.truncate || wanted.exclusive) ?? false } };
}

/** OPENDIR, likewise. */
export async function openDirectory(link: Link, path: RemotePath, options: CallOptions): Promise<OpenHandle> {
  const value = { path: pathBytes(path) };
  const orphan = (handle: Uint8Array): void => closeQuietly({ link, handle, path });
  const spec = {
    row: packets.opendir,
    value,
    operation: 'opendir',
    path,
    expects: packets.handle,
    decode: (packet: Uint8Array) => decodeHandle(link, value.path, packet),
    orphan,
  };
  return { link, handle: await handleOf(link, spec, options), path };
}

/** Asks for a handle, once the server bears another. */
function handleOf<R extends PacketRow>(
  link: Link,
  spec: CallSpec<R, Uint8Array>,
  options: CallOptions,
): Promise<Uint8Array> {
  const { signal, stallTimeout = link.stallTimeout } = options;
  const aborted = (): SshError => abortedError(spec.operation, spec.path, signal as AbortSignal);
  return link.handles.ask(() => call(link, spec, options), { clock: link.clock, stallTimeout, signal, aborted });
}

/** CLOSE. It may refuse, as for a write that was delayed; the handle is gone all the same. */
export function closeHandle(file: OpenHandle, options: CallOptions = {}): Promise<void> {
  const { link, handle, path } = file;
  link.handles.closed(handle);
  return call(link, { row: packets.close, value: { handle }, operation: 'close', path }, options);
}

/** CLOSE whose answer nobody waits for: it says nothing about what was read. */
export function closeQuietly(file: OpenHandle): void {
  closeHandle(file).catch(() => undefined);
}

function decodeAttrs(packet: Uint8Array): Attributes {
  return decodeAttributes(decodePacket(packets.attrs, packet).attrs);
}

/** FSTAT. */
export function fstat(file: OpenHandle, options: CallOptions): Promise<Attributes> {
  const { link, handle, path } = file;
  const spec = {
    row: packets.fstat,
    value: { handle },
    operation: 'fstat',
    path,
    expects: packets.attrs,
    decode: decodeAttrs,
  };
  return call(link, spec, options);
}

/** STAT, or LSTAT, which does not follow a symbolic link. */
export async function stat(
  link: Link,
  row: typeof packets.stat | typeof packets.lstat,
  path: RemotePath,
  options: CallOptions,
): Promise<Attributes> {
  const operation = row === packets.lstat ? 'lstat' : 'stat';
  const spec = { row, value: { path: pathBytes(path) }, operation, path, expects: packets.attrs, decode: decodeAttrs };
  return call(link, spec, options);
}

/** What servers answer for a path where nothing stands; the second is of later versions. */
const MISSING: readonly (number | undefined)[] = [Status.noSuchFile, NO_SUCH_PATH];

/** Whether `error` says that nothing stands at a path. */
export function isMissing(error: unknown): boolean {
  return isStatusError(error) && MISSING.includes(error.status);
}

/** LSTAT as a question: a server that does not tell is an error. */
export async function exists(link: Link, path: RemotePath, options: CallOptions): Promise<boolean> {
  try {
    await stat(link, packets.lstat, path, options);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/** A request that is answered by a NAME of one entry. */
export function oneName<R extends PacketRow>(
  link: Link,
  row: R,
  value: Omit<PacketOf<R>, 'id'>,
  operation: string,
  path: RemotePath,
  options: CallOptions,
): Promise<RemotePath> {
  return call(link, { row, value, operation, path, expects: packets.name, decode: decodeOneName }, options);
}

function decodeOneName(packet: Uint8Array): RemotePath {
  const { count, entries } = decodePacket(packets.name, packet);
  const [entry, ...more] = decodeNames(count, entries);
  if (entry === undefined || more.length > 0) throw protocolError(`SFTP: ${count} names answer a request for one`);
  return remotePath(entry.name);
}

/** REALPATH. */
export async function realpath(link: Link, path: RemotePath, options: CallOptions): Promise<RemotePath> {
  return oneName(link, packets.realpath, { path: pathBytes(path) }, 'realpath', path, options);
}

/** READLINK. */
export async function readlink(link: Link, path: RemotePath, options: CallOptions): Promise<RemotePath> {
  return oneName(link, packets.readlink, { path: pathBytes(path) }, 'readlink', path, options);
}

/** FSETSTAT: sets exactly the attributes that are given. */
export async function fsetstat(
  { link, handle, path }: OpenHandle,
  attrs: Attributes,
  options: SetstatOptions,
): Promise<void> {
  const value = { handle, attrs: encodeAttributes(attrs, options.times) };
  await call(link, { row: packets.fsetstat, value, operation: 'fsetstat', path }, options);
}

/** A request about one path that is answered by a STATUS. */
export async function pathRequest(
  link: Link,
  row: typeof packets.remove | typeof packets.rmdir,
  operation: string,
  path: RemotePath,
  options: CallOptions,
): Promise<void> {
  return call(link, { row, value: { path: pathBytes(path) }, operation, path }, options);
}

/** Whether the server advertises an extended request in the version that we know. */
export function offers(link: Link, extension: { readonly request: string; readonly version: string }): boolean {
  return link.extensions.get(extension.request) === extension.version;
}

/** Throws `not-supported` unless the server advertises the extended request. */
export function needOffer(
  link: Link,
  extension: { readonly request: string; readonly version: string },
  operation: string,
): void {
  if (offers(link, extension)) return;
  const message = `${operation}: the server does not offer ${extension.request}`;
  throw new SshError('not-supported', message, { fault: 'peer', operation });
}

/** fsync@openssh.com. */
export async function fsync(file: OpenHandle, options: CallOptions): Promise<void> {
  const { link, handle, path } = file;
  const { request, fields } = extensions.fsync;
  needOffer(link, extensions.fsync, 'fsync');
  const value = { request, body: encodeFields(fields, { handle }) };
  await call(link, { row: packets.extended, value, operation: 'fsync', path }, options);
}

/** posix-rename@openssh.com: replaces an existing file in one step. */
export async function posixRename(link: Link, from: RemotePath, to: RemotePath, options: CallOptions): Promise<void> {
  const { request, fields } = extensions.posixRename;
  if (link.greeting) await link.ready;
  needOffer(link, extensions.posixRename, 'posix-rename');
  const value = { request, body: encodeFields(fields, { from: pathBytes(from), to: pathBytes(to) }) };
  await call(link, { row: packets.extended, value, operation: 'posix-rename', path: to }, options);
}

/** What servers answer to a RENAME onto something that exists: version 3 has no code for it. */
const EXISTS_CODES: readonly (number | undefined)[] = [Status.failure, Status.permissionDenied, FILE_ALREADY_EXISTS];

/**
 * RENAME, which fails if `to` exists (draft §6.5). That failure is told from others by looking whether it does, and
 * becomes `target-exists` with `advice`.
 */
export async function plainRename(
  link: Link,
  from: RemotePath,
  to: RemotePath,
  advice: string,
  options: CallOptions,
): Promise<void> {
  try {
    const value = { from: pathBytes(from), to: pathBytes(to) };
    await call(link, { row: packets.rename, value, operation: 'rename', path: to }, options);
  } catch (error) {
    if (!isStatusError(error) || !EXISTS_CODES.includes(error.status)) throw error;
    const there = await stat(link, packets.lstat, to, options).then(
      () => true,
      () => false,
    );
    throw there ? targetExists('rename', to, advice, error) : error;
  }
}

/** The error for a destination that may not be replaced. */
export function targetExists(operation: string, path: RemotePath, advice: string, cause?: SshError): SshError {
  const shown = printable(path, 1024);
  return new SshError('target-exists', `${operation} ${shown}: the target exists${advice}`, {
    fault: 'policy',
    operation,
    path: shown,
    ...(cause?.status === undefined ? {} : { status: cause.status, cause }),
  });
}
