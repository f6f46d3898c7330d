/**
 * Where the bytes of a download go, and what becomes of them when they are all there, or not: a local path, an open file or
 * a stream. Knows local files; of the remote one only what it is told.
 */

import { printable } from '../bytes/text.ts';
import { SshError } from '../errors.ts';
import type { LocalAttributes, LocalFile, LocalFiles, LocalStat } from '../io/local_files.ts';
import { BlockDigests, type DigestsOf, digestsOfReader, digestsTaken } from './digests.ts';
import { FileSink, type Placement } from './file_sink.ts';
import type { GetHints, GetOptions, LocalTarget } from './get_options.ts';
import { OrderedSink } from './ordered_sink.ts';
import { temporaryPath } from './path.ts';
import { openBeside } from './refusals.ts';
import type { ReadSink } from './sink.ts';

export interface Output {
  readonly sink: ReadSink;
  /** Moves the bytes out of the sink, where that is not the sink's own doing. Rejects if it cannot. */
  readonly drain?: () => Promise<void>;
  /** The first byte that is wanted, where a part is there already. */
  readonly resumedFrom?: number;
  /** After the last byte: resolves when all are where they belong. */
  settle(): Promise<void>;
  /** Calls `compare` with what arrived, from the first byte on. After `settle`. */
  compare(compare: (arrived: DigestsOf) => Promise<void>): Promise<void>;
  setAttributes(attributes: LocalAttributes): Promise<void>;
  commit(): Promise<void>;
  /** Resolves with the path under which something stays that `resume` can go on from. */
  discard(error: SshError): Promise<string | undefined>;
}

/** What becomes of the file that is written. */
export interface Fate {
  /** Opens it to be read. */
  readonly reopen: () => Promise<LocalFile>;
  /**
   * Before the file is cut: takes it to where no other transfer finds it. Absent where none would. Rejects where another has it
   * by now, or writes in it, behind the `end` of what we wrote: then it is not for us to cut.
   */
  claim?(end: number): Promise<void>;
  /** All is there, and the file closed. */
  keep(): Promise<void>;
  /**
   * It failed. Bytes up to `sure` are there and nothing else is; `undefined`: all that was written is there, maybe with holes.
   * Resolves as `Output.discard`.
   */
  drop(error: SshError, sure: number | undefined): Promise<string | undefined>;
}

const nothing = async (): Promise<undefined> => undefined;

/** A file that is written. `fate` is absent for one of the caller's, which stays open. */
export class FileOutput implements Output {
  readonly sink: FileSink;
  readonly resumedFrom?: number;
  readonly #file: LocalFile;
  readonly #fate: Fate | undefined;
  readonly #placement: Placement;
  readonly #options: GetOptions;
  /**
   * `flushing`, `closing`: the system is asked whether what was written is there. If it says no, nobody knows what is. `written`:
   * closed with all that belongs in it.
   */
  #state: 'open' | 'flushing' | 'closing' | 'written' = 'open';

  constructor(file: LocalFile, fate: Fate | undefined, placement: Placement, options: GetOptions) {
    this.sink = new FileSink(file, placement);
    this.#file = file;
    this.#fate = fate;
    this.#placement = placement;
    this.#options = options;
    if (placement.start !== undefined && placement.start > placement.origin) this.resumedFrom = placement.start;
  }

