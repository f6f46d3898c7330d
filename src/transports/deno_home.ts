/** The files of a user that SSH knows: private keys and known_hosts, with Deno. */

import { utf8 } from '../bytes/text.ts';
import type { PublicKeyMethod } from '../client/auth.ts';
import type { HostKeyPolicy } from '../client/host_key.ts';
import { deno } from './deno_api.ts';
import { denoFiles } from './deno_files.ts';
import { acceptNewOf, type HomeSystem, KNOWN_HOSTS, keyFileOf, knownHostsOf } from './home.ts';

const system: HomeSystem = {
  home: () => deno().env.get('HOME') ?? deno().env.get('USERPROFILE'),
  read: (path) => deno().readFile(path),
  async appendLine(path, line) {
    const folder = denoFiles.beside(path, '').slice(0, -1);
    if (folder !== '') await deno().mkdir(folder, { recursive: true, mode: 0o700 });
    const file = await deno().open(path, { read: true, append: true, create: true, mode: 0o600 });
    try {
      const { size } = await file.stat();
      const last = new Uint8Array(1);
      if (size > 0) {
        file.seekSync(-1, 2);
        await file.read(last);
      }
      const gap = size > 0 && last[0] !== 0x0a ? '\n' : '';
      await file.write(utf8(`${gap}${line}\n`));
    } finally {
      file.close();
    }
  },
};

/** Log in with the private key in a file (OpenSSH or PKCS#8, not encrypted). `~` is the user's home. */
export function keyFile(path: string): PublicKeyMethod {
  return keyFileOf(system, path);
}

/** Trusts the keys in known_hosts files, and no other. Default: `~/.ssh/known_hosts`. */
export function knownHosts(paths: string | readonly string[] = KNOWN_HOSTS): HostKeyPolicy {
  return knownHostsOf(system, paths);
}

/**
 * Trusts the keys in a known_hosts file, and writes the key of a host that is not there yet into it. A host whose key has
 * changed is refused. Default: `~/.ssh/known_hosts`.
 */
export function acceptNew(path: string = KNOWN_HOSTS): HostKeyPolicy {
  return acceptNewOf(system, path);
}
