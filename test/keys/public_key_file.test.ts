import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { hex, utf8 } from '../../src/bytes/text.ts';
import { SshError } from '../../src/errors.ts';
import * as der from '../../src/keys/der_write.ts';
import { keyFingerprint } from '../../src/keys/fingerprint.ts';
import { parsePublicKey } from '../../src/keys/public_key.ts';
import { formatPublicKey, parsePublicKeyFile } from '../../src/keys/public_key_file.ts';
import { parsePublicKeyLine } from '../../src/keys/public_key_line.ts';
import { isThorough } from '../support/thorough.ts';
import {
  armour,
  crypto,
  inScratch,
  noKeygen,
  noOpenssl,
  output,
  privateRow,
  publicBlob,
  publicRows,
  shared,
  sshError,
} from './tools.ts';

const certificate = shared('openssh/sshkey/ed25519_1-cert.pub');

describe('formatPublicKey and parsePublicKeyFile', () => {
  for (const { name, type, line } of publicRows) {
    it(`write and read ${name} in each form`, () => {
      const { blob, comment } = parsePublicKeyLine(line);
      assert.equal(formatPublicKey(blob, { comment }), `${line.trim()}\n`);
      for (const format of ['openssh', 'rfc4716'] as const) {
        const text = formatPublicKey(blob, { format, comment });
        assert.deepEqual(parsePublicKeyFile(text), { blob, comment });
        for (const changed of [text.replaceAll('\n', '\r\n'), `\ufeff${text}`, text.replaceAll(/^/gm, '  ')]) {
          assert.deepEqual(parsePublicKeyFile(utf8(changed)), { blob, comment });
        }
      }
      if (type.startsWith('sk-')) return;
      const text = formatPublicKey(blob, { format: 'pkcs8' });
      assert.deepEqual(parsePublicKeyFile(text), { blob, comment: '' });
      assert.deepEqual(parsePublicKeyFile(text.replaceAll('\n', '\\n')), { blob, comment: '' });
    });
  }

  it('agree with ssh-keygen about RFC 4716', { skip: noKeygen }, () =>
    inScratch((path) => {
      for (const { name, line } of publicRows) {
        const { blob } = parsePublicKeyLine(line);
        writeFileSync(path('ours'), formatPublicKey(blob, { format: 'rfc4716', comment: 'my "own" cömment\\' }));
        assert.deepEqual(parsePublicKeyLine(output('ssh-keygen', ['-i', '-f', path('ours')])).blob, blob, name);
        writeFileSync(path('theirs'), line);
        assert.deepEqual(parsePublicKeyFile(output('ssh-keygen', ['-e', '-f', path('theirs')])).blob, blob, name);
      }
    }),
  );

  it('agree with openssl about SubjectPublicKeyInfo', { skip: noOpenssl }, () => {
    for (const { name, line } of publicRows) {
      const { blob, type } = parsePublicKeyLine(line);
      if (type.startsWith('sk-')) continue;
      const text = formatPublicKey(blob, { format: 'pkcs8' });
      assert.equal(output('openssl', ['pkey', '-pubin', '-pubout'], text), text, name);
    }
  });

  it('read RSAPublicKey, and RFC 4716 with other headers, over several lines', () => {
    const blob = publicBlob('rsa1024');
    const key = parsePublicKey(blob);
    assert.ok(key.type === 'ssh-rsa');
    const numbers = der.sequence(der.integer(key.key.modulus), der.integer(key.key.exponent));
    assert.deepEqual(parsePublicKeyFile(armour('RSA PUBLIC KEY', numbers)), { blob, comment: '' });
    const small = der.sequence(der.integer(5), der.integer(3));
    assert.throws(
      () => parsePublicKeyFile(armour('RSA PUBLIC KEY', small)),
      sshError('key-corrupt', /modulus of 3 bits/),
    );
    const body = formatPublicKey(blob, { format: 'rfc4716' }).split('\n').slice(1, -2).join('\n');
    const text = (headers: string) =>
      `---- BEGIN SSH2 PUBLIC KEY ----\n${headers}${body}\n---- END SSH2 PUBLIC KEY ----\n`;
    const cases: [string, string][] = [
      ['', ''],
      ['Subject: me\nComment: plain words\n', 'plain words'],
      ['comment: "one \\\ntwo"\nx-other: "a \\\nb"\n', 'one two'],
      ['Comment: ""\n', ''],
    ];
    for (const [headers, comment] of cases) assert.deepEqual(parsePublicKeyFile(text(headers)), { blob, comment });
  });

  it('break a long comment of RFC 4716 within 72 bytes, between characters', () => {
    const comment = `a comment of ${'€'.repeat(60)} and more`;
    const text = formatPublicKey(publicBlob('ed25519'), { format: 'rfc4716', comment });
    for (const line of text.split('\n')) assert.ok(utf8(line).length <= 72, line);
    assert.equal(parsePublicKeyFile(text).comment, comment);
  });

  it('read certificates, and the public half of private keys', { skip: certificate.skip }, () => {
    const text = readFileSync(certificate.path, 'utf8');
    const { blob, comment } = parsePublicKeyFile(text);
    assert.equal(hex(blob.subarray(4, 32)), hex(utf8('ssh-ed25519-cert-v01@openssh.com')).slice(0, 56));
    assert.equal(formatPublicKey(blob, { comment }), `${text.trim()}\n`);
    assert.throws(() => formatPublicKey(blob, { format: 'pkcs8' }), sshError('not-supported'));
    const { openssh, pkcs8 } = privateRow('ecdsa256');
    for (const file of [openssh, pkcs8]) {
      assert.deepEqual(parsePublicKeyFile(file as string).blob, publicBlob('ecdsa256'));
    }
  });

  it('give a key that is one, or a typed error, whatever byte of a file is another', () => {
    const step = isThorough ? 1 : 11;
    const codes = new Set<string>();
    for (const { type, line } of publicRows) {
      const { blob, comment } = parsePublicKeyLine(line);
      const forms = type.startsWith('sk-')
        ? (['openssh', 'rfc4716'] as const)
        : (['openssh', 'rfc4716', 'pkcs8'] as const);
      for (const format of forms) {
        const whole = utf8(formatPublicKey(blob, format === 'pkcs8' ? { format } : { format, comment }));
        for (let at = 0; at < whole.length; at += step) {
          const changed = whole.with(at, (whole[at] as number) ^ (at % 3 === 0 ? 0x80 : 0x02));
          try {
            assert.match(keyFingerprint(crypto, parsePublicKeyFile(changed).blob), /^SHA256:/);
          } catch (error) {
            assert.ok(error instanceof SshError, String(error));
            codes.add(error.code);
          }
        }
      }
    }
    assert.deepEqual([...codes].sort(), ['key-corrupt', 'key-format-unsupported']);
  });

  it('say what is wrong', () => {
    const rfc4716 = formatPublicKey(publicBlob('ed25519'), { format: 'rfc4716' });
    const spki = (kind: string, bits: Uint8Array) =>
      armour('PUBLIC KEY', der.sequence(der.sequence(der.oid(kind)), der.bitString(bits)));
    const cases: [string, 'key-corrupt' | 'key-format-unsupported', RegExp][] = [
      ['', 'key-format-unsupported', /Not a public key line/],
      ['prose', 'key-format-unsupported', /Not a public key line/],
      [rfc4716.replace('END', 'EN'), 'key-corrupt', /no line ---- END/],
      [rfc4716.replace('BEGIN SSH2 PUBLIC KEY', 'BEGIN SSH2 PUBLICKEY'), 'key-corrupt', /first line/],
      [rfc4716.replace('AAAA', '!AAA'), 'key-corrupt', /not base64/],
      [rfc4716.replace('AAAA', 'BBBB'), 'key-corrupt', /holds no key/],
      [armour('CERTIFICATE', Uint8Array.of(1)), 'key-format-unsupported', /is a CERTIFICATE/],
      [armour('PUBLIC KEY', Uint8Array.of(1)), 'key-corrupt', /Truncated|expected/],
      [spki('1.3.101.112', new Uint8Array(31)), 'key-corrupt', /32 bytes/],
      [spki('1.3.101.113', new Uint8Array(57)), 'key-format-unsupported', /Ed448/],
      ['-----BEGIN PUBLIC KEY-----\nAAAA', 'key-corrupt', /no line -----END PUBLIC KEY/],
      [formatPublicKey(publicBlob('ed25519')).replace('AAAA', 'AAAB'), 'key-corrupt', /damaged/],
    ];
    for (const [text, code, message] of cases)
      assert.throws(() => parsePublicKeyFile(text), sshError(code, message), text);
    const named = () => parsePublicKeyFile(armour('CERTIFICATE', Uint8Array.of(1)), '~/id.pub');
    assert.throws(named, sshError('key-format-unsupported', /^The public key file ~\/id\.pub is/));
    const blob = publicBlob('ed25519');
    assert.throws(() => formatPublicKey(blob, { format: 'pem' as 'pkcs8' }), sshError('bad-argument', /'pem'/));
    for (const format of ['openssh', 'rfc4716'] as const) {
      assert.throws(
        () => formatPublicKey(blob, { format, comment: 'a\nb' }),
        sshError('bad-argument', /several lines/),
      );
    }
  });
});

