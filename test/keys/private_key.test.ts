import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { inspect } from 'node:util';
import { concat } from '../../src/bytes/bytes.ts';
import { base64, hex, utf8 } from '../../src/bytes/text.ts';
import { Writer } from '../../src/bytes/writer.ts';
import { SshError } from '../../src/errors.ts';
import { parsePem } from '../../src/keys/pem.ts';
import { MAX_KEY_FILE, parsePrivateKey } from '../../src/keys/private_key.ts';
import { fingerprint } from '../../src/keys/public_key.ts';
import { parsePublicKeyLine } from '../../src/keys/public_key_line.ts';
import {
  crypto,
  generate,
  inScratch,
  keyTypes,
  noKeygen,
  noOpenssl,
  output,
  privateRow,
  privateRows,
  shared,
  sshError,
} from './tools.ts';

function armour(label: string, content: Uint8Array): string {
  return `-----BEGIN ${label}-----\n${base64(content)}\n-----END ${label}-----\n`;
}

function content(file: string): Uint8Array {
  const [block] = parsePem(file);
  assert.ok(block !== undefined && 'bytes' in block && block.bytes !== undefined);
  return block.bytes;
}

/** What reading a file that may be damaged comes to: the public key, or the error's code. */
function outcome(file: string): string {
  try {
    return hex(parsePrivateKey(file, crypto).publicKey.blob);
  } catch (error) {
    assert.ok(error instanceof SshError, String(error));
    return error.code;
  }
}

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
    for (const text of [...written, file.replaceAll('\n', '\\n')]) assert.equal(outcome(text), blob);
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
      const spki = content(output('openssl', ['pkey', '-in', path('key'), '-pubout']));
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

  for (const [name, published] of Object.entries({ ed25519_1: 'ed25519_1', ecdsa_n: 'ecdsa_1', rsa_n: 'rsa_1' })) {
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
    ['rsa_1', 'key-format-unsupported', /is a PKCS#1 RSA key; `ssh-keygen -p -f FILE`/],
    ['rsa_1_pw', 'key-format-unsupported', /is an encrypted PKCS#1 RSA key/],
    ['ecdsa_1', 'key-format-unsupported', /is a SEC1 EC key; `ssh-keygen -p -f FILE`/],
    ['ed25519_sk1', 'key-format-unsupported', /security key; use it through an agent/],
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
    ['a PuTTY key', 'PuTTY-User-Key-File-3: ssh-ed25519\r\nEncryption: none\r\n', /PuTTY key .*`puttygen FILE -O/],
    ['a key of ssh.com', '---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n', /ssh\.com.*ssh-keygen -i -f FILE/],
    ['a public key in RFC 4716', '---- BEGIN SSH2 PUBLIC KEY ----\nAAAA\n', /public key/],
    ['SubjectPublicKeyInfo', armour('PUBLIC KEY', Uint8Array.of(1)), /public key/],
    ['a PKCS#1 public key', armour('RSA PUBLIC KEY', Uint8Array.of(1)), /public key/],
    ['an X.509 certificate', armour('CERTIFICATE', Uint8Array.of(1)), /is a CERTIFICATE/],
    ['a DSA key', armour('DSA PRIVATE KEY', Uint8Array.of(1)), /DSA/],
    ['an unknown label', armour('ANY PRIVATE KEY', Uint8Array.of(1)), /label ANY PRIVATE KEY/],
    ['a JWK', '{"kty":"OKP"}', /JWK/],
    ['prose', 'Dear Ada,\nhere is my key', /should begin with -----BEGIN/],
  ];
  for (const [name, file, message] of refused) {
    it(`says so: ${name}`, () => {
      assert.throws(() => parsePrivateKey(file, crypto), sshError('key-format-unsupported', message));
    });
  }

  it('says so: DER, and a file that is too large', () => {
    const der = content(privateRow('openssl-rsa2048').pkcs8 as string);
    assert.throws(() => parsePrivateKey(der, crypto), sshError('key-format-unsupported', /openssl pkey -inform DER/));
    const large = new Uint8Array(MAX_KEY_FILE + 1);
    assert.throws(() => parsePrivateKey(large, crypto), sshError('key-format-unsupported', /1048576 bytes/));
  });

  it('names the file when it is told its name, and makes that safe to show', () => {
    const name = '~/.ssh/id\u001b[31m';
    const named = (file: string, code: 'key-corrupt' | 'key-format-unsupported' | 'key-passphrase-needed') =>
      assert.throws(() => parsePrivateKey(file, crypto, { name }), sshError(code, /~\/\.ssh\/id\\x1b\[31m/));
    named(armour('RSA PRIVATE KEY', Uint8Array.of(1)), 'key-format-unsupported');
    named(armour('ENCRYPTED PRIVATE KEY', Uint8Array.of(1)), 'key-passphrase-needed');
    named(armour('PRIVATE KEY', Uint8Array.of(1)), 'key-corrupt');
  });

  it('refuses PKCS#8 with a passphrase, as ssh-keygen and openssl write it', { skip: noKeygen || noOpenssl }, () =>
    inScratch((path) => {
      output('ssh-keygen', ['-q', '-t', 'ecdsa', '-N', 'secret', '-m', 'PKCS8', '-f', path('a')]);
      output('openssl', ['genpkey', '-algorithm', 'ed25519', '-aes256', '-pass', 'pass:secret', '-out', path('b')]);
      for (const name of ['a', 'b']) {
        const parse = () => parsePrivateKey(readFileSync(path(name)), crypto);
        assert.throws(parse, sshError('key-passphrase-needed', /encrypted \(PKCS#8\)/));
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

describe('parsePrivateKey, damaged files', () => {
  for (const name of ['ed25519', 'ecdsa256', 'ecdsa521', 'rsa1024', 'openssl-ed25519', 'openssl-p256']) {
    const row = privateRow(name);
    const blob = hex(parsePublicKeyLine(row.publicLine).blob);
    for (const [label, file] of Object.entries({ 'OPENSSH PRIVATE KEY': row.openssh, 'PRIVATE KEY': row.pkcs8 })) {
      if (file === undefined) continue;
      const whole = content(file);

      it(`finds ${name} (${label}) corrupt when cut off anywhere or with a byte behind it`, () => {
        for (let length = 0; length < whole.length; length++) {
          assert.equal(outcome(armour(label, whole.subarray(0, length))), 'key-corrupt', `${length} bytes`);
        }
        assert.equal(outcome(armour(label, concat(whole, Uint8Array.of(0)))), 'key-corrupt');
      });

      it(`finds no other key in ${name} (${label}) when any byte is changed`, { timeout: 120_000 }, () => {
        const codes = new Set<string>();
        for (let at = 0; at < whole.length; at++) {
          const changed = whole.slice();
          changed[at] = (changed[at] as number) ^ 0x04;
          const found = outcome(armour(label, changed));
          if (found !== blob) codes.add(found);
        }
        codes.delete('key-corrupt');
        codes.delete('key-format-unsupported'); // another name of a cipher or a type, another OID
        codes.delete('key-passphrase-needed');
        // A seed without a public half beside it is a good key whatever its bytes are.
        if (name === 'openssl-ed25519')
          assert.equal([...codes].filter((code) => /^0000000b7373682d/.test(code)).length, 32);
        else assert.deepEqual([...codes], []);
      });
    }
  }

  it('says what is wrong with the armour', () => {
    const file = privateRow('ed25519').openssh as string;
    const cut = file.slice(0, 200);
    assert.throws(
      () => parsePrivateKey(cut, crypto),
      sshError('key-corrupt', /no line -----END OPENSSH PRIVATE KEY-----/),
    );
    const digit = file.replace('b3BlbnNza', 'b3Blbn*za');
    assert.throws(() => parsePrivateKey(digit, crypto), sshError('key-corrupt', /not base64/));
  });

  /** An openssh-key-v1 file from its parts. */
  function opensshKey(parts: {
    cipher?: string;
    kdf?: string;
    count?: number;
    publicBlob: Uint8Array;
    section: Uint8Array;
    trailing?: Uint8Array;
  }): string {
    const writer = new Writer().raw(utf8('openssh-key-v1\0'));
    writer
      .string(parts.cipher ?? 'none')
      .string(parts.kdf ?? 'none')
      .string('')
      .u32(parts.count ?? 1);
    writer
      .string(parts.publicBlob)
      .string(parts.section)
      .raw(parts.trailing ?? new Uint8Array(0));
    return armour('OPENSSH PRIVATE KEY', writer.finish());
  }

  /** The parts of the vectors' Ed25519 key, a seed of one's choice in it. */
  function ed25519(change: {
    check?: number;
    publicKey?: Uint8Array;
    inner?: Uint8Array;
    seed?: Uint8Array;
    padding?: number[];
  }) {
    const secret = parsePrivateKey(privateRow('ed25519').openssh as string, crypto).secret();
    assert.ok(secret.type === 'ssh-ed25519');
    const right = parsePublicKeyLine(privateRow('ed25519').publicLine).blob.slice(-32);
    const publicKey = change.publicKey ?? right;
    const pair = concat(change.seed ?? secret.seed, change.inner ?? publicKey);
    const section = new Writer()
      .u32(7)
      .u32(change.check ?? 7)
      .string('ssh-ed25519')
      .string(publicKey)
      .string(pair);
    section.string('c').raw(Uint8Array.from(change.padding ?? [1, 2, 3, 4]));
    return {
      publicBlob: new Writer().string('ssh-ed25519').string(publicKey).finish(),
      section: section.finish(),
    };
  }

  it('accepts what these tests build, so that each of them changes one thing only', () => {
    assert.equal(outcome(opensshKey(ed25519({}))), hex(parsePublicKeyLine(privateRow('ed25519').publicLine).blob));
  });

  it('finds each kind of damage in an openssh-key-v1 file', () => {
    const good = ed25519({});
    const other = parsePublicKeyLine(privateRow('openssl-ed25519').publicLine).blob;
    const cases: [string, RegExp][] = [
      [opensshKey(ed25519({ check: 8 })), /check numbers differ/],
      [opensshKey(ed25519({ padding: [1, 2, 3, 5] })), /padding/],
      [opensshKey(ed25519({ padding: [0, 0, 0, 0] })), /padding/],
      [opensshKey(ed25519({ padding: [1, 2, 3] })), /private section is cut off/],
      [opensshKey(ed25519({ inner: other.slice(-32) })), /halves do not belong together/],
      [opensshKey(ed25519({ publicKey: other.slice(-32) })), /private half do not belong together/],
      [opensshKey(ed25519({ seed: new Uint8Array(32) })), /private half do not belong together/],
      [opensshKey({ ...good, publicBlob: other }), /private half do not belong together/],
      [opensshKey({ ...good, publicBlob: Uint8Array.of(1) }), /Truncated/],
      [opensshKey({ ...good, kdf: 'bcrypt' }), /key derivation, but no cipher/],
      [opensshKey({ ...good, trailing: Uint8Array.of(0) }), /too many/],
    ];
    for (const [file, message] of cases)
      assert.throws(() => parsePrivateKey(file, crypto), sshError('key-corrupt', message));
    for (const count of [0, 2]) {
      const bundle = opensshKey({ ...good, count });
      assert.throws(
        () => parsePrivateKey(bundle, crypto),
        sshError('key-format-unsupported', new RegExp(`${count} keys`)),
      );
    }
  });

  it('accepts a comment of any length, and padding to go with it', () => {
    for (let length = 0; length < 9; length++) {
      const { section, publicBlob } = ed25519({});
      const start = section.subarray(0, section.length - 9); // comment and padding are 4 + 1 + 4 bytes
      const writer = new Writer().raw(start).string('x'.repeat(length));
      for (let i = 1; writer.length % 8 !== 0; i++) writer.u8(i);
      assert.equal(
        parsePrivateKey(opensshKey({ publicBlob, section: writer.finish() }), crypto).comment,
        'x'.repeat(length),
      );
    }
  });

  it('reads Ed25519 in PKCS#8 of version 2, and compares the public key in it', () => {
    const { pkcs8, publicLine } = privateRow('openssl-ed25519');
    const publicKey = parsePublicKeyLine(publicLine).blob.slice(-32);
    const body = concat(content(pkcs8 as string).subarray(2), Uint8Array.of(0x81, 0x21, 0), publicKey);
    body[2] = 1;
    const whole = concat(Uint8Array.of(0x30, body.length), body);
    assert.equal(outcome(armour('PRIVATE KEY', whole)), hex(parsePublicKeyLine(publicLine).blob));
    whole[whole.length - 1] = (whole.at(-1) as number) ^ 1;
    assert.throws(
      () => parsePrivateKey(armour('PRIVATE KEY', whole), crypto),
      sshError('key-corrupt', /belong together/),
    );
  });

  it('reads EC scalars that lost their leading zero', () => {
    // Made by taking the zero out of a P-521 key, whose scalar almost always starts with one.
    const { pkcs8, publicLine } = privateRow('ecdsa521');
    const der = content(pkcs8 as string);
    const at = der.findIndex((byte, i) => byte === 0x04 && der[i + 1] === 0x42 && der[i + 2] === 0);
    assert.ok(at > 0, 'the scalar of this key starts with a zero');
    const short = concat(der.subarray(0, at + 2), der.subarray(at + 3));
    // One byte less in this OCTET STRING, and in the SEQUENCE, OCTET STRING and SEQUENCE around it.
    short[at + 1] = 0x41;
    assert.deepEqual(
      [2, 26, 29].map((length) => der[length]),
      [0xee, 0xd6, 0xd3],
    );
    for (const length of [2, 26, 29]) short[length] = (short[length] as number) - 1;
    assert.equal(outcome(armour('PRIVATE KEY', short)), hex(parsePublicKeyLine(publicLine).blob));
  });

  it('puts nothing secret into messages', () => {
    const { openssh } = privateRow('ecdsa256');
    const whole = content(openssh as string);
    const secret = parsePrivateKey(openssh as string, crypto).secret();
    assert.ok(secret.type === 'ecdsa-sha2-nistp256');
    const digits = hex(secret.scalar);
    for (let at = 0; at < whole.length; at++) {
      const changed = whole.slice();
      changed[at] = (changed[at] as number) ^ 0xff;
      try {
        parsePrivateKey(armour('OPENSSH PRIVATE KEY', changed), crypto);
      } catch (error) {
        assert.ok(error instanceof SshError);
        const shown = `${error.message} ${inspect(error.cause)}`;
        assert.ok(!shown.includes(digits.slice(8, 40)) && !shown.includes(base64(secret.scalar).slice(4, 30)));
      }
    }
  });
});
