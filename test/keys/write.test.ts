/** Private keys as files: what is written reads again as the same key; what other tools make of it is in `test/interop`. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hex, utf8 } from '../../src/bytes/text.ts';
import { nodeProvider } from '../../src/crypto/native/node.ts';
import type { CryptoProvider } from '../../src/crypto/provider.ts';
import * as der from '../../src/keys/der_write.ts';
import { keyCiphers } from '../../src/keys/key_cipher.ts';
import { parsePrivateKey } from '../../src/keys/private_key.ts';
import { formatPrivateKey, type PrivateKeyFormat } from '../../src/keys/private_key_format.ts';
import { isThorough } from '../support/thorough.ts';
import { remembering } from './key_files.ts';
import { armoured, privateRow, crypto as pure, sshError } from './tools.ts';

const native = nodeProvider();
const passphrase = 'päss';
const names = ['ed25519', 'ecdsa256', 'ecdsa384', 'ecdsa521', 'rsa1024'];
const keyOf = (name: string) => parsePrivateKey(privateRow(name).openssh as string, native);

/** A provider whose random bytes are known, and all different. */
function fixed(crypto: CryptoProvider): CryptoProvider {
  let next = 0;
  const random = (length: number) => Uint8Array.from({ length }, () => next++ & 0xff);
  return Object.defineProperty(Object.create(remembering(crypto)), 'random', { value: random }) as CryptoProvider;
}

const forms: Record<string, PrivateKeyFormat> = {
  'openssh, plain': {},
  'openssh, encrypted': { passphrase, rounds: 1 },
  'pkcs8, plain': { format: 'pkcs8' },
  'pkcs8, encrypted': { format: 'pkcs8', passphrase, rounds: 2 },
  'ppk, plain': { format: 'ppk' },
  'ppk, encrypted': { format: 'ppk', passphrase, rounds: 1 },
};
for (const cipher of keyCiphers.keys()) forms[`openssh, ${cipher}`] = { passphrase, rounds: 1, cipher };

