/**
 * What `user@host` and `user@host:path` on a command line mean. Text in, parts out: resolves no name, reads no file.
 */

import { decodeLenient, printable, toBytes } from '../bytes/text.ts';
import { SshError } from '../errors.ts';
import { localNameFault } from '../sftp/names.ts';
import type { RemotePath } from '../sftp/options.ts';

const SLASH = 0x2f;
const COLON = 0x3a;

/** Who to be, and where. `username` is absent where none was written. */
export interface HostTarget {
  readonly username?: string;
  readonly host: string;
}

/** A place on a server. An empty path is the directory that the server starts in. */
export interface RemoteTarget extends HostTarget {
  readonly path: string;
}

/**
 * `[user@]host:path`, with an IPv6 address in brackets: `ada@[::1]:/srv`. The first colon outside brackets ends the
 * host, the last `@` before it ends the name. Throws `bad-argument`.
 */
export function parseRemote(text: string): RemoteTarget {
  const shown = printable(text);
  // Brackets, if any, stand directly after the name; a path may hold brackets of its own.
  const bracketed = /^(?:[^:[\]]*@)?\[[^\]]*\]/.exec(text);
  const colon = text.indexOf(':', bracketed?.[0].length ?? 0);
  if (colon < 0) throw bad(`${shown} has no colon and so names no server: write user@host:path`);
  if (bracketed !== null && colon !== bracketed[0].length) {
    throw bad(`In ${shown} something stands between the address in brackets and the colon`);
  }
  if (colon === 0) throw bad(`${shown} begins with a colon: write user@host:path, an IPv6 address in brackets`);
  return { ...parseHost(text.slice(0, colon)), path: text.slice(colon + 1) };
}

/** `[user@]host`; an IPv6 address may stand with or without brackets. Throws `bad-argument`. */
export function parseHost(text: string): HostTarget {
  const shown = printable(text);
  const at = text.lastIndexOf('@');
  if (at === 0) throw bad(`${shown} has no user name before the @`);
  const host = unbracketed(text.slice(at + 1), shown);
  return at < 0 ? { host } : { username: text.slice(0, at), host };
}

function unbracketed(host: string, shown: string): string {
  const inner = /^\[([^[\]]*)\]$/.exec(host)?.[1];
  if (inner !== undefined) {
    if (!inner.includes(':')) throw bad(`In ${shown} the brackets hold no IPv6 address`);
    return inner;
  }
  if (host === '') throw bad(`${shown === '' ? 'The server name' : shown} is empty: write user@host`);
  if (/[\s/[\]]/.test(host) || host !== printable(host)) throw bad(`${shown} is no host name`);
  if (host.split(':').length === 2) throw bad(`${shown} has a colon: the port is given with -P`);
  return host;
}

/**
 * The path as the server is asked for it. SFTP knows no `~`, but every path that is not absolute begins where the session
 * starts, which is the home: so a leading `~` is dropped. A file of that name is `./~`.
 */
export function remotePath({ path }: RemoteTarget): string {
  const inHome = path === '~' ? '' : path.replace(/^~\/+/, '');
  return inHome === '' ? '.' : inHome;
}

/** The last component of a remote path; empty where there is none. */
export function nameBytes(path: RemotePath): Uint8Array {
  const bytes = toBytes(path);
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === SLASH) end--;
  return bytes.subarray(end === 0 ? 0 : bytes.lastIndexOf(SLASH, end - 1) + 1, end);
}

/**
 * The last component of a remote path, for the name of a local file. Throws `bad-argument` where there is none that is
 * safe to use: a name that came from elsewhere must not choose another directory.
 */
export function remoteName(path: RemotePath): string {
  const name = nameBytes(path);
  if (localNameFault(name) !== undefined || name.includes(COLON)) {
    throw bad(`'${printable(path)}' gives no name for the local file: write one after it`);
  }
  return decodeLenient(name);
}

function bad(message: string): SshError {
  return new SshError('bad-argument', message);
}
