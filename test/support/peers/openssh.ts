/** OpenSSH's `sshd` as a peer: from version 8 on, run by root or by whoever runs the tests. */

import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type KeyName, keyNames, testKeys } from './keys.ts';
import { findProgram, type Peer } from './peer.ts';
import { startServer } from './process.ts';
import { isRoot, isRootLocked, ownLogin, throwawayLogin, throwawayUnavailable } from './user.ts';

export interface SshdOptions {
  /** Lines of sshd_config; they win over the ones below. From the first `Match` on they go to the end of the file. */
  readonly config?: readonly string[];
  /** Kinds of host key to offer; default all. */
  readonly hostKeys?: readonly KeyName[];
  /** Log in as the throwaway user, with a password or a key. Needs `passwordUnavailable()` to be `undefined`. */
  readonly password?: boolean;
}

/** Why no `sshd` can be started here, or `undefined`. */
export function available(): string | undefined {
  for (const name of ['sshd', 'ssh-keygen']) if (findProgram(name) === undefined) return `there is no ${name}`;
  return isRootLocked() ? throwawayUnavailable() : undefined;
}

/** Why no password login can be tried here, or `undefined`. */
export function passwordUnavailable(): string | undefined {
  return available() ?? throwawayUnavailable();
}

/** Starts an `sshd` on loopback; `stop` it when done. */
export async function startSshd(options: SshdOptions = {}): Promise<Peer> {
  const program = findProgram('sshd');
  if (program === undefined) throw new Error(available());
  if (isRoot()) mkdirSync('/run/sshd', { recursive: true, mode: 0o755 }); // privilege separation wants it
  const keys = testKeys();
  const throwaway = options.password || isRootLocked();
  const login = throwaway ? await throwawayLogin(keys.authorizedKeys) : ownLogin();
  const offered = options.hostKeys ?? keyNames;
  return startServer({
    name: 'sshd',
    ...login,
    keys: keys.user,
    hostKeys: Object.fromEntries(offered.map((name) => [name, keys.host[name].public])),
    command(dir, port) {
      const authorized = join(dir, 'authorized_keys');
      writeFileSync(authorized, keys.authorizedKeys, { mode: 0o644 });
      const lines = [
        `ListenAddress 127.0.0.1:${port}`,
        ...offered.map((name) => `HostKey ${keys.host[name].path}`),
        `AuthorizedKeysFile ${authorized}`,
        `AllowUsers ${login.username}`,
        `PasswordAuthentication ${options.password ? 'yes' : 'no'}`,
      ];
      const config = join(dir, 'sshd_config');
      writeFileSync(config, configText(lines, options.config ?? []));
      withoutPenalties(program, config);
      return [program, '-D', '-e', '-f', config];
    },
  });
}

/** The first value of a keyword counts, so what a test sets comes first. */
function configText(own: readonly string[], extra: readonly string[]): string {
  const match = extra.findIndex((line) => /^\s*match\b/i.test(line));
  const [first, last] = match < 0 ? [extra, []] : [extra.slice(0, match), extra.slice(match)];
  const defaults = [
    'PidFile none',
    'StrictModes no', // keys and directories lie in /tmp
    'UsePAM no',
    'PermitRootLogin yes',
    'KbdInteractiveAuthentication no',
    'MaxStartups 100:30:200',
    'MaxAuthTries 20',
    'PerSourcePenalties no',
    'UseDNS no',
    'PrintMotd no',
    'PrintLastLog no',
    'LogLevel VERBOSE',
  ];
  if (!first.some((line) => /^\s*subsystem\b/i.test(line))) defaults.push('Subsystem sftp internal-sftp');
  return `${[...first, ...own, ...defaults, ...last].join('\n')}\n`;
}

let knowsPenalties: boolean | undefined;

/** Before 9.8 `sshd` does not know `PerSourcePenalties` and would refuse the file; from then on it must be off. */
function withoutPenalties(program: string, config: string): void {
  knowsPenalties ??= accepts(program, config);
  if (!knowsPenalties) execFileSync('sed', ['-i.orig', '/^PerSourcePenalties/d', config]);
}

function accepts(program: string, config: string): boolean {
  try {
    execFileSync(program, ['-t', '-f', config], { stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' });
    return true;
  } catch (error) {
    return !/PerSourcePenalties/.test(String((error as { stderr?: unknown }).stderr));
  }
}
