/** What ssh_config(5) needs to know of this machine and its user, with Node's modules, which Deno and Bun have too. */

import { access, readdir, readFile, stat } from 'node:fs/promises';
import { homedir, hostname, userInfo } from 'node:os';
import process from 'node:process';
import type { ConfigSystem } from './config_files.ts';

/** The machine and the user as tokens and conditions of ssh_config(5) name them. */
export interface LocalFacts {
  readonly home: string;
  readonly localUser: string;
  readonly localHost: string;
  readonly userId?: number;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export function localFacts(): LocalFacts {
  const { env } = process;
  const user = systemUser();
  const userId = user !== undefined && user.uid >= 0 ? { userId: user.uid } : {};
  // the environment first, as most programs do
  const found = env.USER || env.LOGNAME || env.USERNAME || user?.username || '';
  // Bun's word for a user whose name is not in the environment
  const localUser = found === 'unknown' ? '' : found;
  return { home: homeFolder(), localUser, localHost: hostname(), ...userId, env };
}

/** The system may know the number of a user and no name, as in a container. */
function systemUser(): { readonly username: string; readonly uid: number } | undefined {
  try {
    return userInfo();
  } catch {
    return undefined;
  }
}

/** The user's home directory. Bun's `homedir` does not see a HOME that the program has set. */
export function homeFolder(): string {
  return (process.platform === 'win32' ? undefined : process.env.HOME) || homedir();
}

export function nodeConfigSystem(): ConfigSystem {
  const isWindows = process.platform === 'win32';
  const slashes = (path: string): string => (isWindows ? path.replaceAll('\\', '/') : path);
  return {
    home: slashes(homeFolder()),
    folder: isWindows ? `${slashes(process.env.ProgramData ?? 'C:/ProgramData')}/ssh` : '/etc/ssh',
    read: (path) => readFile(path),
    list: (path) => readdir(path),
    exists: (path) =>
      access(path).then(
        () => true,
        () => false,
      ),
    async isSafe(path) {
      const own = process.getuid?.();
      if (own === undefined) return true;
      const { uid, mode } = await stat(path);
      return (uid === 0 || uid === own) && (mode & 0o022) === 0;
    },
  };
}
