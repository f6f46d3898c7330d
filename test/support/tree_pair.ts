/** Our client and our server of SFTP in memory, with a file system in memory on either side: for whole directories. */

import assert from 'node:assert/strict';
import { toBytes } from '../../src/bytes/text.ts';
import { SshError } from '../../src/errors.ts';
import { memoryPipes } from '../../src/io/memory_pipe.ts';
import { SftpClient } from '../../src/sftp/client.ts';
import type { SftpBackend } from '../../src/sftp/server/backend.ts';
import type { SftpServerLimits } from '../../src/sftp/server/limits.ts';
import { memoryFiles, type MemoryFiles as RemoteFiles } from '../../src/sftp/server/memory_fs.ts';
import { serveSftp } from '../../src/sftp/server/server.ts';
import { MemoryFiles } from './memory_files.ts';
import { TripPipe } from './trip_pipe.ts';

/** Content by path. */
export type Content = Readonly<Record<string, string | Uint8Array>>;

export interface TreePair {
  readonly sftp: SftpClient;
  readonly local: MemoryFiles;
  readonly remote: RemoteFiles;
  /** How far the client is from the server. */
  readonly line: TripPipe;
}

export interface TreePairOptions {
  readonly local?: Content;
  readonly remote?: Content;
  /** What is served; default: `remote`. */
  readonly limits?: Partial<SftpServerLimits>;
  readonly backend?: (remote: RemoteFiles) => SftpBackend;
}

/** Runs `use` with a pair; nothing may be open on either side afterwards. */
export async function withTrees(options: TreePairOptions, use: (pair: TreePair) => Promise<void>): Promise<void> {
  const remote = memoryFiles({ files: options.remote ?? {}, now: () => 1_600_000_000_000 });
  const local = new MemoryFiles();
  for (const [path, content] of Object.entries(options.local ?? {})) local.add(path, toBytes(content));
  const [own, theirs] = memoryPipes();
  const line = new TripPipe(own);
  const backend = options.backend?.(remote) ?? remote;
  const served = serveSftp(theirs, {
    backend,
    ...(options.limits === undefined ? {} : { limits: options.limits }),
  }).catch((cause: unknown) => cause);
  const sftp = await SftpClient.open(line, { localFiles: local });
  try {
    await use({ sftp, local, remote, line });
    assert.equal(local.opened, 0, 'local files are open');
    assert.deepEqual(
      [...local.nodes.keys()].filter((path) => path.endsWith('.part')),
      [],
    );
  } finally {
    await sftp.close();
  }
  const cause = await served;
  assert.ok(cause instanceof SshError && cause.code === 'connection-lost', String(cause));
}

/** All files below `directory` of a local file system, by their path in it. */
export function localTree(files: MemoryFiles, directory: string): Record<string, string> {
  const prefix = `${directory}/`;
  const entries = [...files.nodes].filter(([path, { kind }]) => path.startsWith(prefix) && kind !== 'directory');
  return Object.fromEntries(
    entries.map(([path, node]) => [
      path.slice(prefix.length),
      node.target === undefined ? new TextDecoder().decode(node.bytes) : `-> ${node.target}`,
    ]),
  );
}

/** Likewise of a remote one. */
export function remoteTree(files: RemoteFiles, directory: string): Record<string, string> {
  const found: Record<string, string> = {};
  const look = (at: string, path: string): void => {
    for (const { name, attrs } of files.list(at)) {
      const kind = ((attrs?.permissions ?? 0) >>> 12) & 15;
      const [below, shown] = [`${at}/${String(name)}`, `${path}${String(name)}`];
      if (kind === 4) look(below, `${shown}/`);
      else found[shown] = kind === 10 ? `-> ${files.readlink(below)}` : new TextDecoder().decode(files.get(below));
    }
  };
  look(directory, '');
  return found;
}
