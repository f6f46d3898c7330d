/** From words to remote paths: those that are written, and those that a pattern matches. */

import { printable } from '../../bytes/text.ts';
import type { RemotePath } from '../../sftp/options.ts';
import { bad } from '../arg_values.ts';
import { matches, type RemoteSource } from '../remote_sources.ts';
import type { Call } from './command.ts';
import type { Shell } from './session.ts';
import type { Word } from './words.ts';

/** What a word names at the server. */
export function sourceOf(shell: Shell, word: Word): RemoteSource {
  const { text, pattern } = word;
  const path = shell.remote(text);
  if (pattern === undefined) return { path };
  const inHome = /^~\/+/.exec(pattern)?.[0].length;
  if (inHome === undefined) return { path, pattern, base: shell.directory };
  return { path, pattern: pattern.slice(inHome), base: shell.home };
}

/** Everything that the operands name; a pattern that matches nothing is an error. */
export async function pathsOf(shell: Shell, { operands, signal }: Call): Promise<RemotePath[]> {
  const found = await Promise.all(operands.map((word) => matches(shell.sftp, sourceOf(shell, word), signal)));
  return found.flat().map(({ path }) => path);
}

/** The one path that a word names. */
export async function oneOf(shell: Shell, word: Word, signal: AbortSignal): Promise<RemotePath> {
  const [path, other] = await matches(shell.sftp, sourceOf(shell, word), signal);
  if (path !== undefined && other === undefined) return path.path;
  throw bad(`${printable(word.text)} matches more than one path: name one`);
}
