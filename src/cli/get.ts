/** `puressh get`: files from a server to local paths, or one to standard output. */

import { download } from './download.ts';
import { remotePath } from './target.ts';
import { transfer } from './transfer.ts';
import type { GetCommand } from './transfer_args.ts';

export function get(command: GetCommand, signal: AbortSignal): Promise<number> {
  const { local, remotes } = command;
  const sources = remotes.map((remote) => {
    const path = remotePath(remote);
    return { path, ...(/[*?[{]/.test(path) ? { pattern: path } : {}) };
  });
  const name = sources.length === 1 ? (sources[0]?.path.split('/').pop() ?? '') : `${sources.length} sources`;
  return transfer(command, remotes[0] as (typeof remotes)[0], name, signal, (moving) =>
    download(moving, sources, local, { trustEof: command.trustEof }),
  );
}
