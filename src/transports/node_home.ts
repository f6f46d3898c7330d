/** The files of a user that SSH knows: private keys and known_hosts, with `node:fs`, which Node and Bun both have. */

import { lstat, mkdir, open, readFile, realpath, rename, stat, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { IdentitiesMethod } from '../client/auth.ts';
import type { HostKeyPolicy } from '../client/host_key.ts';
import { nodeCrypto } from '../crypto/native/node.ts';
import { isMissing } from './file_error.ts';
import type { HomeSystem } from './home.ts';
import { type KeyFileOptions, keyFileOf } from './key_file.ts';
import {
  type AcceptNewFileOptions,
  acceptNewOf,
  type ForgetHostOptions,
  forgetHostOf,
  KNOWN_HOSTS,
  type KnownHostsFileOptions,
  knownHostsOf,
} from './known_hosts_files.ts';
import { homeFolder } from './node_config.ts';

const system: HomeSystem = {
  home: homeFolder,
  read: (path) => readFile(path),
  async appendLine(path, line) {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const file = await open(path, 'a+', 0o600);
    try {
      const { size } = await file.stat();
      const last = new Uint8Array(1);
      if (size > 0) await file.read(last, 0, 1, size - 1);
      const gap = size > 0 && last[0] !== 0x0a ? '\n' : '';
      await file.write(`${gap}${line}\n`);
    } finally {
      await file.close();
    }
  },
  async follow(path) {
    try {
      return await realpath(path);
    } catch (error) {
      if (isMissing(error) && (await isNothing(path))) return path;
      throw error;
    }
  },
  async create(path, bytes, like) {
    const old = await stat(like).catch(noneIfMissing);
    if (old === undefined) await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const file = await open(path, 'wx', 0o600);
    try {
      await file.writeFile(bytes);
      if (old !== undefined) await file.chmod(old.mode & 0o7777);
      // the superuser, who edits for somebody, leaves the file to them
      if (old !== undefined && old.uid !== process.getuid?.()) await file.chown(old.uid, old.gid).catch(() => {});
      await file.sync();
    } finally {
      await file.close();
    }
  },
  rename,
  remove: unlink,
};

function noneIfMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error;
}

/** Whether nothing is at the path, not even a link that leads nowhere. */
async function isNothing(path: string): Promise<boolean> {
  return (await lstat(path).catch(noneIfMissing)) === undefined;
}

/**
 * Log in with the private key in a file of any format; `~` is the user's home. One that is encrypted is opened once the server has
 * said that the key would do, or by the agent if that has it. A certificate in `PATH-cert.pub` is tried before the key. Of a
 * public key the private half must be in an agent.
 */
export function keyFile(path: string, options: KeyFileOptions = {}): IdentitiesMethod {
  return keyFileOf(system, path, options);
}

/**
 * Trusts the keys, and the certificates of the authorities, in known_hosts files, and no other. Default: `~/.ssh/known_hosts`. With
 * `update`, keys that the server proves to have as well take the place of those that it has no more.
 */
export function knownHosts(
  paths: string | readonly string[] = KNOWN_HOSTS,
  options: KnownHostsFileOptions = {},
): HostKeyPolicy {
  return knownHostsOf(system, paths, options);
}

/**
 * Trusts the keys in a known_hosts file, and writes the key of a host that is not there yet into it. A host whose key has
 * changed is refused. Default: `~/.ssh/known_hosts`.
 */
export function acceptNew(path: string = KNOWN_HOSTS, options: AcceptNewFileOptions = {}): HostKeyPolicy {
  return acceptNewOf(system, path, options);
}

/**
 * Takes the keys of a host out of a known_hosts file, as `ssh-keygen -R` does: a line goes whole, also where it names other hosts
 * too; those of authorities and revocations stay. Resolves with the number of lines that have gone.
 */
export function forgetHost(host: string, options?: ForgetHostOptions): Promise<number> {
  return forgetHostOf(system, nodeCrypto.auto, host, options);
}
