/** Where the files of a run are: in memory if there is room, so that no disk is measured. */

import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, closeSync, mkdtempSync, openSync, statfsSync, writeSync } from 'node:fs';
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

/** Writes a file of `bytes` random bytes; every block differs, so that a misplaced one is found. */
export function writeRandomFile(path: string, bytes: number): void {
  const file = openSync(path, 'w');
  const block = randomBytes(BLOCK);
  for (let at = 0; at < bytes; at += BLOCK) {
    block.writeDoubleLE(at, 0);
    writeSync(file, block, 0, Math.min(BLOCK, bytes - at));
  }
  closeSync(file);
}

/** Throws when two files differ. */
export function mustBeEqual(left: string, right: string): void {
  try {
    execFileSync('cmp', ['-s', left, right]);
  } catch {
    throw new Error(`${right} is not what ${left} is`);
  }
}
