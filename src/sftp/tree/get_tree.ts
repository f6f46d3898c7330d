/**
 * Downloads a whole directory. Names, links and kinds come from the server, so none of them is trusted: a name is one
 * component or is refused, what is written is written in directories that were looked at, and a link that stands in the way is
 * replaced and never followed.
 */

import { latin1, printable } from '../../bytes/text.ts';
import { SshError, toSshError } from '../../errors.ts';
import type { LocalFiles } from '../../io/local_files.ts';
import { get } from '../get.ts';
import type { GetHints, GetOptions, GetResult } from '../get_options.ts';
import type { Link } from '../link.ts';
import { type DirectoryEntry, Listing } from '../list.ts';
import { needFiles } from '../local.ts';
import { isDots, localNameFault, shownName } from '../names.ts';
import { closeQuietly, openDirectory } from '../operations.ts';
import type { CallOptions, RemotePath, TransferStats } from '../options.ts';
import { joinPath, pathBytes, temporaryPath } from '../path.ts';
import { localAttributes, preserves } from '../preserve.ts';
import { type Attributes, type FileKind, fileKind } from '../proto/attrs.ts';
import { isStatusError } from '../proto/status.ts';
import { ahead } from './ahead.ts';
import { linkFault } from './link_target.ts';
import { choice, MAX_DEPTH, type TreeKind, type TreeOptions, type TreeResult } from './options.ts';
import { keepReason } from './overwrite.ts';
import { type TreeDirectory, TreeRun } from './run.ts';
import type { TreeSession } from './session.ts';
import { leadsBack, type Trail } from './source_loop.ts';

/** Entries about which the server is asked at once, where its listing does not say enough. */
const ASKED_AHEAD = 32;

/** Downloads what `remote` holds into the directory `local`, which comes into being where it is not there. */
export async function getTree(
  session: TreeSession,
  remote: RemotePath,
  local: string,
  options: TreeOptions,
): Promise<TreeResult> {
  return new TreeDownload(session, options).run(remote, local);
}

/** A directory on both sides. */
interface Place {
  readonly tree: TreeDirectory;
  readonly remote: RemotePath;
  /** The root's is found when it is entered. */
  local: string;
  /** The root's are asked for when they matter. */
  attrs: Attributes;
  /** Where links are followed. */
  trail: Trail | undefined;
  /** `there`: the local directory was there before. */
  state: 'unknown' | 'made' | 'there';
}

/** An entry, once it is known what it is. */
interface Found {
  readonly name: string;
  readonly remote: RemotePath;
  readonly kind: TreeKind;
  /** What the server calls the kind. */
  readonly said: FileKind;
  readonly attrs: Attributes;
  /** Of a directory that a link leads to. */
  readonly canonical?: string;
  /** Why it is not to be had. */
  readonly error?: SshError;
}

class TreeDownload {
  readonly #session: TreeSession;
  readonly #files: LocalFiles;
  readonly #run: TreeRun;
  readonly #call: CallOptions;
  readonly #transfer: GetOptions;
  readonly #symlinks: NonNullable<TreeOptions['symlinks']>;
  readonly #overwrite: NonNullable<TreeOptions['overwrite']>;

  constructor(session: TreeSession, options: TreeOptions) {
    const { stallTimeout, requests, requestSize, lanes, trustEof, preserve, resume, sparse, sync, verify } = options;
    this.#session = session;
    this.#files = needFiles(session.files);
    this.#symlinks = choice('symlinks', options.symlinks, ['skip', 'follow', 'copy']);
    this.#overwrite = choice('overwrite', options.overwrite, ['always', 'never', 'newer', 'different']);
    this.#run = new TreeRun(session.link, options);
    this.#call = { signal: this.#run.signal, stallTimeout };
    const kinds = { trustEof, preserve, resume, sparse, sync, verify };
    this.#transfer = { ...this.#call, requests, requestSize, lanes, ...kinds };
  }

  run(remote: RemotePath, local: string): Promise<TreeResult> {
    return this.#run.through(remote, () => this.#begin(undefined, '', remote, local, {}, undefined).tree);
  }

