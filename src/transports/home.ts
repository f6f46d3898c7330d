/** The files of a user that SSH knows, private keys and known_hosts, on whatever file system a runtime has. */

import { decodeLenient } from '../bytes/text.ts';
import type { PublicKeyMethod } from '../client/auth.ts';
import type { HostKeyPolicy } from '../client/host_key.ts';
import { acceptNewIn, knownHostsIn, type TextFile } from '../client/known_hosts_policy.ts';
import { SshError } from '../errors.ts';
import { parsePrivateKey, signerOf } from '../keys/private_key.ts';
import { fileError, isMissing } from './file_error.ts';

/** Where OpenSSH keeps the keys of hosts. */
export const KNOWN_HOSTS = '~/.ssh/known_hosts';

/** What a runtime has to bring along. Failures are the runtime's own. */
export interface HomeSystem {
  /** The user's home directory, if it is known. */
  home(): string | undefined;
  read(path: string): Promise<Uint8Array>;
  /**
   * Adds a line at the end of a file in one write, so that two processes that append at once do not mix their lines. Ends
   * the last line first where that is missing; makes the folder and the file, for the owner only, where they are missing.
   */
  appendLine(path: string, line: string): Promise<void>;
}

/** `path` with a leading `~` replaced; other users' homes (`~name`) are not looked up. */
export function expandHome(path: string, home: () => string | undefined): string {
  if (path !== '~' && !/^~[/\\]/.test(path)) return path;
  const folder = home();
  if (folder === undefined || folder === '') {
    throw new SshError('bad-argument', `No home directory is known, so ${path} cannot be found: give a full path`);
  }
  return folder + path.slice(1);
}

export function keyFileOf(system: HomeSystem, path: string): PublicKeyMethod {
  return {
    method: 'publickey',
    name: path,
    async signer(crypto) {
      const file = expandHome(path, system.home);
      const bytes = await system.read(file).catch((error) => {
        throw fileError('read the private key', file, error);
      });
      return signerOf(crypto, parsePrivateKey(bytes, crypto, { name: file }));
    },
  };
}

export function knownHostsOf(system: HomeSystem, paths: string | readonly string[]): HostKeyPolicy {
  return knownHostsIn((typeof paths === 'string' ? [paths] : paths).map((path) => textFile(system, path)));
}

export function acceptNewOf(system: HomeSystem, path: string): HostKeyPolicy {
  return acceptNewIn(textFile(system, path));
}

function textFile(system: HomeSystem, path: string): TextFile {
  const file = expandHome(path, system.home);
  return {
    name: file,
    async read() {
      try {
        return decodeLenient(await system.read(file));
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw fileError('read', file, error);
      }
    },
    async append(line) {
      try {
        await system.appendLine(file, line);
      } catch (error) {
        throw fileError('add a host key to', file, error);
      }
    },
  };
}
