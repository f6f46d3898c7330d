/**
 * The SFTP client: SFTP 3 (draft-ietf-secsh-filexfer-02) over any byte pipe, with promises. Knows nothing of SSH: the pipe
 * may be a channel with the subsystem `sftp`, or the standard input and output of a server.
 */

import type { Bytes } from '../bytes/bytes.ts';
import { shownValue, wrong } from '../core/option_checks.ts';
import { SshError } from '../errors.ts';
import { systemClock } from '../io/clock.ts';
import type { LocalFiles } from '../io/local_files.ts';
import type { BytePipe, PipeStats } from '../io/pipe.ts';
import { checkAttributes, checkFlags, checkLocalPath, checkOptions, checkRemotePath } from './check_options.ts';
import { checkClientOptions, type SftpClientOptions } from './client_options.ts';
import { type CopyOptions, type CopyResult, type CopyToOptions, copy, copyTo } from './copy.ts';
import { get } from './get.ts';
import type { GetOptions, GetResult, LocalTarget } from './get_options.ts';
import { type GlobOptions, glob } from './glob.ts';
import { greet } from './greet.ts';
import { LanePool } from './lane_pool.ts';
import { Link } from './link.ts';
import { MemorySink } from './memory_sink.ts';
import { closeHandle, closeQuietly, type OpenFlags, type OpenHandle, type OpenMode, openFile } from './operations.ts';
import { DEFAULT_STALL_TIMEOUT, type RangeOptions, type RemotePath, type TransferOptions } from './options.ts';
import type { Attributes } from './proto/attrs.ts';
import { put, writeFile } from './put.ts';
import { type LocalSource, type PutOptions, type PutResult, RESUME_IN_PLACE } from './put_options.ts';
import type { WalkEntry } from './read_tree.ts';
import { openSource, readError } from './refusals.ts';
import { SftpRequests } from './requests.ts';
import { chunksOf, readableOf, writableOf } from './streams.ts';
import { startRead } from './transfer.ts';
import { getTree } from './tree/get_tree.ts';
import type { TreeOptions, TreeResult } from './tree/options.ts';
import { putTree } from './tree/put_tree.ts';
import type { TreeSession } from './tree/session.ts';
import { type WalkOptions, walk } from './walk.ts';

/** A session as of a moment. */
export interface SftpStats extends Partial<PipeStats> {
  /** Requests that wait for their answers. */
  readonly requestsInFlight: number;
  /** Bytes of files that were asked for and are not here, with the headers of their packets. */
  readonly bytesAsked: number;
  /** Bytes of files that are here and that their consumer is not done with. */
  readonly bytesHeld: number;
  /** Files and directories that are open at the server. */
  readonly openHandles: number;
}

/** What the caller of `SftpClient.open` knows of the program at the other end of the pipe. */
export interface ProgramKnowledge {
  /** Adds to an error that comes in place of VERSION what is known of it. */
  readonly explain?: (cause: SshError) => SshError;
  /** Rejects when there will be no program. */
  readonly started?: Promise<void>;
  /** Resolves when what is said reaches it: until then it owes no answer. */
  readonly reached?: Promise<void>;
}

/** Options of `readFile`. */
export interface ReadFileOptions extends RangeOptions {
  /** More bytes than this are the error `limit`. Default: 1 GiB. */
  readonly maxBytes?: number | undefined;
}

/** Most that `readFile` holds by default: within what one array takes in every runtime. */
const READ_FILE_MAX = 1024 * 1024 * 1024;

/**
 * An SFTP session. Operations may overlap freely. Each rejects with an `SshError`: `sftp-status` with `status`,
 * `operation` and `path` where the server refused, `aborted`, `timeout`, or, when the connection has ended, the one
 * error that ended it.
 */
export class SftpClient extends SftpRequests {
  readonly #files: LocalFiles | undefined;

  private constructor(link: Link, options: SftpClientOptions) {
    super(link, options.symlinkOrder ?? 'openssh');
    this.#files = options.localFiles;
  }

