import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hex } from '../../src/bytes/text.ts';
import { nodeProvider } from '../../src/crypto/native/node.ts';
import { parsePrivateKey } from '../../src/keys/private_key.ts';
import { blobOf, keyFileRow, outcome, PASSPHRASE } from './key_files.ts';
import { sshError } from './tools.ts';

const crypto = nodeProvider();
const options = { passphrase: PASSPHRASE };
const row = keyFileRow('dek-rsa1024-aes-128-cbc');

describe('PEM with DEK-Info', () => {
  it('is read with its headers in one line, with others beside them, and without Proc-Type', () => {
    const variants = [
      row.file.replace('Proc-Type: 4,ENCRYPTED\n', 'Proc-Type: 4,ENCRYPTED '),
      row.file.replace('Proc-Type: 4,ENCRYPTED\n', ''),
      row.file.replace('DEK-Info:', 'Comment: mine\nDEK-Info:'),
      row.file.replaceAll('\n', ' '),
      row.file.replace(/(DEK-Info: .*)\n\n/, '$1\n'),
    ];
    for (const text of variants) assert.equal(outcome(text, crypto, options), hex(blobOf(row)), text);
  });

  it('says what is wrong with the headers, and names a cipher that it does not know', () => {
    const dek = (header: string) => row.file.replace(/DEK-Info: .*/, header);
    const cases: [string, 'key-corrupt' | 'key-cipher-unsupported', RegExp][] = [
      [row.file.replace(/DEK-Info: .*\n/, ''), 'key-corrupt', /no DEK-Info/],
      [dek('DEK-Info: AES-128-CBC'), 'key-corrupt', /initialization vector is not of 16 bytes/],
      [dek('DEK-Info: AES-128-CBC,0011'), 'key-corrupt', /initialization vector is not of 16 bytes/],
      [dek('DEK-Info: AES-128-CBC,001122334455667788990011223344zz'), 'key-corrupt', /initialization vector|base64/],
      [dek('DEK-Info: DES-CBC,0011223344556677'), 'key-cipher-unsupported', /DES-CBC; .*openssl pkcs8/],
      [dek('DEK-Info: constructor,0011223344556677'), 'key-cipher-unsupported', /constructor/],
      [row.file.replace(/.{4}\n-----END/, '\n-----END'), 'key-corrupt', /ciphertext is cut off/],
    ];
    for (const [text, code, message] of cases) {
      assert.throws(() => parsePrivateKey(text, crypto, options), sshError(code, message), text);
    }
  });
});
