/**
 * Extended requests: OpenSSH PROTOCOL §4, a row each: its layout, whether the backend can do it, whether it changes anything,
 * and what it does. What the backend cannot do is not announced, and answered OP_UNSUPPORTED.
 */

import { join } from '../../bytes/bytes.ts';
import { encodeName } from '../../bytes/name.ts';
import { DecodeError, Reader } from '../../bytes/reader.ts';
import { decodeFields, encodeFields, type Layout, type ValueOf } from '../../bytes/schema.ts';
import { printable } from '../../bytes/text.ts';
import { Writer } from '../../bytes/writer.ts';
import { decodeAttributes } from '../proto/attrs.ts';
import { extensions, type FileSystemStats, StatvfsFlag } from '../proto/extensions.ts';
import { extendedReply, pathReply, statusReply } from '../proto/replies.ts';
import { Status } from '../proto/status.ts';
import type { SftpBackend } from './backend.ts';
import { copyData } from './copy_data.ts';
import { refuse, unsupported } from './errors.ts';
import { OWNER_IDS } from './limits.ts';
import { chain, type MaybePromise } from './maybe_promise.ts';
import { pathText, resolvePath } from './paths.ts';
import { ok, type Reply, type Requests, settable } from './requests.ts';

interface Row {
  readonly layout: { readonly request: string; readonly version: string; readonly fields: Layout };
  /** Whether it changes anything. */
  readonly changes: boolean;
  /** Whether the backend can do it. */
  readonly can: (backend: SftpBackend) => boolean;
  readonly run: (requests: Requests, id: number, size: number, body: Uint8Array) => void;
}

/** A row that has its fields by their types. */
function row<L extends Layout>(
  layout: Row['layout'] & { readonly fields: L },
  changes: boolean,
  can: Row['can'],
  run: (requests: Requests, id: number, size: number, value: ValueOf<L>) => void,
): Row {
  return {
    layout,
    changes,
    can,
    run: (requests, id, size, body) => run(requests, id, size, decodeFields(layout.fields, body, layout.request)),
  };
}

const rows: readonly Row[] = [
  row(
    extensions.posixRename,
    true,
    (backend) => backend.posixRename !== undefined,
    (requests, id, size, { from, to }) => {
      requests.onPaths(id, size, from, to, (a, b) => ok(id, requests.context.backend.posixRename?.(a, b)));
    },
  ),
  row(
    extensions.statvfs,
    false,
    (backend) => backend.statvfs !== undefined,
    (requests, id, size, { path }) => {
      requests.onPath(id, size, path, (of) => statvfsReply(requests, id, requests.context.backend.statvfs?.(of)));
    },
  ),
  row(
    extensions.fstatvfs,
    false,
    (backend) => backend.files?.statvfs ?? false,
    (requests, id, size, { handle }) => {
      requests.onFile(id, size, handle, ({ file }) => statvfsReply(requests, id, file.statvfs?.()));
    },
  ),
  row(
    extensions.hardlink,
    true,
    (backend) => backend.hardlink !== undefined,
    (requests, id, size, { from, to }) => {
      requests.onPaths(id, size, from, to, (a, b) => ok(id, requests.context.backend.hardlink?.(a, b)));
    },
  ),
  row(
    extensions.fsync,
    false,
    (backend) => backend.files?.sync ?? false,
    (requests, id, size, { handle }) => {
      requests.onFile(id, size, handle, ({ file }) => {
        if (file.sync === undefined) throw unsupported('bringing this file to the disk');
        return ok(id, file.sync());
      });
    },
  ),
  row(
    extensions.lsetstat,
    true,
    (backend) => backend.lsetstat !== undefined,
    (requests, id, size, value) => {
      const attrs = decodeAttributes(value.attrs);
      requests.onPath(id, size, value.path, (path) => {
        if (attrs.size !== undefined) throw refuse(Status.badMessage, 'a link has no size to set');
        return ok(id, requests.context.backend.lsetstat?.(path, settable(attrs)));
      });
    },
  ),
  row(
    extensions.limits,
    false,
    () => true,
    (requests, id) => {
      const { lanes, told } = requests.context;
      const body = encodeFields(extensions.limits.reply, {
        maxPacketLength: BigInt(told.packet),
        maxReadLength: BigInt(told.read),
        maxWriteLength: BigInt(told.write),
        maxOpenHandles: BigInt(told.handles),
      });
      lanes.host.send([extendedReply(id, body)]);
    },
  ),
  row(
    extensions.expandPath,
    false,
    (backend) => backend.home !== undefined,
    (requests, id, size, { path }) => {
      requests.inPaths(id, size, () => chain(expand(requests, path), (whole) => requests.realpath(id, whole)));
    },
  ),
  row(
    extensions.copyData,
    true,
    (backend) => backend.open !== undefined,
    (requests, id, size, { from, to, ...offsets }) => {
      const range = {
        fromOffset: Number(offsets.fromOffset),
        length: Number(offsets.length),
        toOffset: Number(offsets.toOffset),
      };
      requests.onFiles(id, size, from, to, (source, target) => copyData(id, source, target, range));
    },
  ),
  row(
    extensions.homeDirectory,
    false,
    (backend) => backend.home !== undefined,
    (requests, id, size, { username }) => {
      requests.inPaths(id, size, () =>
        chain(homeOf(requests, pathText(username)), (home) => pathReply(id, encodeName(home))),
      );
    },
  ),
  row(
    extensions.ownerNames,
    false,
    (backend) => backend.ownerNames !== undefined,
    (requests, id, size, value) => {
      const users = idsOf(value.users);
      const groups = idsOf(value.groups);
      requests.inPaths(id, size, () => ownerNames(requests, id, users, groups));
    },
  ),
];

