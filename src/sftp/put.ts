/**
 * Uploads. A remote file appears under its name only when every byte is there and its size was checked; whatever fails
 * leaves nothing behind that looks whole. No SETSTAT is sent unless it was asked for: many gateways refuse it.
 */

import { printable, toBytes } from '../bytes/text.ts';
import { SshError, toSshError } from '../errors.ts';
import type { LocalFiles } from '../io/local_files.ts';
import { BlockDigests, type DigestsOf, digestsOfReader, digestsTaken } from './digests.ts';
import type { Link } from './link.ts';
import { closeHandle, closeQuietly, fsetstat, fstat, fsync, needOffer, openFile, stat } from './operations.ts';
import type { RemotePath, TransferStats } from './options.ts';
import { remoteAttributes } from './preserve.ts';
import { type Attributes, fileKind } from './proto/attrs.ts';
import { extensions } from './proto/extensions.ts';
import { packets } from './proto/packets.ts';
import { isStatusError } from './proto/status.ts';
import { type Input, openInput } from './put_input.ts';
import { checkPutOptions, checkSource, type LocalSource, type PutOptions, type PutResult } from './put_options.ts';
import { ifTold, keepPart, movePart, openInPlace, openPart, type PartTarget } from './put_resume.ts';
import { moveIntoPlace, openTarget, type PutHints, removeTemporary, type Target } from './put_target.ts';
import { resumableError, withProgressFrom } from './resume.ts';
import type { WriteSource } from './source.ts';
import { digestedSource } from './sources.ts';
import { type Running, startWrite } from './transfer.ts';
import { needDigests, verifyContent } from './verify.ts';
import { sparseSource } from './zeros.ts';

/** Copies `local` to a remote file. */
export async function put(
  link: Link,
  local: LocalSource,
  remote: RemotePath,
  files: LocalFiles | undefined,
  options: PutOptions,
  hints: PutHints = {},
): Promise<PutResult> {
  checkPutOptions(options);
  if (options.sync && link.greeting) await link.ready;
  if (options.verify === 'hash') await needDigests(link);
  if (options.sync) needOffer(link, extensions.fsync, 'put');
  return putInput(link, await openInput(local, files), remote, options, hints);
}

/** Copies what `input` gives to a remote file, and closes it. */
export async function putInput(
  link: Link,
  input: Input,
  remote: RemotePath,
  options: PutOptions,
  hints: PutHints = {},
): Promise<PutResult> {
  const warnings: string[] = [];
  let source: WriteSource | undefined;
  let dropped: Promise<void> | undefined;
  try {
    checkSource(options, input);
    const target = await choose(link, remote, input, options, hints, warnings);
    dropped = target.dropped;
    const content = contentOf(input, target, options);
    source = content.source;
    const upload = new Upload(target, input, options, warnings);
    const stats = await upload.run(source, remote, content.digests);
    return { ...stats, warnings, ...(target.skip === 0 ? {} : { resumedFrom: target.skip }) };
  } finally {
    await dropped;
    // a source that was never asked has to be told all the same that nobody will
    await (source ?? input.open(0)).stop();
    await input.close().catch(() => undefined); // it was only read from
  }
}

/** The remote file to write, open. */
async function choose(
  link: Link,
  remote: RemotePath,
  input: Input,
  options: PutOptions,
  hints: PutHints,
  warnings: string[],
): Promise<Target | PartTarget> {
  const { permissions } = input;
  if (options.append || options.position !== undefined) return openInPlace(link, remote, permissions, options);
  const part = options.resume ? await openPart(link, remote, input, options, hints, warnings) : undefined;
  return part ?? openTarget(link, remote, permissions, options, hints);
}

/** What is to be sent, and its digests once it was, where they will be wanted. */
function contentOf(
  input: Input,
  target: Target | PartTarget,
  options: PutOptions,
): { readonly source: WriteSource; readonly digests?: () => Promise<DigestsOf> } {
  const { plan, skip } = target;
  const length = 'length' in target ? target.length : 0;
  const sparse = (source: WriteSource): WriteSource =>
    options.sparse && !plan.inPlace ? sparseSource(source, length - skip) : source;
  const source = input.open(skip);
  const { verify = 'size', signal } = options;
  if (verify === 'size') return { source: sparse(source) };
  const { read } = input;
  if (read !== undefined) return { source: sparse(source), digests: async () => digestsOfReader(read, 0, signal) };
  const blocks = new BlockDigests();
  return {
    source: sparse(digestedSource(source, blocks)),
    digests: async () => {
      await blocks.end();
      return digestsTaken(blocks.digests);
    },
  };
}

