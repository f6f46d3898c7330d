/** Where the files of a run are: in memory if there is room, so that no disk is measured. */

import { randomBytes } from 'node:crypto';
import { chmodSync, closeSync, mkdtempSync, openSync, readSync, statfsSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A fresh directory with room for `bytes`, in `/dev/shm` or else where temporary files go. */
export function makePlace(bytes: number): string {
  const parent = [process.env.PURESSH_BENCH_DIR, '/dev/shm', tmpdir()].find((each) => each && room(each) >= bytes);
  if (parent === undefined) throw new Error(`No place has room for ${bytes} bytes; name one in PURESSH_BENCH_DIR`);
  const place = mkdtempSync(join(parent, 'puressh-bench-'));
  chmodSync(place, 0o755);
  return place;
}

function room(directory: string): number {
  try {
    const { bavail, bsize } = statfsSync(directory);
    return bavail * bsize;
  } catch {
    return 0;
  }
}

const BLOCK = 1024 * 1024;

const PAGE = 4096;

/** Writes a file of `bytes` random bytes, of which every page differs from the others: one in the wrong place is found. */
export function writeRandomFile(path: string, bytes: number): void {
  const file = openSync(path, 'w');
  try {
    const block = randomBytes(BLOCK);
    for (let at = 0; at < bytes; at += BLOCK) {
      for (let page = 0; page < BLOCK; page += PAGE) block.writeDoubleLE(at + page, page);
      writeSync(file, block, 0, Math.min(BLOCK, bytes - at));
    }
  } finally {
    closeSync(file);
  }
}

/** Throws when two files differ. */
export function mustBeEqual(left: string, right: string): void {
  const files = [openSync(left, 'r'), openSync(right, 'r')] as const;
  const blocks = [Buffer.alloc(BLOCK), Buffer.alloc(BLOCK)] as const;
  try {
    for (let at = 0; ; at += BLOCK) {
      const [a, b] = [fill(files[0], blocks[0]), fill(files[1], blocks[1])];
      if (!a.equals(b)) throw new Error(`${right} differs from ${left} within the mebibyte at byte ${at}`);
      if (a.length < BLOCK) return;
    }
  } finally {
    for (const file of files) closeSync(file);
  }
}

/** The next block of a file; shorter only at its end. */
function fill(file: number, block: Buffer): Buffer {
  let length = 0;
  for (let count = -1; count !== 0 && length < block.length; length += count) {
    count = readSync(file, block, length, block.length - length, null);
  }
  return block.subarray(0, length);
}
