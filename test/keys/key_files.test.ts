/** Every format and cipher of key files as ssh-keygen, openssl and puttygen write them, on both providers. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inspect } from 'node:util';
import { hex, utf8 } from '../../src/bytes/text.ts';
import { nodeProvider } from '../../src/crypto/native/node.ts';
import { SshError } from '../../src/errors.ts';
import { parsePrivateKey, peekPrivateKey } from '../../src/keys/private_key.ts';
import { parsePublicKeyFile } from '../../src/keys/public_key_file.ts';
import { isThorough } from '../support/thorough.ts';
import { blobOf, keyFileRow, keyFileRows, opening, outcome, PASSPHRASE, refusedRows } from './key_files.ts';
import { crypto, sshError } from './tools.ts';

const native = nodeProvider();

describe('parsePrivateKey, all formats', () => {
  for (const row of keyFileRows) {
    it(`reads ${row.id}, and knows before what it is`, () => {
      for (const provider of isThorough ? [crypto, native] : [native]) {
        const key = parsePrivateKey(row.file, provider, opening(row));
        assert.deepEqual(key.publicKey.blob, blobOf(row));
        assert.equal(key.comment, row.comment);
      }
      const { format, encrypted, publicBlob, comment = '' } = peekPrivateKey(row.file);
      assert.deepEqual([format, encrypted], [row.format, row.passphrase !== undefined]);
      const isOpen = ['openssh', 'ppk'].includes(format) || !encrypted;
      assert.equal(publicBlob === undefined ? undefined : hex(publicBlob), isOpen ? hex(blobOf(row)) : undefined);
      if (isOpen) assert.deepEqual(parsePublicKeyFile(row.file), { blob: blobOf(row), comment });
      else assert.throws(() => parsePublicKeyFile(row.file), sshError('key-passphrase-needed'));
      assert.equal(comment, format === 'ppk' ? row.comment : '');
    });

    if (row.passphrase === undefined) continue;
    it(`wants the passphrase of ${row.id}, and the right one`, () => {
      assert.throws(() => parsePrivateKey(row.file, native), sshError('key-passphrase-needed', /give its passphrase/));
      for (const passphrase of isThorough ? ['wrong', '', `${PASSPHRASE} `, utf8('wrong')] : ['wrong']) {
        assert.equal(outcome(row.file, native, { passphrase }), 'key-passphrase-wrong');
      }
    });
  }

  it('reads them with CRLF, CR, indentation, a byte order mark, and literal \\n', () => {
    const written: Record<string, (text: string) => string> = {
      CRLF: (text) => text.replaceAll('\n', '\r\n'),
      CR: (text) => text.replaceAll('\n', '\r'),
      indentation: (text) => text.replaceAll(/^/gm, '  '),
      'byte order mark': (text) => `\ufeff${text}`,
      'no last end of line': (text) => text.trimEnd(),
      'empty lines before': (text) => `\n\n${text}`,
      'literal \\n': (text) => text.replaceAll('\n', '\\n'),
      'literal \\r\\n': (text) => text.replaceAll('\n', '\\r\\n'),
    };
    const ids = ['openssh-rsa1024', 'pem-ecdsa256', 'dek-rsa1024-aes-128-cbc', 'pbes2-openssl-ed25519-scrypt'];
    for (const row of [...ids, 'ppk3-rsa1024', 'ppk2-ed25519'].map(keyFileRow)) {
      for (const [name, write] of Object.entries(written)) {
        for (const text of [write(row.file), utf8(write(row.file))]) {
          assert.equal(outcome(text, native, opening(row)), hex(blobOf(row)), `${row.id} with ${name}`);
        }
      }
    }
  });

  it('reads a passphrase that is bytes, leaves it as it was, and does not need one for a plain file', () => {
    const row = keyFileRow('openssh-ecdsa256');
    const passphrase = utf8(PASSPHRASE);
    assert.equal(outcome(row.file, native, { passphrase }), hex(blobOf(row)));
    assert.deepEqual(passphrase, utf8(PASSPHRASE));
    const plain = keyFileRow('pem-ecdsa256');
    assert.equal(outcome(plain.file, native, { passphrase: 'not looked at' }), hex(blobOf(plain)));
  });

  it('puts neither passphrase nor key into errors', () => {
    const secret = 'a secret that nobody must see';
    for (const { id, file, passphrase } of keyFileRows) {
      // one of a kind is enough where each costs
      if (passphrase === undefined || (id.startsWith('openssh-') && id !== 'openssh-ed25519-aes256-ctr')) continue;
      try {
        parsePrivateKey(file, native, { passphrase: secret });
        assert.fail('opened');
      } catch (error) {
        assert.ok(error instanceof SshError);
        assert.ok(!inspect(error, { depth: 5, showHidden: true }).includes('nobody must'));
      }
    }
  });
});

describe('parsePrivateKey, what it does not read', () => {
  for (const { id, code, says, file } of refusedRows) {
    it(`refuses ${id} and names what it is`, () => {
      const named = new RegExp(says.replace(/[.]/g, '\\.'));
      assert.throws(() => parsePrivateKey(file, crypto, { passphrase: PASSPHRASE }), sshError(code, named));
      assert.throws(() => parsePrivateKey(file, crypto), sshError(code, named)); // before it asks for a passphrase
    });
  }
});
