import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bigintFromBytes } from '../../src/bytes/mpint.ts';
import { utf8 } from '../../src/bytes/text.ts';
import { nodeProvider } from '../../src/crypto/native/node.ts';
import { pureProvider } from '../../src/crypto/pure/index.ts';
import { generate } from '../../src/crypto/pure/rsa_generate.ts';
import * as pure from '../../src/index.ts';
import { type KeyRequest, newKey } from '../../src/keys/generate.ts';
import { keyPairOf, type PrivateKey } from '../../src/keys/key_pair.ts';
import { signerOf } from '../../src/keys/private_key.ts';
import { verifySignature } from '../../src/keys/signature.ts';
import { api } from '../support/connect.ts';
import { seededRandom } from '../support/random.ts';
import { isThorough } from '../support/thorough.ts';
import { sshError } from './tools.ts';

const native = nodeProvider();
const message = utf8('signed with a new key');

/** Makes sure that what the key signs by one provider counts for the other. */
async function works(key: PrivateKey): Promise<void> {
  for (const [by, to] of [
    [native, pureProvider],
    [pureProvider, native],
  ] as const) {
    const signer = signerOf(by, key);
    const [algorithm = ''] = signer.algorithms;
    const signature = await signer.sign(message, algorithm);
    assert.equal(await verifySignature(to, algorithm, key.publicKey, message, signature), true);
  }
}

describe('newKey', () => {
  const requests: [KeyRequest, type: string, bits: number][] = [
    [{ type: 'ed25519' }, 'ssh-ed25519', 0],
    [{ type: 'ecdsa' }, 'ecdsa-sha2-nistp256', 0],
    [{ type: 'ecdsa', bits: 384 }, 'ecdsa-sha2-nistp384', 0],
    [{ type: 'ecdsa', bits: 521 }, 'ecdsa-sha2-nistp521', 0],
    [{ type: 'rsa', bits: 2048 }, 'ssh-rsa', 2048],
  ];
  for (const [request, type, bits] of requests) {
    it(`makes one that signs: ${JSON.stringify(request)}`, async () => {
      const key = await newKey(native, request, 'for a test');
      assert.equal(key.publicKey.type, type);
      assert.equal(key.comment, 'for a test');
      await works(key);
      if (key.publicKey.type === 'ssh-rsa') {
        assert.equal(bigintFromBytes(key.publicKey.key.modulus).toString(2).length, bits);
        assert.equal(bigintFromBytes(key.publicKey.key.exponent), 65537n);
      }
    });
  }

  it('makes RSA keys of 3072 bits unless it is told otherwise', async () => {
    const asked: number[] = [];
    const rsa = {
      ...native.rsa,
      generate(bits: number) {
        asked.push(bits);
        return native.rsa.generate(2048, native.random);
      },
    };
    await newKey({ ...native, rsa }, { type: 'rsa' });
    assert.deepEqual(asked, [3072]);
  });

  it('refuses sizes and types that there are not', async () => {
    for (const bits of [1024, 2047, 16_385, 2048.5, Number.NaN]) {
      assert.throws(() => newKey(pureProvider, { type: 'rsa', bits }), sshError('bad-argument', /2048 to 16384 bits/));
      assert.throws(() => generate(bits, pureProvider.random), sshError('crypto', /2048 to 16384/));
      await assert.rejects(async () => native.rsa.generate(bits, native.random), sshError('crypto', /2048 to 16384/));
    }
    for (const bits of [255, 512, 0]) {
      const request = { type: 'ecdsa', bits } as unknown as KeyRequest;
      assert.throws(() => newKey(pureProvider, request), sshError('bad-argument', /256, 384 or 521 bits, not/));
    }
    for (const type of ['dsa', 'ed448', '']) {
      const request = { type } as unknown as KeyRequest;
      assert.throws(() => newKey(pureProvider, request), sshError('bad-argument', /ed25519, ecdsa and rsa/));
    }
  });

  it('draws scalars again that are none, and says when the source of randomness is broken', async () => {
    const draws = [new Uint8Array(32), new Uint8Array(32).fill(0xff), new Uint8Array(32).fill(0x7f)];
    const key = await newKey({ ...pureProvider, random: () => draws.shift() as Uint8Array }, { type: 'ecdsa' });
    const secret = key.secret();
    assert.ok('scalar' in secret);
    assert.deepEqual(secret.scalar, new Uint8Array(32).fill(0x7f));
    for (const byte of [0x00, 0xff]) {
      const random = (length: number): Uint8Array => new Uint8Array(length).fill(byte);
      assert.throws(() => newKey({ ...pureProvider, random }, { type: 'ecdsa' }), sshError('crypto', /it is broken/));
    }
  });

  it('takes every bit of P-521', () => {
    const random = seededRandom('scalars');
    const tops = Array.from({ length: 32 }, () => {
      const secret = (newKey({ ...pureProvider, random }, { type: 'ecdsa', bits: 521 }) as PrivateKey).secret();
      assert.ok('scalar' in secret);
      return secret.scalar[0] as number;
    });
    assert.deepEqual(new Set(tops), new Set([0, 1]));
  });
});

describe('makeKey', () => {
  it('makes what newKey makes, with the cryptography of the runtime', async () => {
    const key = await api.makeKey({ type: 'rsa', bits: 2048 }, 'mine');
    assert.deepEqual([key.publicKey.type, key.comment], ['ssh-rsa', 'mine']);
    const small = await pure.makeKey({ type: 'ecdsa', bits: 384 });
    assert.deepEqual([small.publicKey.type, small.comment], ['ecdsa-sha2-nistp384', '']);
    await assert.rejects(api.makeKey({ type: 'rsa', bits: 1024 }), sshError('bad-argument'));
  });
});

describe('RSA keys in plain JavaScript', () => {
  it('are whole, and have primes far apart', { skip: isThorough ? false : 'takes seconds: in Node 24' }, async () => {
    const random = seededRandom('a new RSA key');
    const key = generate(2048, random);
    const [p, q] = [bigintFromBytes(key.prime1), bigintFromBytes(key.prime2)];
    for (const prime of [p, q]) assert.equal(prime >> 1022n, 3n);
    assert.ok((p > q ? p - q : q - p) >> 924n > 0n);
    assert.equal(bigintFromBytes(key.modulus) >> 2047n, 1n);
    await works(keyPairOf(native, { type: 'ssh-rsa', key }));
    assert.notDeepEqual(generate(2048, random).modulus, key.modulus);
  });
});
