import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inspect } from 'node:util';
import { concat } from '../../src/bytes/bytes.ts';
import { base64, hex, latin1, utf8 } from '../../src/bytes/text.ts';
import { Writer } from '../../src/bytes/writer.ts';
import { SshError } from '../../src/errors.ts';
import { parsePrivateKey } from '../../src/keys/private_key.ts';
import { parsePublicKeyLine } from '../../src/keys/public_key_line.ts';
import { armour, armoured, crypto, privateRow, readOutcome, sshError } from './tools.ts';

describe('parsePrivateKey, damaged files', () => {
  for (const name of ['ed25519', 'ecdsa256', 'ecdsa521', 'rsa1024', 'openssl-ed25519', 'openssl-p256']) {
    const row = privateRow(name);
    const blob = hex(parsePublicKeyLine(row.publicLine).blob);
    for (const [label, file] of Object.entries({ 'OPENSSH PRIVATE KEY': row.openssh, 'PRIVATE KEY': row.pkcs8 })) {
      if (file === undefined) continue;
      const whole = armoured(file);

      it(`finds ${name} (${label}) corrupt when cut off anywhere or with a byte behind it`, () => {
        for (let length = 0; length < whole.length; length++) {
          assert.equal(readOutcome(armour(label, whole.subarray(0, length))), 'key-corrupt', `${length} bytes`);
        }
        assert.equal(readOutcome(armour(label, concat(whole, Uint8Array.of(0)))), 'key-corrupt');
      });

      it(`finds no other key in ${name} (${label}) when any byte is changed`, { timeout: 120_000 }, () => {
        const codes = new Set<string>();
        for (let at = 0; at < whole.length; at++) {
          const changed = whole.slice();
          changed[at] = (changed[at] as number) ^ 0x04;
          const found = readOutcome(armour(label, changed));
          if (found !== blob) codes.add(found);
        }
        codes.delete('key-corrupt');
        codes.delete('key-format-unsupported'); // another name of a type, another OID
        codes.delete('key-cipher-unsupported'); // another name of a cipher
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
    assert.equal(readOutcome(opensshKey(ed25519({}))), hex(parsePublicKeyLine(privateRow('ed25519').publicLine).blob));
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

  it('compares what stands twice in an ECDSA key: its curve and its point', () => {
    const { openssh } = privateRow('ecdsa256');
    const whole = armoured(openssh as string);
    const text = latin1(whole);
    const curve = text.lastIndexOf('nistp256');
    const changes: [number, RegExp][] = [
      [curve + 7, /its curve is not that of its type/],
      [curve + 8 + 4 + 64, /private half do not belong together/], // the last byte of the point
    ];
    for (const [at, message] of changes) {
      const changed = whole.slice();
      changed[at] = (changed[at] as number) ^ 1;
      const file = armour('OPENSSH PRIVATE KEY', changed);
      assert.throws(() => parsePrivateKey(file, crypto), sshError('key-corrupt', message));
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
    const body = concat(armoured(pkcs8 as string).subarray(2), Uint8Array.of(0x81, 0x21, 0), publicKey);
    body[2] = 1;
    const whole = concat(Uint8Array.of(0x30, body.length), body);
    assert.equal(readOutcome(armour('PRIVATE KEY', whole)), hex(parsePublicKeyLine(publicLine).blob));
    whole[whole.length - 1] = (whole.at(-1) as number) ^ 1;
    assert.throws(
      () => parsePrivateKey(armour('PRIVATE KEY', whole), crypto),
      sshError('key-corrupt', /belong together/),
    );
  });

  it('reads EC scalars that lost their leading zero', () => {
    // Made by taking the zero out of a P-521 key, whose scalar almost always starts with one.
    const { pkcs8, publicLine } = privateRow('ecdsa521');
    const der = armoured(pkcs8 as string);
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
    assert.equal(readOutcome(armour('PRIVATE KEY', short)), hex(parsePublicKeyLine(publicLine).blob));
  });

  it('puts nothing secret into messages', () => {
    const { openssh } = privateRow('ecdsa256');
    const whole = armoured(openssh as string);
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
