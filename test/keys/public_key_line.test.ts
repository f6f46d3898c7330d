import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formatPublicKeyLine, parsePublicKeyLine } from '../../src/keys/public_key_line.ts';
import { publicBlob, publicRows, sshError } from './tools.ts';

const row = publicRows[0] as (typeof publicRows)[0];

describe('parsePublicKeyLine', () => {
  for (const { name, type, line } of publicRows) {
    it(`reads the .pub file of ssh-keygen: ${name}`, () => {
      const comment = `${name} of the vectors`;
      assert.deepEqual(parsePublicKeyLine(line), { type, blob: publicBlob(name), comment });
      assert.equal(`${formatPublicKeyLine(publicBlob(name), comment)}\n`, line);
    });
  }

  it('tolerates a byte order mark, CRLF, indentation, tabs, comments before it and no comment in it', () => {
    const text = `\ufeff# a comment\r\n\r\n  ${row.type}\t${row.blob}\r\n`;
    assert.deepEqual(parsePublicKeyLine(text), { type: row.type, blob: publicBlob(row.name), comment: '' });
  });

  it('keeps keys of types that it does not know', () => {
    const parsed = parsePublicKeyLine('ssh-quantum AAAAC3NzaC1xdWFudHVtAAAABAAAAAA= new');
    assert.equal(parsed.type, 'ssh-quantum');
    assert.equal(parsed.comment, 'new');
  });

  it('says what is wrong', () => {
    for (const text of ['', '# only a comment', 'ssh-ed25519', '-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA']) {
      assert.throws(() => parsePublicKeyLine(text), sshError('key-format-unsupported', /Not a public key line/), text);
    }
    assert.throws(() => parsePublicKeyLine('ssh-ed25519 ????'), sshError('key-corrupt', /not base64/));
    assert.throws(() => parsePublicKeyLine('ssh-ed25519 AAAA'), sshError('key-corrupt', /holds no key/));
    assert.throws(() => parsePublicKeyLine(`ssh-rsa ${row.blob}`), sshError('key-corrupt', /of type ssh-ed25519/));
  });
});

describe('formatPublicKeyLine', () => {
  it('refuses a comment that would begin another line', () => {
    assert.throws(() => formatPublicKeyLine(publicBlob('ed25519'), 'a\nb'), sshError('bad-argument', /several lines/));
  });
});
