/** rclone with its SFTP, which is that of Go's x/crypto/ssh and pkg/sftp. */

import { findProgram } from '../peers/peer.ts';
import { type Client, lines, type Step, type Way } from './client.ts';
import type { OwnServer } from './own_server.ts';
import { type Ended, mustRun } from './process.ts';

/** A path of the server. */
export const remote = (path: string): string => `:sftp:${path}`;

/** Runs rclone; its configuration is its environment. */
export async function rclone(
  server: OwnServer,
  way: Way,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const own: Record<string, string> =
    way === 'key'
      ? { RCLONE_SFTP_KEY_FILE: server.keys.ed25519.openssh }
      : { RCLONE_SFTP_PASS: lines((await mustRun(['rclone', 'obscure', server.password])).stdout)[0] as string };
  const common = {
    HOME: server.home,
    RCLONE_CONFIG: '',
    RCLONE_RETRIES: '1',
    RCLONE_SFTP_HOST: server.host,
    RCLONE_SFTP_PORT: String(server.port),
    RCLONE_SFTP_USER: server.username,
    RCLONE_SFTP_KNOWN_HOSTS_FILE: server.knownHosts,
    RCLONE_SFTP_SHELL_TYPE: 'none',
  };
  return mustRun(['rclone', '-q', ...args], { env: { ...common, ...own, ...env } });
}

export const rcloneClient: Client = {
  name: 'rclone',
  unavailable: findProgram('rclone') === undefined ? 'there is no rclone' : undefined,
  ways: ['password', 'key'],
  can: ['get', 'put', 'list', 'remove', 'mkdir', 'rmdir', 'rename'],
  async files(server, way, steps) {
    const names: string[] = [];
    for (const step of steps) {
      const { stdout } = await rclone(server, way, argumentsOf(step));
      if (step.do === 'list') names.push(...lines(stdout).map((name) => name.replace(/\/$/, '')));
    }
    return names;
  },
};

function argumentsOf(step: Step): string[] {
  const path = remote(step.remote);
  switch (step.do) {
    case 'get':
      return ['copyto', path, step.local];
    case 'put':
      return ['copyto', step.local, path];
    case 'list':
      return ['lsf', path];
    case 'remove':
      return ['deletefile', path];
    case 'mkdir':
    case 'rmdir':
      return [step.do, path];
    case 'rename':
      return ['moveto', path, remote(step.to)];
    default:
      throw new Error(`rclone cannot ${step.do}`);
  }
}
