/** The private keys that a user has by default, as far as they can be used without asking for a passphrase. */

import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { Reader } from '../bytes/reader.ts';
import { utf8 } from '../bytes/text.ts';
import { parsePem } from '../keys/pem.ts';

/** Those whose kinds puressh knows, the cheapest first. */
const NAMES = ['id_ed25519', 'id_ecdsa', 'id_rsa'] as const;

/** The default keys. */
export interface DefaultIdentities {
  /** Paths of the keys to try. */
  readonly usable: readonly string[];
  /** Paths of keys that are there, but encrypted or in a format that puressh does not read. */
  readonly skipped: readonly string[];
}

/** Looks into `~/.ssh`; what cannot be read counts as not there. */
export async function defaultIdentities(home: string = homedir()): Promise<DefaultIdentities> {
  const usable: string[] = [];
  const skipped: string[] = [];
  for (const name of NAMES) {
    const path = join(home, '.ssh', name);
    const text = await readFile(path, 'latin1').catch(() => undefined);
    if (text !== undefined) (isPlainKey(text) ? usable : skipped).push(path);
  }
  return { usable, skipped };
}

/** Whether a key file is of a format that is read and holds its key unencrypted. */
function isPlainKey(text: string): boolean {
  const block = parsePem(text).find(({ label }) => label.endsWith('PRIVATE KEY'));
  if (block === undefined || !('bytes' in block) || block.bytes === undefined) return false;
  if (block.label === 'PRIVATE KEY') return true;
  return block.label === 'OPENSSH PRIVATE KEY' && opensshCipher(block.bytes) === 'none';
}

/** OpenSSH PROTOCOL.key §1: the magic, then the name of the cipher. */
function opensshCipher(bytes: Uint8Array): string | undefined {
  try {
    const reader = new Reader(bytes);
    reader.raw(utf8('openssh-key-v1\0').length);
    return reader.name();
  } catch {
    return undefined;
  }
}
