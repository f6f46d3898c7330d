import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { inspect } from 'node:util';
import { base64, hex, utf8 } from '../../src/bytes/text.ts';
import { MAX_KEY_FILE, parsePrivateKey } from '../../src/keys/private_key.ts';
import { fingerprint } from '../../src/keys/public_key.ts';
import { parsePublicKeyLine } from '../../src/keys/public_key_line.ts';
import {
  armour,
  armoured,
  crypto,
  generate,
  inScratch,
  keyTypes,
  noKeygen,
  noOpenssl,
  output,
  privateRow,
  privateRows,
  readOutcome,
  shared,
  sshError,
} from './tools.ts';

describe('parsePrivateKey', () => {
  for (const row of privateRows) {
    for (const [format, file] of Object.entries({ openssh: row.openssh, pkcs8: row.pkcs8 })) {
      if (file === undefined) continue;
      it(`reads ${row.name} in ${format}, as text and as bytes`, () => {
        const { blob, comment } = parsePublicKeyLine(row.publicLine);
        for (const form of [file, utf8(file)]) {
          const key = parsePrivateKey(form, crypto);
          assert.deepEqual(key.publicKey.blob, blob);
          assert.equal(key.comment, format === 'openssh' ? comment : '');
        }
      });
    }
  }

  it('reads a file with CRLF, indentation, a byte order mark or literal \\n', () => {
    const { openssh, publicLine } = privateRow('ed25519');
    const file = openssh as string;
    const blob = hex(parsePublicKeyLine(publicLine).blob);
    const written = [file.replaceAll('\n', '\r\n'), file.replaceAll(/^/gm, '  '), `\ufeff${file}`];
    for (const text of [...written, file.replaceAll('\n', '\\n')]) assert.equal(readOutcome(text), blob);
  });

  it('reads the private key of a file that has other blocks before it', () => {
    const { pkcs8, publicLine } = privateRow('openssl-p256');
    const parameters = armour('EC PARAMETERS', Uint8Array.of(6, 0));
    assert.equal(readOutcome(parameters + pkcs8), hex(parsePublicKeyLine(publicLine).blob));
  });

  for (const type of Object.keys(keyTypes)) {
    it(`reads a fresh ${type} key of ssh-keygen, in its own format and in PKCS#8`, { skip: noKeygen }, () =>
      inScratch((path) => {
        generate(type, path('key'));
        const { blob } = parsePublicKeyLine(readFileSync(path('key.pub'), 'utf8'));
        const key = parsePrivateKey(readFileSync(path('key')), crypto);
        assert.deepEqual(key.publicKey.blob, blob);
        assert.equal(key.comment, 'made by a test');
        if (type === 'ssh-ed25519') return; // ssh-keygen writes Ed25519 in its own format only
        output('ssh-keygen', ['-q', '-p', '-N', '', '-m', 'PKCS8', '-f', path('key')]);
        const file = readFileSync(path('key'), 'utf8');
        assert.match(file, /^-----BEGIN PRIVATE KEY-----/);
        assert.deepEqual(parsePrivateKey(file, crypto).publicKey.blob, blob);
      }),
    );
  }

  const openssl: Record<string, readonly string[]> = {
    'ecdsa-sha2-nistp256': ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256'],
    'ecdsa-sha2-nistp384': ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-384'],
    'ecdsa-sha2-nistp521': ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-521'],
    'ssh-rsa': ['-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:2048'],
  };
  for (const [type, args] of Object.entries(openssl)) {
    it(`reads a fresh ${type} key of openssl genpkey`, { skip: noKeygen || noOpenssl }, () =>
      inScratch((path) => {
        output('openssl', ['genpkey', ...args, '-out', path('key')]);
        const { blob } = parsePublicKeyLine(output('ssh-keygen', ['-y', '-f', path('key')]));
        assert.deepEqual(parsePrivateKey(readFileSync(path('key')), crypto).publicKey.blob, blob);
      }),
    );
  }

  it('reads a fresh ssh-ed25519 key of openssl genpkey', { skip: noOpenssl }, () =>
    inScratch((path) => {
      output('openssl', ['genpkey', '-algorithm', 'ed25519', '-out', path('key')]);
      const spki = armoured(output('openssl', ['pkey', '-in', path('key'), '-pubout']));
      const { publicKey } = parsePrivateKey(readFileSync(path('key')), crypto);
      assert.ok(publicKey.type === 'ssh-ed25519');
      assert.deepEqual(publicKey.publicKey, spki.slice(-32));
    }),
  );

  it('is of a kind that does not show its secret', () => {
    const key = parsePrivateKey(privateRow('ed25519').openssh as string, crypto);
    const secret = key.secret();
    assert.ok(secret.type === 'ssh-ed25519');
    for (const shown of [JSON.stringify(key), inspect(key, { depth: 9, showHidden: true }), String(key)]) {
      for (const form of [
        hex(secret.seed),
        base64(secret.seed).slice(0, 40),
        [...secret.seed].slice(0, 8).join(', '),
      ]) {
        assert.ok(!shown.includes(form));
      }
    }
  });
});

