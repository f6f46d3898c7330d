/** What the tests of keys share: the provider, the vectors, scratch directories and other people's tools. */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { base64, fromBase64, hex } from '../../src/bytes/text.ts';
import type { CryptoProvider } from '../../src/crypto/provider.ts';
import { pureProvider } from '../../src/crypto/pure/index.ts';
import { SshError, type SshErrorCode } from '../../src/errors.ts';
import { parsePem } from '../../src/keys/pem.ts';
import { parsePrivateKey } from '../../src/keys/private_key.ts';
import { root } from '../support/root.ts';

export const crypto: CryptoProvider = pureProvider;

export interface PublicRow {
  readonly name: string;
  readonly type: string;
  readonly bits: number;
  readonly blob: string;
  readonly fingerprint: string;
  readonly line: string;
}

export interface PrivateRow {
  readonly name: string;
  readonly publicLine: string;
  readonly openssh?: string;
  readonly pkcs8?: string;
}

export interface SignatureRow {
  readonly name: string;
  readonly algorithm: string;
  readonly publicKey: string;
  readonly message: string;
  readonly signature: string;
}

export interface CertificateRow {
  readonly name: string;
  readonly type: string;
  /** Names of public keys. */
  readonly subject: string;
  readonly authority: string;
  readonly kind: string;
  readonly keyId: string;
  readonly serial: string;
  readonly principals: readonly string[];
  /** Seconds since 1970. */
  readonly validAfter: number;
  readonly validBefore: number | 'forever';
  readonly criticalOptions: readonly string[];
  readonly extensions: readonly string[];
  readonly blob: string;
}

export interface KnownHostsRow {
  readonly name: string;
  readonly lines: readonly string[];
  readonly lookups: readonly {
    readonly host: string;
    readonly port: number;
    readonly verdict: { readonly state: string; readonly line?: number };
    readonly found: readonly number[];
  }[];
}

function rows<T>(file: string): T[] {
  return JSON.parse(readFileSync(new URL(`vectors/keys/${file}`, root), 'utf8')).rows;
}

export const publicRows: PublicRow[] = rows('public_keys.json');
export const privateRows: PrivateRow[] = rows('private_keys.json');
export const signatureRows: SignatureRow[] = rows('signatures.json');
export const certificateRows: CertificateRow[] = rows('certificates.json');
export const knownHostsRows: KnownHostsRow[] = rows('known_hosts.json');

/** The bytes of base64 that is known to be base64. */
export function bytes(base64: string): Uint8Array {
  const decoded = fromBase64(base64);
  if (decoded === undefined) throw new Error(`Not base64: ${base64}`);
  return decoded;
}

/** The blob of the vectors' public key of that name. */
export function publicBlob(name: string): Uint8Array {
  const row = publicRows.find((each) => each.name === name);
  if (row === undefined) throw new Error(`No public key '${name}' in the vectors`);
  return bytes(row.blob);
}

/** The vectors' private key of that name. */
export function privateRow(name: string): PrivateRow {
  const row = privateRows.find((each) => each.name === name);
  if (row === undefined) throw new Error(`No private key '${name}' in the vectors`);
  return row;
}

/** A check for `assert.throws`: an SshError with that code, and a message that matches. */
export function sshError(code: SshErrorCode, message: RegExp = /./): (error: unknown) => boolean {
  return (error) => {
    if (!(error instanceof SshError)) throw error;
    if (error.code !== code || !message.test(error.message)) {
      throw new Error(`${code} ${message} expected, got ${error.code}: ${error.message}`);
    }
    return true;
  };
}

/** A file among the published vectors: where it is, and why tests with it are skipped. In CI they run, and fail, without. */
export function shared(path: string): { readonly path: string; readonly skip: string | false } {
  const base = process.env.PURESSH_VECTORS ?? fileURLToPath(new URL('../shared/vectors', root));
  const full = join(base, path);
  return {
    path: full,
    skip: existsSync(full) || process.env.CI ? false : `${path} is not among the published vectors`,
  };
}

/** What a program said and how it ended. */
export function run(
  program: string,
  args: readonly string[],
  input: string | Uint8Array = '',
): { readonly status: number | null; readonly stdout: string; readonly stderr: string } {
  const { status, stdout, stderr, error } = spawnSync(program, args, { input, timeout: 60_000 });
  if (error !== undefined) throw error;
  return { status, stdout: stdout.toString('utf8'), stderr: stderr.toString('utf8') };
}

/** As `run`, but what it printed, and an error if it failed. */
export function output(program: string, args: readonly string[], input: string | Uint8Array = ''): string {
  const { status, stdout, stderr } = run(program, args, input);
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} failed: ${stderr}`);
  return stdout;
}

/** Why tests that need a program are skipped. Where CI is set they run in any case, and fail without it. */
export function without(program: string, args: readonly string[]): string | false {
  if (process.env.CI || spawnSync(program, args).error === undefined) return false;
  return `${program} is not installed`;
}

export const noKeygen: string | false = without('ssh-keygen', ['-?']);
export const noOpenssl: string | false = without('openssl', ['version']);

/** Runs `use` with a directory that is gone afterwards. */
export async function inScratch<T>(use: (path: (name: string) => string) => T | Promise<T>): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), 'puressh-keys-'));
  try {
    return await use((name) => join(directory, name));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Arguments for `ssh-keygen` that make a key of each type, by the name of the type. */
export const keyTypes: Readonly<Record<string, readonly string[]>> = {
  'ssh-ed25519': ['-t', 'ed25519'],
  'ecdsa-sha2-nistp256': ['-t', 'ecdsa', '-b', '256'],
  'ecdsa-sha2-nistp384': ['-t', 'ecdsa', '-b', '384'],
  'ecdsa-sha2-nistp521': ['-t', 'ecdsa', '-b', '521'],
  'ssh-rsa': ['-t', 'rsa', '-b', '2048'],
};

/** Makes a key without passphrase; further arguments choose its format. */
export function generate(type: string, file: string, ...more: readonly string[]): void {
  output('ssh-keygen', ['-q', '-N', '', '-C', 'made by a test', ...(keyTypes[type] ?? []), '-f', file, ...more]);
}

/** Bytes in PEM armour. */
export function armour(label: string, content: Uint8Array): string {
  return `-----BEGIN ${label}-----\n${base64(content)}\n-----END ${label}-----\n`;
}

/** The bytes in the first PEM block of a file. */
export function armoured(file: string): Uint8Array {
  const [block] = parsePem(file);
  if (block === undefined || !('bytes' in block) || block.bytes === undefined) throw new Error('Not PEM');
  return block.bytes;
}

/** What reading a file that may be damaged comes to: the public key, or the error's code. */
export function readOutcome(file: string): string {
  try {
    return hex(parsePrivateKey(file, crypto).publicKey.blob);
  } catch (error) {
    if (!(error instanceof SshError)) throw error;
    return error.code;
  }
}
