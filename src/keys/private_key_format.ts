/** Private keys as files: which writer a format calls for, and what it costs to try a passphrase on them. */

import { wipe } from '../bytes/secret.ts';
import { printable, utf8 } from '../bytes/text.ts';
import type { CryptoProvider } from '../crypto/provider.ts';
import { SshError } from '../errors.ts';
import { DEFAULT_KDF_LIMITS } from './kdf_limits.ts';
import { checkContent, checkNames } from './key_arguments.ts';
import { keyCiphers } from './key_cipher.ts';
import { PrivateKey } from './key_pair.ts';
import { writeOpensshKey } from './openssh_key_write.ts';
import { writePkcs8 } from './pkcs8_write.ts';
import { writePpk } from './ppk_write.ts';

/** Formats that are written. */
export type WrittenFormat = 'openssh' | 'pkcs8' | 'ppk';

/** How to write a private key. */
export interface PrivateKeyFormat {
  /** openssh-key-v1 (the default), PKCS#8, or PPK of version 3. */
  readonly format?: WrittenFormat;
  /** Encrypts the file; text counts as its UTF-8 bytes. Without it the file is in the clear. */
  readonly passphrase?: string | Uint8Array;
  /**
   * What it costs to try a passphrase. `openssh`: rounds of bcrypt, default 24, some 0.2 s in plain JavaScript; `pkcs8`: iterations of
   * PBKDF2, default 600,000; `ppk`: passes of Argon2id over 8 MiB, default 13.
   */
  readonly rounds?: number;
  /** Of `openssh` alone: the cipher by OpenSSH's name. Default `aes256-ctr`. */
  readonly cipher?: string;
  /** Default: that of the key. `pkcs8` has no place for one. */
  readonly comment?: string;
}

/** Costs by default: OpenSSH's; OWASP's for PBKDF2 with SHA-256; PuTTY's example, some 0.1 s of native code. */
const defaultRounds: Readonly<Record<WrittenFormat, number>> = { openssh: 24, pkcs8: 600_000, ppk: 13 };

/** As many as are read again by default. */
const mostRounds: Readonly<Record<WrittenFormat, number>> = {
  openssh: DEFAULT_KDF_LIMITS.bcryptRounds,
  pkcs8: DEFAULT_KDF_LIMITS.pbkdf2Iterations,
  ppk: DEFAULT_KDF_LIMITS.argon2Work / 8192,
};

/**
 * A private key as the text of a file. Answers at once, though encryption may take a second in plain JavaScript. Throws
 * `bad-argument` for options that do not go together, an empty passphrase, and a comment of several lines.
 */
export function formatPrivateKey(crypto: CryptoProvider, key: PrivateKey, options: PrivateKeyFormat = {}): string {
  if (!(key instanceof PrivateKey)) throw bad('formatPrivateKey takes a key that parsePrivateKey or makeKey gave');
  checkNames('formatPrivateKey', options, ['format', 'passphrase', 'rounds', 'cipher', 'comment']);
  if (options.passphrase !== undefined) checkContent('formatPrivateKey', 'the passphrase', options.passphrase);
  const { format = 'openssh', passphrase, comment = key.comment, cipher } = options;
  if (!Object.hasOwn(defaultRounds, format)) throw bad(`No format of private keys: '${printable(format, 40)}'`);
  const { rounds = defaultRounds[format] } = options;
  // what came out of another file is no mistake of the caller, if only the format bears it
  if (/[\r\n\0]/.test(comment) && (options.comment !== undefined || format === 'ppk')) {
    throw bad(`A comment of several lines: '${printable(comment)}'`);
  }
  if (passphrase?.length === 0) throw bad('An empty passphrase: leave it out, and the file is in the clear');
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > mostRounds[format]) {
    throw bad(`rounds of ${rounds}: ${format} takes 1 to ${mostRounds[format]}`);
  }
  if (cipher !== undefined && format !== 'openssh') throw bad(`A cipher can be chosen for openssh, not for ${format}`);
  if (passphrase === undefined) return write(crypto, key, format, comment);
  const bytes = typeof passphrase === 'string' ? utf8(passphrase) : passphrase;
  try {
    return write(crypto, key, format, comment, { passphrase: bytes, rounds, name: cipher ?? 'aes256-ctr' });
  } finally {
    if (bytes !== passphrase) wipe(bytes);
  }
}

function write(
  crypto: CryptoProvider,
  key: PrivateKey,
  format: WrittenFormat,
  comment: string,
  encryption?: { readonly passphrase: Uint8Array; readonly rounds: number; readonly name: string },
): string {
  switch (format) {
    case 'openssh': {
      if (encryption === undefined) return writeOpensshKey(crypto, key, comment);
      const cipher = keyCiphers.get(encryption.name);
      if (cipher === undefined) {
        const known = [...keyCiphers.keys()].join(', ');
        throw bad(`No cipher for key files: '${printable(encryption.name, 64)}'; there are ${known}`);
      }
      return writeOpensshKey(crypto, key, comment, { ...encryption, cipher });
    }
    case 'pkcs8':
      return writePkcs8(crypto, key, encryption && { ...encryption, iterations: encryption.rounds });
    case 'ppk':
      return writePpk(crypto, key, comment, encryption && { ...encryption, passes: encryption.rounds });
  }
}

function bad(message: string): SshError {
  return new SshError('bad-argument', message);
}
