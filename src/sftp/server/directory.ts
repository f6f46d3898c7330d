/**
 * A directory of the host as the tree that an SFTP server serves, and nothing outside it.
 *
 * A client sees the directory as `/`. Links are followed inside the tree only (`confined_path.ts`). Requests of all backends
 * on one host share a lock: what can put something else under a name runs alone, everything else holds the lock from the
 * first look at a path to the end of its use, though not while a file is open. So no client and no pair of clients can swap
 * a directory for a link between the look and the use.
 *
 * Other programs of the host are another matter: the runtimes have no `openat`, so a user of the host who moves things
 * inside the tree at the right moment can lead a request out. Opening is safe from that as far as it can be told: what was
 * opened must be the very file that was looked at, and where the system says so (Linux with /proc), at that very path;
 * before that nothing is read, written or truncated. For the other operations nothing can be told. Serve no directory in
 * which people work whom you would not give the server's rights. A link that a client makes keeps its text: to other
 * programs of the host it means what it says.
 *
 * Knows no packets and no runtime.
 */

import { posixCode } from '../../io/posix_code.ts';
import type { Attributes } from '../proto/attrs.ts';
import type { FileSystemStats, OwnerNames } from '../proto/extensions.ts';
import type { BackendEntry, BackendFile, OpenRequest, SftpBackend } from './backend.ts';
import { attributesOf } from './host_attrs.ts';
import type { HostFiles, HostOwners, HostStat } from './host_files.ts';
import { PosixError } from './posix_error.ts';
import { ServedChanges } from './served_changes.ts';
import { ReadOnlyFile, ServedFile } from './served_file.ts';
import { ServedList } from './served_list.ts';
import { ServedTree } from './served_tree.ts';

/** How a directory is served. */
export interface DirectoryOptions {
  /** Nothing can be changed: the functions that could are not there. Default: false. */
  readonly readOnly?: boolean | undefined;
}

/** Serves `root`, which is an absolute path of a directory of `host` without links in it. */
export function directoryFiles(host: HostFiles, root: string, options: DirectoryOptions = {}): SftpBackend {
  const { readOnly = false } = options;
  const tree = new ServedTree(host, root);
  const directory = new ServedDirectory(tree, readOnly);
  const reading: SftpBackend = {
    open: (path, request) => directory.open(path, request),
    list: (path) => directory.list(path),
    stat: (path) => directory.stat(path, true),
    lstat: (path) => directory.stat(path, false),
    realpath: (path) => tree.lock.shared(() => tree.paths.real(path)),
    readlink: (path) => directory.readlink(path),
    statvfs: (path) => directory.statvfs(path),
    home: async (username) => homeOf(username),
    ownerNames: (users, groups) => ownerNames(host, users, groups),
    files: { sync: !readOnly, statvfs: true },
  };
  if (readOnly) return reading;
  const changes = new ServedChanges(tree);
  return {
    ...reading,
    setstat: (path, attrs) => changes.setstat(path, attrs),
    lsetstat: (path, attrs) => changes.lsetstat(path, attrs),
    mkdir: (path, attrs) => changes.mkdir(path, attrs),
    rmdir: (path) => changes.rmdir(path),
    remove: (path) => changes.remove(path),
    rename: (from, to) => changes.rename(from, to),
    posixRename: (from, to) => changes.posixRename(from, to),
    symlink: (target, path) => changes.symlink(target, path),
    hardlink: (from, to) => changes.hardlink(from, to),
  };
}

/** The functions of a backend that change nothing. */
class ServedDirectory {
  readonly #tree: ServedTree;
  readonly #readOnly: boolean;

  constructor(tree: ServedTree, readOnly: boolean) {
    this.#tree = tree;
    this.#readOnly = readOnly;
  }

  async open(path: string, request: OpenRequest): Promise<BackendFile> {
    const { write, append, create, truncate } = request;
    if (this.#readOnly && (write || append || create || truncate)) {
      throw new PosixError('EROFS', `${path}: nothing is written here`);
    }
    const opened = await this.#tree.open(path, request);
    const figures = (): Promise<FileSystemStats> => this.#figuresOf(opened.path, opened.stat);
    return this.#readOnly ? new ReadOnlyFile(opened.file, figures) : new ServedFile(opened.file, append, figures);
  }

