/**
 * TinySSH as a peer: Ed25519, X25519 and sntrup761 only. It serves one connection on its standard input and output, so `tcpserver`
 * listens for it; it reads authorized_keys from the home of who logs in, so it needs the throwaway user.
 */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writer } from '../../../src/bytes/writer.ts';
import { testKeys } from './keys.ts';
import { findProgram, type Peer } from './peer.ts';
import { startServer } from './process.ts';
import { throwawayLogin, throwawayUnavailable } from './user.ts';

const SFTP_SERVER = '/usr/lib/openssh/sftp-server';

/** Why no TinySSH can be started here, or `undefined`. */
export function available(): string | undefined {
  for (const name of ['tinysshd', 'tinysshd-makekey', 'tcpserver']) {
    if (findProgram(name) === undefined) return `there is no ${name}`;
  }
  return throwawayUnavailable();
}

/** Starts one on loopback; `stop` it when done. */
export async function startTinyssh(): Promise<Peer> {
  const [listener, program, makeKey] = ['tcpserver', 'tinysshd', 'tinysshd-makekey'].map(findProgram);
  if (listener === undefined || program === undefined || makeKey === undefined) throw new Error(available());
  const keys = testKeys();
  const login = await throwawayLogin(keys.authorizedKeys);
  const hostKeys: { ed25519?: string } = {};
  return startServer({
    name: 'tinyssh',
    ...login,
    keys: keys.user,
    hostKeys,
    command(dir, port) {
      const folder = join(dir, 'keys');
      execFileSync(makeKey, ['-q', folder]);
      // It makes its keys itself, as 32 bytes in a file.
      const blob = new Writer()
        .string('ssh-ed25519')
        .string(readFileSync(join(folder, 'ed25519.pk')))
        .finish();
      hostKeys.ed25519 = `ssh-ed25519 ${Buffer.from(blob).toString('base64')}`;
      const listen = ['-H', '-R', '-D', '-l', '0', '-c', '100', '127.0.0.1', String(port)];
      return [listener, ...listen, program, '-v', '-x', `sftp=${SFTP_SERVER}`, folder];
    },
  });
}