  /**
   * Greets the server at the other end of `pipe`, which must not be open yet and belongs to the client from now on.
   * `sftp-unavailable`: what answers is not SFTP. `not-supported`: another version.
   */
  static async open(
    pipe: BytePipe,
    options: SftpClientOptions = {},
    { explain, started, reached }: ProgramKnowledge = {},
  ): Promise<SftpClient> {
    const { signal, maxPacket, early, extensions, limits } = options;
    if (typeof pipe?.open !== 'function') throw new SshError('bad-argument', 'SFTP needs a byte pipe to run on');
    checkClientOptions(options);
    const clock = options.clock ?? systemClock;
    const stallTimeout = options.stallTimeout ?? DEFAULT_STALL_TIMEOUT;
    const linkOptions = { clock, stallTimeout, extensions, limits, ...(maxPacket === undefined ? {} : { maxPacket }) };
    const handling = early === 'send' ? 'send' : early ? 'hold' : 'refuse';
    const link = new Link(pipe, { ...linkOptions, early: handling, explain, reached });
    started?.catch((error) => link.fail(error));
    if (options.openLane !== undefined) link.pool = new LanePool(options.openLane, linkOptions, link);
    const ready = greet(link, stallTimeout, signal);
    if (!early || link.cause !== undefined) await ready;
    return new SftpClient(link, options);
  }

  /**
   * What is under way, and what the channel that it runs on has moved, as of now, and how its windows stand; without further
   * channels that an upload may use. What concerns the channel is absent on a pipe that cannot tell.
   */
  get stats(): SftpStats {
    const { stats, pending, budget, handles } = this.link;
    const { asked, held } = budget;
    return { ...stats, requestsInFlight: pending, bytesAsked: asked, bytesHeld: held, openHandles: handles.size };
  }

