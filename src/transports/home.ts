/** Paths below the user's home, in every runtime. */

import { SshError } from '../errors.ts';

/** Where OpenSSH keeps the keys of hosts. */
export const KNOWN_HOSTS = '~/.ssh/known_hosts';

/** `path` with a leading `~` replaced; other users' homes (`~name`) are not looked up. */
export function expandHome(path: string, home: () => string | undefined): string {
  if (path !== '~' && !/^~[/\\]/.test(path)) return path;
  const folder = home();
  if (folder === undefined || folder === '') {
    throw new SshError('bad-argument', `No home directory is known, so ${path} cannot be found: give a full path`);
  }
  return folder + path.slice(1);
}
