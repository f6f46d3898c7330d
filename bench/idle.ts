/** What idle connections cost a server: how much its memory grows with many that are logged in and do nothing. */

import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, insecureAcceptAny, key, type SshClient } from '../src/node.ts';

/** Connections that are opened and closed first, so that code is compiled and what is made once is there. */
const WARM_UP = 40;

/** Bytes a connection, of the process `pid` that listens on `port`. */
export async function measureIdle(
  port: number,
  pid: number,
  count: number,
  username: string,
  userKey: Uint8Array,
): Promise<number> {
  const open = (): Promise<SshClient> =>
    connect({ host: '127.0.0.1', port, username, auth: [key(userKey)], hostKey: insecureAcceptAny() });
  for (let i = 0; i < WARM_UP; i++) await (await open()).close();
  const before = await settled(pid);
  const clients: SshClient[] = [];
  for (let i = 0; i < count; i++) clients.push(await open());
  const after = await settled(pid);
  await Promise.all(clients.map((client) => client.close()));
  return (after - before) / count;
}

/** The resident set, once the collector has had its time. */
async function settled(pid: number): Promise<number> {
  await sleep(2000);
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s*(\d+) kB$/m.exec(status)?.[1]) * 1024;
}
