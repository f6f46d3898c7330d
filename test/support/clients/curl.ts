/** curl with its SFTP, which is libssh2's. */

import { execFileSync } from 'node:child_process';
import { findProgram } from '../peers/peer.ts';
import { type Client, lines, type Way } from './client.ts';
import type { OwnServer } from './own_server.ts';
import { type Ended, mustRun } from './process.ts';

function unavailable(): string | undefined {
  const program = findProgram('curl');
  if (program === undefined) return 'there is no curl';
  const version = execFileSync(program, ['--version'], { encoding: 'utf8' });
  return /\bsftp\b/.test(version) ? undefined : 'curl is built without SFTP';
}

/** Runs curl on a path of the server. Host keys are those of `~/.ssh/known_hosts`. */
export function curl(server: OwnServer, way: Way, path: string, ...args: readonly string[]): Promise<Ended> {
  const key = server.keys.ed25519.openssh;
  const { username } = server;
  const own = way === 'key' ? ['-u', `${username}:`, '--key', key] : ['-u', `${username}:${server.password}`];
  const url = `sftp://${server.host}:${server.port}${path.split('/').map(encodeURIComponent).join('/')}`;
  return mustRun(['curl', '-q', '-sS', ...own, ...args, url], { env: { HOME: server.home } });
}

export const curlClient: Client = {
  name: 'curl',
  unavailable: unavailable(),
  ways: ['password', 'key'],
  can: ['get', 'reget', 'put', 'reput', 'list', 'remove', 'mkdir', 'rmdir', 'rename'],
  async files(server, way, steps) {
    const names: string[] = [];
    const quote = (...words: string[]): Promise<Ended> => {
      const [verb, ...paths] = words;
      const command = [verb, ...paths.map((path) => `"${path}"`)].join(' ');
      return curl(server, way, '/', '-l', '-o', '/dev/null', '-Q', command);
    };
    for (const step of steps) {
      if (step.do === 'get') await curl(server, way, step.remote, '-o', step.local);
      else if (step.do === 'reget') await curl(server, way, step.remote, '-C', '-', '-o', step.local);
      else if (step.do === 'put') await curl(server, way, step.remote, '-T', step.local);
      else if (step.do === 'reput') await curl(server, way, step.remote, '-C', '-', '-T', step.local);
      else if (step.do === 'list') names.push(...lines((await curl(server, way, `${step.remote}/`, '-l')).stdout));
      else if (step.do === 'rename') await quote('rename', step.remote, step.to);
      else await quote(step.do === 'remove' ? 'rm' : step.do, step.remote);
    }
    return names;
  },
};
