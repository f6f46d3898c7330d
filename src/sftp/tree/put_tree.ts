/**
 * Uploads a whole directory. Below the root of the target no symbolic link is followed: what is written stays in the tree. In
 * a directory that was just made nothing is asked for, since nothing can stand there.
 */

import { printable } from '../../bytes/text.ts';
import { SshError, toSshError } from '../../errors.ts';
import type { LocalEntry, LocalFiles, LocalStat } from '../../io/local_files.ts';
import type { Link } from '../link.ts';
import { needFiles } from '../local.ts';
import { targetExists } from '../operations.ts';
import { type CallOptions, DEFAULT_LANES, type RemotePath, type TransferStats } from '../options.ts';
import { joinPath, temporaryPath } from '../path.ts';
import { remoteAttributes } from '../preserve.ts';
import { type Attributes, fileKind } from '../proto/attrs.ts';
import { isStatusError } from '../proto/status.ts';
import { put } from '../put.ts';
import type { PutOptions, PutResult } from '../put_options.ts';
import { whole } from '../transfer.ts';
import { ahead } from './ahead.ts';
import { choice, MAX_DEPTH, type TreeKind, type TreeOptions, type TreeResult } from './options.ts';
import { keepReason } from './overwrite.ts';
import { type TreeDirectory, TreeRun } from './run.ts';
import type { TreeSession } from './session.ts';
import { leadsBack, type Trail } from './source_loop.ts';
import { TreeLanes } from './tree_lanes.ts';

/** Local entries that are looked at at once. */
const LOOKED_AHEAD = 32;

/** Bytes from which a file may have channels of its own: those of the tree are of use only where there are many files. */
const HUGE = 8 * 1024 * 1024;

/** UTF-16 that is no text; encoded, it would become another name. */
const LONE = /\p{Surrogate}/u;

/** Uploads what the directory `local` holds into `remote`, which comes into being where it is not there. */
export async function putTree(
  session: TreeSession,
  local: string,
  remote: RemotePath,
  options: TreeOptions,
): Promise<TreeResult> {
  return new TreeUpload(session, options).run(local, remote);
}

/** A directory on both sides. */
interface Place {
  readonly tree: TreeDirectory;
  /** Where links are followed, the canonical path: none of its parts is a link. */
  local: string;
  readonly remote: RemotePath;
  /** The root's is looked at when it is entered. */
  source: LocalStat | undefined;
  /** Where links are followed. */
  trail: Trail | undefined;
  /** `fresh`: it was made just now, so that nothing stands in it. */
  state: 'unknown' | 'fresh' | 'there';
}

/** An entry, once it is known what it is. */
interface Found {
  readonly name: string;
  /** Where links are followed, where they lead. */
  readonly local: string;
  readonly kind: TreeKind;
  readonly source?: LocalStat;
  /** A link was followed. */
  readonly followed?: boolean;
  /** Why it is not to be had. */
  readonly error?: SshError;
}

class TreeUpload {
  readonly #session: TreeSession;
  readonly #files: LocalFiles;
  readonly #run: TreeRun;
  readonly #call: CallOptions;
  readonly #transfer: PutOptions;
  readonly #symlinks: NonNullable<TreeOptions['symlinks']>;
  readonly #overwrite: NonNullable<TreeOptions['overwrite']>;
  readonly #lanes: TreeLanes;

  constructor(session: TreeSession, options: TreeOptions) {
    const { stallTimeout, requests, requestSize, lanes, atomic, preserve, resume, sparse, sync, verify } = options;
    this.#session = session;
    this.#files = needFiles(session.files);
    this.#symlinks = choice('symlinks', options.symlinks, ['skip', 'follow', 'copy']);
    this.#overwrite = choice('overwrite', options.overwrite, ['always', 'never', 'newer', 'different']);
    this.#run = new TreeRun(session.link, options);
    this.#call = { signal: this.#run.signal, stallTimeout };
    this.#lanes = new TreeLanes(session.link, whole('lanes', lanes ?? DEFAULT_LANES, 1), this.#call);
    const kinds = { atomic, preserve, resume, sparse, sync, verify };
    this.#transfer = { ...this.#call, requests, requestSize, lanes, ...kinds };
  }

  async run(local: string, remote: RemotePath): Promise<TreeResult> {
    try {
      return await this.#run.through(local, () => this.#begin(undefined, '', local, remote, undefined, undefined).tree);
    } finally {
      this.#lanes.close();
    }
  }

