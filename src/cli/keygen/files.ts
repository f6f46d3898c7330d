/** The files that keygen reads and writes. A private key is for its owner only, and nothing is replaced unless that was said. */

import { randomUUID } from 'node:crypto';
import { chmod, open, readFile, realpath, rename, stat, unlink } from 'node:fs/promises';
import { printable } from '../../bytes/text.ts';
import { SshError } from '../../errors.ts';
import { MAX_KEY_FILE } from '../../keys/private_key.ts';
import { fileError, isThere } from '../../transports/file_error.ts';
import { print } from '../output.ts';

const PRIVATE_MODE = 0o600;
const PUBLIC_MODE = 0o644;

export async function readKeyFile(path: string): Promise<Uint8Array> {
  try {
    const { size } = await stat(path);
    if (size > MAX_KEY_FILE) throw new SshError('bad-argument', `${printable(path)} is too large to be a key`);
    return await readFile(path);
  } catch (error) {
    throw error instanceof SshError ? error : fileError('read', path, error);
  }
}

/** The same, or `undefined` if it cannot be read. */
export function readIfThere(path: string): Promise<Uint8Array | undefined> {
  return readFile(path).catch(() => undefined);
}

/** Who may read a file. */
export type Readers = 'owner' | 'all';

/** Writes a file that must not be there yet, or, with `force`, takes the place of one. `-` is standard output. */
export async function writeKeyFile(path: string, text: string, readers: Readers, force: boolean): Promise<void> {
  if (path === '-') {
    await print(text);
    return;
  }
  if (force) await replaceKeyFile(path, text, readers === 'owner' ? PRIVATE_MODE : PUBLIC_MODE);
  else await create(path, text, readers === 'owner' ? PRIVATE_MODE : PUBLIC_MODE);
}

/** Puts a new file in the place of one, in one step; if no permissions are given, those of its owner stay, and nobody else has any. */
export async function replaceKeyFile(path: string, text: string, mode?: number): Promise<void> {
  // a link stays one, and its file is replaced
  const target = await realpath(path).catch(() => path);
  const beside = `${target}.${randomUUID().slice(0, 8)}`;
  try {
    const kept = mode ?? (await stat(target)).mode & 0o700;
    await create(beside, text, PRIVATE_MODE);
    await chmod(beside, kept);
    await rename(beside, target);
  } catch (error) {
    await unlink(beside).catch(() => {});
    throw error instanceof SshError ? error : fileError('replace', path, error);
  }
}

/** Told before anything is computed or asked. */
export async function refuseIfThere(path: string, force: boolean): Promise<void> {
  if (force || path === '-') return;
  const there = await stat(path).catch(() => undefined);
  if (there !== undefined) throw alreadyThere(path);
}

async function create(path: string, text: string, mode: number): Promise<void> {
  try {
    const file = await open(path, 'wx', mode);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
  } catch (error) {
    throw isThere(error) ? alreadyThere(path) : fileError('write', path, error);
  }
}

function alreadyThere(path: string): SshError {
  return new SshError('target-exists', `${printable(path)} is there already: give --force to replace it`);
}