/** Content up to this many bytes is checked and closed without waiting for the WRITEs: for more, a round trip is little. */
const SMALL = 256 * 1024;

/** Answers to what left right behind the last WRITE: all of them must be good before the file may get its name. */
interface Tail {
  readonly attrs: Promise<Attributes>;
  readonly flushed: Promise<void> | undefined;
  readonly closed: Promise<void>;
}

/** An upload into an open file, until that has its name or is gone. */
class Upload {
  readonly #target: Target | PartTarget;
  readonly #input: Input;
  readonly #options: PutOptions;
  readonly #warnings: string[];
  /** What FSETSTAT is to set, if the server has it otherwise: what was asked for by name, and with what is preserved. */
  readonly #asked: Attributes;
  readonly #wanted: Attributes;
  #running: Running | undefined;
  #isOpen = true;
  /** Why the part is not for us to keep, move or remove. */
  #notOurs: SshError | undefined;

  constructor(target: Target | PartTarget, input: Input, options: PutOptions, warnings: string[]) {
    this.#target = target;
    this.#input = input;
    this.#options = options;
    this.#warnings = warnings;
    const preserved = input.stat === undefined ? {} : remoteAttributes(input.stat, options.preserve);
    const { permissions } = options;
    this.#asked = permissions === undefined ? {} : { permissions };
    this.#wanted = { ...preserved, ...this.#asked };
  }

