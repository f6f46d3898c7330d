/** The files of a user that SSH knows: private keys and known_hosts, with Deno. */

import type { PublicKeyMethod } from '../client/auth.ts';
import type { HostKeyPolicy } from '../client/host_key.ts';
import { acceptNewIn, knownHostsIn, type TextFile } from '../client/known_hosts_policy.ts';
import { parsePrivateKey, signerOf } from '../keys/private_key.ts';
import { deno } from './deno_api.ts';
import { denoFiles } from './deno_files.ts';
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
        bytes = await deno().readFile(file);
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

function expand(path: string): string {
  return expandHome(path, () => deno().env.get('HOME') ?? deno().env.get('USERPROFILE'));
}

function textFile(path: string): TextFile {
  const file = expand(path);
  return {
    name: file,
    async read() {
      try {
        return await deno().readTextFile(file);
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
  const folder = denoFiles.beside(file, '').slice(0, -1);
  if (folder !== '') await deno().mkdir(folder, { recursive: true, mode: 0o700 });
  const open = await deno().open(file, { read: true, append: true, create: true, mode: 0o600 });
  try {
    const { size } = await open.stat();
    const last = new Uint8Array(1);
    if (size > 0) {
      open.seekSync(-1, 2);
      await open.read(last);
    }
    const gap = size > 0 && last[0] !== 0x0a ? '\n' : '';
    await open.write(new TextEncoder().encode(`${gap}${line}\n`));
  } finally {
    open.close();
  }
}
