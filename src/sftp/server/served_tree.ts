/**
 * What reading and changing a served directory share: the lock, ways to the files, and opening them in a way that notices
 * when something else stands at a path than a moment ago.
 */

import { posixCode } from '../../io/posix_code.ts';
import type { OpenRequest } from './backend.ts';
import { ConfinedPaths, type Spot, type TakenSpot } from './confined_path.ts';
import { SETTABLE } from './host_attrs.ts';
import type { HostFile, HostFiles, HostOpen, HostStat } from './host_files.ts';
import { PosixError } from './posix_error.ts';
import { TreeLock } from './tree_lock.ts';

/** How often to go to a file that is replaced each time between the look at it and its opening. */
const TRIES = 4;

/** What opening says when what was there a moment ago is not there any more. */
const MOVED: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'EEXIST']);

const locks = new WeakMap<HostFiles, TreeLock>();

/** One lock for all that is served of a host, whatever the roots: one may lie in another. */
function lockOf(host: HostFiles): TreeLock {
  const lock = locks.get(host) ?? new TreeLock();
  locks.set(host, lock);
  return lock;
}

/** What was opened, and what and where it is. */
export interface OpenedFile {
  readonly file: HostFile;
  readonly stat: HostStat;
  /** Its path in the tree. */
  readonly path: string;
}

export class ServedTree {
  readonly host: HostFiles;
  readonly paths: ConfinedPaths;
  readonly lock: TreeLock;
  readonly #root: string;
  #tellsPlaces: Promise<boolean> | undefined;

  constructor(host: HostFiles, root: string) {
    this.host = host;
    this.paths = new ConfinedPaths(host, root);
    this.lock = lockOf(host);
    this.#root = root;
  }

  /** Opens a regular file as a client asks for it. */
  async open(path: string, request: OpenRequest): Promise<OpenedFile> {
    if (!request.read && !request.write) throw new PosixError('EINVAL', `${path}: open for what?`);
    return this.settle(path, () => this.#tryOpen(path, request));
  }

  /** Runs `attempt` beside others, again while it says `undefined`: what it opened was not what it had looked at. */
  async settle<T>(path: string, attempt: () => Promise<T | undefined>): Promise<T> {
    for (let tries = 0; tries < TRIES; tries++) {
      const result = await this.lock.shared(attempt);
      if (result !== undefined) return result;
    }
    throw new PosixError('EAGAIN', `${path} is another file each time`);
  }

  async #tryOpen(path: string, request: OpenRequest): Promise<OpenedFile | undefined> {
    const { read, write, append, create, exclusive, truncate, attrs } = request;
    const isNew = create && exclusive;
    // A new file is never behind a link; one that only may be new is what a dangling link leads to, as everywhere.
    const spot = await this.paths.spot(path, !isNew);
    // Emptying takes the right to write; open(2) asks for it too.
    const how: HostOpen = { read, write: write || truncate, append };
    if (spot.stat === undefined) {
      if (!create) throw new PosixError('ENOENT', `${path} is not there`);
      const mode = (attrs.permissions ?? 0o666) & SETTABLE;
      return this.#openAt(spot, { ...how, create: true, mode }, isNew);
    }
    if (isNew) throw new PosixError('EEXIST', `${path} is there`);
    if (spot.stat.kind === 'directory') throw new PosixError('EISDIR', `${path} is a directory`);
    // Pipes and devices: what they do when opened, and for how long, is not for a client to try.
    if (spot.stat.kind !== 'file') throw new PosixError('EACCES', `${path} is no regular file`);
    const opened = await this.#openAt(spot, how, false);
    // Only now is it certain that it is the right one.
    if (opened !== undefined && truncate) await orClose(opened.file, () => opened.file.truncate(0));
    return opened;
  }

  /** Opens what stands at a spot, file or directory; `undefined` when that is not what stood there. */
  openTaken(spot: TakenSpot, how: HostOpen): Promise<OpenedFile | undefined> {
    return this.#openAt(spot, how, false);
  }

  async #openAt(spot: Spot, how: HostOpen, mustBeNew: boolean): Promise<OpenedFile | undefined> {
    const tellsPlaces = await this.#placesAreTold();
    let file: HostFile;
    try {
      file = await this.host.open(spot.host, how);
    } catch (error) {
      if (mustBeNew || !MOVED.has(posixCode(error))) throw error;
      return undefined;
    }
    return orClose(file, async () => {
      const [stat, expected, place] = await Promise.all([
        file.stat(),
        spot.stat ?? this.host.lstat(spot.host),
        tellsPlaces ? file.place() : undefined,
      ]);
      const isIt = stat.device === expected.device && stat.inode === expected.inode && stat.kind === expected.kind;
      if (isIt && (place === undefined || place === spot.host)) return { file, stat, path: spot.path };
      await file.close();
      return undefined;
    });
  }

  /** Whether the system tells where open files are, by the same paths that lead there: tried once, with the root. */
  #placesAreTold(): Promise<boolean> {
    const attempt = async (): Promise<boolean> => {
      try {
        const file = await this.host.open(this.#root, { read: true, write: false });
        const place = await file.place().finally(() => file.close());
        return place === this.#root;
      } catch {
        return false; // such as a root that may be entered but not read
      }
    };
    this.#tellsPlaces ??= attempt();
    return this.#tellsPlaces;
  }
}

/** The result of `work` on a file, which is closed when that fails. */
async function orClose<T>(file: HostFile, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    await file.close().catch(() => {});
    throw error;
  }
}