describe('parsePrivateKey, OpenSSH’s own keys', () => {
  const unreadable = (name: string) => shared(`openssh/sshkey/${name}`).skip;
  const file = (name: string) => readFileSync(shared(`openssh/sshkey/${name}`).path, 'utf8');

  for (const [name, published] of Object.entries({
    ed25519_1: 'ed25519_1',
    ecdsa_n: 'ecdsa_1',
    rsa_n: 'rsa_1',
    rsa_1: 'rsa_1',
    ecdsa_1: 'ecdsa_1',
  })) {
    it(`reads ${name}, with its public key and fingerprint`, { skip: unreadable(name) }, () => {
      const { publicKey } = parsePrivateKey(file(name), crypto);
      assert.deepEqual(publicKey.blob, parsePublicKeyLine(file(`${published}.pub`)).blob);
      assert.equal(fingerprint(crypto, publicKey.blob), file(`${published}.fp`).trim());
    });
  }

  it('reads the numbers that OpenSSH reads', { skip: unreadable('rsa_n') }, () => {
    const rsa = parsePrivateKey(file('rsa_n'), crypto).secret();
    assert.ok(rsa.type === 'ssh-rsa');
    assert.equal(`00${hex(rsa.key.modulus)}`, file('rsa_1.param.n').trim());
    assert.equal(`00${hex(rsa.key.prime1)}`, file('rsa_1.param.p').trim());
    assert.equal(`00${hex(rsa.key.prime2)}`, file('rsa_1.param.q').trim());
    const ecdsa = parsePrivateKey(file('ecdsa_n'), crypto).secret();
    assert.ok(ecdsa.type === 'ecdsa-sha2-nistp256');
    assert.equal(hex(ecdsa.scalar), file('ecdsa_1.param.priv').trim().slice(-64));
  });

  const refused: [string, 'key-passphrase-needed' | 'key-format-unsupported', RegExp][] = [
    ['ed25519_1_pw', 'key-passphrase-needed', /encrypted \(aes256-ctr, bcrypt\)/],
    ['ecdsa_n_pw', 'key-passphrase-needed', /encrypted \(aes256-cbc, bcrypt\)/],
    ['rsa_n_pw', 'key-passphrase-needed', /encrypted \(aes256-cbc, bcrypt\)/],
    ['rsa_1_pw', 'key-passphrase-needed', /encrypted \(AES-128-CBC\)/],
    ['ecdsa_1_pw', 'key-passphrase-needed', /encrypted \(AES-128-CBC\)/],
    ['ed25519_sk1', 'key-format-unsupported', /is the handle of a security key; .*ssh-add/],
    ['ed25519_sk1_pw', 'key-format-unsupported', /is the handle of a security key/],
    ['ecdsa_sk1', 'key-format-unsupported', /security key/],
    ['mldsa44_ed25519_1', 'key-format-unsupported', /key of type ssh-mldsa/],
    ['ed25519_1.pub', 'key-format-unsupported', /is a public key; give the private one/],
    ['ecdsa_1.pub', 'key-format-unsupported', /is a public key/],
    ['ed25519_1-cert.pub', 'key-format-unsupported', /is a public key/],
    ['ecdsa_sk1.pub', 'key-format-unsupported', /is a public key/],
  ];
  for (const [name, code, message] of refused) {
    it(`refuses ${name} with ${code}`, { skip: unreadable(name) }, () => {
      assert.throws(() => parsePrivateKey(file(name), crypto), sshError(code, message));
    });
  }
});

