/**
 * Removes a directory with all that is in it. Never follows a symbolic link: what is entered LSTAT has called a directory.
 * Files go while directories are still being read, each directory when nothing is left in it. What others remove meanwhile
 * is gone, and that is enough.
 */

import { printable } from '../bytes/text.ts';
import { SshError, toSshError } from '../errors.ts';
import type { Link } from './link.ts';
import { shownName } from './names.ts';
import { isMissing, pathRequest } from './operations.ts';
import type { CallOptions, RemotePath } from './options.ts';
import { pathBytes } from './path.ts';
import { packets } from './proto/packets.ts';
import { DIRECTORY_NOT_EMPTY, FILE_ALREADY_EXISTS, Status } from './proto/status.ts';
import { type Place, readTree, type TreeReader, type Visit, type WalkEntry } from './read_tree.ts';
import { Slots } from './slots.ts';

/** REMOVEs and RMDIRs that wait for their answers at once: at 50 ms these are 5000 a second. */
const AT_ONCE = 256;

/** How often a directory is read again that was not empty after all: others may fill it, some servers skip names meanwhile. */
const ROUNDS = 4;

/** What servers answer to an RMDIR of a directory that is not empty. */
const NOT_EMPTY: readonly number[] = [Status.failure, DIRECTORY_NOT_EMPTY, FILE_ALREADY_EXISTS];

/** A directory on its way out. */
interface Doomed {
  readonly path: RemotePath;
  readonly parent: Doomed | undefined;
  /** What is in it and not gone yet, and the reading of it. */
  left: number;
}

/** Removes what stands at `path`, be it a file, a link or a directory with all that is in it. */
export async function removeTree(link: Link, path: RemotePath, options: CallOptions): Promise<void> {
  refuseWhole(path);
  await new Removal(link, path, options).run();
}

/** `/`, and what would remove a directory by another name than its own, is a mistake of the caller's. */
function refuseWhole(path: RemotePath): void {
  const bytes = pathBytes(path);
  const parts = new TextDecoder('latin1').decode(bytes).split('/');
  const last = parts.filter((part) => part !== '').at(-1);
  if (last !== undefined && last !== '.' && last !== '..') return;
  const message = `Not removed with all that is in it: "${printable(path, 300)}"; give a path that ends in a name`;
  throw new SshError('bad-argument', message, { operation: 'remove', path: printable(path, 1024) });
}

class Removal implements TreeReader<Doomed> {
  readonly proof = true;
  readonly #link: Link;
  readonly #options: CallOptions;
  readonly #root: Doomed;
  readonly #slots = new Slots(AT_ONCE);
  /** Requests whose answers are not here yet. */
  readonly #running = new Set<Promise<void>>();
  /** Directories that were not empty when their turn came. */
  #again: { readonly doomed: Doomed; readonly error: SshError }[] = [];
  #failure: SshError | undefined;

  constructor(link: Link, path: RemotePath, options: CallOptions) {
    this.#link = link;
    this.#options = options;
    this.#root = { path, parent: undefined, left: 1 };
  }

  async run(): Promise<void> {
    let starts: readonly Doomed[] = [this.#root];
    for (let round = 1; starts.length > 0; round++) {
      const places = starts.map((doomed) => ({ path: doomed.path, depth: 0, state: doomed, trust: 'listed' as const }));
      try {
        for await (const _ of readTree(this.#link, places, this, this.#options));
      } catch (error) {
        this.#failure ??= toSshError(error, 'internal');
      }
      while (this.#running.size > 0) await Promise.all(this.#running);
      if (this.#failure !== undefined) throw this.#failure;
      const again = this.#again;
      this.#again = [];
      if (round === ROUNDS && again[0] !== undefined) throw again[0].error;
      starts = again.map(({ doomed }) => doomed);
    }
  }

  visit({ path, kind }: WalkEntry, { state }: Place<Doomed>): Visit<Doomed> | Promise<Visit<Doomed>> {
    if (this.#failure !== undefined) throw this.#failure;
    state.left += 1;
    if (kind === 'directory') {
      return { yields: false, enter: { state: { path, parent: state, left: 1 }, trust: 'listed' } };
    }
    const slot = this.#slots.take();
    const start = (): Visit<Doomed> => {
      this.#start(this.#removeFile(path, state));
      return { yields: false };
    };
    return slot === undefined ? start() : slot.then(start);
  }

  left({ state }: Place<Doomed>): void {
    this.#less(state);
  }

  /** It is a link, or nobody can tell: what is no directory REMOVE takes away, and a directory stays if it is not empty. */
  contradicted({ state: { path, parent } }: Place<Doomed>): void {
    this.#inSlot(async () => {
      await this.#removeFile(path, parent, true);
    });
  }

  refused({ path }: Place<Doomed>, name: Uint8Array, why: string): void {
    const message = `remove ${printable(path, 1024)}: the server lists the name ${shownName(name)}, which ${why}`;
    throw new SshError('protocol', message, { fault: 'peer', operation: 'remove', path: printable(path, 1024) });
  }

  failed({ state }: Place<Doomed>, error: SshError): void {
    if (state === this.#root || !isMissing(error)) throw error;
    this.#gone(state.parent);
  }

  /** Runs `work` in a slot, once there is one. */
  #inSlot(work: () => Promise<void>): void {
    const slot = this.#slots.take();
    this.#start(slot === undefined ? work() : slot.then(work));
  }

  /** `work` has a slot, and gives it back in the end. */
  #start(work: Promise<void>): void {
    const running = work
      .catch((error) => {
        this.#failure ??= toSshError(error, 'internal');
      })
      .finally(() => {
        this.#running.delete(running);
        this.#slots.give();
      });
    this.#running.add(running);
  }

  async #removeFile(path: RemotePath, parent: Doomed | undefined, isPerhapsDirectory = false): Promise<void> {
    try {
      await pathRequest(this.#link, packets.remove, 'remove', path, this.#options);
    } catch (error) {
      if (!isMissing(error) || parent === undefined) {
        if (!isPerhapsDirectory) throw error;
        await pathRequest(this.#link, packets.rmdir, 'rmdir', path, this.#options).catch(() => {
          throw error;
        });
      }
    }
    this.#gone(parent);
  }

  /** Something in `doomed` is gone. */
  #gone(doomed: Doomed | undefined): void {
    if (doomed !== undefined) this.#less(doomed);
  }

  #less(doomed: Doomed): void {
    doomed.left -= 1;
    if (doomed.left > 0 || this.#failure !== undefined) return;
    this.#inSlot(() => this.#removeDirectory(doomed));
  }

  async #removeDirectory(doomed: Doomed): Promise<void> {
    try {
      await pathRequest(this.#link, packets.rmdir, 'rmdir', doomed.path, this.#options);
    } catch (error) {
      const { status } = toSshError(error, 'internal');
      if (status !== undefined && NOT_EMPTY.includes(status)) {
        doomed.left = 1;
        this.#again.push({ doomed, error: error as SshError });
        return;
      }
      if (!isMissing(error)) throw error;
    }
    this.#gone(doomed.parent);
  }
}
