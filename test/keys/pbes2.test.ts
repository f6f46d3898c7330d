import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hex, utf8 } from '../../src/bytes/text.ts';
import { nodeProvider } from '../../src/crypto/native/node.ts';
import * as der from '../../src/keys/der_write.ts';
import { keyCipher, padBlocks } from '../../src/keys/key_cipher.ts';
import { parsePrivateKey } from '../../src/keys/private_key.ts';
import { parsePublicKeyLine } from '../../src/keys/public_key_line.ts';
import { outcome } from './key_files.ts';
import { armour, armoured, privateRow, sshError } from './tools.ts';

const crypto = nodeProvider();
const salt = utf8('saltsalt');
const vector = new Uint8Array(16).fill(7);
const options = { passphrase: 'pw' };
const plain = armoured(privateRow('openssl-p256').pkcs8 as string);
const right = hex(parsePublicKeyLine(privateRow('openssl-p256').publicLine).blob);

const PBES2 = '1.2.840.113549.1.5.13';
const PBKDF2 = '1.2.840.113549.1.5.12';
const SCRYPT = '1.3.6.1.4.1.11591.4.11';
const AES128 = '2.16.840.1.101.3.4.1.2';

function derivation(kind: string, ...parameters: Uint8Array[]): Uint8Array {
  return der.sequence(der.oid(kind), der.sequence(...parameters));
}

const pbkdf2 = (...more: Uint8Array[]): Uint8Array =>
  derivation(PBKDF2, der.octetString(salt), der.integer(2), ...more);

interface Change {
  readonly derivation?: Uint8Array;
  readonly key?: Uint8Array;
  readonly scheme?: Uint8Array;
  readonly content?: Uint8Array;
  readonly kind?: string;
}

/** An encrypted key, by default with PBKDF2 of HMAC-SHA-1, which is what stands for no PRF, and AES-128-CBC. */
function file(change: Change = {}): string {
  const key = change.key ?? crypto.kdfs.pbkdf2('sha1', utf8('pw'), salt, 2, 16);
  const content = change.content ?? padBlocks(plain, 16);
  const [sealed] = keyCipher('aes128-cbc').encrypt(crypto, key, vector, content) as [Uint8Array];
  const scheme = change.scheme ?? der.sequence(der.oid(AES128), der.octetString(vector));
  const algorithm = der.sequence(der.oid(change.kind ?? PBES2), der.sequence(change.derivation ?? pbkdf2(), scheme));
  return armour('ENCRYPTED PRIVATE KEY', der.sequence(algorithm, der.octetString(sealed)));
}

