/** What is no argument of the functions of key files is told, without showing what may be secret. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SshError } from '../../src/errors.ts';
import type { KdfLimits } from '../../src/keys/kdf_limits.ts';
import { parsePrivateKey, peekPrivateKey } from '../../src/keys/private_key.ts';
import { formatPrivateKey } from '../../src/keys/private_key_format.ts';
import { formatPublicKey, parsePublicKeyFile } from '../../src/keys/public_key_file.ts';
import { blobOf, keyFileRow, opening } from './key_files.ts';
import { crypto, sshError } from './tools.ts';

const row = keyFileRow('ppk3-ed25519');
const any = (value: unknown): never => value as never;

describe('arguments of the functions of key files', () => {
  it('must be what they are for', () => {
    const key = parsePrivateKey(row.file, crypto, opening(row));
    const cases: [() => unknown, RegExp][] = [
      [() => parsePrivateKey(any(undefined), crypto), /the file must be a string or bytes, not undefined/],
      [() => parsePrivateKey(any(new ArrayBuffer(4)), crypto), /not a value of type object/],
      [() => parsePrivateKey(row.file, crypto, any(null)), /options must be an object, not null/],
      [
        () => parsePrivateKey(row.file, crypto, any({ password: 'x' })),
        /no option password; there are name, passphrase, limits/,
      ],
      [
        () => parsePrivateKey(row.file, crypto, { passphrase: any(48151623) }),
        /the passphrase must be a string or bytes/,
      ],
      [() => parsePrivateKey(row.file, crypto, { passphrase: any(null) }), /not null/],
      [() => peekPrivateKey(any(7)), /the file must be/],
      [() => parsePublicKeyFile(any({})), /the file must be/],
      [() => formatPublicKey(blobOf(row), any({ form: 'x' })), /no option form; there are format, comment/],
      [
        () => formatPrivateKey(crypto, any({ publicKey: key.publicKey })),
        /takes a key that parsePrivateKey or makeKey/,
      ],
      [() => formatPrivateKey(crypto, key, any({ passphrases: 'x' })), /no option passphrases/],
      [() => formatPrivateKey(crypto, key, { passphrase: any(48151623) }), /the passphrase must be a string or bytes/],
    ];
    for (const [call, message] of cases) {
      assert.throws(call, (error) => {
        assert.ok(error instanceof SshError && !error.message.includes('48151623'), String(error));
        return sshError('bad-argument', message)(error);
      });
    }
  });

  it('bound the cost of a passphrase by whole numbers only, and an absent one by its default', () => {
    const open = (limits: Partial<KdfLimits>) => parsePrivateKey(row.file, crypto, opening(row, { limits }));
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, 0, -1, 1.5, any('9'), any(null)]) {
      assert.throws(
        () => open({ argon2Memory: value }),
        sshError('bad-argument', /argon2Memory must be a whole number/),
      );
    }
    assert.throws(() => open(any({ argonMemory: 1 })), sshError('bad-argument', /no option argonMemory/));
    open({ argon2Memory: any(undefined) });
    const costly = row.file.replace('Argon2-Memory: 64', 'Argon2-Memory: 262145');
    const undefinedLimit = { limits: { argon2Memory: any(undefined) } };
    assert.throws(
      () => parsePrivateKey(costly, crypto, opening(row, undefinedLimit)),
      sshError('key-cipher-unsupported'),
    );
  });

  it('take linear time, whatever the file is made of', { timeout: 20_000 }, () => {
    const size = 1_000_000;
    const fill = (piece: string) => piece.repeat(Math.floor(size / piece.length));
    const pem = (content: string) => `-----BEGIN RSA PRIVATE KEY-----\n${content}\n-----END RSA PRIVATE KEY-----\n`;
    const files = [
      pem(fill('Proc-Type:')),
      pem(fill('DEK-Info: ')),
      pem(`DEK-Info: A${' '.repeat(size)}`),
      pem(fill('DEK-Info:A \n')),
      pem(fill(' ')),
      `PuTTY-User-Key-File-3: ssh-rsa\nEncryption: none\nComment: ${fill('\\n')}`,
      `PuTTY-User-Key-File-3: ssh-rsa\nEncryption: none\nComment: x\nPublic-Lines: 400000\n${fill('A\n')}`,
      `---- BEGIN SSH2 PUBLIC KEY ----\nComment: ${fill('a\\\n')}\n---- END SSH2 PUBLIC KEY ----\n`,
      `---- BEGIN SSH2 PUBLIC KEY ----\n${fill('Comment: a\n')}\n---- END SSH2 PUBLIC KEY ----\n`,
      `ssh-rsa${fill(' ')}x`,
      fill('ssh-ed25519 '),
    ];
    for (const file of files) {
      assert.throws(() => parsePrivateKey(file, crypto), SshError);
      assert.throws(() => parsePublicKeyFile(file), SshError);
    }
  });
});
