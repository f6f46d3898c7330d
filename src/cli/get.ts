/** `puressh get`: one file from a server to a local path or to standard output. */

import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { GetCommand } from './args.ts';
import { outputStream } from './output.ts';
import { remoteName, remotePath } from './target.ts';
import { transfer } from './transfer.ts';

export async function get(command: GetCommand, signal: AbortSignal): Promise<number> {
  const path = remotePath(command.remote);
  const local = await localPath(command);
  const name = path.split('/').pop() || path;
  await transfer(command, name, signal, (sftp, options) =>
    sftp.get(path, local ?? outputStream(), { ...options, trustEof: command.trustEof }),
  );
  return 0;
}

/** Where the file goes; `undefined` is standard output. A directory takes it under its own name. */
async function localPath({ local, remote }: GetCommand): Promise<string | undefined> {
  if (local === '-') return undefined;
  if (local === undefined) return remoteName(remote.path);
  const isDirectory = /[/\\]$/.test(local) || (await stat(local).catch(() => undefined))?.isDirectory();
  return isDirectory ? join(local, remoteName(remote.path)) : local;
}
