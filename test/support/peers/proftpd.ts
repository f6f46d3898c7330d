/** ProFTPD with mod_sftp as a peer: SFTP without a shell. It runs as root and changes into the user who logs in. */

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { keyNames, testKeys } from './keys.ts';
import { findProgram, type Peer } from './peer.ts';
import { startServer } from './process.ts';
import { isRoot, throwawayLogin, throwawayUnavailable } from './user.ts';

/** Where Debian has its modules. */
const MODULE = '/usr/lib/proftpd/mod_sftp.so';

/** Why no ProFTPD can be started here, or `undefined`. */
export function available(): string | undefined {
  for (const name of ['proftpd', 'ssh-keygen']) if (findProgram(name) === undefined) return `there is no ${name}`;
  if (!existsSync(MODULE)) return `there is no ${MODULE}`;
  return isRoot() ? throwawayUnavailable() : 'only root can start ProFTPD';
}

/** Starts one on loopback; `stop` it when done. */
export async function startProftpd(): Promise<Peer> {
  const program = findProgram('proftpd');
  if (program === undefined) throw new Error(available());
  const keys = testKeys();
  const login = await throwawayLogin(keys.authorizedKeys);
  return startServer({
    name: 'proftpd',
    ...login,
    keys: keys.user,
    hostKeys: Object.fromEntries(keyNames.map((name) => [name, keys.host[name].public])),
    command(dir, port) {
      const [state, authorized, config] = [join(dir, 'state'), join(dir, 'authorized'), join(dir, 'proftpd.conf')];
      mkdirSync(state);
      writeFileSync(authorized, keyNames.map((name) => rfc4716(`${keys.user[name].openssh}.pub`)).join(''));
      const lines = [
        'LoadModule mod_sftp.c',
        'ServerType standalone',
        'ServerName puressh-test',
        'DefaultAddress 127.0.0.1',
        `Port ${port}`,
        'UseIPv6 off',
        'UseReverseDNS off',
        'User nobody',
        'Group nogroup',
        'RequireValidShell off',
        'DelayEngine off',
        'WtmpLog off',
        `PidFile ${state}/pid`,
        `ScoreboardFile ${state}/scoreboard`,
        `SystemLog ${state}/log`,
        'SFTPEngine on',
        ...keyNames.map((name) => `SFTPHostKey ${keys.host[name].path}`),
        `SFTPAuthorizedUserKeys file:${authorized}`,
        'SFTPAuthMethods publickey',
        'AllowOverwrite on',
        'AllowStoreRestart on',
      ];
      writeFileSync(config, `${lines.join('\n')}\n`);
      return [program, '-n', '-q', '-c', config];
    },
  });
}

/** A public key in the form of RFC 4716, which is the one that ProFTPD reads. */
function rfc4716(path: string): string {
  return execFileSync('ssh-keygen', ['-e', '-m', 'RFC4716', '-f', path], { encoding: 'utf8' });
}
