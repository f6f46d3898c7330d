/** The npm package `ssh2`, in whatever Node there is. */

import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { findProgram } from '../peers/peer.ts';
import { root } from '../root.ts';
import type { Client, Way } from './client.ts';
import type { OwnServer } from './own_server.ts';
import { mustRun } from './process.ts';

const home = fileURLToPath(new URL('bench/', root));

function unavailable(): string | undefined {
  if (findProgram('node') === undefined) return 'there is no node';
  return existsSync(`${home}node_modules/ssh2`) ? undefined : 'there is no ssh2: run `npm ci` in bench';
}

async function perform(server: OwnServer, way: Way, steps: readonly object[]): Promise<unknown[]> {
  const { port, username, password, keys, knownHosts } = server;
  const hostKeys = readFileSync(knownHosts, 'utf8').match(/[\w+/=]+$/gm);
  const plan = { port, username, hostKeys, steps, ...(way === 'key' ? { key: keys.ed25519.openssh } : { password }) };
  const script = fileURLToPath(new URL('test/support/clients/ssh2_client.mjs', root));
  const { stdout } = await mustRun(['node', script, home, JSON.stringify(plan)]);
  return JSON.parse(stdout.toString()) as unknown[];
}

export const ssh2: Client = {
  name: 'ssh2',
  slow: true,
  unavailable: unavailable(),
  ways: ['password', 'key'],
  can: ['get', 'put', 'list', 'remove', 'mkdir', 'rmdir', 'rename'],
  async run(server, way, command) {
    const [result] = await perform(server, way, [{ do: 'run', command }]);
    const { code, stdout, stderr } = result as { code: number; stdout: string; stderr: string };
    return { code, stdout: Buffer.from(stdout), stderr };
  },
  async files(server, way, steps) {
    const results = await perform(server, way, steps);
    return results.filter((_, i) => steps[i]?.do === 'list').flat() as string[];
  },
};
