import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RsaPrivateKey } from '../../src/crypto/provider.ts';
import { keyPairOf } from '../../src/keys/key_pair.ts';
import { parsePrivateKey } from '../../src/keys/private_key.ts';
import { signatureAlgorithms } from '../../src/keys/signature.ts';
import { crypto, privateRow, publicBlob, sshError } from './tools.ts';

function secretOf(name: string) {
  return parsePrivateKey(privateRow(name).openssh as string, crypto).secret();
}

/** The RSA key of the vectors, with some of its numbers changed. */
function rsaWith(change: Partial<RsaPrivateKey>) {
  const secret = secretOf('rsa1024');
  assert.ok(secret.type === 'ssh-rsa');
  return { type: secret.type, key: { ...secret.key, ...change } } as const;
}

const one = Uint8Array.of(1);

describe('keyPairOf', () => {
  it('computes the public half', () => {
    for (const name of ['ed25519', 'ecdsa256', 'ecdsa384', 'ecdsa521', 'rsa1024', 'rsa3072']) {
      const key = keyPairOf(crypto, secretOf(name), 'a comment');
      assert.deepEqual(key.publicKey.blob, publicBlob(name));
      assert.equal(key.comment, 'a comment');
    }
  });

  it('refuses RSA numbers that do not belong together', () => {
    const { key } = rsaWith({});
    const { key: other } = { key: secretOf('rsa3072') };
    assert.ok(other.type === 'ssh-rsa');
    const cases: [Partial<RsaPrivateKey>, RegExp][] = [
      [{ prime1: key.prime2 }, /primes do not give the modulus/],
      [{ prime1: key.modulus, prime2: one }, /primes do not give the modulus/],
      [{ prime1: new Uint8Array(0) }, /primes do not give the modulus/],
      [{ privateExponent: one }, /private exponent does not fit/],
      [{ privateExponent: key.modulus }, /private exponent does not fit/],
      [{ exponent: Uint8Array.of(3) }, /private exponent does not fit/],
      [{ coefficient: one }, /coefficient does not fit/],
      [{ coefficient: new Uint8Array(0) }, /coefficient does not fit/],
      [{ prime1: key.prime2, prime2: key.prime1 }, /coefficient does not fit/],
      [{ privateExponent: other.key.privateExponent }, /longer than the modulus/],
    ];
    for (const [change, message] of cases) {
      assert.throws(() => keyPairOf(crypto, rsaWith(change)), sshError('crypto', message), String(message));
    }
  });

  it('refuses an Ed25519 seed of another length', () => {
    const seed = new Uint8Array(31);
    assert.throws(() => keyPairOf(crypto, { type: 'ssh-ed25519', seed }), sshError('crypto', /32 bytes, not 31/));
  });
});

describe('SignatureAlgorithm.sign', () => {
  it('refuses a key of another type', () => {
    for (const { name, keyType, sign } of signatureAlgorithms.values()) {
      if (sign === undefined) continue;
      const other = secretOf(keyType === 'ecdsa-sha2-nistp256' ? 'ed25519' : 'ecdsa256');
      assert.throws(() => sign(crypto, other, one), sshError('bad-argument', /signs with keys of type/), name);
    }
  });
});
