/**
 * Requests as calls to the backend: draft-ietf-secsh-filexfer-02 §6, with the order of arguments and the flags as OpenSSH takes
 * them. READ and WRITE are `file_lane.ts`'s, extended requests `extended.ts`'s.
 */

import { encodeName } from '../../bytes/name.ts';
import type { Attributes } from '../proto/attrs.ts';
import { OpenFlag } from '../proto/packets.ts';
import { attrsReply, handleReply, pathReply } from '../proto/replies.ts';
import type { RequestBody } from '../proto/responder.ts';
import { Status } from '../proto/status.ts';
import type { BackendEntry, OpenRequest, SftpBackend } from './backend.ts';
import { DirectoryLane } from './directory_lane.ts';
import { refuse, unsupported } from './errors.ts';
import { FileLane } from './file_lane.ts';
import type { OpenLane } from './handles.ts';
import { unknownHandle } from './lanes.ts';
import { chain, type MaybePromise } from './maybe_promise.ts';
import { pathText } from './paths.ts';
import { ok, type Reply, type RequestContext, type Requests, settable } from './requests.ts';

type OnPath = Extract<RequestBody, { readonly path: Uint8Array }>;
type OnHandle = Extract<RequestBody, { readonly handle: Uint8Array }>;

/** Has a request done in its lane. */
export function operate(requests: Requests, id: number, body: RequestBody, size: number): void {
  const { context } = requests;
  if ('handle' in body) {
    const change = body.kind === 'close' || body.kind === 'fsetstat';
    const how = { change, bulky: body.kind === 'readdir' };
    requests.onHandle(id, size, body.handle, (lane) => onHandle(requests, id, lane, body), how);
  } else if ('path' in body) {
    requests.onPath(id, size, body.path, (path) => onPath(requests, id, path, body));
  } else if (body.kind === 'rename') {
    requests.onPaths(id, size, body.from, body.to, (from, to) => {
      requests.needWrite();
      const { backend } = context;
      if (backend.rename === undefined) throw unsupported('renaming');
      return ok(id, backend.rename(from, to));
    });
  } else if (body.kind === 'symlink') {
    // What the link says comes first, as in OpenSSH; the draft has it the other way round.
    requests.onPath(id, size, body.second, (path) => symlink(requests, id, body.first, path));
  }
}

function onHandle(requests: Requests, id: number, lane: OpenLane, body: OnHandle): Reply {
  switch (body.kind) {
    case 'close':
      return ok(id, requests.context.handles.close(body.handle, lane));
    case 'readdir':
      if (lane instanceof DirectoryLane) return lane.read(id);
      throw refuse(Status.failure, 'the handle is that of a file');
    case 'fstat':
      if (lane instanceof DirectoryLane)
        return chain(stat(requests.context, lane.path), (attrs) => attrsReply(id, attrs));
      if (lane.file.stat === undefined) throw unsupported('looking at attributes of open files');
      return chain(lane.file.stat(), (attrs) => attrsReply(id, attrs));
    case 'fsetstat':
      requests.needWrite();
      return setOpen(id, lane, settable(body.attrs));
  }
}

function setOpen(id: number, lane: OpenLane, attrs: Attributes): Reply {
  if (lane instanceof DirectoryLane) throw refuse(Status.failure, 'the handle is that of a directory');
  if (lane.file.setstat === undefined) throw unsupported('changing attributes of open files');
  if (attrs.size !== undefined && !lane.request.write) {
    throw refuse(Status.permissionDenied, 'the file is not open for writing');
  }
  return ok(id, lane.file.setstat(attrs));
}

function onPath(requests: Requests, id: number, path: string, body: OnPath): Reply {
  const { backend } = requests.context;
  switch (body.kind) {
    case 'open':
      return open(requests, id, path, openRequest(body.flags, settable(body.attrs)));
    case 'opendir':
      return openDirectory(requests.context, id, path);
    case 'stat':
      return chain(stat(requests.context, path), (attrs) => attrsReply(id, attrs));
    case 'lstat':
      return chain(backend.lstat?.(path) ?? stat(requests.context, path), (attrs) => attrsReply(id, attrs));
    case 'realpath':
      return requests.realpath(id, path);
    case 'readlink':
      if (backend.readlink === undefined) throw unsupported('reading links');
      return chain(backend.readlink(path), (target) => pathReply(id, encodeName(target)));
    default:
      requests.needWrite();
      return ok(id, change(backend, path, body));
  }
}