describe('formatPrivateKey', () => {
  for (const [form, options] of Object.entries(forms)) {
    it(`writes ${form} as it is read, by either provider the same`, () => {
      for (const name of options.cipher === undefined ? names : ['ed25519']) {
        const key = keyOf(name);
        const text = formatPrivateKey(fixed(native), key, { ...options, comment: 'ein Schlüssel' });
        if (isThorough) {
          assert.equal(formatPrivateKey(fixed(pure), key, { ...options, comment: 'ein Schlüssel' }), text);
        }
        const again = parsePrivateKey(text, native, options.passphrase === undefined ? {} : { passphrase });
        assert.deepEqual(again.publicKey, key.publicKey);
        assert.deepEqual(again.secret(), key.secret());
        assert.equal(again.comment, options.format === 'pkcs8' ? '' : 'ein Schlüssel');
        if (options.passphrase !== undefined && (isThorough || options.cipher === undefined)) {
          assert.throws(() => parsePrivateKey(text, native), sshError('key-passphrase-needed'));
          const wrong = () => parsePrivateKey(text, native, { passphrase: 'other' });
          assert.throws(wrong, sshError('key-passphrase-wrong'));
        }
      }
    });
  }

  it('writes plain PKCS#8 as openssl and ssh-keygen do, byte for byte', () => {
    for (const name of ['ecdsa256', 'ecdsa384', 'ecdsa521', 'rsa1024', 'openssl-ed25519', 'openssl-p256']) {
      const { pkcs8 } = privateRow(name);
      const key = parsePrivateKey(pkcs8 as string, native);
      assert.equal(formatPrivateKey(native, key, { format: 'pkcs8' }), pkcs8);
    }
  });

  it('keeps the comment of the key, and draws a new salt each time', () => {
    const key = keyOf('ed25519');
    const [first, second] = [1, 2].map(() => formatPrivateKey(native, key, { passphrase, rounds: 1 })) as [
      string,
      string,
    ];
    assert.notEqual(first, second);
    assert.equal(parsePrivateKey(first, native, { passphrase }).comment, key.comment);
    assert.match(hex(armoured(first)), new RegExp(hex(utf8('aes256-ctr'))));
  });

  it('writes the costs that it was told, and by default those of OpenSSH, OWASP and PuTTY', () => {
    const key = keyOf('ed25519');
    const cheap = remembering({
      ...native,
      kdfs: {
        ...native.kdfs,
        bcrypt: (_password, _salt, _rounds, size) => new Uint8Array(size),
        pbkdf2: (_hash, _password, _salt, _iterations, size) => new Uint8Array(size),
        argon2: (_kind, _password, _salt, _cost, size) => new Uint8Array(size),
      },
    });
    const written = (options: PrivateKeyFormat) => formatPrivateKey(cheap, key, { ...options, passphrase });
    const openssh = hex(armoured(written({})));
    assert.match(openssh, /00000010[0-9a-f]{32}00000018/); // a salt of 16 bytes, 24 rounds
    assert.match(hex(armoured(written({ format: 'pkcs8' }))), new RegExp(hex(der.integer(600_000))));
    assert.match(written({ format: 'ppk' }), /Argon2-Memory: 8192\nArgon2-Passes: 13\nArgon2-Parallelism: 1\n/);
    assert.match(written({ format: 'ppk', rounds: 7 }), /Argon2-Passes: 7\n/);
  });

  it('takes a passphrase of bytes, and leaves it as it was', () => {
    const bytes = utf8(passphrase);
    const text = formatPrivateKey(native, keyOf('ed25519'), { passphrase: bytes, rounds: 1 });
    assert.deepEqual(bytes, utf8(passphrase));
    assert.deepEqual(parsePrivateKey(text, native, { passphrase }).publicKey, keyOf('ed25519').publicKey);
  });

  it('refuses options that are none or do not go together', () => {
    const key = keyOf('ed25519');
    const cases: [object, RegExp][] = [
      [{ format: 'pem' }, /No format of private keys: 'pem'/],
      [{ format: 'toString' }, /No format/],
      [{ passphrase: '' }, /empty passphrase/],
      [{ passphrase: new Uint8Array(0) }, /empty passphrase/],
      [{ comment: 'two\nlines' }, /several lines/],
      [{ format: 'ppk', comment: 'a\rb' }, /several lines/],
      [{ passphrase, rounds: 0 }, /takes 1 to 1024/],
      [{ passphrase, rounds: 1025 }, /takes 1 to 1024/],
      [{ passphrase, rounds: 1.5 }, /rounds of 1.5/],
      [{ passphrase, cipher: 'arcfour' }, /No cipher for key files: 'arcfour'; there are aes128-cbc, /],
      [{ passphrase, cipher: 'aes256-ctr', format: 'ppk' }, /not for ppk/],
    ];
    for (const [options, message] of cases) {
      assert.throws(() => formatPrivateKey(native, key, options), sshError('bad-argument', message));
    }
  });
});

describe('der_write', () => {
  it('writes what X.690 shows', () => {
    const cases: [Uint8Array, string][] = [
      [der.integer(0), '020100'],
      [der.integer(127), '02017f'],
      [der.integer(128), '02020080'],
      [der.integer(Uint8Array.of(0, 0, 1)), '020101'],
      [der.integer(new Uint8Array(0)), '020100'],
      [der.integer(2 ** 40), '0206010000000000'],
      [der.oid('2.999.3'), '0603883703'],
      [der.oid('1.2.840.113549.1.1.1'), '06092a864886f70d010101'],
      [der.bitString(Uint8Array.of(0x80)), '03020080'],
      [der.nothing(), '0500'],
      [der.context(1, der.nothing()), 'a1020500'],
      [der.sequence(der.integer(1), der.nothing()), '30050201010500'],
    ];
    for (const [bytes, expected] of cases) assert.equal(hex(bytes), expected);
    assert.equal(hex(der.octetString(new Uint8Array(127)).subarray(0, 2)), '047f');
    assert.equal(hex(der.octetString(new Uint8Array(128)).subarray(0, 3)), '048180');
    assert.equal(hex(der.octetString(new Uint8Array(256)).subarray(0, 4)), '04820100');
    assert.equal(hex(der.octetString(new Uint8Array(65536)).subarray(0, 5)), '0483010000');
  });
});
