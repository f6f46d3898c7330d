/**
 * Keys for the peers: made once with `ssh-keygen` and kept in `build/`, since RSA keys take a while. They open nothing
 * but servers that the tests start on loopback.
 */

import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root } from '../root.ts';

/** The kinds of key, as arguments of `ssh-keygen`. */
const kinds = {
  ed25519: ['-t', 'ed25519'],
  ecdsa256: ['-t', 'ecdsa', '-b', '256'],
  ecdsa384: ['-t', 'ecdsa', '-b', '384'],
  ecdsa521: ['-t', 'ecdsa', '-b', '521'],
  rsa: ['-t', 'rsa', '-b', '2048'],
} as const;

export type KeyName = keyof typeof kinds;
export const keyNames: readonly KeyName[] = Object.keys(kinds) as KeyName[];

/** Paths of one user key, unencrypted, and its public key as `type base64`. */
export interface UserKey {
  /** openssh-key-v1. */
  readonly openssh: string;
  /** The same key as PKCS #8. */
  readonly pkcs8: string;
  readonly public: string;
}

/** Public host keys by kind, as `type base64`; only the kinds that the server offers. */
export type HostKeys = Readonly<Partial<Record<KeyName, string>>>;

/** Everything that was made. */
export interface TestKeys {
  readonly user: Readonly<Record<KeyName, UserKey>>;
  /** Path of the private host key (openssh-key-v1) and its public key, by kind. */
  readonly host: Readonly<Record<KeyName, { readonly path: string; readonly public: string }>>;
  /** authorized_keys lines for all user keys. */
  readonly authorizedKeys: string;
}

let made: TestKeys | undefined;

/** The keys, made on first use. Throws when there is no `ssh-keygen`. */
export function testKeys(): TestKeys {
  made ??= load(ensureFolder());
  return made;
}

function ensureFolder(): string {
  const build = fileURLToPath(new URL('build/', root));
  const folder = join(build, `peer-keys-${userInfo().uid}`);
  if (existsSync(folder)) return folder;
  mkdirSync(build, { recursive: true });
  const fresh = mkdtempSync(`${folder}-`);
  for (const name of keyNames) {
    generate(name, join(fresh, `host_${name}`));
    const path = join(fresh, `user_${name}`);
    generate(name, path);
    writePkcs8(name, path, `${path}.pkcs8`);
  }
  try {
    renameSync(fresh, folder);
  } catch (error) {
    rmSync(fresh, { recursive: true });
    if (!existsSync(folder)) throw error; // otherwise another process was quicker
  }
  return folder;
}

function generate(name: KeyName, path: string): void {
  execFileSync('ssh-keygen', ['-q', ...kinds[name], '-N', '', '-C', `puressh-test-${name}`, '-f', path]);
}

function writePkcs8(name: KeyName, from: string, to: string): void {
  if (name === 'ed25519') {
    writeFileSync(to, ed25519Pkcs8(readFileSync(from, 'utf8'), publicLine(from)), { mode: 0o600 });
    return;
  }
  copyFileSync(from, to);
  execFileSync('ssh-keygen', ['-q', '-p', '-P', '', '-N', '', '-m', 'PKCS8', '-f', to]);
}

/** `ssh-keygen` writes no Ed25519 key as PKCS #8 (RFC 8410 §7), but a key of that kind is a fixed header and the seed. */
function ed25519Pkcs8(openssh: string, line: string): string {
  const key = Buffer.from(openssh.replace(/-----[^-]+-----/g, ''), 'base64');
  const publicKey = Buffer.from(line.split(' ')[1] as string, 'base64').subarray(-32);
  const at = key.lastIndexOf(publicKey); // openssh-key-v1 keeps the seed and then the public key
  const header = Buffer.from('302e020100300506032b657004220420', 'hex');
  const body = Buffer.concat([header, key.subarray(at - 32, at)]).toString('base64');
  return `-----BEGIN PRIVATE KEY-----\n${body}\n-----END PRIVATE KEY-----\n`;
}

/** `type base64` of the public key beside a private key file. */
function publicLine(path: string): string {
  return readFileSync(`${path}.pub`, 'utf8').split(' ').slice(0, 2).join(' ');
}

function load(folder: string): TestKeys {
  const each = <T>(make: (name: KeyName) => T): Record<KeyName, T> =>
    Object.fromEntries(keyNames.map((name) => [name, make(name)])) as Record<KeyName, T>;
  const user = each((name) => {
    const path = join(folder, `user_${name}`);
    return { openssh: path, pkcs8: `${path}.pkcs8`, public: publicLine(path) };
  });
  const host = each((name) => {
    const path = join(folder, `host_${name}`);
    return { path, public: publicLine(path) };
  });
  return { user, host, authorizedKeys: keyNames.map((name) => `${user[name].public} puressh-test\n`).join('') };
}