describe('PKCS#8 by PBES2', () => {
  it('takes HMAC-SHA-1 where no PRF is named, a key length that fits, and a PRF with or without NULL', () => {
    const prf = (...rest: Uint8Array[]) => der.sequence(der.oid('1.2.840.113549.2.9'), ...rest);
    const sha256 = crypto.kdfs.pbkdf2('sha256', utf8('pw'), salt, 2, 16);
    const cases: Change[] = [
      {},
      { derivation: pbkdf2(der.integer(16)) },
      { derivation: pbkdf2(prf(der.nothing())), key: sha256 },
      { derivation: pbkdf2(der.integer(16), prf()), key: sha256 },
    ];
    for (const change of cases) assert.equal(outcome(file(change), crypto, options), right);
  });

  it('finds what is corrupt before it asks for a passphrase', () => {
    const scheme = (bytes: number) => der.sequence(der.oid(AES128), der.octetString(new Uint8Array(bytes)));
    const cases: [Change, RegExp][] = [
      [{ derivation: pbkdf2(der.integer(32)) }, /derives 32 bytes for a key of 16/],
      [{ derivation: derivation(PBKDF2, der.octetString(salt), der.integer(0)) }, /iterations are 0/],
      [
        { derivation: derivation(PBKDF2, der.octetString(new Uint8Array(1025)), der.integer(1)) },
        /salt has 1025 bytes/,
      ],
      [{ derivation: pbkdf2(der.nothing()) }, /SEQUENCE expected/],
      [
        { derivation: derivation(PBKDF2, der.octetString(salt), der.integer(new Uint8Array(7).fill(1))) },
        /INTEGER too large/,
      ],
      [{ scheme: scheme(8) }, /initialization vector has 8 bytes/],
      [{ content: new Uint8Array(0) }, /ciphertext is cut off/],
      [{ derivation: derivation(SCRYPT, der.octetString(salt), ...[3, 1, 1].map(der.integer)) }, /scrypt N is 3/],
      [{ derivation: derivation(SCRYPT, der.octetString(salt), ...[1, 1, 1].map(der.integer)) }, /scrypt N is 1/],
      [{ derivation: derivation(SCRYPT, der.octetString(salt), ...[2, 0, 1].map(der.integer)) }, /scrypt r are 0/],
    ];
    for (const [change, message] of cases) {
      assert.throws(() => parsePrivateKey(file(change), crypto), sshError('key-corrupt', message));
    }
  });

  it('computes no more than the limits say', () => {
    const scrypt = (n: number, r: number, p: number) =>
      ({
        derivation: derivation(SCRYPT, der.octetString(salt), der.integer(n), der.integer(r), der.integer(p)),
      }) as const;
    const many = (count: number) => ({ derivation: derivation(PBKDF2, der.octetString(salt), der.integer(count)) });
    const cases: [Change, RegExp][] = [
      [many(10_000_001), /10000001 PBKDF2 iterations; at most 10000000 .*limits\.pbkdf2Iterations/],
      [many(2 ** 40), /PBKDF2 iterations/],
      [scrypt(2 ** 20, 8, 1), /1073741824 bytes of memory for scrypt; at most 268435456 /],
      [scrypt(2 ** 30, 2 ** 30, 1), /bytes of memory for scrypt/],
      [scrypt(2 ** 15, 8, 65), /blocks of scrypt/],
      [scrypt(2, 1, 2 ** 30), /blocks of scrypt/],
    ];
    for (const [change, message] of cases) {
      assert.throws(() => parsePrivateKey(file(change), crypto, options), sshError('key-cipher-unsupported', message));
    }
    const limits = { pbkdf2Iterations: 1 };
    assert.equal(outcome(file(), crypto, { ...options, limits }), 'key-cipher-unsupported');
  });

  it('takes bad padding, and what is no SEQUENCE, for a wrong passphrase; a SEQUENCE that is no key for damage', () => {
    const text = padBlocks(utf8('not a key'), 16);
    const cases: [Uint8Array, string][] = [
      [padBlocks(plain, 16).fill(0, plain.length), 'key-passphrase-wrong'],
      [new Uint8Array(32).fill(17), 'key-passphrase-wrong'],
      [text, 'key-passphrase-wrong'],
      [padBlocks(plain.subarray(0, plain.length - 1), 16), 'key-passphrase-wrong'],
      [padBlocks(der.sequence(der.integer(0)), 16), 'key-corrupt'],
    ];
    for (const [content, code] of cases) assert.equal(outcome(file({ content }), crypto, options), code);
    assert.equal(outcome(file({ content: padBlocks(plain, 16) }), crypto, options), right);
  });

  it('names the scheme that it does not know', () => {
    const cases: [Change, RegExp][] = [
      [{ kind: '1.2.840.113549.1.5.10' }, /PBES1 with SHA-1 and DES; .*openssl pkcs8 -topk8/],
      [{ kind: '1.2.3.4' }, /1\.2\.3\.4/],
      [{ derivation: derivation('1.2.3.5', der.octetString(salt)) }, /1\.2\.3\.5/],
      [{ derivation: pbkdf2(der.sequence(der.oid('1.2.840.113549.2.8'), der.nothing())) }, /SHA-224/],
      [
        { derivation: derivation(PBKDF2, der.sequence(der.oid('1.2.3')), der.integer(1)) },
        /salt that is no octet string/,
      ],
      [{ scheme: der.sequence(der.oid('2.16.840.1.101.3.4.1.6'), der.octetString(vector)) }, /2\.16\.840/],
    ];
    for (const [change, message] of cases) {
      assert.throws(() => parsePrivateKey(file(change), crypto), sshError('key-cipher-unsupported', message));
    }
  });
});
