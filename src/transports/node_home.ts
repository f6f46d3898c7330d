/** The files of a user that SSH knows: private keys and known_hosts, with `node:fs`, which Node and Bun both have. */

import { mkdir, open, readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname } from 'node:path';
import type { PublicKeyMethod } from '../client/auth.ts';
import type { HostKeyPolicy } from '../client/host_key.ts';
import { acceptNewIn, knownHostsIn, type TextFile } from '../client/known_hosts_policy.ts';
import { parsePrivateKey, signerOf } from '../keys/private_key.ts';
import { fileError, isMissing } from './file_error.ts';
import { expandHome, KNOWN_HOSTS } from './home.ts';

/** Log in with the private key in a file (OpenSSH or PKCS#8, not encrypted). `~` is the user's home. */
export function keyFile(path: string): PublicKeyMethod {
  return {
    method: 'publickey',
    name: path,
    async signer(crypto) {
      const file = expand(path);
      let bytes: Uint8Array;
      try {
        bytes = await readFile(file);
      } catch (error) {
        throw fileError('read the private key', file, error);
      }
      return signerOf(crypto, parsePrivateKey(bytes, crypto, { name: file }));
    },
  };
}

/** Trusts the keys in known_hosts files, and no other. Default: `~/.ssh/known_hosts`. */
export function knownHosts(paths: string | readonly string[] = KNOWN_HOSTS): HostKeyPolicy {
  return knownHostsIn((typeof paths === 'string' ? [paths] : paths).map(textFile));
}

/**
 * Trusts the keys in a known_hosts file, and writes the key of a host that is not there yet into it. A host whose key has
 * changed is refused. Default: `~/.ssh/known_hosts`.
 */
export function acceptNew(path: string = KNOWN_HOSTS): HostKeyPolicy {
  return acceptNewIn(textFile(path));
}

/** Bun's `homedir` does not see a HOME that the program has set. */
function home(): string {
  return (process.platform === 'win32' ? undefined : process.env.HOME) || homedir();
}

function expand(path: string): string {
  return expandHome(path, home);
}

function textFile(path: string): TextFile {
  const file = expand(path);
  return {
    name: file,
    async read() {
      try {
        return await readFile(file, 'utf8');
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw fileError('read', file, error);
      }
    },
    async append(line) {
      try {
        await appendLine(file, line);
      } catch (error) {
        throw fileError('add a host key to', file, error);
      }
    },
  };
}

/** One write, so that two processes that append at once do not mix their lines. */
async function appendLine(file: string, line: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const handle = await open(file, 'a+', 0o600);
  try {
    const { size } = await handle.stat();
    const last = new Uint8Array(1);
    if (size > 0) await handle.read(last, 0, 1, size - 1);
    const gap = size > 0 && last[0] !== 0x0a ? '\n' : '';
    await handle.write(`${gap}${line}\n`);
  } finally {
    await handle.close();
  }
}
