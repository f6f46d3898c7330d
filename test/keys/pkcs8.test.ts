import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat } from '../../src/bytes/bytes.ts';
import { fromHex, hex } from '../../src/bytes/text.ts';
import { parsePrivateKey } from '../../src/keys/private_key.ts';
import { armour, crypto, readOutcome, sshError } from './tools.ts';

/** DER of one element; short enough lengths only. */
function der(tag: number, ...parts: readonly Uint8Array[]): Uint8Array {
  const body = concat(...parts);
  const length = body.length < 0x80 ? [body.length] : [0x81, body.length];
  return concat(Uint8Array.of(tag, ...length), body);
}

const sequence = (...parts: readonly Uint8Array[]) => der(0x30, ...parts);
const number = (value: number) => der(0x02, Uint8Array.of(value));
const octets = (...parts: readonly Uint8Array[]) => der(0x04, ...parts);
const bits = (bytes: Uint8Array) => der(0x03, Uint8Array.of(0), bytes);
const ED25519 = fromHex('06032b6570');
const EC = fromHex('06072a8648ce3d0201');
const P256 = fromHex('06082a8648ce3d030107');
const P384 = fromHex('06052b81040022');
const RSA = fromHex('06092a864886f70d010101');

const pem = (...parts: readonly Uint8Array[]) => armour('PRIVATE KEY', sequence(...parts));
const blobOf = (type: string, ...strings: readonly string[]) => {
  const text = [type, ...strings.slice(0, -1)].map((name) => {
    return `${name.length.toString(16).padStart(8, '0')}${hex(new TextEncoder().encode(name))}`;
  });
  const last = strings.at(-1) as string;
  return `${text.join('')}${(last.length / 2).toString(16).padStart(8, '0')}${last}`;
};

// RFC 8032 §7.1, TEST 1.
const seed = fromHex('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60');
const edPublic = 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a';
const edBlob = blobOf('ssh-ed25519', edPublic);

// RFC 6979 §A.2.5.
const scalar = fromHex('c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721');
const point =
  '0460fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb67903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299';
const ecBlob = blobOf('ecdsa-sha2-nistp256', 'nistp256', point);

describe('PKCS#8, Ed25519', () => {
  const key = octets(octets(seed));

  it('computes the public key of RFC 8032 §7.1', () => {
    assert.equal(readOutcome(pem(number(0), sequence(ED25519), key)), edBlob);
  });

  it('passes over attributes, in either version', () => {
    const attributes = der(0xa0, sequence(fromHex('06032a0304'), der(0x31)));
    assert.equal(readOutcome(pem(number(0), sequence(ED25519), key, attributes)), edBlob);
    const publicKey = der(0x81, Uint8Array.of(0), fromHex(edPublic));
    assert.equal(readOutcome(pem(number(1), sequence(ED25519), key, attributes, publicKey)), edBlob);
  });

  it('refuses another version, parameters, a seed of another length and a second element', () => {
    const parse = (...parts: readonly Uint8Array[]) => parsePrivateKey(pem(...parts), crypto);
    assert.throws(() => parse(number(2), sequence(ED25519), key), sshError('key-format-unsupported', /of version 2/));
    const corrupt = (message: RegExp, ...parts: readonly Uint8Array[]) =>
      assert.throws(() => parse(...parts), sshError('key-corrupt', message));
    corrupt(/end of the algorithm/, number(0), sequence(ED25519, der(0x05)), key);
    corrupt(/32 bytes, not 31/, number(0), sequence(ED25519), octets(octets(seed.subarray(1))));
    corrupt(/end of an element/, number(0), sequence(ED25519), octets(octets(seed), number(0)));
    corrupt(/end of PrivateKeyInfo/, number(0), sequence(ED25519), key, number(0));
  });
});

describe('PKCS#8, EC', () => {
  const parse = (inner: Uint8Array) => parsePrivateKey(pem(number(0), sequence(EC, P256), octets(inner)), crypto);
  const found = (inner: Uint8Array) => hex(parse(inner).publicKey.blob);
  const publicKey = der(0xa1, bits(fromHex(point)));

  it('computes the public key of RFC 6979 §A.2.5, with or without it in the file', () => {
    assert.equal(found(sequence(number(1), octets(scalar))), ecBlob);
    assert.equal(found(sequence(number(1), octets(scalar), publicKey)), ecBlob);
  });

  it('reads a scalar with a zero too many', () => {
    assert.equal(found(sequence(number(1), octets(Uint8Array.of(0), scalar))), ecBlob);
  });

  it('accepts the curve once more inside, and no other', () => {
    assert.equal(found(sequence(number(1), octets(scalar), der(0xa0, P256), publicKey)), ecBlob);
    const other = sequence(number(1), octets(scalar), der(0xa0, P384), publicKey);
    assert.throws(() => parse(other), sshError('key-corrupt', /two different curves/));
  });

  it('refuses scalars that are no private key', () => {
    const order = fromHex('ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551');
    const cases: [Uint8Array, RegExp][] = [
      [new Uint8Array(32), /scalar is zero/],
      [order, /not below the order/],
      [concat(Uint8Array.of(1), scalar), /more than 32 bytes/],
    ];
    for (const [bad, message] of cases) {
      assert.throws(() => parse(sequence(number(1), octets(bad))), sshError('key-corrupt', message));
    }
    order[31] = 0x50; // order - 1
    assert.equal(parse(sequence(number(1), octets(order))).publicKey.type, 'ecdsa-sha2-nistp256');
  });

  it('refuses what stands behind the key', () => {
    const inner = sequence(number(1), octets(scalar), publicKey, number(0));
    assert.throws(() => parse(inner), sshError('key-corrupt', /end of ECPrivateKey/));
  });

  it('refuses another version, and a public key that is not that of the scalar', () => {
    assert.throws(() => parse(sequence(number(0), octets(scalar))), sshError('key-corrupt', /version 1/));
    const wrong = fromHex(point);
    wrong[64] = (wrong[64] as number) ^ 1;
    const inner = sequence(number(1), octets(scalar), der(0xa1, bits(wrong)));
    assert.throws(() => parse(inner), sshError('key-corrupt', /belong together/));
  });
});

describe('PKCS#8, RSA', () => {
  it('refuses keys with more than two primes, and small ones', () => {
    const inner = (version: number) => octets(sequence(...[version, 33, 3, 7, 11, 3, 7, 1, 2].map(number)));
    const parse = (version: number) =>
      parsePrivateKey(pem(number(0), sequence(RSA, der(0x05)), inner(version)), crypto);
    assert.throws(() => parse(1), sshError('key-format-unsupported', /multi-prime/));
    assert.throws(() => parse(0), sshError('key-corrupt', /modulus of 6 bits/));
  });

  it('refuses what stands behind the key', () => {
    const inner = octets(sequence(...[0, 33, 3, 7, 11, 3, 7, 1, 2, 0].map(number)));
    const file = pem(number(0), sequence(RSA, der(0x05)), inner);
    assert.throws(() => parsePrivateKey(file, crypto), sshError('key-corrupt', /end of RSAPrivateKey/));
  });
});
