/** RSASSA-PKCS1-v1_5 of both providers: against OpenSSL, against forged encodings, against damaged and odd keys. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fromHex, hex, utf8 } from '../../src/bytes/text.ts';
import type { HashName, RsaPrivateKey } from '../../src/crypto/provider.ts';
import { ownVectors, type VectorGroup } from '../support/vectors.ts';
import { assertEach, providers, reads, sshError } from './tools.ts';

interface Row {
  readonly id: string;
  readonly hash: HashName;
  readonly message: string;
  readonly signature: string;
  readonly result: 'valid' | 'invalid';
}
type Parts = Readonly<Record<keyof RsaPrivateKey, string>>;

const groups = ownVectors<VectorGroup<Row> & { key: Parts }>('crypto/rsa.json');

function keyOf(parts: Parts): RsaPrivateKey {
  return {
    modulus: fromHex(parts.modulus),
    exponent: fromHex(parts.exponent),
    privateExponent: fromHex(parts.privateExponent),
    prime1: fromHex(parts.prime1),
    prime2: fromHex(parts.prime2),
    coefficient: fromHex(parts.coefficient),
  };
}

/** An integer of exactly `bits` bits, all of them set. */
function ones(bits: number): Uint8Array {
  const bytes = new Uint8Array(Math.ceil(bits / 8)).fill(0xff);
  if (bits % 8 !== 0) bytes[0] = (1 << (bits % 8)) - 1;
  return bytes;
}

const three = new Uint8Array([3]);
const padded = (bytes: Uint8Array) => new Uint8Array([0, 0, ...bytes]);

for (const provider of providers) {
  const { rsa } = provider;

  describe(`rsa of ${provider.name}`, () => {
    for (const group of groups) {
      const key = keyOf(group.key);

      it(`verifies and refuses as it must: ${group.section}`, async () => {
        await assertEach(
          group.rows,
          (row) => row.id,
          async ({ hash, message, signature, result }) =>
            (await rsa.verify(key, hash, fromHex(message), fromHex(signature))) === (result === 'valid'),
        );
      });

      it(`makes the signatures of OpenSSL: ${group.section}`, async () => {
        await assertEach(
          group.rows.filter((row) => row.result === 'valid'),
          (row) => row.id,
          async ({ hash, message, signature }) => reads(await rsa.sign(key, hash, fromHex(message)), signature),
        );
        assert.deepEqual(key, keyOf(group.key));
      });

      it(`takes integers with leading zeros: ${group.section}`, async () => {
        const row = group.rows[0] as Row;
        const parts = Object.entries(key).map(([name, value]) => [name, padded(value)]);
        const same = Object.fromEntries(parts) as RsaPrivateKey;
        assert.ok(reads(await rsa.sign(same, row.hash, fromHex(row.message)), row.signature));
        assert.equal(await rsa.verify(same, row.hash, fromHex(row.message), fromHex(row.signature)), true);
      });

      it(`lets no signature out that a damaged key made: ${group.section}`, () => {
        for (const part of ['privateExponent', 'prime1', 'prime2', 'coefficient'] as const) {
          for (const damaged of [altered(key[part]), new Uint8Array(1), new Uint8Array([1]), three]) {
            const action = () => rsa.sign({ ...key, [part]: damaged }, 'sha256', utf8('x'));
            // A provider may do without the part that is wrong, but a wrong signature it may not make.
            try {
              const signature = action();
              assert.ok(signature instanceof Uint8Array);
              assert.equal(rsa.verify(key, 'sha256', utf8('x'), signature), true);
            } catch (error) {
              assert.ok(sshError('crypto', 'local')(error), String(error));
            }
          }
        }
        const other = { ...key, modulus: altered(key.modulus, key.modulus.length - 2) };
        assert.throws(() => rsa.sign(other, 'sha256', utf8('x')), sshError('crypto', 'local'));
      });
    }

    it('refuses keys outside the limits, saying whose they are', () => {
      const keys = [
        { modulus: ones(1023), exponent: three },
        { modulus: ones(16385), exponent: three },
        { modulus: new Uint8Array(0), exponent: three },
        { modulus: ones(2048), exponent: new Uint8Array([1]) },
        { modulus: ones(2048), exponent: new Uint8Array([0]) },
        { modulus: ones(2048), exponent: new Uint8Array([4]) },
        { modulus: ones(2048), exponent: ones(65) },
        { modulus: new Uint8Array([...ones(2040), 0xfe]), exponent: three },
      ];
      for (const key of keys) {
        const signature = new Uint8Array(key.modulus.length);
        const secret = { ...key, privateExponent: three, prime1: three, prime2: three, coefficient: three };
        assert.throws(() => rsa.verify(key, 'sha256', utf8('x'), signature), sshError('crypto', 'peer'));
        assert.throws(() => rsa.sign(secret, 'sha256', utf8('x')), sshError('crypto', 'local'));
      }
    });

    it('verifies with moduli up to the limit, which runtimes do not all take', async () => {
      const digestInfo = '3031300d060960864801650304020105000420';
      const digest = hex(provider.hashes.sha256.digest(utf8('large')));
      // With exponent 3 and n = s^3 - encoding, s is the signature. The cubes have just the bits that are wanted.
      for (const [bits, root] of [[8192, 3n << 2729n] as const, [16384, (1n << 5461n) + (1n << 5450n)] as const]) {
        const padding = 'ff'.repeat(bits / 8 - 3 - 51);
        const encoding = BigInt(`0x0001${padding}00${digestInfo}${digest}`);
        const s = root + (((root ^ encoding) & 1n) === 0n ? 1n : 0n);
        const modulus = fromHex((s ** 3n - encoding).toString(16));
        assert.equal(modulus.length, bits / 8);
        const signature = fromHex(s.toString(16).padStart(bits / 4, '0'));
        const key = { modulus, exponent: three };
        assert.equal(await rsa.verify(key, 'sha256', utf8('large'), signature), true);
        assert.equal(await rsa.verify(key, 'sha256', utf8('larger'), signature), false);
      }
    });

    it('answers for the largest key with the largest exponent', async () => {
      const key = { modulus: ones(16384), exponent: ones(64) };
      assert.equal(await rsa.verify(key, 'sha256', utf8('x'), new Uint8Array(2048).fill(7)), false);
    });
  });
}

function altered(bytes: Uint8Array, at = bytes.length - 1): Uint8Array {
  const copy = new Uint8Array(bytes);
  copy[at] = (copy[at] as number) ^ 2;
  return copy;
}

describe('rsa', () => {
  it('signs the same with every provider', async () => {
    for (const group of groups) {
      const key = keyOf(group.key);
      for (const hash of ['sha1', 'sha256', 'sha384', 'sha512'] as const) {
        const message = utf8(`${hash} ${group.section}`);
        const signatures = await Promise.all(providers.map((provider) => provider.rsa.sign(key, hash, message)));
        assert.equal(new Set(signatures.map(hex)).size, 1);
      }
    }
  });
});