function change(backend: SftpBackend, path: string, body: OnPath): MaybePromise<void> {
  switch (body.kind) {
    case 'setstat':
      if (backend.setstat === undefined) throw unsupported('changing attributes');
      return backend.setstat(path, settable(body.attrs));
    case 'mkdir':
      if (backend.mkdir === undefined) throw unsupported('making directories');
      return backend.mkdir(path, settable(body.attrs));
    case 'rmdir':
      if (backend.rmdir === undefined) throw unsupported('removing directories');
      return backend.rmdir(path);
    case 'remove':
      if (backend.remove === undefined) throw unsupported('removing files');
      return backend.remove(path);
    default:
      throw unsupported(body.kind);
  }
}

function open(requests: Requests, id: number, path: string, request: OpenRequest): Reply {
  const { context } = requests;
  const { backend, handles, lanes } = context;
  if (request.write || request.create || request.truncate) requests.needWrite();
  if (backend.open === undefined) throw unsupported('opening files');
  if (!handles.room) throw tooManyOpen();
  return chain(backend.open(path, request), (file) => opened(context, id, new FileLane(lanes, file, path, request)));
}

async function openDirectory(context: RequestContext, id: number, path: string): Promise<Uint8Array> {
  const { backend, handles, lanes, now } = context;
  if (backend.list === undefined) throw unsupported('listing directories');
  if (!handles.room) throw tooManyOpen();
  const about = async (of: string): Promise<Omit<BackendEntry, 'name'>> => {
    let attrs: Attributes = {};
    try {
      attrs = await stat(context, of);
      return { attrs, ...(await ownersOf(backend, attrs)) };
    } catch {
      return { attrs }; // it is one line of the listing
    }
  };
  const lane = new DirectoryLane(lanes, { about, now }, path, await backend.list(path));
  await lane.begin();
  return opened(context, id, lane);
}

/** Names of the owners, where the backend knows them. */
async function ownersOf(
  backend: SftpBackend,
  { uid, gid }: Attributes,
): Promise<Pick<BackendEntry, 'owner' | 'group'>> {
  if (uid === undefined || gid === undefined || backend.ownerNames === undefined) return {};
  const { users, groups } = await backend.ownerNames([uid], [gid]);
  return { ...(users[0] ? { owner: users[0] } : {}), ...(groups[0] ? { group: groups[0] } : {}) };
}

/** Gives what was opened its handle, unless the session has ended meanwhile. */
function opened(context: RequestContext, id: number, lane: OpenLane): Reply {
  if (!context.lanes.ended) return handleReply(id, context.handles.add(lane));
  return chain(lane.release(), () => unknownHandle(id));
}

function stat({ backend }: RequestContext, path: string): MaybePromise<Attributes> {
  if (backend.stat === undefined) throw unsupported('looking at attributes');
  return backend.stat(path);
}

function symlink(requests: Requests, id: number, target: Uint8Array, path: string): Reply {
  requests.needWrite();
  const { backend } = requests.context;
  if (backend.symlink === undefined) throw unsupported('making links');
  if (target.length === 0) throw refuse(Status.noSuchFile, 'a link to nothing');
  return ok(id, backend.symlink(pathText(target), path));
}

function tooManyOpen(): Error {
  return refuse(Status.failure, 'too many open files');
}

/** OPEN's flags as OpenSSH gives them to open(2): neither READ nor WRITE is READ, and EXCL alone means nothing. */
function openRequest(flags: number, attrs: Attributes): OpenRequest {
  const has = (flag: number): boolean => (flags & flag) !== 0;
  return {
    read: has(OpenFlag.read) || !has(OpenFlag.write),
    write: has(OpenFlag.write),
    append: has(OpenFlag.append),
    create: has(OpenFlag.create),
    truncate: has(OpenFlag.truncate),
    exclusive: has(OpenFlag.exclusive) && has(OpenFlag.create),
    attrs,
  };
}