  /** A directory, whose listing begins. */
  #begin(
    above: Place | undefined,
    path: string,
    local: string,
    remote: RemotePath,
    source: LocalStat | undefined,
    trail: Trail | undefined,
  ): Place & { readonly visited: Promise<void> | undefined } {
    const tree = this.#run.directory(above?.tree, path, () => this.#finish(place));
    const place: Place = { tree, local, remote, source, trail, state: 'unknown' };
    return Object.assign(place, { visited: this.#run.visit(tree, () => this.#visit(place)) });
  }

  async #visit(place: Place): Promise<void> {
    const files = this.#files;
    if (this.#symlinks === 'follow') {
      if (place.trail === undefined) place.local = (await files.resolve(place.local)) ?? place.local;
      place.trail ??= { canonical: place.local, above: undefined };
    }
    // what cannot be listed leaves nothing there
    const entries = await files.list(place.local);
    await this.#enter(place);
    const found = ahead(entries, LOOKED_AHEAD, (entry) => this.#find(place, entry));
    for await (const each of found) {
      if (this.#run.stopped) return;
      await this.#entry(place, each);
    }
  }

  /** Makes the remote directory, or looks whether what is there is one. */
  async #enter(place: Place): Promise<void> {
    const files = this.#files;
    const { requests } = this.#session;
    const { remote } = place;
    const isRoot = place.tree.parent === undefined;
    if (isRoot) place.source = await files.stat((await files.resolve(place.local)) ?? place.local);
    const own = place.source?.permissions;
    try {
      // read-only ones become so in the end
      const attrs = own === undefined ? {} : { permissions: (own & 0o777) | 0o700 };
      await requests.mkdir(remote, { ...this.#call, attrs });
      place.state = 'fresh';
    } catch (error) {
      if (!isStatusError(error)) throw error;
      const there = await (isRoot ? requests.stat(remote, this.#call) : requests.lstat(remote, this.#call)).catch(
        () => {
          throw error;
        },
      );
      const kind = fileKind(there);
      if (kind !== 'directory' && kind !== 'unknown')
        throw targetExists('mkdir', remote, ` and is a ${kind}: move it away`);
      place.state = 'there';
      const { permissions } = there;
      // what an earlier transfer made read-only is so again in the end
      const kept = place.source && remoteAttributes(place.source, this.#transfer.preserve).permissions;
      if (!isRoot && kept !== undefined && permissions !== undefined && (permissions & 0o700) !== 0o700) {
        await requests.setstat(remote, { permissions: (permissions & 0o7777) | 0o700 }, this.#call);
      }
    }
    if (!isRoot) this.#run.report.directories++;
  }

  /**
   * What all in it would have changed: the times, and permissions that would have been in the way. A root that was there is
   * nobody's copy and stays as it is.
   */
  async #finish({ tree, state, remote, source }: Place): Promise<void> {
    if (source === undefined || state === 'unknown' || (state === 'there' && tree.parent === undefined)) return;
    const wanted = remoteAttributes(source, this.#transfer.preserve);
    if (Object.keys(wanted).length === 0) return;
    try {
      await this.#session.requests.setstat(remote, wanted, { ...this.#call, times: 'clamp' });
    } catch (error) {
      if (!isStatusError(error)) throw error;
      this.#run.report.warn(`The permissions and times of a directory were not set: ${error.message}`);
    }
  }

  /** What an entry is. */
  async #find(place: Place, { name, kind }: LocalEntry): Promise<Found> {
    const files = this.#files;
    const local = files.join(place.local, name);
    const plain = { name, local, kind };
    try {
      if (LONE.test(name)) throw notText(local);
      const follow = kind === 'symlink' && this.#symlinks === 'follow';
      const leads = follow ? await files.resolve(local) : local;
      const there = leads === undefined ? undefined : await files.stat(leads);
      if (leads !== undefined && there !== undefined) {
        return { name, local: leads, kind: there.kind, source: there, followed: follow };
      }
      if (name.includes('\ufffd')) throw notText(local);
      const path = printable(local, 1024);
      const message = follow ? `${path} is a symbolic link that leads to nothing` : `${path} is not there any more`;
      throw new SshError('bad-local-file', message, { operation: 'stat', path });
    } catch (error) {
      return { ...plain, error: toSshError(error, 'bad-local-file') };
    }
  }

  async #entry(place: Place, found: Found): Promise<void> {
    const run = this.#run;
    const { name, local, kind, source } = found;
    const attrs = source === undefined ? {} : attributesOf(source);
    const path = place.tree.within(name);
    if (!(await run.wants({ path, name, kind, attrs }))) return;
    if (found.error !== undefined) return run.failed(path, found.error);
    const remote = joinPath(place.remote, name);
    switch (kind) {
      case 'file':
        return run.file(place.tree, path, attrs.size, (onProgress) =>
          this.#file(place, path, local, remote, attrs, onProgress),
        );
      case 'directory':
        return this.#below(place, path, found, remote);
      case 'symlink':
        if (this.#symlinks === 'skip') return run.report.skip(path, 'is a symbolic link');
        return run.entry(place.tree, path, () => this.#link(place, path, local, remote, attrs));
      case 'other':
        return run.report.skip(path, 'is neither file, directory nor link');
    }
  }

  async #below(place: Place, path: string, { local, source, followed }: Found, remote: RemotePath): Promise<void> {
    if (place.tree.depth >= MAX_DEPTH) {
      const message = `${printable(path, 1024)} is deeper than ${MAX_DEPTH} directories`;
      return this.#run.failed(path, new SshError('limit', message, { fault: 'policy', operation: 'list' }));
    }
    if (followed && leadsBack(local, place.trail)) {
      return this.#run.report.skip(path, 'is a symbolic link to a directory above it');
    }
    const trail = place.trail && { canonical: local, above: place.trail };
    await this.#begin(place, path, local, remote, source, trail).visited;
  }

  async #file(
    place: Place,
    path: string,
    local: string,
    remote: RemotePath,
    attrs: Attributes,
    onProgress: (progress: { readonly bytes: number }) => void,
  ): Promise<TransferStats | undefined> {
    const target = await this.#target(place, remote);
    if (this.#keeps(path, attrs, target)) return undefined;
    if (this.#transfer.atomic === false) needFile(remote, target);
    const lanes = this.#lanes;
    let before = 0;
    const moved = (progress: { readonly bytes: number }): void => {
      lanes.acknowledged(progress.bytes - before, this.#run.report.left);
      before = progress.bytes;
      onProgress(progress);
    };
    const once = (link: Link): Promise<PutResult> => {
      const options = { ...this.#transfer, ...(isHuge ? {} : { lanes: 1 }), onProgress: moved };
      return put(link, local, remote, this.#files, options, { target, regular: true });
    };
    const size = attrs.size ?? 0;
    const isHuge = size >= HUGE;
    const { link: main } = this.#session;
    const link = isHuge ? main : await lanes.take(size);
    const result = await once(link)
      .catch((error) => {
        // a further channel that is lost costs nothing but time
        if (link === main || link.cause === undefined || this.#run.stopped) throw error;
        return once(main);
      })
      .finally(() => {
        if (!isHuge) lanes.give(link, size);
      });
    lanes.whole(remote);
    this.#run.report.channels(lanes.count);
    for (const warning of result.warnings) this.#run.report.warn(`${printable(path, 1024)}: ${warning}`);
    return result;
  }

  /** What stands at a path, as far as that has to be known before the transfer. */
  async #target(place: Place, remote: RemotePath): Promise<Attributes | 'absent' | undefined> {
    if (place.state === 'fresh') return 'absent';
    return this.#overwrite === 'always' && this.#transfer.atomic !== false ? undefined : this.#standing(remote);
  }

  async #standing(remote: RemotePath): Promise<Attributes | 'absent'> {
    try {
      return await this.#session.requests.lstat(remote, this.#call);
    } catch (error) {
      if (isStatusError(error)) return 'absent';
      throw error;
    }
  }

  /** Whether what stands at the remote path stays, which the result then tells. */
  #keeps(path: string, source: Attributes, target: Attributes | 'absent' | undefined): boolean {
    if (target === undefined || target === 'absent') return false;
    const why = keepReason(
      this.#overwrite,
      { size: source.size, modified: source.mtime },
      { size: target.size, modified: target.mtime },
    );
    if (why !== undefined) this.#run.report.skip(path, why);
    return why !== undefined;
  }

  /** Makes a symbolic link like the local one; where something stands, beside it and renamed. */
  async #link(place: Place, path: string, local: string, remote: RemotePath, attrs: Attributes): Promise<void> {
    const { requests } = this.#session;
    const { report } = this.#run;
    const text = await this.#files.readLink(local);
    const there = place.state === 'fresh' ? 'absent' : await this.#standing(remote);
    if (there === 'absent') {
      await requests.symlink(text, remote, this.#call);
    } else {
      const kind = fileKind(there);
      if (kind === 'directory') throw targetExists('symlink', remote, ' and is a directory: move it away');
      const same = kind === 'symlink' && (await requests.readlink(remote, this.#call)) === text;
      if (!same) {
        if (this.#keeps(path, attrs, there)) return;
        await this.#replace(remote, (temporary) => requests.symlink(text, temporary, this.#call));
      }
    }
    report.links++;
  }

  async #replace(remote: RemotePath, make: (temporary: RemotePath) => Promise<void>): Promise<void> {
    const { requests } = this.#session;
    const temporary = temporaryPath(remote);
    await make(temporary);
    try {
      await requests.rename(temporary, remote, { ...this.#call, overwrite: true });
    } catch (error) {
      await requests.remove(temporary).catch(() => undefined); // the first failure is the one to tell
      throw error;
    }
  }
}

/** Throws where something stands that must not be written to in place: behind a link there is another file, a pipe may hang. */
function needFile(remote: RemotePath, target: Attributes | 'absent' | undefined): void {
  const kind = target === undefined || target === 'absent' ? 'file' : fileKind(target);
  if (kind === 'file' || kind === 'unknown') return;
  throw targetExists('put', remote, ` and is no file but a ${kind}: move it away`);
}

/** Local attributes as SFTP has them: whole seconds. */
function attributesOf({ size, permissions, modified, accessed }: LocalStat): Attributes {
  return {
    size,
    ...(permissions === undefined ? {} : { permissions }),
    ...(modified === undefined ? {} : { mtime: Math.floor(modified), atime: Math.floor(accessed ?? modified) }),
  };
}

function notText(local: string): SshError {
  const path = printable(local, 1024);
  return new SshError(
    'bad-local-file',
    `${path} has a name that is not UTF-8, which cannot be sent as it is: rename it`,
    {
      operation: 'stat',
      path,
    },
  );
}
