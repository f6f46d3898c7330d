/** `puressh put`: one local file, or standard input, to a server. */

import { basename } from 'node:path';
import process from 'node:process';
import { SshError } from '../errors.ts';
import type { SftpClient } from '../sftp/client.ts';
import { fileKind } from '../sftp/proto/attrs.ts';
import type { PutOptions, PutResult } from '../sftp/put.ts';
import type { PutCommand } from './args.ts';
import { noticeLine } from './exit.ts';
import { remotePath } from './target.ts';
import { transfer } from './transfer.ts';

export async function put(command: PutCommand, signal: AbortSignal): Promise<number> {
  const { local, remote } = command;
  const name = local === '-' ? remotePath(remote) : basename(local);
  const intoDirectory = remote.path === '' || remote.path.endsWith('/');
  const path = intoDirectory ? inDirectory(remotePath(remote), name) : remotePath(remote);
  const { warnings } = await transfer(command, name, signal, async (sftp, common) => {
    const options = { ...common, atomic: !command.inPlace };
    if (local === '-') return sftp.put(process.stdin, path, options);
    return intoDirectory ? sftp.put(local, path, options) : putOrInto(sftp, local, path, name, options);
  });
  for (const warning of warnings) process.stderr.write(`${noticeLine(warning)}\n`);
  return 0;
}

/** Only a failure makes it worth asking whether the path is a directory, which then takes the file under its own name. */
async function putOrInto(
  sftp: SftpClient,
  local: string,
  path: string,
  name: string,
  options: PutOptions,
): Promise<PutResult> {
  try {
    return await sftp.put(local, path, options);
  } catch (error) {
    if (!(error instanceof SshError) || !['target-exists', 'sftp-status'].includes(error.code)) throw error;
    const there = await sftp.stat(path, { signal: options.signal }).catch(() => ({}));
    if (fileKind(there) !== 'directory') throw error;
    return sftp.put(local, inDirectory(path, name), options);
  }
}

function inDirectory(directory: string, name: string): string {
  return directory.endsWith('/') ? directory + name : `${directory}/${name}`;
}