describe('keyFingerprint', () => {
  it('is what OpenSSH shows, in either form', { skip: noKeygen }, () =>
    inScratch((path) => {
      writeFileSync(path('all'), publicRows.map(({ line }) => `${line.trim()}\n`).join(''));
      for (const hash of ['sha256', 'md5'] as const) {
        const shown = output('ssh-keygen', ['-l', '-E', hash, '-f', path('all')])
          .trim()
          .split('\n');
        assert.deepEqual(
          publicRows.map(({ line }) => keyFingerprint(crypto, parsePublicKeyLine(line).blob, hash)),
          shown.map((line) => line.split(' ')[1]),
        );
      }
    }),
  );

  for (const name of ['ed25519_1', 'ecdsa_1', 'rsa_1', 'ed25519_sk1', 'ecdsa_sk1']) {
    it(`of a certificate is that of the key in it: ${name}`, { skip: certificate.skip }, () => {
      const read = (file: string) => readFileSync(shared(`openssh/sshkey/${file}`).path, 'utf8');
      const { blob } = parsePublicKeyFile(read(`${name}-cert.pub`));
      const plain = parsePublicKeyFile(read(`${name}.pub`)).blob;
      assert.equal(keyFingerprint(crypto, blob), read(`${name}-cert.fp`).trim());
      assert.equal(keyFingerprint(crypto, plain), read(`${name}.fp`).trim());
      assert.equal(keyFingerprint(crypto, blob, 'md5'), keyFingerprint(crypto, plain, 'md5'));
    });
  }

  it('of what is no key is an error', () => {
    assert.throws(() => keyFingerprint(crypto, Uint8Array.of(1)), sshError('decode'));
  });
});
