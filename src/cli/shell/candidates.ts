/** The names that Tab chooses from: those of a remote or local directory. */

import { readdir } from 'node:fs/promises';
import { fileKind } from '../../sftp/proto/attrs.ts';
import type { Candidate, Completion } from './completion.ts';
import type { Shell } from './session.ts';

/** Names that are looked at: what a person chooses from is far less. */
const MAX_NAMES = 20_000;

/** Those that begin with the prefix, as far as they are found. */
export async function findCandidates(
  shell: Shell,
  { kind, directory, prefix }: Completion & { readonly kind: 'remote' | 'local' },
  signal: AbortSignal,
): Promise<Candidate[]> {
  const found: Candidate[] = [];
  if (kind === 'local') {
    for (const entry of await readdir(shell.local(directory || '.'), { withFileTypes: true })) {
      if (entry.name.startsWith(prefix)) found.push({ name: entry.name, isDirectory: entry.isDirectory() });
    }
    return found;
  }
  let count = 0;
  for await (const { name, attrs } of shell.sftp.list(shell.remote(directory), { signal })) {
    if (name.startsWith(prefix)) found.push({ name, isDirectory: fileKind(attrs) === 'directory' });
    if (++count >= MAX_NAMES) break;
  }
  return found;
}
