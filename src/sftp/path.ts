/** Remote paths: bytes that `/` separates. */

import { concat } from '../bytes/bytes.ts';
import { decodeUtf8, hex, printable, toBytes, utf8 } from '../bytes/text.ts';
import { SshError } from '../errors.ts';
import type { RemotePath } from './options.ts';

const SLASH = 0x2f;

/** Bytes of a file name that a temporary name repeats: with the rest it stays below the usual 255. */
const REPEATED_NAME = 200;

/** A path as it is sent. Throws `bad-argument` for what is no path: with a null byte servers would cut it, or give up. */
export function pathBytes(path: RemotePath): Uint8Array {
  if (typeof path !== 'string' && !(path instanceof Uint8Array)) {
    throw new SshError('bad-argument', `A remote path is text or bytes, not ${path === null ? 'null' : typeof path}`);
  }
  const bytes = toBytes(path);
  if (bytes.includes(0)) {
    throw new SshError('bad-argument', `A remote path must have no null byte: ${printable(path, 1024)}`);
  }
  return bytes;
}

/** Text where `bytes` are UTF-8, else the bytes themselves, so that nothing is lost. */
export function remotePath(bytes: Uint8Array): RemotePath {
  return decodeUtf8(bytes) ?? bytes.slice();
}

/** The path of `name` in `directory`; text where both are. */
export function joinPath(directory: RemotePath, name: RemotePath): RemotePath {
  const base = pathBytes(directory);
  const separator = base.length === 0 || base[base.length - 1] === SLASH ? '' : '/';
  return remotePath(concat(base, utf8(separator), pathBytes(name)));
}

/** The directory of `path`; `undefined` where that is where the session starts, or the root. */
export function parentPath(path: RemotePath): RemotePath | undefined {
  const bytes = pathBytes(path);
  const at = bytes.lastIndexOf(SLASH);
  return at <= 0 ? undefined : remotePath(bytes.subarray(0, at));
}

/** The path of `rename(name)` beside `path`, whose last component is `name`. */
function sibling(path: RemotePath, rename: (name: Uint8Array) => Uint8Array): RemotePath {
  const bytes = pathBytes(path);
  const at = bytes.lastIndexOf(SLASH) + 1;
  return remotePath(concat(bytes.subarray(0, at), rename(bytes.subarray(at))));
}

/** As much of `name` as a temporary name repeats; never half a UTF-8 character. */
function repeated(name: Uint8Array): Uint8Array {
  if (name.length <= REPEATED_NAME) return name;
  let end = REPEATED_NAME;
  while (end > 0 && ((name[end] as number) & 0xc0) === 0x80) end--;
  return name.subarray(0, end);
}

/** A path for the unfinished form of the file at `path`, in the same directory: hidden, and unlike any other. */
export function temporaryPath(path: RemotePath): RemotePath {
  return unfinishedPath(path, hex(crypto.getRandomValues(new Uint8Array(8))));
}

/** As `temporaryPath`, with a mark of the caller's: the same one gives the same path. */
export function unfinishedPath(path: RemotePath, mark: string): RemotePath {
  return sibling(path, (name) => concat(utf8('.'), repeated(name), utf8(`.${mark}.part`)));
}
