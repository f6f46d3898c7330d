/** `puressh put`: local files, or standard input, to a server. */

import { basename } from 'node:path';
import { remotePath } from './target.ts';
import { transfer } from './transfer.ts';
import type { PutCommand } from './transfer_args.ts';
import { upload } from './upload.ts';

export function put(command: PutCommand, signal: AbortSignal): Promise<number> {
  const { locals, remote, inPlace, append } = command;
  const path = remotePath(remote);
  const isDirectory = remote.path === '' || remote.path.endsWith('/');
  const [only] = locals as [string];
  const name = locals.length > 1 ? `${locals.length} sources` : only === '-' ? path : basename(only);
  return transfer(command, remote, name, signal, (moving) =>
    upload(moving, locals, { path, isDirectory, inPlace, append }),
  );
}
