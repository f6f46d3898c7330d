/** The tables of options of the SFTP client, by which each method looks at what it is given before anything is done. */

import { printable } from '../bytes/text.ts';
import {
  abortSignal,
  type Check,
  callback,
  checkTable,
  elsewhere,
  flag,
  integer,
  type OptionTable,
  object,
  oneOf,
  shownValue,
  wrong,
} from '../core/option_checks.ts';
import type { CheckFileOptions } from './check_file.ts';
import type { CopyOptions, CopyToOptions } from './copy.ts';
import type { GetOptions } from './get_options.ts';
import type { GlobOptions } from './glob.ts';
import type { ListOptions } from './list.ts';
import type { OpenFlags, OpenMode } from './operations.ts';
import type {
  CallOptions,
  MkdirOptions,
  RangeOptions,
  RemoveOptions,
  RenameOptions,
  TransferOptions,
} from './options.ts';
import type { Preserve } from './preserve.ts';
import type { Attributes } from './proto/attrs.ts';
import type { PutOptions } from './put_options.ts';
import type { TreeOptions } from './tree/options.ts';
import type { WalkOptions } from './walk.ts';

const position = integer(0);
const count = integer(1);
const uint32 = integer(0, 0xffffffff);
const mode: Check = { ...integer(0, 0o7777), expected: 'permission bits from 0 to 0o7777, such as 0o644' };
export const milliseconds: Check = {
  expected: 'a number of milliseconds of at least 0',
  fits: (value) => typeof value === 'number' && value >= 0,
};
const bytesAtMost: Check = {
  expected: 'a number of bytes',
  fits: (value) => typeof value === 'number' && value >= 0,
};
const remotePath: Check = {
  expected: 'text or bytes',
  fits: (value) => typeof value === 'string' || value instanceof Uint8Array,
};
const preserveParts: OptionTable<Exclude<Preserve, boolean>> = { permissions: flag, times: flag };
const preserve: Check = {
  expected: 'true, false, or an object with permissions and times, each true or false',
  fits: (value) =>
    typeof value === 'boolean' ||
    (object.fits(value) &&
      Object.entries(value as object).every(
        ([name, part]) => Object.hasOwn(preserveParts, name) && (part === undefined || flag.fits(part)),
      )),
};

const call: OptionTable<CallOptions> = { signal: abortSignal, stallTimeout: milliseconds };
const transfer: OptionTable<TransferOptions> = {
  ...call,
  requests: count,
  requestSize: count,
  lanes: count,
  onProgress: callback,
};
const range: OptionTable<RangeOptions> = { ...transfer, trustEof: flag, start: position, end: position };
const whole = { sync: flag, preserve, resume: oneOf(true, false, 'target'), sparse: flag };
const verify = oneOf('size', 'hash', 'content');
const copyTo: OptionTable<CopyToOptions> = {
  ...transfer,
  overwrite: flag,
  atomic: flag,
  permissions: mode,
  preserve,
  sync: flag,
};
const put: OptionTable<PutOptions> = {
  ...transfer,
  ...whole,
  atomic: flag,
  overwrite: flag,
  permissions: mode,
  verify,
  append: flag,
  position,
};
const { atomic: _, ...writeFile } = put;
const tree: OptionTable<TreeOptions> = {
  ...transfer,
  ...whole,
  trustEof: flag,
  verify,
  filter: callback,
  symlinks: oneOf('skip', 'follow', 'copy'),
  overwrite: oneOf('always', 'never', 'newer', 'different'),
  atomic: flag,
  concurrency: count,
  stopOnError: flag,
};
const copy: OptionTable<CopyOptions> = { ...copyTo, by: oneOf('server', 'client') };
const get: OptionTable<GetOptions> = { ...range, ...whole, atomic: flag, overwrite: flag, verify };
const walk: OptionTable<WalkOptions> = {
  ...call,
  maxDepth: count,
  filter: callback,
  onError: callback,
  onRefused: callback,
};
const glob: OptionTable<GlobOptions> = { ...call, from: remotePath, hidden: flag, onError: callback };
const list: OptionTable<ListOptions> = { ...call, dots: flag };
const mkdir: OptionTable<MkdirOptions> = { ...call, attrs: elsewhere, recursive: flag };
const remove: OptionTable<RemoveOptions> = { ...call, recursive: flag };
const rename: OptionTable<RenameOptions> = { ...call, overwrite: flag };
const nameList: Check = { expected: 'a list of names', fits: Array.isArray };
const checkFile: OptionTable<CheckFileOptions> = {
  ...call,
  algorithms: nameList,
  start: position,
  length: position,
  blockSize: position,
};

