/** A client and the real server in memory, without SSH. */

import { memoryPipes } from '../../src/io/memory_pipe.ts';
import { SftpClient } from '../../src/sftp/client.ts';
import type { SftpClientOptions } from '../../src/sftp/client_options.ts';
import type { SftpBackend } from '../../src/sftp/server/backend.ts';
import { serveSftp } from '../../src/sftp/server/server.ts';
import { type RoundsPipe, roundsPipe } from './rounds_pipe.ts';

export interface MemorySession {
  readonly sftp: SftpClient;
  /** Counts round trips, from after the greeting on. */
  readonly pipe: RoundsPipe;
}

/** Runs `use` with a client of a server for `backend`. */
export async function withMemory(
  backend: SftpBackend,
  use: (session: MemorySession) => Promise<void>,
  options: SftpClientOptions = {},
): Promise<void> {
  const [own, theirs] = memoryPipes();
  const served = serveSftp(theirs, { backend }).catch(() => undefined);
  const pipe = roundsPipe(own);
  const sftp = await SftpClient.open(pipe, options);
  await sftp.stat('/').catch(() => undefined); // the limits are here then
  pipe.rounds = 0;
  try {
    await use({ sftp, pipe });
  } finally {
    await sftp.close();
  }
  await served;
}

/** A backend with some functions of its own. */
export function bent(backend: SftpBackend, own: SftpBackend): SftpBackend {
  return new Proxy(backend, {
    get: (target, key) => {
      const value = Reflect.get(key in own ? own : target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** All that an iterator yields. */
export async function collect<T>(all: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const each of all) list.push(each);
  return list;
}
