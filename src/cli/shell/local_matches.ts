/** From words to local paths. */

import { lstat } from 'node:fs/promises';
import { printable } from '../../bytes/text.ts';
import { SshError } from '../../errors.ts';
import { localGlob } from '../path_pattern.ts';
import type { Shell } from './session.ts';
import type { Word } from './words.ts';

/** The local files that a word names. What is called exactly so goes first; a pattern that matches nothing is an error. */
export async function localMatches(shell: Shell, { text, pattern }: Word): Promise<string[]> {
  const path = shell.local(text);
  if (pattern === undefined || (await lstat(path).catch(() => undefined)) !== undefined) return [path];
  const found = await localGlob(pattern, shell.localDirectory);
  if (found.length > 0) return found;
  throw new SshError('bad-local-file', `Nothing here matches ${printable(pattern, 1024)}`);
}
