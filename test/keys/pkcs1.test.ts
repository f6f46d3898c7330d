/** PKCS#1 and SEC1, which share their errors. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hex } from '../../src/bytes/text.ts';
import { nodeProvider } from '../../src/crypto/native/node.ts';
import { DerReader } from '../../src/keys/der.ts';
import * as der from '../../src/keys/der_write.ts';
import { parsePrivateKey } from '../../src/keys/private_key.ts';
import { blobOf, keyFileRow, outcome } from './key_files.ts';
import { armour, armoured, sshError } from './tools.ts';

const crypto = nodeProvider();
const rsa = keyFileRow('pem-rsa1024');
const ec = keyFileRow('pem-ecdsa256');

/** The integers of an RSAPrivateKey, in order. */
function integers(): Uint8Array[] {
  const reader = new DerReader(armoured(rsa.file)).sequence();
  return Array.from({ length: 9 }, () => reader.integer());
}

const rsaFile = (numbers: readonly (Uint8Array | number)[], ...more: Uint8Array[]): string =>
  armour('RSA PRIVATE KEY', der.sequence(...numbers.map(der.integer), ...more));

describe('PKCS#1', () => {
  it('is written and read as the same integers', () => {
    assert.equal(rsaFile(integers()), armour('RSA PRIVATE KEY', armoured(rsa.file)));
    assert.equal(outcome(rsaFile(integers()), crypto, {}), hex(blobOf(rsa)));
  });

  it('does not use the reduced exponents, which follow from the rest', () => {
    const changed = integers().map((number, i) => (i === 6 || i === 7 ? Uint8Array.of(5) : number));
    assert.equal(outcome(rsaFile(changed), crypto, {}), hex(blobOf(rsa)));
  });

  it('refuses keys with more primes, numbers that do not fit together, and what stands behind them', () => {
    const [first, ...others] = integers();
    const multi = rsaFile([1, ...others]);
    assert.throws(() => parsePrivateKey(multi, crypto), sshError('key-format-unsupported', /multi-prime/));
    for (const at of [1, 2, 3, 4, 5, 8]) {
      const changed = integers();
      changed[at] = Uint8Array.of(...(changed[at] as Uint8Array).subarray(0, -1), 0x55);
      assert.equal(outcome(rsaFile(changed), crypto, {}), 'key-corrupt', `integer ${at}`);
    }
    assert.equal(outcome(rsaFile([first as Uint8Array, ...others], der.nothing()), crypto, {}), 'key-corrupt');
    assert.equal(outcome(rsaFile([first as Uint8Array, ...others.slice(1)]), crypto, {}), 'key-corrupt');
  });
});

describe('SEC1', () => {
  const reader = new DerReader(armoured(ec.file)).sequence();
  reader.smallInteger();
  const scalar = reader.octetString();
  const p256 = '1.2.840.10045.3.1.7';
  const file = (...elements: Uint8Array[]): string => armour('EC PRIVATE KEY', der.sequence(...elements));

  it('is read with or without its public half, behind its parameters', () => {
    const plain = file(der.integer(1), der.octetString(scalar), der.context(0, der.oid(p256)));
    const parameters = armour('EC PARAMETERS', der.oid(p256));
    for (const text of [plain, ec.file, parameters + ec.file]) assert.equal(outcome(text, crypto, {}), hex(blobOf(ec)));
  });

  it('must name a curve, by its name, that SSH uses, and have a scalar on it', () => {
    const curve = (...elements: Uint8Array[]) =>
      file(der.integer(1), der.octetString(scalar), der.context(0, ...elements));
    const other = der.bitString(new Uint8Array(65).fill(4));
    const cases: [string, 'key-corrupt' | 'key-format-unsupported', RegExp][] = [
      [file(der.integer(1), der.octetString(scalar)), 'key-corrupt', /does not name its curve/],
      [curve(der.oid('1.3.132.0.10')), 'key-format-unsupported', /secp256k1/],
      [curve(der.oid('1.3.36.3.3.2.8.1.1.7')), 'key-format-unsupported', /1\.3\.36/],
      [curve(der.sequence(der.integer(1))), 'key-format-unsupported', /curve is written out/],
      [curve(der.oid(p256), der.nothing()), 'key-corrupt', /too many/],
      [file(der.integer(2), der.octetString(scalar)), 'key-corrupt', /version 1/],
      [
        file(der.integer(1), der.octetString(new Uint8Array(32)), der.context(0, der.oid(p256))),
        'key-corrupt',
        /scalar is zero/,
      ],
      [
        file(der.integer(1), der.octetString(scalar), der.context(0, der.oid(p256)), der.context(1, other)),
        'key-corrupt',
        /belong together/,
      ],
    ];
    for (const [text, code, message] of cases) {
      assert.throws(() => parsePrivateKey(text, crypto), sshError(code, message));
    }
  });
});
