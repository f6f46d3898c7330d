/**
 * Where a path of the client's leads on the host, with a directory of the host as `/`. Every part is looked at before it is
 * used; a symbolic link is read and its text taken as a path of this tree, as after `chroot`: `/` is the root, and `..` of
 * the root is the root. So no link leads out, and the paths that the operating system is given have no link in them, as long
 * as nobody else moves things meanwhile (`directory.ts` has the locks). Knows no SFTP.
 */

import { posixCode } from '../../io/posix_code.ts';
import type { HostFiles, HostStat } from './host_files.ts';
import { PosixError } from './posix_error.ts';

/** Links on one way, after which it counts as a circle; Linux has the same. */
const MAX_LINKS = 40;

/** Parts looked up on one way. A path has 2048 at most (PATH_MAX 4096), but links made for it could ask for 40 times that. */
const MAX_LOOKUPS = 4096;

/** Where a path leads: `stat` is what stands there; nothing does where it is missing, but then its directory exists. */
export interface Spot {
  /** The path on the host. */
  readonly host: string;
  /** The path in the tree, without links. */
  readonly path: string;
  readonly stat?: HostStat;
}

/** A spot at which something stands. */
export interface TakenSpot extends Spot {
  readonly stat: HostStat;
}

/** The parts of a path still to go, the next one last. */
type Way = string[];

export class ConfinedPaths {
  readonly #host: HostFiles;
  /** An absolute path of the host without links. */
  readonly #root: string;

  constructor(host: HostFiles, root: string) {
    this.#host = host;
    this.#root = root;
  }

  /** Where `path` leads. `follow` is about a link at its end; one on the way is always followed. */
  async spot(path: string, follow: boolean): Promise<Spot> {
    const { spot, rest } = await this.#walk(path, follow);
    if (rest.length > 0) throw missing(path);
    return spot;
  }

  /** The same for what must be there. */
  async taken(path: string, follow: boolean): Promise<TakenSpot> {
    const spot = await this.spot(path, follow);
    if (!isTaken(spot)) throw missing(path);
    return spot;
  }

  /** `path` without links; from the first part on that is not there, as it was. */
  async real(path: string): Promise<string> {
    const { spot, rest } = await this.#walk(path, true);
    // `..` of something that is not there is nowhere
    if (rest.includes('..')) throw missing(path);
    return [spot.path, ...rest.reverse().filter((part) => part !== '' && part !== '.')].join('/');
  }

  async #walk(path: string, follow: boolean): Promise<{ spot: Spot; rest: Way }> {
    await this.#checkRoot();
    const way: Way = path.split('/').filter(Boolean).reverse();
    let parents: string[] = [];
    /** What is known of the directory that `parents` lead to. */
    let here: HostStat | undefined;
    let links = 0;
    let lookups = 0;
    for (let part = way.pop(); part !== undefined; part = way.pop()) {
      if (part === '' || part === '.') continue;
      if (part === '..') {
        parents.pop();
        here = undefined;
        continue;
      }
      if (!this.#host.isName(part)) throw missing(path);
      if (++lookups > MAX_LOOKUPS) throw new PosixError('ELOOP', `too long a way to ${path}`);
      const names = [...parents, part];
      const spot = this.#at(names);
      const stat = await this.#look(spot.host);
      if (stat === undefined) return { spot, rest: way };
      if (stat.kind === 'symlink' && (follow || way.length > 0)) {
        if (++links > MAX_LINKS) throw new PosixError('ELOOP', `too many links on the way to ${path}`);
        const target = await this.#host.readlink(spot.host);
        if (target.startsWith('/')) {
          parents = [];
          here = undefined;
        }
        way.push(...target.split('/').reverse());
      } else if (stat.kind === 'directory') {
        parents = names;
        here = stat;
      } else {
        // `file/`, `file/.` and `file/..` in a link are no way either
        if (way.length > 0) throw new PosixError('ENOTDIR', `${spot.path} is no directory`);
        return { spot: { ...spot, stat }, rest: way };
      }
    }
    const spot = this.#at(parents);
    return { spot: { ...spot, stat: here ?? (await this.#host.lstat(spot.host)) }, rest: way };
  }

  /**
   * Another backend may serve a directory around this root, and its client may have put a link in the way to it. The root
   * is gone then.
   */
  async #checkRoot(): Promise<void> {
    if ((await this.#host.realpath(this.#root)) !== this.#root) throw new PosixError('ENOENT', `${this.#root} is gone`);
  }

  async #look(path: string): Promise<HostStat | undefined> {
    try {
      return await this.#host.lstat(path);
    } catch (error) {
      if (posixCode(error) === 'ENOENT') return undefined;
      throw error;
    }
  }

  #at(names: readonly string[]): Spot {
    const { separator } = this.#host;
    const lead = this.#root.endsWith(separator) ? this.#root : this.#root + separator;
    const host = names.length === 0 ? this.#root : lead + names.join(separator);
    return { host, path: `/${names.join('/')}` };
  }
}

function isTaken(spot: Spot): spot is TakenSpot {
  return spot.stat !== undefined;
}

function missing(path: string): PosixError {
  return new PosixError('ENOENT', `${path} is not there`);
}
