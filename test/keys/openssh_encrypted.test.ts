import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { concat } from '../../src/bytes/bytes.ts';
import { hex, utf8 } from '../../src/bytes/text.ts';
import { Writer } from '../../src/bytes/writer.ts';
import { nodeProvider } from '../../src/crypto/native/node.ts';
import { keyCiphers, namedCipher } from '../../src/keys/key_cipher.ts';
import { parsePrivateKey, peekPrivateKey } from '../../src/keys/private_key.ts';
import { keyTypeOf } from '../../src/keys/public_key.ts';
import { parsePublicKeyLine } from '../../src/keys/public_key_line.ts';
import { isThorough } from '../support/thorough.ts';
import { outcome } from './key_files.ts';
import { armour, armoured, privateRow, shared, sshError } from './tools.ts';

const crypto = nodeProvider();
const file = (name: string) => readFileSync(shared(`openssh/sshkey/${name}`).path, 'utf8');
const unreadable = (name: string) => shared(`openssh/sshkey/${name}`).skip;

describe('parsePrivateKey, OpenSSH’s own encrypted keys', () => {
  const readable = {
    ed25519_1_pw: 'ed25519_1',
    ecdsa_n_pw: 'ecdsa_1',
    rsa_n_pw: 'rsa_1',
    rsa_1_pw: 'rsa_1',
    ecdsa_1_pw: 'ecdsa_1',
  };
  for (const [name, published] of Object.entries(readable)) {
    // whose key derivation takes tenths of a second
    const skip = isThorough || name === 'ed25519_1_pw' ? unreadable(name) : 'tried in Node 24';
    it(`opens ${name} with their passphrase`, { skip }, () => {
      const passphrase = file('pw').trim();
      const { publicKey } = parsePrivateKey(file(name), crypto, { passphrase });
      assert.deepEqual(publicKey.blob, parsePublicKeyLine(file(`${published}.pub`)).blob);
      assert.equal(outcome(file(name), crypto, { passphrase: 'wrong' }), 'key-passphrase-wrong');
    });
  }

  for (const name of ['ed25519_sk1_pw', 'ecdsa_sk1_pw', 'mldsa44_ed25519_1_pw']) {
    it(`refuses ${name} without asking for a passphrase, and tells its public half`, { skip: unreadable(name) }, () => {
      assert.equal(outcome(file(name), crypto, {}), 'key-format-unsupported');
      const { publicBlob } = peekPrivateKey(file(name));
      assert.equal(keyTypeOf(publicBlob as Uint8Array), file(name.replace('_pw', '.pub')).split(' ')[0]);
    });
  }
});

/** A file as OpenSSH writes it around a section that is given, encrypted with `cipher`. */
function sealed(section: Uint8Array, change: Envelope = {}): string {
  const {
    cipher = 'aes256-ctr',
    kdf = 'bcrypt',
    rounds = 1,
    count = 1,
    cut = 0,
    trailing = new Uint8Array(0),
  } = change;
  const salt = change.salt ?? utf8('0123456789abcdef');
  const row = namedCipher(cipher);
  const writer = new Writer().raw(utf8('openssh-key-v1\0')).string(cipher).string(kdf);
  writer.string(
    new Writer()
      .string(salt)
      .u32(rounds)
      .raw(change.kdfTrailing ?? new Uint8Array(0))
      .finish(),
  );
  writer.u32(count).string(parsePublicKeyLine(privateRow('ed25519').publicLine).blob);
  if (row === undefined) return armour('OPENSSH PRIVATE KEY', writer.string(section).finish());
  const derived = crypto.kdfs.bcrypt(utf8('pw'), salt, Math.min(rounds, 2), row.keySize + row.vectorSize);
  const pieces = row.encrypt(crypto, derived.slice(0, row.keySize), derived.slice(row.keySize), section);
  const whole = concat(...pieces);
  writer
    .string(whole.subarray(0, section.length - cut))
    .raw(whole.subarray(section.length))
    .raw(trailing);
  return armour('OPENSSH PRIVATE KEY', writer.finish());
}

interface Envelope {
  readonly cipher?: string;
  readonly kdf?: string;
  readonly rounds?: number;
  readonly count?: number;
  readonly salt?: Uint8Array;
  readonly kdfTrailing?: Uint8Array;
  readonly cut?: number;
  readonly trailing?: Uint8Array;
}

