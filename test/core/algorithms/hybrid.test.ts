/** Hybrid methods: how the halves are put together, that each is needed and checked, now or later, and what is wiped. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat } from '../../../src/bytes/bytes.ts';
import { fromHex, hex } from '../../../src/bytes/text.ts';
import { exchanges } from '../../../src/core/algorithms/exchanges.ts';
import { hybrid } from '../../../src/core/algorithms/hybrid.ts';
import { nodeProvider } from '../../../src/crypto/native/node.ts';
import type { Agreement, Kem } from '../../../src/crypto/provider.ts';
import { pureProvider } from '../../../src/crypto/pure/index.ts';
import { SshError } from '../../../src/errors.ts';
import { memoCrypto } from '../../support/memo_crypto.ts';
import { seededRandom } from '../../support/random.ts';
import { ownVectors, type VectorGroup } from '../../support/vectors.ts';

/** draft-ietf-sshm-mlkem-hybrid-kex §2.3, draft-ietf-sshm-ntruprime-ssh §3: bytes of a client's and of a server's value. */
const sizes: Readonly<Record<string, readonly [client: number, server: number, shared: number]>> = {
  'mlkem768x25519-sha256': [1184 + 32, 1088 + 32, 32],
  'mlkem768nistp256-sha256': [1184 + 65, 1088 + 65, 32],
  'mlkem1024nistp384-sha384': [1568 + 97, 1568 + 97, 48],
  'sntrup761x25519-sha512': [1158 + 32, 1039 + 32, 64],
  'sntrup761x25519-sha512@openssh.com': [1158 + 32, 1039 + 32, 64],
};

function agreementOf(name: string): Agreement {
  const row = exchanges.get(name);
  assert.ok(row?.kind === 'agreement' && row.secretAs === 'string');
  return row.agreement(memoCrypto);
}

const random = () => seededRandom('hybrid');

function refused(action: () => unknown): boolean {
  try {
    action();
    return false;
  } catch (error) {
    return error instanceof SshError && error.code === 'crypto' && error.fault === 'peer';
  }
}

async function bothSides(agreement: Agreement) {
  const { secret, publicValue } = agreement.generate(random());
  const responded = await agreement.respond(random(), publicValue);
  return { secret, clientPublic: publicValue, serverPublic: responded.publicValue, shared: responded.shared };
}

for (const [name, [client, server, shared]] of Object.entries(sizes)) {
  describe(name, () => {
    it('gives both sides the same secret, of values of the right size', async () => {
      const agreement = agreementOf(name);
      const made = await bothSides(agreement);
      assert.deepEqual(
        [made.clientPublic.length, made.serverPublic.length, made.shared.length],
        [client, server, shared],
      );
      assert.equal(hex(await agreement.finish(made.secret, made.serverPublic)), hex(made.shared));
    });

    it('refuses values that are too short or too long, or whose classical half is no value', async () => {
      const agreement = agreementOf(name);
      const { secret, clientPublic, serverPublic } = await bothSides(agreement);
      const wrong = (value: Uint8Array, first: number) => ({
        nothing: new Uint8Array(0),
        'the first half alone': value.subarray(0, first),
        'a byte less': value.subarray(0, -1),
        'a byte more': concat(value, Uint8Array.of(1)),
        'zeros for a classical half': concat(value.subarray(0, first), new Uint8Array(value.length - first)),
      });
      const classical = name.includes('x25519') ? 32 : name.includes('256-') ? 65 : 97;
      for (const [what, value] of Object.entries(wrong(serverPublic, server - classical))) {
        assert.ok(
          refused(() => agreement.finish(secret, value)),
          `client: ${what}`,
        );
      }
      for (const [what, value] of Object.entries(wrong(clientPublic, client - classical))) {
        assert.ok(
          refused(() => agreement.respond(random(), value)),
          `server: ${what}`,
        );
      }
      if (!name.startsWith('mlkem')) return;
      const unreduced = clientPublic.slice().fill(0xff, 0, 100);
      assert.ok(
        refused(() => agreement.respond(random(), unreduced)),
        'coefficients above the modulus',
      );
    });

    it('ends in another secret where either half is changed on the way', async () => {
      const agreement = agreementOf(name);
      const made = await bothSides(agreement);
      const other = await agreement.respond(seededRandom('another'), made.clientPublic);
      const classical = name.includes('x25519') ? 32 : name.includes('256-') ? 65 : 97;
      const cut = server - classical;
      for (const value of [
        concat(other.publicValue.subarray(0, cut), made.serverPublic.subarray(cut)),
        concat(made.serverPublic.subarray(0, cut), other.publicValue.subarray(cut)),
      ]) {
        const secret = hex(await agreement.finish(made.secret, value));
        assert.ok(secret !== hex(made.shared) && secret !== hex(other.shared));
      }
    });
  });
}

interface KemRow {
  readonly id: string;
  /** Of ML-KEM the seed that the secret comes from, of NTRU Prime the secret. */
  readonly seed?: string;
  readonly secret?: string;
  readonly ciphertext: string;
}

interface HybridRow extends Readonly<Record<'id' | 'kex' | 'kem' | 'secret' | 'peer' | 'shared', string>> {}

const kemRows = ['crypto/mlkem.json', 'crypto/sntrup761.json'].flatMap((path) =>
  ownVectors<VectorGroup<KemRow>>(path).flatMap((group) => group.rows),
);

