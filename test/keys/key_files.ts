/** Key files of the vectors, and what the tests of their formats share. */

import { readFileSync } from 'node:fs';
import { hex } from '../../src/bytes/text.ts';
import type { CryptoProvider } from '../../src/crypto/provider.ts';
import { SshError, type SshErrorCode } from '../../src/errors.ts';
import type { KeyFileFormat } from '../../src/keys/key_file.ts';
import { type PrivateKeyOptions, parsePrivateKey } from '../../src/keys/private_key.ts';
import { parsePublicKeyLine } from '../../src/keys/public_key_line.ts';
import { root } from '../support/root.ts';
import { privateRow } from './tools.ts';

export interface KeyFileRow {
  readonly id: string;
  /** The name of the key among `privateRows`. */
  readonly key: string;
  readonly format: KeyFileFormat;
  readonly passphrase?: string;
  readonly comment: string;
  readonly file: string;
}

export interface RefusedRow {
  readonly id: string;
  readonly code: SshErrorCode;
  readonly says: string;
  readonly file: string;
}

const groups = JSON.parse(readFileSync(new URL('vectors/keys/key_files.json', root), 'utf8'));
export const keyFileRows: readonly KeyFileRow[] = groups[0].rows;
export const refusedRows: readonly RefusedRow[] = groups[1].rows;
/** Files whose public half is a certificate, which is given as a line too. */
export const certifiedRows: readonly (KeyFileRow & { readonly certificate: string })[] = groups[2].rows;

/** The passphrase of every encrypted file of the vectors. */
export const PASSPHRASE = 'päss phrase';

export function keyFileRow(id: string): KeyFileRow {
  const row = keyFileRows.find((each) => each.id === id);
  if (row === undefined) throw new Error(`No key file '${id}' in the vectors`);
  return row;
}

/** The blob of the public key of a row. */
export function blobOf(row: KeyFileRow): Uint8Array {
  return parsePublicKeyLine(privateRow(row.key).publicLine).blob;
}

/** Options that open a row, and whatever else is given. */
export function opening(row: KeyFileRow, more: PrivateKeyOptions = {}): PrivateKeyOptions {
  return { ...(row.passphrase === undefined ? {} : { passphrase: row.passphrase }), ...more };
}

/** What reading a file comes to: the public key in hex, or the error's code. Anything else is thrown. */
export function outcome(file: string | Uint8Array, crypto: CryptoProvider, options: PrivateKeyOptions): string {
  try {
    return hex(parsePrivateKey(file, crypto, options).publicKey.blob);
  } catch (error) {
    if (!(error instanceof SshError)) throw error;
    return error.code;
  }
}

/** A provider that derives each key once. */
export function remembering(crypto: CryptoProvider): CryptoProvider {
  const known = new Map<string, Uint8Array>();
  const once =
    <A extends unknown[]>(name: string, derive: (...args: A) => Uint8Array) =>
    (...args: A): Uint8Array => {
      const shown = args.map((each) => (each instanceof Uint8Array ? hex(each) : JSON.stringify(each)));
      const id = `${name} ${shown.join(' ')}`;
      const key = known.get(id) ?? derive(...args);
      known.set(id, key.slice());
      return key.slice();
    };
  const { pbkdf2, scrypt, argon2, bcrypt } = crypto.kdfs;
  const kdfs = {
    pbkdf2: once('pbkdf2', pbkdf2),
    scrypt: once('scrypt', scrypt),
    argon2: once('argon2', argon2),
    bcrypt: once('bcrypt', bcrypt),
  };
  return Object.defineProperty(Object.create(crypto), 'kdfs', { value: kdfs }) as CryptoProvider;
}
