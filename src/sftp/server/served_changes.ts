/**
 * What changes names and attributes in a served directory. Whatever can put something else under a name runs alone, so that
 * no other request uses a path that it has looked at before.
 */

import { posixCode } from '../../io/posix_code.ts';
import type { Attributes } from '../proto/attrs.ts';
import type { Spot, TakenSpot } from './confined_path.ts';
import { SETTABLE, setAtPath, setOpen, setsNothing } from './host_attrs.ts';
import type { HostKind, HostOpen } from './host_files.ts';
import { PosixError } from './posix_error.ts';
import type { ServedTree } from './served_tree.ts';

/** What `link` says where it cannot be used though `rename` can: no links there, or none to files of others. */
const NO_LINK: ReadonlySet<string> = new Set(['EPERM', 'EACCES', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EXDEV']);

const TO_READ: HostOpen = { read: true, write: false };
const TO_WRITE: HostOpen = { read: false, write: true };

/** The functions of a backend of the same names. */
export class ServedChanges {
  readonly #tree: ServedTree;

  constructor(tree: ServedTree) {
    this.#tree = tree;
  }

  setstat(path: string, attrs: Attributes): Promise<void> {
    return this.#set(path, true, attrs);
  }

  lsetstat(path: string, attrs: Attributes): Promise<void> {
    return this.#set(path, false, attrs);
  }

  async #set(path: string, follow: boolean, attrs: Attributes): Promise<void> {
    await this.#tree.settle(path, () => this.#trySet(path, follow, attrs));
  }

  /** Through an open file where one is to be had: then it is certain what is changed. */
  async #trySet(path: string, follow: boolean, attrs: Attributes): Promise<true | undefined> {
    const spot = await this.#tree.paths.taken(path, follow);
    const { kind } = spot.stat;
    if (setsNothing(attrs)) return true;
    if (kind === 'directory' && attrs.size !== undefined) throw new PosixError('EISDIR', `${path} is a directory`);
    for (const how of waysToSet(kind, attrs)) {
      const opened = await this.#tree.openTaken(spot, how).catch((error) => {
        // An owner may change the rest of what he may neither read nor write.
        if (attrs.size !== undefined || posixCode(error) !== 'EACCES') throw error;
        return 'closed' as const;
      });
      if (opened === undefined) return undefined;
      if (opened === 'closed') continue;
      await setOpen(opened.file, attrs).finally(() => opened.file.close());
      return true;
    }
    await setAtPath(this.#tree.host, spot.host, kind === 'symlink', attrs);
    return true;
  }

  /** Beside others: where nothing was, a directory does no harm. */
  mkdir(path: string, attrs: Attributes): Promise<void> {
    const { host, lock } = this.#tree;
    return lock.shared(async () => {
      const spot = await this.#free(path);
      await host.mkdir(spot.host, (attrs.permissions ?? 0o777) & SETTABLE);
    });
  }

  rmdir(path: string): Promise<void> {
    const { host, lock } = this.#tree;
    return lock.exclusive(async () => {
      const spot = await this.#movable(path);
      if (spot.stat.kind !== 'directory') throw new PosixError('ENOTDIR', `${path} is no directory`);
      await host.rmdir(spot.host);
    });
  }

  remove(path: string): Promise<void> {
    const { host, lock } = this.#tree;
    return lock.exclusive(async () => {
      const spot = await this.#movable(path);
      // Not every system's `unlink` refuses one.
      if (spot.stat.kind === 'directory') throw new PosixError('EISDIR', `${path} is a directory`);
      await host.unlink(spot.host);
    });
  }

  rename(from: string, to: string): Promise<void> {
    const { host, lock } = this.#tree;
    return lock.exclusive(async () => {
      const source = await this.#movable(from);
      const target = await this.#free(to);
      // `rename` replaces, `link` never: so nothing is lost that another program puts there now.
      if (source.stat.kind === 'file' && (await this.#moveByLink(source, target))) return;
      await host.rename(source.host, target.host);
    });
  }

  async #moveByLink(source: Spot, target: Spot): Promise<boolean> {
    const { host } = this.#tree;
    try {
      await host.link(source.host, target.host);
    } catch (error) {
      if (NO_LINK.has(posixCode(error))) return false;
      throw error;
    }
    try {
      await host.unlink(source.host);
    } catch (error) {
      await host.unlink(target.host).catch(() => {});
      throw error;
    }
    return true;
  }

  posixRename(from: string, to: string): Promise<void> {
    const { host, paths, lock } = this.#tree;
    return lock.exclusive(async () => {
      const source = await this.#movable(from);
      const target = await paths.spot(to, false);
      refuseRoot(target);
      await host.rename(source.host, target.host);
    });
  }

  /** The text as it is: what it means is decided when the link is followed, and then in this tree. */
  symlink(target: string, path: string): Promise<void> {
    const { host, lock } = this.#tree;
    return lock.exclusive(async () => {
      const spot = await this.#free(path);
      await host.symlink(target, spot.host);
    });
  }

  /** Of what a link leads to: `link` of a link follows it on some systems, and then out of this tree. */
  hardlink(from: string, to: string): Promise<void> {
    const { host, paths, lock } = this.#tree;
    return lock.exclusive(async () => {
      const source = await paths.taken(from, true);
      if (source.stat.kind === 'directory') throw new PosixError('EPERM', `${from} is a directory`);
      const target = await this.#free(to);
      await host.link(source.host, target.host);
    });
  }

  /** Something that is there and may be moved or removed. */
  async #movable(path: string): Promise<TakenSpot> {
    const spot = await this.#tree.paths.taken(path, false);
    refuseRoot(spot);
    return spot;
  }

  /** A name that is not taken, not even by a link that leads nowhere. */
  async #free(path: string): Promise<Spot> {
    const spot = await this.#tree.paths.spot(path, false);
    if (spot.stat !== undefined) throw new PosixError('EEXIST', `${path} is there`);
    return spot;
  }
}

/** How to open something to set its attributes, in the order to try; what is special is not opened at all. */
function waysToSet(kind: HostKind, { size }: Attributes): readonly HostOpen[] {
  if (kind === 'directory') return [TO_READ];
  if (kind !== 'file') return [];
  return size === undefined ? [TO_READ, TO_WRITE] : [TO_WRITE];
}

function refuseRoot(spot: Spot): void {
  if (spot.path === '/') throw new PosixError('EBUSY', 'the root stays what and where it is');
}
