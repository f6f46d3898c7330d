/**
 * Dropbear as a peer. It reads authorized_keys from the home of who logs in, so it needs the throwaway user; it runs
 * commands and, through OpenSSH's `sftp-server`, SFTP.
 */

import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type KeyName, testKeys } from './keys.ts';
import { findProgram, type Peer } from './peer.ts';
import { startServer } from './process.ts';
import { throwawayLogin, throwawayUnavailable } from './user.ts';

/** Dropbear takes one ECDSA host key only. */
const OFFERED: readonly KeyName[] = ['ed25519', 'ecdsa256', 'rsa'];

/** Where Debian's Dropbear looks for the SFTP server. */
const SFTP_SERVER = '/usr/lib/sftp-server';

export interface DropbearOptions {
  /** Further arguments, such as `['-W', '65536']` for the receive window. */
  readonly args?: readonly string[];
}

/** Why no Dropbear can be started here, or `undefined`. */
export function available(): string | undefined {
  for (const name of ['dropbear', 'dropbearconvert', 'ssh-keygen']) {
    if (findProgram(name) === undefined) return `there is no ${name}`;
  }
  return throwawayUnavailable();
}

/** Why this Dropbear offers no SFTP, or `undefined`. */
export function sftpUnavailable(): string | undefined {
  return available() ?? (existsSync(SFTP_SERVER) ? undefined : `there is no ${SFTP_SERVER}`);
}

/** Starts a Dropbear on loopback that takes keys and a password; `stop` it when done. */
export async function startDropbear(options: DropbearOptions = {}): Promise<Peer> {
  const program = findProgram('dropbear');
  const convert = findProgram('dropbearconvert');
  if (program === undefined || convert === undefined) throw new Error(available());
  const keys = testKeys();
  const login = await throwawayLogin(keys.authorizedKeys);
  return startServer({
    name: 'dropbear',
    ...login,
    keys: keys.user,
    hostKeys: Object.fromEntries(OFFERED.map((name) => [name, keys.host[name].public])),
    command(dir, port) {
      const hostKeys = OFFERED.flatMap((name) => {
        const path = join(dir, `host_${name}`);
        execFileSync(convert, ['openssh', 'dropbear', keys.host[name].path, path], { stdio: 'ignore' });
        return ['-r', path];
      });
      const place = ['-p', `127.0.0.1:${port}`, '-P', join(dir, 'pid')];
      return [program, '-F', '-E', ...place, ...hostKeys, ...(options.args ?? [])];
    },
  });
}
