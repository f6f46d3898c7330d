/** The user's own small files, on whatever file system a runtime has: where they are, and how they are read and changed. */

import { equalBytes } from '../bytes/bytes.ts';
import { decodeExactly, decodeLenient, utf8 } from '../bytes/text.ts';
import type { TextFile } from '../client/known_hosts_policy.ts';
import { SshError } from '../errors.ts';
import { Turns } from '../io/turns.ts';
import { fileError, isMissing, isThere } from './file_error.ts';

/** Files that this process is changing: one change waits for the other. */
const changing = new Turns();

/** How often a change is made anew because somebody else has changed the file meanwhile. */
const MOST_TRIES = 3;

/** What a runtime has to bring along. Failures are the runtime's own. */
export interface HomeSystem {
  /** The user's home directory, if it is known. */
  home(): string | undefined;
  read(path: string): Promise<Uint8Array>;
  /**
   * Adds a line at the end of a file in one write, so that two processes that append at once do not mix their lines. Ends
   * the last line first where that is missing; makes the folder and the file, for the owner only, where they are missing.
   */
  appendLine(path: string, line: string): Promise<void>;
  /** Where the file is that `path` leads to, symbolic links followed; `path` itself if nothing is there. */
  follow(path: string): Promise<string>;
  /**
   * Writes a file that must not be there yet, and waits until the disk has it. It gets the permissions of the file `like`,
   * or those for the owner only where that is missing, as the folder then gets.
   */
  create(path: string, bytes: Uint8Array, like: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
}

/** `path` with a leading `~` replaced; other users' homes (`~name`) are not looked up. */
export function expandHome(path: string, home: () => string | undefined): string {
  if (path !== '~' && !/^~[/\\]/.test(path)) return path;
  const folder = home();
  if (folder === undefined || folder === '') {
    throw new SshError('bad-argument', `No home directory is known, so ${path} cannot be found: give a full path`);
  }
  return folder + path.slice(1);
}

/** The bytes of a file of the user; `undefined` when there is none. Rejects with `bad-local-file`. */
export async function readIfThere(system: HomeSystem, file: string): Promise<Uint8Array | undefined> {
  try {
    return await system.read(file);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw fileError('read', file, error);
  }
}

/** A text file of the user as a value; failures are `bad-local-file`. */
export function textFile(system: HomeSystem, path: string): TextFile {
  const file = expandHome(path, system.home);
  return {
    name: file,
    async read() {
      const bytes = await readIfThere(system, file);
      return bytes && decodeLenient(bytes);
    },
    async append(line) {
      try {
        // a link that leads nowhere is no failure here: its file is made
        const target = await system.follow(file).catch(() => file);
        await changing.run(target, () => system.appendLine(file, line));
      } catch (error) {
        throw fileError('add a host key to', file, error);
      }
    },
    async edit(change) {
      try {
        return await editFile(system, file, change);
      } catch (error) {
        throw error instanceof SshError ? error : fileError('change', file, error);
      }
    },
  };
}

/**
 * Puts a changed copy in the place of a file: whoever reads it finds the old text or the new one, whole. A link stays one, and its
 * file is changed. What others wrote before the copy takes its place is not lost: the change is made anew.
 */
async function editFile(
  system: HomeSystem,
  path: string,
  change: (text: string | undefined) => string | undefined,
): Promise<boolean> {
  const file = await system.follow(path);
  return await changing.run(file, () => replaceFile(system, file, change));
}

async function replaceFile(
  system: HomeSystem,
  file: string,
  change: (text: string | undefined) => string | undefined,
): Promise<boolean> {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const before = await readIfThere(system, file);
    const { text, encode } = before === undefined ? { text: undefined, encode: utf8 } : decodeExactly(before);
    const changed = change(text);
    if (changed === undefined || changed === text) return false;
    const beside = `${file}.${crypto.randomUUID().slice(0, 8)}`;
    try {
      await system.create(beside, encode(changed), file);
      const now = await readIfThere(system, file);
      if (isSame(before, now)) {
        await system.rename(beside, file);
        return true;
      }
    } catch (error) {
      if (!isThere(error)) await system.remove(beside).catch(() => {});
      throw error;
    }
    await system.remove(beside);
  }
  throw new SshError('bad-local-file', `Cannot change ${file}: others change it all the time`, { operation: 'change' });
}

function isSame(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  return a === undefined || b === undefined ? a === b : equalBytes(a, b);
}