for (const provider of [pureProvider, nodeProvider()]) {
  describe(`hybrid methods against another implementation, ${provider.name}`, () => {
    for (const { id, kex, kem, secret, peer, shared } of ownVectors<VectorGroup<HybridRow>>(
      'crypto/hybrids.json',
    ).flatMap((group) => group.rows)) {
      it(id, async () => {
        const row = kemRows.find((each) => each.id === kem) ?? assert.fail(kem);
        const name = kem.startsWith('768') ? 'mlkem768' : 'mlkem1024';
        const first = fromHex(row.secret ?? '');
        const kemSecret =
          row.seed === undefined ? first : provider.kems[name].generate(() => fromHex(row.seed ?? '')).secret;
        const method = exchanges.get(kex);
        assert.ok(method?.kind === 'agreement');
        const agreement = method.agreement(provider);
        const answer = concat(fromHex(row.ciphertext), fromHex(peer));
        assert.equal(hex(await agreement.finish(concat(kemSecret, fromHex(secret)), answer)), shared);
      });
    }
  });
}

describe('hybrid', () => {
  const { hashes, agreements } = pureProvider;
  const pq = fromHex('00'.repeat(2) + '80'.repeat(30));
  /** A KEM that keeps no secret, with one that begins with zeros. */
  const kem: Kem = {
    publicSize: 3,
    secretSize: 2,
    ciphertextSize: 4,
    sharedSize: 32,
    generate: () => ({ secret: Uint8Array.of(7, 8), publicValue: Uint8Array.of(1, 2, 3) }),
    encapsulate: (_, publicValue) => {
      assert.deepEqual([...publicValue], [1, 2, 3]);
      return { ciphertext: Uint8Array.of(4, 5, 6, 7), shared: pq.slice() };
    },
    decapsulate: (secret, ciphertext) => {
      assert.deepEqual(
        [[...secret], [...ciphertext]],
        [
          [7, 8],
          [4, 5, 6, 7],
        ],
      );
      return pq.slice();
    },
  };
  const classical = fromHex(`0000${'7f'.repeat(46)}`);
  const plain: Agreement = {
    generate: () => ({ secret: Uint8Array.of(9), publicValue: Uint8Array.of(10, 11) }),
    respond: (_, initiator) => {
      assert.deepEqual([...initiator], [10, 11]);
      return { publicValue: Uint8Array.of(12), shared: classical.slice() };
    },
    finish: (secret, responder) => {
      assert.deepEqual([[...secret], [...responder]], [[9], [12]]);
      return classical.slice();
    },
  };
  const expected = hex(hashes.sha384.digest(concat(pq, classical)));

  it('hashes both secrets in their full width, the one that is safe from quantum computers first', async () => {
    const both = hybrid(kem, plain, hashes.sha384);
    assert.deepEqual(both.generate(random()), {
      secret: Uint8Array.of(7, 8, 9),
      publicValue: Uint8Array.of(1, 2, 3, 10, 11),
    });
    const responded = await both.respond(random(), Uint8Array.of(1, 2, 3, 10, 11));
    assert.deepEqual([[...responded.publicValue], hex(responded.shared)], [[4, 5, 6, 7, 12], expected]);
    assert.equal(hex(await both.finish(Uint8Array.of(7, 8, 9), Uint8Array.of(4, 5, 6, 7, 12))), expected);
  });

  it('waits for primitives that answer later', async () => {
    const slowKem: Kem = {
      ...kem,
      encapsulate: async (from, publicValue) => kem.encapsulate(from, publicValue),
      decapsulate: async (secret, ciphertext) => kem.decapsulate(secret, ciphertext),
    };
    const slow: Agreement = {
      ...plain,
      respond: async (from, initiator) => plain.respond(from, initiator),
      finish: async (secret, responder) => plain.finish(secret, responder),
    };
    for (const both of [hybrid(slowKem, plain, hashes.sha384), hybrid(kem, slow, hashes.sha384)]) {
      const responded = both.respond(random(), Uint8Array.of(1, 2, 3, 10, 11));
      const finished = both.finish(Uint8Array.of(7, 8, 9), Uint8Array.of(4, 5, 6, 7, 12));
      assert.ok(responded instanceof Promise && finished instanceof Promise);
      assert.deepEqual([hex((await responded).shared), hex(await finished)], [expected, expected]);
    }
  });

  it('wipes the secrets of both halves', async () => {
    const given: Uint8Array[] = [];
    const keep = (bytes: Uint8Array): Uint8Array => {
      given.push(bytes);
      return bytes;
    };
    const { x25519 } = agreements;
    const watched = hybrid(
      {
        ...kem,
        generate: () => ({ secret: keep(Uint8Array.of(7, 8)), publicValue: Uint8Array.of(1, 2, 3) }),
        encapsulate: () => ({ ciphertext: Uint8Array.of(4, 5, 6, 7), shared: keep(pq.slice()) }),
        decapsulate: () => keep(pq.slice()),
      },
      {
        generate: (from) => {
          const pair = x25519.generate(from);
          keep(pair.secret);
          return pair;
        },
        respond: async (from, initiator) => {
          const responded = await x25519.respond(from, initiator);
          keep(responded.shared);
          return responded;
        },
        finish: async (secret, responder) => keep(await x25519.finish(secret, responder)),
      },
      hashes.sha256,
    );
    const { secret, publicValue } = watched.generate(random());
    const { publicValue: answer } = await watched.respond(random(), publicValue);
    await watched.finish(secret, answer);
    assert.equal(given.length, 6);
    for (const bytes of given) assert.ok(bytes.every((byte) => byte === 0));
  });
});
