/** The files of a user that SSH knows: private keys and known_hosts, with `node:fs`, which Node and Bun both have. */

import { mkdir, open, readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname } from 'node:path';
import type { PublicKeyMethod } from '../client/auth.ts';
import type { HostKeyPolicy } from '../client/host_key.ts';
import { acceptNewOf, type HomeSystem, KNOWN_HOSTS, keyFileOf, knownHostsOf } from './home.ts';

const system: HomeSystem = {
  // Bun's `homedir` does not see a HOME that the program has set.
  home: () => (process.platform === 'win32' ? undefined : process.env.HOME) || homedir(),
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