  async run(
    source: WriteSource,
    remote: RemotePath,
    digests: (() => Promise<DigestsOf>) | undefined,
  ): Promise<TransferStats> {
    const { plan, file } = this.#target;
    try {
      const stats = await this.#write(source);
      await this.#needWholeSource(stats.bytes);
      if (digests !== undefined) await this.#verify(stats.bytes, await digests());
      if ('paths' in this.#target) {
        this.#notOurs = await movePart(this.#target, this.#target.start + stats.bytes, remote, this.#options);
        if (this.#notOurs !== undefined) throw this.#notOurs;
      } else if (!plan.inPlace) await moveIntoPlace(file.link, plan.path, remote, this.#options);
      return stats;
    } catch (error) {
      throw await this.#failed(toSshError(error, 'internal'));
    }
  }

  /** Writes, checks and closes the file. */
  async #write(source: WriteSource): Promise<TransferStats> {
    const { file, start, skip } = this.#target;
    const { size } = this.#input;
    const options = withProgressFrom(this.#options, skip);
    let tail: Tail | undefined;
    const span = 'span' in this.#target ? this.#target.span : undefined;
    // The draft (§6.1) has requests on one file carried out in order. FSETSTAT depends on what FSTAT says, and a part that is
    // to be kept has to be open yet when a WRITE is refused.
    const pipelined = span === undefined && Object.keys(this.#wanted).length === 0 && options.requests !== 1;
    const onSent = (bytes: number): void => {
      if (!pipelined || bytes > SMALL) return;
      const flushed = options.sync ? fsync(file, options) : undefined;
      tail = { attrs: fstat(file, options), flushed, closed: this.#close() };
      for (const answer of [tail.attrs, tail.flushed, tail.closed]) answer?.catch(() => undefined); // each is looked at below
    };
    const total = size === undefined ? undefined : size - skip;
    this.#running = startWrite(file, source, start, total, options, span, onSent);
    const stats = await this.#running.done;
    if (tail === undefined) {
      await this.#check(stats.bytes, await ifTold(fstat(file, options)));
      if (options.sync) await fsync(file, options);
      await this.#close();
    } else {
      await this.#checkTail(stats.bytes, tail);
    }
    return stats;
  }

  /** Files that a system makes up as they are read may be shorter than they say; one that was cut meanwhile says so itself. */
  async #needWholeSource(written: number): Promise<void> {
    const { size = 0, sizeNow } = this.#input;
    const sent = this.#target.skip + written;
    if (sizeNow === undefined || sent >= size) return;
    const now = await sizeNow();
    if (now >= size) return;
    const path = printable(this.#target.file.path, 1024);
    const message = `put ${path}: the local file was cut from ${size} to ${now} bytes while it was read: ${sent} were sent`;
    throw new SshError('incomplete', message, { operation: 'put', path, transferred: written });
  }

  #close(): Promise<void> {
    this.#isOpen = false; // refused or not, the handle is gone
    return closeHandle(this.#target.file, this.#options);
  }

  async #checkTail(written: number, tail: Tail): Promise<void> {
    const { file, plan } = this.#target;
    let attrs = await ifTold(tail.attrs);
    await tail.flushed;
    await tail.closed;
    // a server that looked before it had written is asked again
    if (attrs.size !== this.#target.start + written) {
      attrs = await ifTold(stat(file.link, packets.stat, plan.path, this.#options));
    }
    await this.#check(written, attrs);
  }

  /** Compares the size with what was written, and sets what was asked for. */
  async #check(written: number, attrs: Attributes): Promise<void> {
    const { file, start } = this.#target;
    const path = printable(file.path, 1024);
    const kind = fileKind(attrs);
    const end = start + written;
    const { size } = attrs;
    const isWrong = this.#options.position === undefined ? size !== end : size !== undefined && size < end;
    if ((kind === 'file' || kind === 'unknown') && size !== undefined && isWrong) {
      const message = `put ${path}: the server has ${size} bytes of the ${end} that it acknowledged`;
      throw new SshError('incomplete', message, { fault: 'peer', operation: 'put', path, transferred: written });
    }
    await this.#setAttributes(attrs);
  }

  async #setAttributes(attrs: Attributes): Promise<void> {
    const kind = fileKind(attrs);
    // those of a device are not for a copy to change
    const all = kind === 'file' || kind === 'unknown' ? this.#wanted : this.#asked;
    const { permissions, ...times } = all;
    const isRight = attrs.permissions !== undefined && (attrs.permissions & 0o7777) === permissions;
    const wanted = permissions === undefined || isRight ? times : all;
    if (Object.keys(wanted).length === 0) return;
    try {
      await fsetstat(this.#target.file, wanted, { ...this.#options, times: 'clamp' });
    } catch (error) {
      if (!isStatusError(error)) throw error;
      const what = wanted === times ? 'times' : wanted.mtime === undefined ? 'permissions' : 'permissions and times';
      this.#warnings.push(`The ${what} were not set: ${error.message}`);
    }
  }

  /** Compares the file with what was sent; all of it where a part was there already. */
  async #verify(written: number, expected: DigestsOf): Promise<void> {
    const { file, plan, start, skip } = this.#target;
    const { verify, ...options } = this.#options;
    const { link } = file;
    const how = verify === 'hash' ? 'hash' : 'content';
    const reader = await openFile(link, plan.path, 'r', {}, options, closeQuietly, file.path);
    try {
      const range = { start: start - skip, length: skip + written };
      await verifyContent('put', reader, range, expected, how, options);
    } finally {
      closeQuietly(reader);
    }
  }

  /** Removes what is not whole, unless it is written in place or to be resumed. The error to tell. */
  async #failed(error: SshError): Promise<SshError> {
    const { file, plan, skip } = this.#target;
    if (error === this.#notOurs) return error;
    if ('paths' in this.#target) {
      const isOrdered = this.#running === undefined || this.#running.lanes() <= 1;
      const { transferred = this.#running === undefined ? 0 : undefined } = error;
      const sure = transferred === undefined || !this.#isOpen ? undefined : skip + transferred;
      const reached = this.#running?.reached() ?? skip;
      const kept = await keepPart(this.#target, { error, sure, reached, isOpen: this.#isOpen, isOrdered });
      return resumableError(error, skip, kept);
    }
    if (this.#isOpen) closeQuietly(file);
    if (!plan.inPlace) await removeTemporary(file.link, plan.path, error);
    return error;
  }
}

/** Writes `data` into a remote file, in place. */
export async function writeFile(
  link: Link,
  path: RemotePath,
  data: string | Exclude<LocalSource, string>,
  options: PutOptions,
): Promise<void> {
  await put(link, typeof data === 'string' ? toBytes(data) : data, path, undefined, { ...options, atomic: false });
}