const byName: ReadonlyMap<string, Row> = new Map(rows.map((each) => [each.layout.request, each]));

/** What VERSION announces. */
export function announced(
  backend: SftpBackend,
  readOnly: boolean,
): { readonly name: string; readonly value: string }[] {
  const offered = rows.filter(({ can, changes }) => can(backend) && !(readOnly && changes));
  return offered.map(({ layout }) => ({ name: layout.request, value: layout.version }));
}

/** Has an extended request done in its lane. Throws `decode` for a body that has not its shape. */
export function extended(requests: Requests, id: number, name: string, body: Uint8Array, size: number): void {
  const { backend, lanes, readOnly } = requests.context;
  const known = byName.get(name);
  if (known === undefined || !known.can(backend)) {
    lanes.host.send([statusReply(id, Status.opUnsupported, `there is no request ${printable(name, 100)} here`)]);
  } else if (known.changes && readOnly) {
    requests.inPaths(id, size, () => {
      requests.needWrite();
      throw unsupported(name);
    });
  } else {
    known.run(requests, id, size, body);
  }
}

function statvfsReply(requests: Requests, id: number, stats: MaybePromise<FileSystemStats> | undefined): Reply {
  if (stats === undefined) throw unsupported('figures of the file system');
  return chain(stats, (found) => {
    const { noSetuid, readOnly: fixed, ...counts } = found;
    const readOnly = fixed || requests.context.readOnly;
    const flags = (readOnly ? StatvfsFlag.readOnly : 0) | (noSetuid ? StatvfsFlag.noSetuid : 0);
    const figures = Object.fromEntries(Object.entries(counts).map(([name, value]) => [name, count(value)]));
    const value = { ...figures, flags: BigInt(flags) } as unknown as ValueOf<typeof extensions.statvfs.reply>;
    return extendedReply(id, encodeFields(extensions.statvfs.reply, value));
  });
}

/** Some systems say -1 for what they do not count. */
function count(value: number): bigint {
  return value > 0 ? BigInt(Math.floor(value)) : 0n;
}

/** `~` is where the session began, `~user` that user's home; anything else is as in other requests. */
function expand(requests: Requests, raw: Uint8Array): MaybePromise<string> {
  const text = pathText(raw);
  const [, username, rest] = /^~([^/]*)(.*)$/s.exec(text) ?? [];
  if (username === undefined || rest === undefined) return requests.path(raw);
  const home = username === '' ? requests.start() : homeOf(requests, username);
  return chain(home, (start) => resolvePath('', `${start}${rest}`));
}

/** The home of a user; '' and the own name are who is logged in. */
function homeOf(requests: Requests, username: string): MaybePromise<string> {
  const { backend, username: own } = requests.context;
  if (backend.home === undefined) throw unsupported('finding a home');
  return chain(backend.home(username === own ? '' : username), (home) => resolvePath('', home));
}

function idsOf(bytes: Uint8Array): number[] {
  if (bytes.length % 4 !== 0) throw new DecodeError(`${bytes.length} bytes are no list of ids`);
  const reader = new Reader(bytes);
  const ids: number[] = [];
  while (reader.remaining > 0) ids.push(reader.u32());
  return ids;
}

function ownerNames(requests: Requests, id: number, users: readonly number[], groups: readonly number[]): Reply {
  const { backend } = requests.context;
  if (backend.ownerNames === undefined) throw unsupported('finding names');
  if (users.length + groups.length > OWNER_IDS) {
    throw refuse(Status.failure, `${users.length + groups.length} ids, the limit is ${OWNER_IDS}`);
  }
  return chain(backend.ownerNames(users, groups), (names) => {
    const body = { users: strings(users, names.users), groups: strings(groups, names.groups) };
    return extendedReply(id, encodeFields(extensions.ownerNames.reply, body));
  });
}

/** A string for each id, empty where there is no name. */
function strings(ids: readonly number[], names: readonly string[]): Uint8Array {
  return join(ids.map((_, i) => new Writer(32).string(encodeName(names[i] ?? '')).finish()));
}