  async list(path: string): Promise<AsyncIterable<BackendEntry>> {
    const { host, paths, lock } = this.#tree;
    const owners = await host.owners();
    const { place, directory } = await lock.shared(async () => {
      const spot = await paths.taken(path, true);
      if (spot.stat.kind !== 'directory') throw new PosixError('ENOTDIR', `${path} is no directory`);
      return { place: spot.host, directory: await host.openDirectory(spot.host) };
    });
    return ServedList.start(directory, (names) => this.#entries(path, place, names, owners));
  }

  /** Entries for names that were found in the directory at `path`, which must still be the one at `place`. */
  #entries(path: string, place: string, names: readonly string[], owners: HostOwners): Promise<BackendEntry[]> {
    const { host, paths, lock } = this.#tree;
    return lock.shared(async () => {
      const spot = await paths.taken(path, true);
      if (spot.host !== place || spot.stat.kind !== 'directory') {
        throw new PosixError('ENOENT', `${path} is another directory now`);
      }
      const lead = place.endsWith(host.separator) ? place : place + host.separator;
      const found = await Promise.all(names.map((name) => this.#entry(lead, name, owners)));
      return found.filter((entry) => entry !== undefined);
    });
  }

  async #entry(lead: string, name: string, owners: HostOwners): Promise<BackendEntry | undefined> {
    const { host } = this.#tree;
    let stat: HostStat;
    try {
      stat = await host.lstat(lead + name);
    } catch (error) {
      const isGone = posixCode(error) === 'ENOENT' && !(host.lossyNames && name.includes('\ufffd'));
      // A name without attributes: of a directory that may be read but not entered, or that the host cannot spell.
      return isGone ? undefined : { name, attrs: {} };
    }
    const owner = owners.users.get(stat.uid);
    const group = owners.groups.get(stat.gid);
    return {
      name,
      attrs: attributesOf(stat),
      links: stat.links,
      ...(owner === undefined ? {} : { owner }),
      ...(group === undefined ? {} : { group }),
    };
  }

  stat(path: string, follow: boolean): Promise<Attributes> {
    const { paths, lock } = this.#tree;
    return lock.shared(async () => attributesOf((await paths.taken(path, follow)).stat));
  }

  readlink(path: string): Promise<string> {
    const { host, paths, lock } = this.#tree;
    return lock.shared(async () => {
      const spot = await paths.taken(path, false);
      if (spot.stat.kind !== 'symlink') throw new PosixError('EINVAL', `${path} is no link`);
      return host.readlink(spot.host);
    });
  }

  statvfs(path: string): Promise<FileSystemStats> {
    const { paths, lock } = this.#tree;
    return lock.shared(async () => this.#figures((await paths.taken(path, true)).host));
  }

  /** The figures for an open file, by its name: the runtimes have none by the file itself. */
  #figuresOf(path: string, stat: HostStat): Promise<FileSystemStats> {
    const { paths, lock } = this.#tree;
    return lock.shared(async () => {
      const spot = await paths.taken(path, false);
      const { device, inode } = spot.stat;
      if (device !== stat.device || inode !== stat.inode) throw new PosixError('ENOENT', `${path} is another file now`);
      return this.#figures(spot.host);
    });
  }

  async #figures(place: string): Promise<FileSystemStats> {
    const stats = await this.#tree.host.statfs(place);
    return this.#readOnly ? { ...stats, readOnly: true } : stats;
  }
}

/** Whoever is logged in starts at the top; others have no home here. */
function homeOf(username: string): string {
  if (username === '') return '/';
  throw new PosixError('ENOENT', `${username} has no home here`);
}

async function ownerNames(host: HostFiles, users: readonly number[], groups: readonly number[]): Promise<OwnerNames> {
  const owners = await host.owners();
  return {
    users: users.map((id) => owners.users.get(id) ?? ''),
    groups: groups.map((id) => owners.groups.get(id) ?? ''),
  };
}