  async settle(): Promise<void> {
    if (this.#placement.holesFrom !== undefined) await this.sink.lengthen();
  }

  async compare(compare: (arrived: DigestsOf) => Promise<void>): Promise<void> {
    if (this.#placement.inOrder) throw new SshError('bad-argument', 'verify cannot read back what went to a device');
    const reader = (await this.#fate?.reopen()) ?? this.#file;
    try {
      const { signal } = this.#options;
      await compare(digestsOfReader((target, position) => reader.read(target, position), 0, signal));
    } finally {
      if (reader !== this.#file) await reader.close().catch(() => undefined); // it was only read from
    }
  }

  async setAttributes(attributes: LocalAttributes): Promise<void> {
    // those of a device are not for a copy to change
    if (!this.#placement.inOrder) await this.#file.setAttributes(attributes);
  }

  async commit(): Promise<void> {
    if (this.#options.sync) {
      this.#state = 'flushing';
      await this.#file.sync();
    }
    if (this.#fate === undefined) return;
    this.#state = 'closing';
    await this.#file.close();
    this.#state = 'written';
    await this.#fate.keep();
  }

  /** What is not whole is cut behind the last byte that is sure. */
  async discard(error: SshError): Promise<string | undefined> {
    let sure: number | undefined = this.#state === 'written' ? this.sink.contiguous : 0;
    if (this.#state === 'open') {
      await this.sink.idle();
      sure = await this.#cut().catch(() => undefined); // what is not cut may have holes
    }
    if (this.#fate === undefined) return undefined;
    if (this.#state === 'open' || this.#state === 'flushing') {
      await this.#file.close().catch(() => {
        sure = 0;
      });
    }
    return this.#fate.drop(error, sure);
  }

  async #cut(): Promise<number | undefined> {
    if (this.#placement.inOrder) return undefined;
    await this.#fate?.claim?.(this.sink.end);
    const { contiguous } = this.sink;
    await this.#file.truncate(contiguous - this.#placement.origin);
    return contiguous;
  }
}

/** An open file of the caller's. */
export async function callersFile(file: LocalFile, options: GetOptions): Promise<Output> {
  const holesFrom = options.sparse ? await file.size() : undefined;
  return new FileOutput(file, undefined, { origin: options.start ?? 0, holesFrom }, options);
}

/** What stands at a local path, and where exactly. */
export interface Place {
  /** The path with symbolic links followed. */
  readonly target: string;
  readonly there: LocalStat | undefined;
}

/** Looks at the target. Throws where nothing may be written to it. */
export async function findPlace(
  path: string,
  files: LocalFiles,
  options: GetOptions,
  { regular = false }: GetHints,
): Promise<Place> {
  let target = path;
  let there = await files.stat(path);
  if (there !== undefined && options.overwrite === false) throw isThere(path);
  if (there?.kind === 'symlink' && regular) there = undefined;
  if (there?.kind === 'symlink') {
    // What a link points to is replaced, not the link.
    const resolved = await files.resolve(path);
    there = resolved === undefined ? there : await files.stat(resolved);
    target = resolved ?? path;
  }
  const shown = printable(path, 1024);
  if (there?.kind === 'directory') {
    const message = `${shown} is a directory: give the path of the file to write`;
    throw new SshError('bad-local-file', message, { operation: 'open', path: shown });
  }
  if (there !== undefined && there.kind !== 'file' && regular) {
    const message = `${shown} is neither a file nor a link and is not written to: move it away`;
    throw new SshError('bad-local-file', message, { operation: 'open', path: shown });
  }
  return { target, there };
}

function isThere(path: string): SshError {
  const shown = printable(path, 1024);
  const message = `get ${shown}: the target exists; overwrite: true replaces it`;
  return new SshError('target-exists', message, { fault: 'policy', operation: 'get', path: shown });
}

/** Moves the whole file to its name. */
export async function moveToTarget(files: LocalFiles, from: string, to: string, options: GetOptions): Promise<void> {
  // what came into being meanwhile is respected too
  if (options.overwrite === false && (await files.stat(to)) !== undefined) throw isThere(to);
  await files.rename(from, to);
}

/** A file that is written where it stands, as it arrives. */
export async function fileInPlace(files: LocalFiles, place: Place, options: GetOptions): Promise<Output> {
  const { target, there } = place;
  const create = options.overwrite === false ? 'new' : 'replace';
  const file = await openBeside(files, target, target, { access: 'write', create });
  const inOrder = there?.kind === 'other';
  const fate = { reopen: () => files.open(target, { access: 'read' }), keep: nothing, drop: nothing };
  const placement = { origin: options.start ?? 0, inOrder, holesFrom: options.sparse && !inOrder ? 0 : undefined };
  return new FileOutput(file, fate, placement, options);
}

/** A file under a temporary name, which gets that of the target when it is whole. */
export async function temporaryFile(files: LocalFiles, place: Place, options: GetOptions): Promise<Output> {
  const { target, there } = place;
  const temporary = files.beside(target, temporaryPath(files.name(target)) as string);
  const permissions = there?.permissions === undefined ? {} : { permissions: there.permissions };
  const file = await openBeside(files, temporary, target, { access: 'write', create: 'new', ...permissions });
  const fate: Fate = {
    reopen: () => files.open(temporary, { access: 'read' }),
    keep: () => moveToTarget(files, temporary, target, options),
    drop: async () => {
      await files.remove(temporary);
      return undefined;
    },
  };
  const placement = { origin: options.start ?? 0, holesFrom: options.sparse ? 0 : undefined };
  return new FileOutput(file, fate, placement, options);
}

/** Writes to the stream at its pace, and closes it. */
export function streamOutput(stream: WritableStream<Uint8Array>, options: GetOptions): Output {
  const sink = new OrderedSink(options.start ?? 0);
  const writer = stream.getWriter();
  const digests = options.verify === 'hash' || options.verify === 'content' ? new BlockDigests() : undefined;
  const drain = async (): Promise<void> => {
    for (;;) {
      await writer.ready;
      const next = await new Promise<Uint8Array | undefined>((resolve) =>
        sink.next((answer) => resolve('bytes' in answer ? answer.bytes : undefined)),
      );
      if (next === undefined) return;
      await digests?.add(next); // before the consumer has it
      await writer.write(next);
    }
  };
  let drained: Promise<void> | undefined;
  return {
    sink,
    drain: () => {
      drained = drain();
      return drained;
    },
    settle: async () => {
      sink.settle(undefined);
      await drained;
      await digests?.end();
    },
    compare: (compare) => compare(digestsTaken(digests?.digests ?? [])),
    setAttributes: nothing,
    commit: () => writer.close(),
    discard: async (error) => {
      sink.settle(error);
      await writer.abort(error);
      return undefined;
    },
  };
}

/** Whether the target is a stream. Throws `bad-argument` for what is no target. */
export function isStream(local: Exclude<LocalTarget, string>): local is WritableStream<Uint8Array> {
  const isObject = typeof local === 'object' && local !== null;
  if (isObject && 'getWriter' in local) return true;
  if (isObject && typeof local.write === 'function' && typeof local.truncate === 'function') return false;
  throw new SshError('bad-argument', 'get needs a local path, an open file or a stream to write to');
}
