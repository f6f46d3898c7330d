/**
 * copy-data: bytes from one open file to another without the client (OpenSSH PROTOCOL §4.10, draft-ietf-secsh-filexfer-extensions-00
 * §7). Both lanes wait for it, so that it comes in the order of either.
 */

import { okReply, statusReply } from '../proto/replies.ts';
import { Status } from '../proto/status.ts';
import type { BackendFile } from './backend.ts';
import { refuse, unsupported } from './errors.ts';
import type { FileLane } from './file_lane.ts';
import { COPY_PIECE, COPY_TURN } from './limits.ts';

/** What to copy, in bytes; length 0 means up to the end of the file. */
export interface CopyRange {
  readonly fromOffset: number;
  readonly length: number;
  readonly toOffset: number;
}

/** Copies. The reply is EOF where the file ends before `length` bytes, as in OpenSSH. */
export async function copyData(id: number, from: FileLane, to: FileLane, range: CopyRange): Promise<Uint8Array> {
  // A file copied onto itself could grow for ever; OpenSSH compares what was opened, too.
  if (from === to || from.path === to.path) throw refuse(Status.failure, 'a file is not copied onto itself');
  if (!from.request.read) throw refuse(Status.permissionDenied, 'the source is not open for reading');
  if (!to.request.write) throw refuse(Status.permissionDenied, 'the target is not open for writing');
  const { file: source } = from;
  const { file: target } = to;
  if (source.read === undefined || target.write === undefined) throw unsupported('copying');
  const wanted = range.length === 0 ? Number.POSITIVE_INFINITY : range.length;
  let left = Math.min(wanted, await bytesFrom(source, range.fromOffset));
  const isShort = left < range.length;
  let done = 0;
  let pause = COPY_TURN;
  while (left > 0) {
    if (from.lanes.ended) throw refuse(Status.failure, 'the session has ended');
    if (Math.max(range.fromOffset, range.toOffset) + done > Number.MAX_SAFE_INTEGER - COPY_PIECE) {
      throw refuse(Status.failure, 'the file would be too large');
    }
    const piece = await source.read(range.fromOffset + done, Math.min(left, COPY_PIECE));
    if (!(piece instanceof Uint8Array) || piece.length > left) throw new TypeError('read did not give what was asked');
    if (piece.length === 0) break;
    await target.write(range.toOffset + done, [piece]);
    done += piece.length;
    left -= piece.length;
    if (done < pause) continue;
    // Files in memory would hold up everything else.
    await new Promise<void>((resolve) => setTimeout(resolve));
    pause = done + COPY_TURN;
  }
  return isShort || (left > 0 && range.length > 0) ? statusReply(id, Status.eof) : okReply(id);
}

/**
 * Bytes that the file has now from `offset` on: what is appended meanwhile is not copied, because it may be the copy itself, where
 * the two are one file under two names. What says that it ends before may have content all the same, as files of `/proc`.
 */
async function bytesFrom(file: BackendFile, offset: number): Promise<number> {
  const { size = 0 } = (await file.stat?.()) ?? {};
  return size > offset ? size - offset : Number.POSITIVE_INFINITY;
}
