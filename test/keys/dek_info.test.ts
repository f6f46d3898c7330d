import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat } from '../../src/bytes/bytes.ts';
import { hex, utf8 } from '../../src/bytes/text.ts';
import { nodeProvider } from '../../src/crypto/native/node.ts';
import { integer, sequence } from '../../src/keys/der_write.ts';
import { keyCipher, padBlocks } from '../../src/keys/key_cipher.ts';
import { parsePrivateKey } from '../../src/keys/private_key.ts';
import { blobOf, keyFileRow, outcome, PASSPHRASE } from './key_files.ts';
import { armour, armoured, sshError } from './tools.ts';

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

  it('takes what is no SEQUENCE for a wrong passphrase, a SEQUENCE that is no key for damage', () => {
    const vector = Uint8Array.from({ length: 16 }, (_, i) => i);
    const key = crypto.md5.digest(concat(utf8(PASSPHRASE), vector.subarray(0, 8)));
    const file = (content: Uint8Array) => {
      const [sealed] = keyCipher('aes128-cbc').encrypt(crypto, key, vector, padBlocks(content, 16)) as [Uint8Array];
      return armour('RSA PRIVATE KEY', sealed).replace('-----\n', `-----\nDEK-Info: AES-128-CBC,${hex(vector)}\n\n`);
    };
    const cases: [Uint8Array, string][] = [
      [armoured(keyFileRow('pem-rsa1024').file), hex(blobOf(row))],
      [utf8('not a key'), 'key-passphrase-wrong'],
      [sequence(integer(0)), 'key-corrupt'],
    ];
    for (const [content, expected] of cases) assert.equal(outcome(file(content), crypto, options), expected);
  });
});
