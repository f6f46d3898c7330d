/**
 * Where requests go: into the lane of their handle, or into that of all paths, with the paths that clients mean made absolute.
 * What they do there is `operations.ts`'s and `extended.ts`'s business.
 */

import { encodeName } from '../../bytes/name.ts';
import type { Attributes } from '../proto/attrs.ts';
import { okReply, pathReply } from '../proto/replies.ts';
import { Status } from '../proto/status.ts';
import type { SftpBackend } from './backend.ts';
import { refuse } from './errors.ts';
import { FileLane } from './file_lane.ts';
import type { Handles, OpenLane } from './handles.ts';
import { type Lanes, unknownHandle } from './lanes.ts';
import { chain, type MaybePromise } from './maybe_promise.ts';
import { pathText, resolvePath } from './paths.ts';

/** What of a session its requests need. */
export interface RequestContext {
  readonly backend: SftpBackend;
  readonly readOnly: boolean;
  /** Who is logged in. */
  readonly username: string;
  /** Where relative paths begin; `undefined`: the user's home. */
  readonly home: string | undefined;
  /** What clients are told, in bytes, and how many handles. */
  readonly told: { readonly packet: number; readonly read: number; readonly write: number; readonly handles: number };
  readonly lanes: Lanes;
  readonly handles: Handles;
  /** Seconds since 1970. */
  now(): number;
}

/** A whole packet. */
export type Reply = MaybePromise<Uint8Array>;

/** How a request stands in its lane, see `Job`. */
export interface Standing {
  readonly change?: boolean;
  readonly bulky?: boolean;
}

/** What the object of a pending request counts as, beside its bytes. */
const TASK_SIZE = 128;

export class Requests {
  readonly context: RequestContext;
  #start: string | undefined;

  constructor(context: RequestContext) {
    this.context = context;
    if (context.home !== undefined) this.#start = resolvePath('', context.home);
  }

  read(id: number, handle: Uint8Array, offset: number, length: number): void {
    const { handles, lanes } = this.context;
    const lane = handles.find(handle);
    if (lane instanceof FileLane) {
      const most = Math.min(length, this.context.told.read);
      lanes.add({ kind: 'read', id, size: TASK_SIZE, offset, length: most, got: 0, parts: undefined }, lane);
    } else {
      this.onFile(id, 0, handle, notReached);
    }
  }

  write(id: number, handle: Uint8Array, offset: number, length: number, pieces: readonly Uint8Array[]): void {
    const { handles, lanes } = this.context;
    const lane = handles.find(handle);
    if (lane instanceof FileLane) {
      lanes.add({ kind: 'write', id, offset, length, pieces, size: TASK_SIZE + length, change: lanes.change() }, lane);
    } else {
      this.onFile(id, 0, handle, notReached);
    }
  }

  /** Has `run` done with the absolute path, in the lane of paths. */
  onPath(id: number, size: number, raw: Uint8Array, run: (path: string) => Reply): void {
    this.inPaths(id, size, () => chain(this.path(raw), run));
  }

  /** The same for two paths. */
  onPaths(id: number, size: number, first: Uint8Array, second: Uint8Array, run: (a: string, b: string) => Reply): void {
    this.inPaths(id, size, () => chain(this.path(first), (a) => chain(this.path(second), (b) => run(a, b))));
  }

  /** Has `run` done in the lane of paths, when all changes of open files before it are done. */
  inPaths(id: number, size: number, run: () => Reply): void {
    const { lanes } = this.context;
    lanes.add({ kind: 'job', id, size: TASK_SIZE + size, after: lanes.after(), run }, lanes.paths);
  }

  /** Has `run` done in the lane of a handle. */
  onHandle(id: number, size: number, handle: Uint8Array, run: (lane: OpenLane) => Reply, how: Standing = {}): void {
    const { handles, lanes } = this.context;
    const lane = handles.find(handle);
    if (lane === undefined) {
      lanes.host.send([unknownHandle(id)]);
      return;
    }
    const bulky = how.bulky ?? false;
    const change = how.change ? lanes.change() : undefined;
    lanes.add({ kind: 'job', id, size: TASK_SIZE + size, bulky, change, run: () => run(lane) }, lane);
  }

  /** Has `run` done in the lane of an open file. */
  onFile(id: number, size: number, handle: Uint8Array, run: (lane: FileLane) => Reply, how: Standing = {}): void {
    this.onHandle(id, size, handle, (lane) => run(fileOf(lane)), how);
  }

  /** Has `run` done with two open files, in the lanes of both. */
  onFiles(
    id: number,
    size: number,
    first: Uint8Array,
    second: Uint8Array,
    run: (first: FileLane, second: FileLane) => Reply,
  ): void {
    const { handles, lanes } = this.context;
    const a = handles.find(first);
    const b = handles.find(second);
    if (a === undefined || b === undefined) {
      lanes.host.send([unknownHandle(id)]);
      return;
    }
    const standing = a === b ? [a] : [a, b];
    const change = lanes.change();
    const both = (): Reply => run(fileOf(a), fileOf(b));
    lanes.add({ kind: 'job', id, size: TASK_SIZE + size, change, lanes: standing, run: both }, ...standing);
  }

  /** The absolute path that a client means. */
  path(raw: Uint8Array): MaybePromise<string> {
    const text = pathText(raw);
    return text.startsWith('/') ? resolvePath('', text) : chain(this.start(), (start) => resolvePath(start, text));
  }

  /** Where relative paths begin. */
  start(): MaybePromise<string> {
    if (this.#start !== undefined) return this.#start;
    return chain(this.context.backend.home?.('') ?? '/', (home) => {
      this.#start = resolvePath('', home);
      return this.#start;
    });
  }

  /** Throws where nothing may be changed. */
  needWrite(): void {
    if (this.context.readOnly) throw refuse(Status.permissionDenied, 'this server is read-only');
  }

  /** The reply to REALPATH. */
  realpath(id: number, path: string): Reply {
    return chain(this.context.backend.realpath?.(path) ?? path, (real) => pathReply(id, encodeName(real)));
  }
}

/** What is open is no file. */
function notReached(): never {
  throw new Error('a READ or WRITE of an open file took the way of others');
}

/** The lane, which must be that of a file. */
function fileOf(lane: OpenLane): FileLane {
  if (lane instanceof FileLane) return lane;
  throw refuse(Status.failure, 'the handle is that of a directory');
}

/** The reply of success once `done` is. */
export function ok(id: number, done: MaybePromise<void>): Reply {
  return chain(done, () => okReply(id));
}

/** Attributes for a backend: those that a file can have, without type bits, which nothing changes. */
export function settable(attrs: Attributes): Attributes {
  const { extended: _vendor, ...known } = attrs;
  if (known.size !== undefined && known.size > Number.MAX_SAFE_INTEGER) {
    throw refuse(Status.failure, 'the file would be too large');
  }
  return known.permissions === undefined ? known : { ...known, permissions: known.permissions & 0o7777 };
}
