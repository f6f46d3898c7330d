/** Groups modulo a prime: that the primes are those of the RFCs, agreement in them, and what is refused of a peer. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bigintFromBytes, bytesFromBigint, minimalBytes, mpintBody } from '../../src/bytes/mpint.ts';
import { fromHex, hex } from '../../src/bytes/text.ts';
import {
  type ModpBits,
  type ModpGroup,
  modpAgreement,
  modpGroup,
  peerGroup,
  positiveInteger,
} from '../../src/crypto/groups.ts';
import { piFraction } from '../../src/crypto/pi.ts';
import type { CryptoProvider } from '../../src/crypto/provider.ts';
import { pureProvider } from '../../src/crypto/pure/index.ts';
import { SshError } from '../../src/errors.ts';
import { seededRandom } from '../support/random.ts';
import { ownVectors, type VectorGroup } from '../support/vectors.ts';
import { assertEach, isRefused, providers, reads, sshError } from './tools.ts';

type Row = Readonly<Record<'id' | 'sha256' | 'secret' | 'publicValue' | 'peer' | 'shared' | 'prime', string>> & {
  readonly bits: ModpBits;
};

const groups = ownVectors<VectorGroup<Row> & { readonly about: string }>('crypto/groups.json');

function rowsOf(about: string): readonly Row[] {
  return groups.find((group) => group.about === about)?.rows ?? assert.fail(about);
}

describe('piFraction', () => {
  it('gives the bits behind the point', () => {
    // the first 192 of them, as RFC 2409 §6.1 has them in its prime of 768 bits
    assert.equal(piFraction(192).toString(16), '243f6a8885a308d313198a2e03707344a4093822299f31d0');
    assert.equal(piFraction(1), 0n);
    assert.equal(piFraction(2000) >> 1999n, 0n);
    assert.equal(piFraction(2000) >> 1000n, piFraction(1000));
  });
});

describe('modpGroup', () => {
  for (const { bits, sha256 } of rowsOf('primes')) {
    it(`${bits} bits: the prime of the RFC, computed once`, () => {
      const { prime, generator } = modpGroup(bits);
      assert.equal(hex(pureProvider.hashes.sha256.digest(prime)), sha256);
      assert.deepEqual([prime.length, [...generator]], [bits / 8, [2]]);
      assert.equal(modpGroup(bits), modpGroup(bits));
    });
  }
});

for (const provider of providers) {
  describe(`modpAgreement, ${provider.name}`, () => {
    it('gives the values of another implementation', async () => {
      await assertEach(
        rowsOf('agreements'),
        ({ id }) => id,
        async ({ bits, secret, publicValue, peer, shared }) => {
          const agreement = modpAgreement(provider.modularPower, modpGroup(bits));
          const pair = agreement.generate(() => fromHex(secret));
          const responded = await agreement.respond(() => fromHex(secret), fromHex(peer));
          return (
            reads(pair.publicValue, publicValue) &&
            reads(responded.publicValue, publicValue) &&
            reads(responded.shared, shared) &&
            reads(await agreement.finish(pair.secret, fromHex(peer)), shared)
          );
        },
      );
    });

    it('refuses public values outside 2…p − 2, and those that are not written as they must be', async () => {
      const group = modpGroup(1024);
      const agreement = modpAgreement(provider.modularPower, group);
      const p = bigintFromBytes(group.prime);
      const body = (value: bigint) => mpintBody(minimalBytes(value));
      const wrong = {
        nothing: new Uint8Array(0),
        zero: Uint8Array.of(0),
        one: Uint8Array.of(1),
        'p - 1': body(p - 1n),
        p: body(p),
        'p + 1': body(p + 1n),
        '2 p + 2': body(2n * p + 2n),
        negative: Uint8Array.of(0x80, 1),
        'p - 2 without the zero in front': bytesFromBigint(p - 2n, 128),
        'a needless zero': Uint8Array.of(0, 0x7f, 1),
        'two zeros': Uint8Array.of(0, 0, 0x80),
      };
      const random = seededRandom('refused');
      const { secret } = agreement.generate(random);
      const taken: string[] = [];
      for (const [name, value] of Object.entries(wrong)) {
        if (!(await isRefused(() => agreement.finish(secret, value)))) taken.push(`finish: ${name}`);
        if (!(await isRefused(() => agreement.respond(random, value)))) taken.push(`respond: ${name}`);
      }
      assert.deepEqual(taken, []);
    });

    it('refuses a shared secret that everyone knows', async () => {
      // 23 is a safe prime; 2 has order 11 and 5 has order 22, so a secret that is a multiple of 22 gives 1
      const tiny: ModpGroup = { bits: 5, prime: Uint8Array.of(23), generator: Uint8Array.of(5) };
      const agreement = modpAgreement(provider.modularPower, tiny);
      const secret = new Uint8Array(32);
      for (const [last, refused] of [
        [22, true],
        [11, true],
        [3, false],
      ] as const) {
        secret[31] = last;
        assert.equal(await isRefused(() => agreement.finish(secret, Uint8Array.of(5))), refused, String(last));
      }
    });

    it('tells a broken random source, and a secret of the wrong length', () => {
      const agreement = modpAgreement(provider.modularPower, modpGroup(2048));
      const zeros = (length: number) => new Uint8Array(length);
      assert.throws(() => agreement.generate(zeros), sshError('crypto', 'local'));
      assert.throws(() => agreement.respond(zeros, Uint8Array.of(5)), sshError('crypto', 'local'));
      assert.throws(() => agreement.finish(zeros(31), Uint8Array.of(5)), sshError('bad-argument', 'local'));
    });

    it('wipes what a responder draws', async () => {
      const drawn: Uint8Array[] = [];
      const random = seededRandom('wiped');
      const keeping = (length: number) => {
        const bytes = random(length);
        drawn.push(bytes);
        return bytes;
      };
      await modpAgreement(provider.modularPower, modpGroup(1024)).respond(keeping, Uint8Array.of(5));
      assert.deepEqual(drawn, [new Uint8Array(32)]);
    });
  });
}

describe('modpAgreement', () => {
  it('draws exponents of twice the strength of the group, 256 bits at least', () => {
    const sizes = ([1024, 2048, 3072, 4096, 6144, 8192] as const).map((bits) => {
      const { secret } = modpAgreement(() => Uint8Array.of(4), modpGroup(bits)).generate(seededRandom('size'));
      return secret.length * 8;
    });
    assert.deepEqual(sizes, [256, 256, 288, 352, 384, 416]);
  });
});

describe('positiveInteger', () => {
  it('reads the bodies of positive mpints and no others', () => {
    assert.equal(positiveInteger(Uint8Array.of(0x7f)), 127n);
    assert.equal(positiveInteger(Uint8Array.of(0, 0x80)), 128n);
    for (const wrong of ['', '00', '80', 'ff01', '0001', '007f'])
      assert.equal(positiveInteger(fromHex(wrong)), undefined);
  });
});

describe('peerGroup', () => {
  const bounds = { least: 2048, most: 8192 };
  const other = fromHex((rowsOf('other groups')[0] as Row).prime);
  const random = seededRandom('rounds');
  const two = Uint8Array.of(2);
  const of = (prime: bigint, generator: Uint8Array = two, crypto: CryptoProvider = pureProvider) =>
    peerGroup(crypto, random, mpintBody(minimalBytes(prime)), generator, bounds);
  const p = bigintFromBytes(other);

  it('takes a safe prime that nobody has named, and named ones without a test', () => {
    for (const provider of providers) {
      assert.deepEqual(of(p, Uint8Array.of(5), provider), { bits: 2048, prime: other, generator: Uint8Array.of(5) });
    }
    const untested = { modularPower: () => assert.fail('a test of a prime that is known') };
    for (const bits of [2048, 3072, 4096, 8192] as const) {
      const { prime } = modpGroup(bits);
      assert.deepEqual(peerGroup(untested, random, mpintBody(prime), two, bounds), modpGroup(bits));
    }
  });

  it('refuses sizes that were not asked for', () => {
    for (const [prime, message] of [
      [bigintFromBytes(modpGroup(1024).prime), /1024 bits: from 2048 to 8192/],
      [(1n << 8192n) + 3n, /8193 bits/],
      [(1n << 2047n) - 1n, /2047 bits/],
      [3n, /2 bits/],
    ] as const) {
      assert.throws(
        () => of(prime),
        (error) => error instanceof SshError && error.code === 'crypto' && message.test(error.message),
      );
    }
  });

  it('refuses what is no safe prime: even, 1 mod 4, composite', () => {
    const composite = (1n << 2047n) + 3n; // a multiple of 11
    assert.equal(composite % 4n, 3n);
    for (const prime of [p + 1n, p + 2n, p - 2n, composite, p + 4n]) {
      assert.throws(() => of(prime), sshError('crypto', 'peer'));
    }
  });

  it('refuses numbers that are not written as they must be, and generators that generate nothing', () => {
    const body = mpintBody(other);
    for (const prime of [other, Uint8Array.of(0, ...body), new Uint8Array(0), Uint8Array.of(0xff)]) {
      assert.throws(() => peerGroup(pureProvider, random, prime, two, bounds), sshError('crypto', 'peer'));
    }
    const large = (value: bigint) => mpintBody(minimalBytes(value));
    for (const generator of ['', '00', '01', '0002', '80']
      .map(fromHex)
      .concat(large(p - 1n), large(p), large(p + 2n))) {
      assert.throws(() => of(p, generator), sshError('crypto', 'peer'));
    }
  });
});