/** Every table, by the name of the method. */
const tables: Readonly<Record<CheckedMethod, Readonly<Record<string, Check>>>> = {
  get,
  put,
  writeFile,
  copy,
  copyTo,
  getTree: tree,
  putTree: tree,
  walk,
  glob,
  list,
  mkdir,
  remove,
  rename,
  checkFile,
  readFile: { ...range, maxBytes: bytesAtMost },
  chunks: range,
  readable: range,
  writable: { ...transfer, flags: elsewhere, start: position, attrs: elsewhere },
  'file.read': transfer,
  'file.write': transfer,
  'file.writable': { ...transfer, start: position },
};

export type CheckedMethod =
  | 'get'
  | 'put'
  | 'writeFile'
  | 'copy'
  | 'copyTo'
  | 'getTree'
  | 'putTree'
  | 'walk'
  | 'glob'
  | 'list'
  | 'mkdir'
  | 'remove'
  | 'rename'
  | 'checkFile'
  | 'readFile'
  | 'chunks'
  | 'readable'
  | 'writable'
  | 'file.read'
  | 'file.write'
  | 'file.writable';

/** Throws `bad-argument` for options of `method` that are none, or not what they have to be. */
export function checkOptions(method: CheckedMethod, options: unknown): void {
  checkTable(method, options, tables[method]);
}

const openFlags: OptionTable<OpenFlags> = {
  read: flag,
  write: flag,
  append: flag,
  create: flag,
  truncate: flag,
  exclusive: flag,
};

/** Throws `bad-argument` for flags that are none. A mode that is text is looked at where it is used. */
export function checkFlags(flags: OpenFlags | OpenMode): void {
  if (typeof flags !== 'string') checkTable('open flags', flags, openFlags);
}

const ownerLists = {
  users: { expected: 'a list of ids', fits: Array.isArray },
  groups: { expected: 'a list of ids', fits: Array.isArray },
};

/** The ids of `ownerNames`. */
export function checkOwners(ids: object): void {
  checkTable('ownerNames', ids, ownerLists);
}

const attributes: OptionTable<Attributes> = {
  size: elsewhere,
  uid: uint32,
  gid: uint32,
  permissions: uint32,
  atime: elsewhere,
  mtime: elsewhere,
  extended: { expected: 'a list', fits: Array.isArray },
};

/** Throws `bad-argument` for attributes that are none, which would set nothing, and for numbers that would become others. */
export function checkAttributes(operation: string, attrs: unknown): void {
  if (!object.fits(attrs)) throw wrong(operation, `attributes are an object, not ${shownValue(attrs)}`);
  const unknown = Object.entries(attrs as object).find(
    ([name, value]) => value !== undefined && !Object.hasOwn(attributes, name),
  );
  if (unknown !== undefined) {
    const there = Object.keys(attributes).join(', ');
    throw wrong(operation, `${printable(unknown[0], 80)} is no attribute; there are ${there}`);
  }
  checkTable(operation, attrs, attributes);
}

/** Throws `bad-argument` for a path that is no text, or none. */
export function checkLocalPath(method: string, path: unknown): void {
  if (typeof path === 'string' && path !== '') return;
  throw wrong(method, `the local path must be a text that is not empty, not ${shownValue(path)}`);
}

/** The same of a remote one. */
export function checkRemotePath(method: string, path: unknown): void {
  if (!remotePath.fits(path)) throw wrong(method, `the remote path must be text or bytes, not ${shownValue(path)}`);
}
