/** `puressh ls`: the entries of a directory on a server. */

import { printable } from '../bytes/text.ts';
import { SshError } from '../errors.ts';
import type { SftpClient } from '../sftp/client.ts';
import type { DirectoryEntry } from '../sftp/list.ts';
import { fileKind } from '../sftp/proto/attrs.ts';
import type { LsCommand } from './args.ts';
import { openEarly } from './connection.ts';
import { jsonLine } from './json_line.ts';
import { entryReport, longLines, shownName, sorted } from './listing.ts';
import { print } from './output.ts';
import { algorithmReport } from './report.ts';
import { remotePath } from './target.ts';

export async function ls(command: LsCommand, signal: AbortSignal): Promise<number> {
  const { ssh, clearer: withLogin } = await openEarly(command.remote, command.connection, signal);
  try {
    const sftp = await ssh.sftp({ signal, early: true });
    const found: DirectoryEntry[] = [];
    const path = remotePath(command.remote);
    try {
      for await (const entry of sftp.list(path, { signal })) found.push(entry);
    } catch (error) {
      throw await clearer(error, sftp, path, signal);
    }
    const entries = sorted(found);
    if (command.json) {
      const algorithms = algorithmReport(ssh.info.algorithms, 'toClient');
      await print(`${jsonLine({ entries: entries.map(entryReport), algorithms })}\n`);
    } else {
      const lines = command.long ? longLines(entries) : entries.map(shownName);
      await print(lines.map((line) => `${line}\n`).join(''));
    }
    return 0;
  } catch (error) {
    throw withLogin(error);
  } finally {
    await ssh.close();
  }
}

/** What is no directory is, to OpenSSH's `opendir`, no such file. Only a failure makes it worth asking. */
async function clearer(error: unknown, sftp: SftpClient, path: string, signal: AbortSignal): Promise<unknown> {
  if (!(error instanceof SshError) || error.code !== 'sftp-status') return error;
  const kind = fileKind(await sftp.stat(path, { signal }).catch(() => ({})));
  if (kind === 'directory' || kind === 'unknown') return error;
  const message = `${printable(path, 1024)} is not a directory, and ls lists nothing else`;
  return new SshError('sftp-status', message, { fault: error.fault, cause: error });
}