describe('parsePrivateKey, files that it does not read', () => {
  const refused: [string, string, RegExp][] = [
    ['nothing', '', /is empty/],
    ['white space', ' \r\n', /is empty/],
    ['a PuTTY key', 'PuTTY-User-Key-File-1: ssh-rsa\r\nEncryption: none\r\n', /PuTTY key of version 1; `puttygen FILE/],
    ['a key of ssh.com', '---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n', /ssh\.com.*ssh-keygen -i -f FILE/],
    ['a public key in RFC 4716', '---- BEGIN SSH2 PUBLIC KEY ----\nAAAA\n', /public key/],
    ['SubjectPublicKeyInfo', armour('PUBLIC KEY', Uint8Array.of(1)), /public key/],
    ['a PKCS#1 public key', armour('RSA PUBLIC KEY', Uint8Array.of(1)), /public key/],
    ['an X.509 certificate', armour('CERTIFICATE', Uint8Array.of(1)), /is a CERTIFICATE/],
    ['a DSA key', armour('DSA PRIVATE KEY', Uint8Array.of(1)), /DSA/],
    ['an unknown label', armour('ANY PRIVATE KEY', Uint8Array.of(1)), /label ANY PRIVATE KEY/],
    ['a key of SSH 1', 'SSH PRIVATE KEY FILE FORMAT 1.1\n\0\0', /SSH 1;/],
    ['a JWK', '{"kty":"OKP"}', /JWK/],
    ['prose', 'Dear Ada,\nhere is my key', /should begin with -----BEGIN/],
  ];
  for (const [name, file, message] of refused) {
    it(`says so: ${name}`, () => {
      assert.throws(() => parsePrivateKey(file, crypto), sshError('key-format-unsupported', message));
    });
  }

  it('says so: DER, and a file that is too large', () => {
    const der = armoured(privateRow('openssl-rsa2048').pkcs8 as string);
    assert.throws(() => parsePrivateKey(der, crypto), sshError('key-format-unsupported', /openssl pkey -inform DER/));
    const large = new Uint8Array(MAX_KEY_FILE + 1);
    assert.throws(() => parsePrivateKey(large, crypto), sshError('key-format-unsupported', /1048576 bytes/));
  });

  it('names the file when it is told its name, and makes that safe to show', () => {
    const name = '~/.ssh/id\u001b[31m';
    const named = (file: string, code: 'key-corrupt' | 'key-format-unsupported') =>
      assert.throws(() => parsePrivateKey(file, crypto, { name }), sshError(code, /~\/\.ssh\/id\\x1b\[31m/));
    named(armour('DSA PRIVATE KEY', Uint8Array.of(1)), 'key-format-unsupported');
    named(armour('ENCRYPTED PRIVATE KEY', Uint8Array.of(1)), 'key-corrupt');
    named(armour('PRIVATE KEY', Uint8Array.of(1)), 'key-corrupt');
  });

  it('asks for the passphrase of PKCS#8, as ssh-keygen and openssl write it', { skip: noKeygen || noOpenssl }, () =>
    inScratch((path) => {
      output('ssh-keygen', ['-q', '-t', 'ecdsa', '-N', 'secret', '-m', 'PKCS8', '-f', path('a')]);
      output('openssl', ['genpkey', '-algorithm', 'ed25519', '-aes256', '-pass', 'pass:secret', '-out', path('b')]);
      for (const name of ['a', 'b']) {
        const parse = () => parsePrivateKey(readFileSync(path(name)), crypto);
        assert.throws(parse, sshError('key-passphrase-needed', /encrypted \(PKCS#8, aes(?:128|256)-cbc\)/));
      }
    }),
  );

  it('refuses PKCS#8 of kinds that SSH does not use', { skip: noOpenssl }, () => {
    const kinds: [string[], RegExp][] = [
      [['-algorithm', 'ed448'], /kind Ed448/],
      [['-algorithm', 'x25519'], /kind X25519/],
      [['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:secp256k1'], /kind secp256k1/],
      [['-algorithm', 'RSA-PSS', '-pkeyopt', 'rsa_keygen_bits:2048'], /kind RSASSA-PSS/],
      [['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:brainpoolP256r1'], /kind 1\.3\.36\.3\.3\.2\.8\.1\.1\.7/],
    ];
    for (const [args, message] of kinds) {
      const file = output('openssl', ['genpkey', ...args]);
      assert.throws(() => parsePrivateKey(file, crypto), sshError('key-format-unsupported', message));
    }
  });
});
