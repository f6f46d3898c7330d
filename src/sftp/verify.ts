/**
 * Whether a remote file holds what it should: compared by digests that the server takes (check-file of
 * draft-ietf-secsh-filexfer-extensions-00 §3) or by reading it.
 */

import { printable } from '../bytes/text.ts';
import { SshError } from '../errors.ts';
import { abortedError } from './call.ts';
import { checkHandle } from './check_file.ts';
import { BLOCK, BlockDigests, type DigestsOf, firstDifference } from './digests.ts';
import type { Link } from './link.ts';
import type { OpenHandle } from './operations.ts';
import type { TransferOptions } from './options.ts';
import { extensions } from './proto/extensions.ts';
import { chunksOf } from './streams.ts';

/**
 * How a transfer is checked once every byte is through. `size`: by the size. `hash`: by digests that the server takes of
 * its file; `not-supported` where it has no check-file with SHA-256. `content`: by reading the file once more.
 */
export type Verify = 'size' | 'hash' | 'content';

/** Throws `bad-argument` for what is none. */
export function checkVerify(verify: Verify | undefined): void {
  if (verify === undefined || verify === 'size' || verify === 'hash' || verify === 'content') return;
  throw new SshError('bad-argument', `verify is size, hash or content, not ${String(verify)}`);
}

/** Bytes that one question is about: answers stay small, and what differs is found before the end. */
const SEGMENT = 64 * 1024 * 1024;

/** A range of the remote file. */
export interface Range {
  readonly start: number;
  readonly length: number;
}

/**
 * The first byte of a block in which the remote file differs from `expected`, counted from `range.start`; `undefined`:
 * it is the same.
 */
export async function findDifference(
  file: OpenHandle,
  range: Range,
  expected: DigestsOf,
  how: 'hash' | 'content',
  options: TransferOptions,
): Promise<number | undefined> {
  const { signal } = options;
  const digests = how === 'hash' ? hashesOf : contentOf;
  for (let at = 0; at < range.length; at += SEGMENT) {
    const length = Math.min(SEGMENT, range.length - at);
    const [ours, theirs] = await both(
      expected(at, length),
      digests(file, { start: range.start + at, length }, options),
    );
    if (signal?.aborted) throw abortedError('verify', file.path, signal);
    const block = firstDifference(ours, theirs);
    if (block !== undefined) return at + block * BLOCK;
  }
  return undefined;
}

/** Resolves, or rejects, when neither is reading any more: what they read from is closed then. */
async function both<A, B>(first: Promise<A>, second: Promise<B>): Promise<[A, B]> {
  const [a, b] = await Promise.allSettled([first, second]);
  if (a.status === 'rejected') throw a.reason;
  if (b.status === 'rejected') throw b.reason;
  return [a.value, b.value];
}

/** Reads the range. */
async function contentOf(file: OpenHandle, range: Range, options: TransferOptions): Promise<readonly Uint8Array[]> {
  const { onProgress, ...quiet } = options;
  const { start, length } = range;
  const blocks = new BlockDigests();
  for await (const piece of chunksOf(file, { ...quiet, start, end: start + length, trustEof: true })) {
    await blocks.add(piece);
  }
  await blocks.end();
  return blocks.digests;
}

/** Rejects with `content-differs` unless the range of the remote file is what is expected. */
export async function verifyContent(
  operation: string,
  file: OpenHandle,
  range: Range,
  expected: DigestsOf,
  how: 'hash' | 'content',
  options: TransferOptions,
): Promise<void> {
  const difference = await findDifference(file, range, expected, how, options);
  if (difference === undefined) return;
  const path = printable(file.path, 1024);
  const at = range.start + difference;
  const message = `${operation} ${path}: the two files differ within ${BLOCK} bytes from byte ${at} on; one of them changed, or a disk or the server is at fault: try again`;
  throw new SshError('content-differs', message, { fault: 'peer', operation, path });
}

/** Asks the server for them. */
async function hashesOf(file: OpenHandle, range: Range, options: TransferOptions): Promise<readonly Uint8Array[]> {
  const { start, length } = range;
  // ProFTPD (1.3.8) gets the end of a last, shorter block wrong, unless it began at the first byte: that one is read.
  const rest = start === 0 ? 0 : length % BLOCK;
  const { signal, stallTimeout } = options;
  const ask = { algorithms: ['sha256'] as const, start, length: length - rest, blockSize: BLOCK, signal, stallTimeout };
  const whole = length === rest ? [] : (await checkHandle(file, ask)).digests;
  return rest === 0
    ? whole
    : [...whole, ...(await contentOf(file, { start: start + length - rest, length: rest }, options))];
}

/** Rejects with `not-supported` where the server takes no digests, before anything was moved. */
export async function needDigests(link: Link): Promise<void> {
  if (link.greeting) await link.ready;
  const { checkFileHandle, checkFile } = extensions;
  const isThere = link.extensions.has(checkFileHandle.request);
  if (isThere || link.extensions.get(checkFile.request)?.split(',').includes('sha256')) return;
  const message = "verify: 'hash' wants a server with check-file and SHA-256; 'content' reads the file instead";
  throw new SshError('not-supported', message, { fault: 'peer', operation: 'verify' });
}
