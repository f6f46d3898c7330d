/** `puressh ls`: the entries of a directory on a server. */

import type { DirectoryEntry } from '../sftp/list.ts';
import type { LsCommand } from './args.ts';
import { openConnection } from './connection.ts';
import { entryReport, longLines, shownName, sorted } from './listing.ts';
import { print } from './output.ts';
import { algorithmReport } from './report.ts';
import { remotePath } from './target.ts';

export async function ls(command: LsCommand, signal: AbortSignal): Promise<number> {
  const ssh = await openConnection(command.remote, command.connection, signal);
  try {
    const sftp = await ssh.sftp({ signal });
    const found: DirectoryEntry[] = [];
    for await (const entry of sftp.list(remotePath(command.remote), { signal })) found.push(entry);
    const entries = sorted(found);
    if (command.json) {
      const algorithms = algorithmReport(ssh.info.algorithms, 'toClient');
      await print(`${JSON.stringify({ entries: entries.map(entryReport), algorithms })}\n`);
    } else {
      const lines = command.long ? longLines(entries) : entries.map(shownName);
      await print(lines.map((line) => `${line}\n`).join(''));
    }
    return 0;
  } finally {
    await ssh.close();
  }
}
