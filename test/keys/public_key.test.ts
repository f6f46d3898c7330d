import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { concat } from '../../src/bytes/bytes.ts';
import { fromHex, hex, utf8 } from '../../src/bytes/text.ts';
import { Writer } from '../../src/bytes/writer.ts';
import { SshError } from '../../src/errors.ts';
import { parseKnownHosts } from '../../src/keys/known_hosts.ts';
import { parseRevoked, revocationOf } from '../../src/keys/krl.ts';
import {
  encodePublicKey,
  fingerprint,
  keyTypeOf,
  parseFingerprint,
  parsePublicKey,
} from '../../src/keys/public_key.ts';
import { formatPublicKeyLine, parsePublicKeyLine } from '../../src/keys/public_key_line.ts';
import { parseShownKey } from '../../src/keys/shown_key.ts';
import { crypto, generate, inScratch, keyTypes, noKeygen, output, publicBlob, publicRows, sshError } from './tools.ts';

/** The outcome of parsing bytes that may be damaged: the key's blob, or the error's code. */
function outcome(blob: Uint8Array): string {
  try {
    return hex(parsePublicKey(blob, crypto).blob);
  } catch (error) {
    assert.ok(error instanceof SshError, String(error));
    return error.code;
  }
}

/** An odd modulus of `bits` bits, and an exponent, as a key blob. */
function rsaBlob(bits: number, exponent: Uint8Array, last = 1): Uint8Array {
  const modulus = new Uint8Array(Math.ceil(bits / 8));
  modulus[0] = 1 << ((bits - 1) % 8);
  modulus[modulus.length - 1] = last;
  return new Writer().string('ssh-rsa').mpint(exponent).mpint(modulus).finish();
}

const F4 = Uint8Array.of(1, 0, 1);

describe('parsePublicKey', () => {
  for (const row of publicRows) {
    it(`reads and encodes again what OpenSSH wrote: ${row.name}`, () => {
      const blob = publicBlob(row.name);
      const key = parsePublicKey(blob, crypto);
      assert.equal(key.type, row.type);
      assert.deepEqual(key.blob, blob);
      assert.deepEqual(encodePublicKey(key), blob);
      assert.equal(keyTypeOf(blob), row.type);
      if (key.type === 'ssh-rsa') assert.equal(key.key.modulus.length * 8, row.bits);
    });

    it(`refuses ${row.name} cut off anywhere, with bytes behind it, and never misreads a changed byte`, () => {
      const blob = publicBlob(row.name);
      for (let length = 0; length < blob.length; length++) {
        assert.throws(() => parsePublicKey(blob.subarray(0, length), crypto), sshError('decode'));
      }
      assert.throws(() => parsePublicKey(concat(blob, Uint8Array.of(0)), crypto), sshError('decode', /too many/));
      for (let at = 0; at < blob.length; at++) {
        const changed = blob.slice();
        changed[at] = (changed[at] as number) ^ 0x01;
        assert.notEqual(outcome(changed), hex(blob), `byte ${at}`);
      }
    });
  }

  it('keeps no view of what it was given', () => {
    const given = publicBlob('ed25519');
    const key = parsePublicKey(given);
    given.fill(0);
    assert.deepEqual(key.blob, publicBlob('ed25519'));
    assert.ok(key.type === 'ssh-ed25519' && key.publicKey.some((byte) => byte !== 0));
  });

  it('names a type that it does not know', () => {
    const blob = new Writer().string('ssh-mldsa44-ed25519@openssh.com').string('x').finish();
    assert.throws(() => parsePublicKey(blob), sshError('not-supported', /'ssh-mldsa44-ed25519@openssh\.com'/));
    assert.equal(keyTypeOf(blob), 'ssh-mldsa44-ed25519@openssh.com');
  });

  it('refuses what is no type name', () => {
    for (const name of ['', 'ssh ed25519', 'ssh-\n', 'x'.repeat(65), 'ssh-\u00e9']) {
      assert.throws(() => keyTypeOf(new Writer().string(name).finish()), sshError('decode', /Not a key type/));
    }
  });

  it('refuses a curve that is not that of the type', () => {
    const point = publicBlob('ecdsa256').slice(-65);
    const blob = new Writer().string('ecdsa-sha2-nistp256').string('nistp384').string(point).finish();
    assert.throws(() => parsePublicKey(blob), sshError('decode', /names the curve 'nistp384'/));
  });

  it('refuses a point off the curve when it has a provider, and compressed points always', () => {
    const off = publicBlob('ecdsa256');
    off[off.length - 1] = (off.at(-1) as number) ^ 1;
    assert.equal(parsePublicKey(off).type, 'ecdsa-sha2-nistp256');
    assert.throws(() => parsePublicKey(off, crypto), sshError('decode', /not on the curve/));
    const point = publicBlob('ecdsa256').slice(-65, -32);
    point[0] = 2;
    const hybrid = publicBlob('ecdsa256');
    hybrid[hybrid.length - 65] = 6 | ((hybrid.at(-1) as number) & 1);
    assert.throws(() => parsePublicKey(hybrid), sshError('decode', /uncompressed/));
    const compressed = new Writer().string('ecdsa-sha2-nistp256').string('nistp256').string(point).finish();
    assert.throws(() => parsePublicKey(compressed), sshError('decode', /uncompressed point of 65 bytes/));
  });

  it('accepts an RSA modulus of 1024 to 16384 bits', () => {
    for (const bits of [1024, 16384]) assert.equal(parsePublicKey(rsaBlob(bits, F4)).type, 'ssh-rsa');
    for (const bits of [1023, 16385]) {
      assert.throws(() => parsePublicKey(rsaBlob(bits, F4)), sshError('decode', new RegExp(`modulus of ${bits} bits`)));
    }
  });

  it('refuses RSA numbers that no key has', () => {
    for (const exponent of ['', '01', '010000', '010000000000000001']) {
      assert.throws(
        () => parsePublicKey(rsaBlob(2048, fromHex(exponent))),
        sshError('decode', /RSA exponent/),
        exponent,
      );
    }
    assert.equal(parsePublicKey(rsaBlob(2048, fromHex('8000000000000001'))).type, 'ssh-rsa');
    assert.throws(() => parsePublicKey(rsaBlob(2048, F4, 2)), sshError('decode', /even RSA modulus/));
    const negative = new Writer().string('ssh-rsa').string(Uint8Array.of(0x81)).string(new Uint8Array(256)).finish();
    assert.throws(() => parsePublicKey(negative), sshError('decode', /Negative/));
  });

  it('accepts superfluous zeros before RSA numbers, and drops them', () => {
    const minimal = parsePublicKey(publicBlob('rsa1024'));
    assert.ok(minimal.type === 'ssh-rsa');
    const { modulus, exponent } = minimal.key;
    const zeros = (number: Uint8Array) => concat(new Uint8Array(3), number);
    const padded = new Writer().string('ssh-rsa').string(zeros(exponent)).string(zeros(modulus)).finish();
    assert.deepEqual(encodePublicKey(parsePublicKey(padded)), publicBlob('rsa1024'));
    // by which it is trusted and revoked
    assert.deepEqual(parsePublicKey(padded).blob, publicBlob('rsa1024'));
    const shown = parseShownKey(padded);
    assert.deepEqual([shown.blob, shown.key.blob], [padded, publicBlob('rsa1024')]);
    assert.equal(
      revocationOf(crypto, parseRevoked(utf8(formatPublicKeyLine(publicBlob('rsa1024')))), shown)?.what,
      'key',
    );
    const { entries } = parseKnownHosts(`@revoked * ${formatPublicKeyLine(padded)}`);
    assert.deepEqual(entries[0]?.blob, publicBlob('rsa1024'));
  });
});