  /**
   * Downloads a file. A local path comes into being, or is replaced, only when every byte is there. `incomplete`: the
   * file ended before the size that the server stated. Errors say in `transferred` how many bytes from the start came.
   */
  async get(remote: RemotePath, local: LocalTarget, options: GetOptions = {}): Promise<GetResult> {
    checkOptions('get', options);
    return get(this.link, remote, local, this.#files, options);
  }

  /**
   * Uploads a file. The remote path comes into being, or is replaced, only when every byte is there. `target-exists`:
   * the server cannot replace a file in one step; `atomic: false` writes in place.
   */
  async put(local: LocalSource, remote: RemotePath, options: PutOptions = {}): Promise<PutResult> {
    checkOptions('put', options);
    return put(this.link, local, remote, this.#files, options);
  }

  /**
   * Downloads what the directory `remote` holds into the local directory `local`, which comes into being where it is not there.
   * Many files are under way at once. Single files that fail do not reject: `failed` in the result has them. What ends
   * everything rejects: the root cannot be listed or made, the signal fires, the session ends.
   */
  async getTree(remote: RemotePath, local: string, options: TreeOptions = {}): Promise<TreeResult> {
    checkTree('getTree', local, remote, options);
    return getTree(this.#trees, remote, local, options);
  }

  /** Uploads what the local directory `local` holds into the directory `remote`, likewise. */
  async putTree(local: string, remote: RemotePath, options: TreeOptions = {}): Promise<TreeResult> {
    checkTree('putTree', local, remote, options);
    return putTree(this.#trees, local, remote, options);
  }

  get #trees(): TreeSession {
    return { link: this.link, requests: this, files: this.#files };
  }

  /**
   * Copies a file on the server: by copy-data where the server has it, without moving the content over the line, otherwise by
   * reading and writing. The copy comes into being when it is whole. `bad-argument`: both are one file, or `from` is a
   * directory.
   */
  async copy(from: RemotePath, to: RemotePath, options: CopyOptions = {}): Promise<CopyResult> {
    checkOptions('copy', options);
    return copy(this.link, from, to, options);
  }

  /** Copies a file to another server, or another session of one, through this side; no more is held than is under way. */
  async copyTo(from: RemotePath, other: SftpClient, to: RemotePath, options: CopyToOptions = {}): Promise<CopyResult> {
    if (!(other instanceof SftpClient)) {
      throw wrong('copyTo', `the target is another SftpClient, as client.sftp() gives one, not ${shownValue(other)}`);
    }
    checkOptions('copyTo', options);
    return copyTo(this.link, from, other.link, to, options);
  }

  /**
   * The entries of a directory and of all below it, read far ahead of the loop. Symbolic links are entries and not followed;
   * names that would lead elsewhere are left out. Leaving the loop early closes what is open.
   */
  walk(path: RemotePath, options: WalkOptions = {}): AsyncGenerator<WalkEntry> {
    checkRemotePath('walk', path);
    checkOptions('walk', options);
    return walk(this.link, path, options);
  }

  /**
   * The entries whose paths match a pattern: `*`, `?`, `[a-z]`, `[!a-z]`, `{a,b}`, `**` for any number of directories, and a
   * backslash before what is meant as it is. Throws `bad-argument` for what is no pattern.
   */
  glob(pattern: RemotePath, options: GlobOptions = {}): AsyncGenerator<WalkEntry> {
    checkOptions('glob', options);
    return glob(this.link, pattern, options);
  }

  /** The content of a file, or of the part from `start` to `end`, in memory. */
  async readFile(path: RemotePath, options: ReadFileOptions = {}): Promise<Bytes> {
    checkOptions('readFile', options);
    const { maxBytes = READ_FILE_MAX } = options;
    const sink = new MemorySink(options.start ?? 0, maxBytes);
    const file = await openSource(this.link, path, options);
    try {
      await startRead(file, sink, options, 'ask').done.catch(async (error: SshError) => {
        throw await readError(error, file, options);
      });
    } finally {
      closeQuietly(file);
    }
    return sink.result;
  }

  /** Writes a file, in place: it is created or emptied first. Text is sent as UTF-8. */
  async writeFile(
    path: RemotePath,
    data: string | Exclude<LocalSource, string>,
    options: Omit<PutOptions, 'atomic'> = {},
  ): Promise<void> {
    checkOptions('writeFile', options);
    return writeFile(this.link, path, data, options);
  }

  /** The content of a file, piece by piece; pieces are of any size. Leaving the loop early ends the transfer. */
  async *chunks(path: RemotePath, options: RangeOptions = {}): AsyncGenerator<Bytes> {
    checkOptions('chunks', options);
    const file = await openSource(this.link, path, options);
    try {
      yield* chunksOf(file, options);
    } finally {
      closeQuietly(file);
    }
  }

  /** The content of a file as a Web Stream. What is not read holds the server back. */
  readable(path: RemotePath, options: RangeOptions = {}): ReadableStream<Bytes> {
    const open = async (): Promise<OpenHandle> => {
      checkOptions('readable', options);
      return openSource(this.link, path, options);
    };
    return readableOf(open, closeQuietly, options);
  }

  /** A Web Stream into a file. Closing it waits for every acknowledgement and for CLOSE. */
  writable(
    path: RemotePath,
    options: TransferOptions & {
      readonly flags?: OpenFlags | OpenMode | undefined;
      readonly start?: number | undefined;
      readonly attrs?: Attributes | undefined;
    } = {},
  ): WritableStream<Uint8Array> {
    const open = async (): Promise<OpenHandle> => {
      const { flags = 'w', attrs = {} } = options;
      checkOptions('writable', options);
      checkFlags(flags);
      checkAttributes('writable', attrs);
      return openFile(this.link, path, flags, attrs, options);
    };
    return writableOf(open, (file) => closeHandle(file, options), closeQuietly, options);
  }
}

/** A tree is seen through late: what was not given would be found out in the midst of it. */
function checkTree(method: 'getTree' | 'putTree', local: unknown, remote: unknown, options: TreeOptions): void {
  checkLocalPath(method, local);
  checkRemotePath(method, remote);
  checkOptions(method, options);
  if (method === 'putTree' && options.resume && options.atomic === false) throw wrong(method, RESUME_IN_PLACE);
}