/** The private section of the vectors' plain Ed25519 key, with other bytes behind the comment. */
function section(blockSize = 16, padding?: readonly number[]): Uint8Array {
  const whole = armoured(privateRow('ed25519').openssh as string);
  const plain = whole.subarray(whole.length - 160, whole.length);
  assert.equal(hex(plain.subarray(0, 4)), hex(plain.subarray(4, 8)));
  const start = plain.subarray(0, plain.length - 7); // what it has is padding of 7 bytes
  const writer = new Writer().raw(start);
  if (padding === undefined) for (let i = 1; writer.length % blockSize !== 0; i++) writer.u8(i);
  else writer.raw(Uint8Array.from(padding));
  return writer.finish();
}

describe('parsePrivateKey, encrypted openssh-key-v1', () => {
  const right = hex(parsePublicKeyLine(privateRow('ed25519').publicLine).blob);
  const options = { passphrase: 'pw' };

  it('accepts what these tests build, with every cipher, and under the older name of one', () => {
    for (const cipher of [...keyCiphers.keys(), 'rijndael-cbc@lysator.liu.se']) {
      const size = namedCipher(cipher)?.blockSize;
      assert.equal(outcome(sealed(section(size), { cipher }), crypto, options), right, cipher);
    }
  });

  it('tells damage from a wrong passphrase where the two check numbers agree', () => {
    const other = section();
    other[0] = (other[0] as number) ^ 1;
    const cases: [string, 'key-corrupt' | 'key-passphrase-wrong', RegExp][] = [
      [sealed(other), 'key-passphrase-wrong', /aes256-ctr, bcrypt/],
      [sealed(section(16, [1, 2, 3, 4, 5, 6, 8])), 'key-corrupt', /padding/],
      [sealed(section(), { cut: 1 }), 'key-corrupt', /cut off/],
      [sealed(section().subarray(0, 64)), 'key-corrupt', /Truncated/],
      [sealed(new Uint8Array(0)), 'key-corrupt', /cut off/],
      [sealed(section(), { salt: new Uint8Array(0) }), 'key-corrupt', /salt is empty/],
      [sealed(section(), { salt: new Uint8Array(1025) }), 'key-corrupt', /salt has 1025 bytes/],
      [sealed(section(), { rounds: 0 }), 'key-corrupt', /rounds are 0/],
      [sealed(section(), { kdfTrailing: Uint8Array.of(0) }), 'key-corrupt', /too many/],
      [sealed(section(), { trailing: Uint8Array.of(0) }), 'key-corrupt', /1 bytes of tag, not 0/],
      [
        sealed(section(), { cipher: 'aes256-gcm@openssh.com', trailing: Uint8Array.of(0) }),
        'key-corrupt',
        /17 bytes of tag/,
      ],
    ];
    for (const [text, code, message] of cases) {
      assert.throws(() => parsePrivateKey(text, crypto, options), sshError(code, message));
    }
  });

  it('takes a tag that does not match for a wrong passphrase, whatever was decrypted', () => {
    for (const cipher of ['aes128-gcm@openssh.com', 'aes256-gcm@openssh.com', 'chacha20-poly1305@openssh.com']) {
      const whole = armoured(sealed(section(), { cipher }));
      whole[whole.length - 1] = (whole.at(-1) as number) ^ 1;
      assert.equal(outcome(armour('OPENSSH PRIVATE KEY', whole), crypto, options), 'key-passphrase-wrong', cipher);
    }
  });

  it('names the cipher or the key derivation that it does not know, before it asks for anything', () => {
    const cases: [Envelope, RegExp][] = [
      [{ cipher: 'arcfour256' }, /arcfour256; .*ssh-keygen -p/],
      [{ cipher: 'blowfish-cbc\u001b[31m' }, /blowfish-cbc\\x1b/],
      [{ kdf: 'argon2id' }, /a key from argon2id/],
      [{ kdf: 'none' }, /a key from none/],
    ];
    for (const [change, message] of cases) {
      const text = sealed(section(), change);
      assert.throws(() => parsePrivateKey(text, crypto), sshError('key-cipher-unsupported', message));
    }
    const bundle = sealed(section(), { count: 2 });
    assert.throws(() => parsePrivateKey(bundle, crypto), sshError('key-format-unsupported', /2 keys/));
  });

  it('computes as many rounds as the limit says, and no more', () => {
    const costly = sealed(section(), { rounds: 1025 });
    assert.throws(
      () => parsePrivateKey(costly, crypto, options),
      sshError('key-cipher-unsupported', /1025 bcrypt rounds; at most 1024 .*`limits\.bcryptRounds`/),
    );
    const two = sealed(section(), { rounds: 2 });
    assert.equal(outcome(two, crypto, { ...options, limits: { bcryptRounds: 1 } }), 'key-cipher-unsupported');
    assert.equal(outcome(two, crypto, { ...options, limits: { bcryptRounds: 2 } }), right);
  });
});