describe('fingerprint', () => {
  for (const row of publicRows) {
    it(`is the one that OpenSSH shows: ${row.name}`, () => {
      assert.equal(fingerprint(crypto, publicBlob(row.name)), row.fingerprint);
    });
  }

  for (const type of Object.keys(keyTypes)) {
    it(`is that of ssh-keygen -lf for a fresh ${type} key`, { skip: noKeygen }, () =>
      inScratch((path) => {
        generate(type, path('key'));
        const shown = output('ssh-keygen', ['-lf', path('key.pub')]).split(' ')[1];
        const line = readFileSync(path('key.pub'), 'utf8');
        assert.equal(fingerprint(crypto, parsePublicKeyLine(line).blob), shown);
      }),
    );
  }
});

describe('parseFingerprint', () => {
  const right = 'SHA256:tmNC1ickFKBSSlclVVvNUul9CK4n6rLAwLFtAhCvZB0';

  it('accepts padding, a missing label, another case of the label and space around', () => {
    for (const text of [
      right,
      `${right}=`,
      right.slice(7),
      `${right.slice(7)}=`,
      `sha256:${right.slice(7)}`,
      ` ${right}\n`,
    ]) {
      assert.equal(parseFingerprint(text), right);
    }
  });

  it('says what is wrong with anything else', () => {
    const refused: [string, RegExp][] = [
      ['', /43 base64 digits/],
      ['SHA256:', /43 base64 digits/],
      [right.slice(0, -1), /43 base64 digits/],
      [`${right}A`, /43 base64 digits/],
      [`${right}==`, /43 base64 digits/],
      [right.replace('t', '-'), /43 base64 digits/],
      [`${right.slice(0, -1)}1`, /last digit/],
      ['MD5:16:27:ac:a5:76:28:2d:36:63:1b:56:4d:eb:df:a6:48', /MD5 is not accepted/],
      ['16:27:ac:a5:76:28:2d:36:63:1b:56:4d:eb:df:a6:48', /MD5 is not accepted/],
      [`SHA512:${right.slice(7)}`, /'SHA512' is not SHA256/],
    ];
    for (const [text, message] of refused) {
      assert.throws(() => parseFingerprint(text), sshError('bad-argument', message), text);
      assert.throws(() => parseFingerprint(text), sshError('bad-argument', /ssh-keygen -lf/));
    }
  });
});
