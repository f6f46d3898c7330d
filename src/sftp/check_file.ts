/** Digests of files, taken by the server: check-file, draft-ietf-secsh-filexfer-extensions-00 §3. */

import { printable } from '../bytes/text.ts';
import { protocolError, SshError } from '../errors.ts';
import { ask } from './extended.ts';
import type { Link } from './link.ts';
import { closeQuietly, type OpenHandle, openFile } from './operations.ts';
import type { CallOptions, RemotePath } from './options.ts';
import { pathBytes } from './path.ts';
import {
  DIGEST_ALGORITHMS,
  type DigestAlgorithm,
  type FileDigests,
  isDigestAlgorithm,
  readDigests,
} from './proto/digests.ts';
import { extensions } from './proto/extensions.ts';
import { Status } from './proto/status.ts';
import { whole } from './transfer.ts';

/** Which part of a file to take digests of, and how. */
export interface CheckFileOptions extends CallOptions {
  /** Algorithms that will do, the best first. Default: sha256, sha512, sha384, sha224, sha1, md5. */
  readonly algorithms?: readonly DigestAlgorithm[] | undefined;
  /** First byte, counted from 0. Default: 0. */
  readonly start?: number | undefined;
  /** How many bytes. Default: to the end of the file. */
  readonly length?: number | undefined;
  /** Bytes a digest, at least 256; the last may be of fewer. Default: one digest for everything. */
  readonly blockSize?: number | undefined;
}

/** Least bytes of a block: the draft, §3. */
const LEAST_BLOCK = 256;

/** Most, being a uint32. */
const MOST_BLOCK = 2 ** 32 - 1;

/** Most bytes of a block for paramiko, which reads a longer one in pieces, wrongly, until it never answers (2.12, `_check_file`). */
const PARAMIKO_BLOCK = 64 * 1024;

/** What is asked for, and how many digests answer it; `undefined`: as many as there are blocks. */
interface Question {
  readonly algorithms: readonly DigestAlgorithm[];
  readonly start: bigint;
  readonly length: bigint;
  readonly blockSize: number;
  readonly count: number | undefined;
  /** Whether the last block is a whole one: then whatever comes behind it is of no concern. */
  readonly isEven: boolean;
}

function question(options: CheckFileOptions): Question {
  const { algorithms = DIGEST_ALGORITHMS, length, blockSize } = options;
  for (const name of algorithms) {
    if (!isDigestAlgorithm(name)) throw new SshError('bad-argument', `Not a digest algorithm: ${String(name)}`);
  }
  const start = whole('start', options.start ?? 0, 0);
  const bytes = length === undefined ? 0 : whole('length', length, 1);
  if (blockSize !== undefined && whole('blockSize', blockSize, LEAST_BLOCK) > MOST_BLOCK) {
    throw new SshError('bad-argument', `blockSize is at most ${MOST_BLOCK}, not ${blockSize}`);
  }
  // ProFTPD (1.3.8) ends `start` bytes too late where both are given: of a block of this length the end is right.
  const isBlock = start > 0 && bytes >= LEAST_BLOCK && bytes <= MOST_BLOCK;
  const size = blockSize ?? (isBlock ? bytes : 0);
  const count = bytes === 0 ? (size === 0 ? 1 : undefined) : size === 0 ? 1 : Math.ceil(bytes / size);
  const isEven = size > 0 && bytes % size === 0;
  return { algorithms, start: BigInt(start), length: BigInt(bytes), blockSize: size, count, isEven };
}

/** What paramiko does of it. */
function forParamiko(asked: Question, announced: string): Question {
  const known = announced.split(',');
  if (!asked.algorithms.some((name) => known.includes(name))) {
    throw unsupported(`the server takes ${printable(announced)} only`);
  }
  const length = Number(asked.length);
  const size = asked.blockSize === 0 ? Math.max(length, LEAST_BLOCK) : asked.blockSize;
  if (size > PARAMIKO_BLOCK || (asked.blockSize === 0 && length === 0)) {
    throw unsupported(`the server takes digests of at most ${PARAMIKO_BLOCK} bytes each: give a blockSize`);
  }
  return { ...asked, blockSize: size };
}

/** check-file-handle, or what paramiko has in its place. `not-supported` where it is not offered. */
export async function checkHandle(file: OpenHandle, options: CheckFileOptions): Promise<FileDigests> {
  const { link, handle, path } = file;
  const asked = question(options);
  if (link.greeting) await link.ready;
  const { checkFile, checkFileHandle } = extensions;
  if (link.extensions.has(checkFileHandle.request)) {
    return checked(ask(link, checkFileHandle, { handle, ...asked }, readDigests, 'check-file', path, options), asked);
  }
  const announced = link.extensions.get(checkFile.request);
  if (announced === undefined) throw unsupported('the server does not offer it');
  const value = { handle, ...forParamiko(asked, announced) };
  return checked(ask(link, checkFile, value, readDigests, 'check-file', path, options), asked);
}

/** check-file-name; a server that has it for open files alone has the file opened. */
export async function checkName(link: Link, path: RemotePath, options: CheckFileOptions): Promise<FileDigests> {
  const asked = question(options);
  if (link.greeting) await link.ready;
  const { checkFile, checkFileHandle, checkFileName } = extensions;
  if (link.extensions.has(checkFileName.request)) {
    const value = { path: pathBytes(path), ...asked };
    return checked(ask(link, checkFileName, value, readDigests, 'check-file', path, options), asked);
  }
  if (![checkFileHandle, checkFile].some(({ request }) => link.extensions.has(request))) {
    throw unsupported('the server does not offer it');
  }
  const file = await openFile(link, path, 'r', {}, options);
  try {
    return await checkHandle(file, options);
  } finally {
    closeQuietly(file);
  }
}

function unsupported(why: string, cause?: SshError): SshError {
  const info = cause === undefined ? {} : { cause };
  return new SshError('not-supported', `check-file: ${why}`, { fault: 'peer', operation: 'check-file', ...info });
}

/** The answer, if it is one to what was asked. */
async function checked(answer: Promise<FileDigests>, { algorithms, count, isEven }: Question): Promise<FileDigests> {
  let found: FileDigests;
  try {
    found = await answer;
  } catch (error) {
    const isUnknown = error instanceof SshError && error.status === Status.opUnsupported;
    throw isUnknown ? unsupported('the server does not do what it offers', error) : error;
  }
  const { algorithm, digests } = found;
  if (!algorithms.includes(algorithm)) throw protocolError(`SFTP: ${algorithm} was not asked for`);
  if (count === undefined || digests.length === count) return found;
  if (digests.length > count && isEven) return { algorithm, digests: digests.slice(0, count) };
  // Fewer than asked for are right where the file ends before.
  if (digests.length > 0 && digests.length < count) return found;
  throw protocolError(`SFTP: ${digests.length} digests answer a request for ${count}`);
}