  /** A directory, whose listing begins. */
  #begin(
    above: Place | undefined,
    path: string,
    remote: RemotePath,
    local: string,
    attrs: Attributes,
    trail: Trail | undefined,
  ): Place & { readonly visited: Promise<void> | undefined } {
    const tree = this.#run.directory(above?.tree, path, () => this.#finish(place));
    const place: Place = { tree, remote, local, attrs, trail, state: 'unknown' };
    return Object.assign(place, { visited: this.#run.visit(tree, () => this.#visit(place)) });
  }

  async #visit(place: Place): Promise<void> {
    if (this.#symlinks === 'follow')
      place.trail ??= { canonical: await this.#canonical(place.remote), above: undefined };
    const entries = entriesOf(this.#session.link, place.remote, this.#call);
    const found = ahead(entries, ASKED_AHEAD, (entry) => this.#find(place, entry));
    try {
      // what cannot be listed leaves nothing here
      let next = await found.next();
      await this.#enter(place);
      for (; !next.done && !this.#run.stopped; next = await found.next()) await this.#entry(place, next.value);
    } finally {
      await found.return(undefined);
    }
  }

  async #canonical(path: RemotePath): Promise<string> {
    return latin1(pathBytes(await this.#session.requests.realpath(path, this.#call)));
  }

  /** Makes the local directory, or looks whether the one that is there is one: behind a link nothing is written. */
  async #enter(place: Place): Promise<void> {
    const files = this.#files;
    const isRoot = place.tree.parent === undefined;
    const { preserve } = this.#transfer;
    if (isRoot && preserves(preserve)) place.attrs = await this.#attrs(place.remote);
    const wanted = localAttributes(place.attrs, preserve).permissions;
    const made = await files.makeDirectory(place.local, wanted === undefined ? undefined : wanted | 0o700);
    if (isRoot) place.local = (await files.resolve(place.local)) ?? place.local;
    if (!made) {
      const there = await files.stat(place.local);
      if (there?.kind !== 'directory') throw inTheWay(place.local);
      // what an earlier transfer made read-only is so again in the end
      const { permissions } = there;
      if (!isRoot && wanted !== undefined && permissions !== undefined && (permissions & 0o700) !== 0o700) {
        await files.setAttributes(place.local, { permissions: permissions | 0o700 });
      }
    }
    place.state = made ? 'made' : 'there';
    if (!isRoot) this.#run.report.directories++;
  }

  /** STAT; nothing where the server does not tell. */
  async #attrs(path: RemotePath): Promise<Attributes> {
    try {
      return await this.#session.requests.stat(path, this.#call);
    } catch (error) {
      if (isStatusError(error)) return {};
      throw error;
    }
  }

  /**
   * What all in it would have changed: the times, and permissions that would have been in the way. A root that was there, such as
   * the directory of a user, is nobody's copy and stays as it is.
   */
  async #finish({ tree, state, local, attrs }: Place): Promise<void> {
    if (state === 'unknown' || (state === 'there' && tree.parent === undefined)) return;
    const wanted = localAttributes(attrs, this.#transfer.preserve);
    if (Object.keys(wanted).length > 0) await this.#files.setAttributes(local, wanted);
  }

  /** What an entry is; asks the server where the listing does not say enough. */
  #find(place: Place, entry: DirectoryEntry): Found | Promise<Found> {
    const { nameBytes, attrs } = entry;
    const foreign = this.#files.isName?.(entry.name) === false ? 'is none on this system' : undefined;
    const fault = localNameFault(nameBytes) ?? foreign;
    if (fault !== undefined) {
      const shown = printable(nameBytes, 300);
      const message = `${shownName(nameBytes)} is no name to make a file under: it ${fault}`;
      const error = new SshError('protocol', message, { fault: 'peer', operation: 'readdir', path: shown });
      return { name: shown, remote: place.remote, kind: 'other', said: 'unknown', attrs, error };
    }
    const remote = joinPath(place.remote, nameBytes);
    const said = fileKind(attrs);
    const { name } = entry;
    const plain = { name, remote, kind: treeKind(said), said, attrs };
    if (said !== 'unknown' && (said !== 'symlink' || this.#symlinks !== 'follow')) return plain;
    return this.#ask(plain).catch((error) => ({ ...plain, kind: 'symlink', error: toSshError(error, 'internal') }));
  }

  async #ask(plain: Found): Promise<Found> {
    const { requests } = this.#session;
    let { attrs } = plain;
    if (plain.said === 'unknown') attrs = await requests.lstat(plain.remote, this.#call);
    const isLink = fileKind(attrs) === 'symlink' && this.#symlinks === 'follow';
    if (isLink) attrs = await requests.stat(plain.remote, this.#call);
    const said = fileKind(attrs);
    const kind = said === 'unknown' ? await this.#kindByOpening(plain.remote) : treeKind(said);
    const canonical = isLink && kind === 'directory' ? { canonical: await this.#canonical(plain.remote) } : {};
    return { ...plain, kind, said, attrs, ...canonical };
  }

  /** Of a server that never tells kinds. */
  async #kindByOpening(path: RemotePath): Promise<'directory' | 'file'> {
    try {
      closeQuietly(await openDirectory(this.#session.link, path, this.#call));
      return 'directory';
    } catch (error) {
      if (isStatusError(error)) return 'file';
      throw error;
    }
  }

  async #entry(place: Place, found: Found): Promise<void> {
    const run = this.#run;
    const { name, remote, kind, attrs } = found;
    const path = place.tree.within(name);
    if (found.error !== undefined && kind === 'other') return run.failed(path, found.error); // a name that no filter should see
    if (!(await run.wants({ path, name, kind, attrs }))) return;
    if (found.error !== undefined) return run.failed(path, found.error);
    const local = this.#files.join(place.local, name);
    switch (kind) {
      case 'file':
        return run.file(place.tree, path, attrs.size, (onProgress) =>
          this.#file(path, remote, local, attrs, onProgress),
        );
      case 'directory':
        return this.#below(place, path, found, local);
      case 'symlink':
        if (this.#symlinks === 'skip') return run.report.skip(path, 'is a symbolic link');
        return run.entry(place.tree, path, () => this.#link(place, path, remote, local, attrs));
      case 'other':
        return run.report.skip(path, `is neither file, directory nor link but a ${found.said}`);
    }
  }

  async #below(place: Place, path: string, { name, remote, attrs, canonical }: Found, local: string): Promise<void> {
    if (place.tree.depth >= MAX_DEPTH) {
      const message = `${printable(path, 1024)} is deeper than ${MAX_DEPTH} directories`;
      return this.#run.failed(path, new SshError('limit', message, { fault: 'policy', operation: 'readdir' }));
    }
    const { trail } = place;
    if (canonical !== undefined && leadsBack(canonical, trail)) {
      return this.#run.report.skip(path, 'is a symbolic link to a directory above it');
    }
    const own = trail && { canonical: canonical ?? latin1(pathBytes(joinPath(trail.canonical, name))), above: trail };
    await this.#begin(place, path, remote, local, attrs, own).visited;
  }

  async #file(
    path: string,
    remote: RemotePath,
    local: string,
    attrs: Attributes,
    onProgress: (progress: { readonly bytes: number }) => void,
  ): Promise<TransferStats | undefined> {
    if (await this.#keeps(path, local, attrs)) return undefined;
    const options = { ...this.#transfer, onProgress };
    const { link } = this.#session;
    const once = (hints: GetHints): Promise<GetResult> => get(link, remote, local, this.#files, options, hints);
    const result = await once({ attrs, regular: true }).catch((error) => {
      // it may have become shorter since it was listed
      if (!(error instanceof SshError) || error.code !== 'incomplete' || this.#run.stopped) throw error;
      return once({ regular: true });
    });
    for (const warning of result.warnings) this.#run.report.warn(`${printable(path, 1024)}: ${warning}`);
    return result;
  }

  /** Whether what stands at the local path stays, which the result then tells. */
  async #keeps(path: string, local: string, { size, mtime }: Attributes): Promise<boolean> {
    if (this.#overwrite === 'always') return false;
    const there = await this.#files.stat(local);
    if (there === undefined) return false;
    const modified = there.modified === undefined ? undefined : Math.floor(there.modified);
    const target = { size: there.kind === 'file' ? there.size : undefined, modified };
    const why = keepReason(this.#overwrite, { size, modified: mtime }, target);
    if (why !== undefined) this.#run.report.skip(path, why);
    return why !== undefined;
  }

  /** Makes a symbolic link like that of the server, beside and renamed where something stands. */
  async #link(place: Place, path: string, remote: RemotePath, local: string, attrs: Attributes): Promise<void> {
    const { report } = this.#run;
    const files = this.#files;
    const target = await this.#session.requests.readlink(remote, this.#call);
    const fault = typeof target === 'string' ? linkFault(target, place.tree.depth) : 'holds what is not UTF-8';
    if (typeof target !== 'string' || fault !== undefined) return report.skip(path, `is a symbolic link that ${fault}`);
    const there = await files.stat(local);
    if (there?.kind === 'directory') throw inTheWay(local);
    const same = there?.kind === 'symlink' && (await files.readLink(local)) === target;
    if (!same) {
      if (await this.#keeps(path, local, attrs)) return;
      if (there === undefined) await files.makeLink(target, local);
      else await this.#replace(local, (temporary) => files.makeLink(target, temporary));
    }
    report.links++;
  }

  async #replace(local: string, make: (temporary: string) => Promise<void>): Promise<void> {
    const files = this.#files;
    const temporary = files.beside(local, temporaryPath(files.name(local)) as string);
    await make(temporary);
    try {
      await files.rename(temporary, local);
    } catch (error) {
      await files.remove(temporary).catch(() => undefined); // the first failure is the one to tell
      throw error;
    }
  }
}

/**
 * What a directory holds, an answer late: by then it is known whether there is another, and most handles are given back before
 * anything is done with the entries, however deep the tree is.
 */
async function* entriesOf(link: Link, path: RemotePath, options: CallOptions): AsyncGenerator<DirectoryEntry> {
  const listing = new Listing(link, path, options);
  try {
    for (let entries = await listing.next(); entries !== undefined; ) {
      const following = await listing.next();
      if (following === undefined) listing.close();
      for (const entry of entries) if (!isDots(entry.nameBytes)) yield entry;
      entries = following;
    }
  } finally {
    listing.close();
  }
}

function treeKind(kind: FileKind): TreeKind {
  return kind === 'file' || kind === 'directory' || kind === 'symlink' ? kind : 'other';
}

function inTheWay(local: string): SshError {
  const path = printable(local, 1024);
  const message = `${path} is not what it has to be, a directory only for a directory and never a link to one: move it away`;
  return new SshError('bad-local-file', message, { operation: 'make', path });
}
