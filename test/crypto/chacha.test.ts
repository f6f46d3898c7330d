/** ChaCha20 and Poly1305 of both providers against RFC 8439. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fromHex, hex } from '../../src/bytes/text.ts';
import { poly1305 } from '../../src/crypto/pure/chacha.ts';
import { ownVectors, type VectorGroup } from '../support/vectors.ts';
import { assertEach, providers, reads, shifted, sshError } from './tools.ts';

interface ChaChaRow {
  readonly id: string;
  readonly key: string;
  readonly nonce: string;
  readonly counter: number;
  readonly plaintext: string;
  readonly ciphertext: string;
}
type PolyRow = { readonly id: string; readonly key: string; readonly message: string; readonly tag: string };

const chacha = ownVectors<VectorGroup<ChaChaRow>>('crypto/chacha20.json');
const poly = ownVectors<VectorGroup<PolyRow>>('crypto/poly1305.json');

for (const provider of providers) {
  const apply = (row: ChaChaRow, data = fromHex(row.plaintext)) =>
    provider.chacha20.apply(fromHex(row.key), fromHex(row.nonce), row.counter, data);

  describe(`chacha20 of ${provider.name}`, () => {
    for (const group of chacha) {
      it(`gives the ciphertexts of ${group.section} (${group.source})`, async () => {
        await assertEach(
          group.rows,
          (row) => row.id,
          (row) => reads(apply(row), row.ciphertext) && reads(apply(row, fromHex(row.ciphertext)), row.plaintext),
        );
      });
    }

    it('reads views that start off a word boundary, and touches nothing around them', async () => {
      await assertEach(
        chacha.flatMap((group) => group.rows),
        (row) => row.id,
        (row) =>
          [1, 2, 3, 4, 5, 6, 7].every((offset) => {
            const data = shifted(fromHex(row.plaintext), offset);
            const right = reads(apply(row, data), row.ciphertext);
            const around = new Uint8Array(data.buffer).filter((_, i) => i < offset || i >= offset + data.length);
            return right && around.every((byte) => byte === 0xa5);
          }),
      );
    });

    it('only reads key and nonce', () => {
      const row = chacha[0]?.rows.find((each) => each.id === '2.4.2') as ChaChaRow;
      const [key, nonce] = [fromHex(row.key), fromHex(row.nonce)];
      provider.chacha20.apply(key, nonce, row.counter, fromHex(row.plaintext));
      assert.deepEqual([hex(key), hex(nonce)], [row.key, row.nonce]);
    });

    it('refuses keys and nonces of other lengths', () => {
      const data = new Uint8Array(8);
      for (const [key, nonce] of [[16, 8] as const, [31, 8] as const, [32, 12] as const, [32, 0] as const]) {
        const action = () => provider.chacha20.apply(new Uint8Array(key), new Uint8Array(nonce), 0, data);
        assert.throws(action, sshError('bad-argument', 'local'));
      }
    });

    it('authenticates with the first 32 bytes of block 0 (RFC 8439 §2.6), and refuses keys and nonces of other lengths', () => {
      const [key, nonce, message] = [
        fromHex('0f'.repeat(32)),
        fromHex('000000000000002a'),
        new Uint8Array(5000).fill(0xc3),
      ];
      const oneTimeKey = provider.chacha20.apply(key, nonce, 0, new Uint8Array(32));
      for (const length of [0, 1, 16, 4095, 4096, 5000]) {
        const second = message.subarray(0, length);
        const tag = provider.chacha20.authenticate(key, nonce, message.subarray(0, 4), second);
        assert.equal(hex(tag), hex(poly1305(oneTimeKey, message.subarray(0, 4), second)), `${length} bytes`);
      }
      for (const [size, nonceSize] of [[16, 8] as const, [31, 8] as const, [32, 12] as const, [32, 0] as const]) {
        for (const text of [new Uint8Array(8), message]) {
          const [badKey, badNonce] = [new Uint8Array(size), new Uint8Array(nonceSize)];
          const action = () => provider.chacha20.authenticate(badKey, badNonce, new Uint8Array(4), text);
          assert.throws(action, sshError('bad-argument', 'local'));
        }
      }
    });
  });
}

describe('poly1305', () => {
  for (const group of poly) {
    it(`gives the tags of ${group.section} (${group.source}), also off a word boundary`, async () => {
      await assertEach(
        group.rows,
        (row) => row.id,
        (row) =>
          [0, 1, 2, 3].every((offset) => {
            const [key, message] = [shifted(fromHex(row.key), offset), shifted(fromHex(row.message), offset)];
            const cut = message.length >> 1;
            const right = reads(poly1305(key, message.subarray(0, cut), message.subarray(cut)), row.tag);
            return right && hex(key) === row.key && hex(message) === row.message;
          }),
      );
    });
  }

  it('refuses keys of other lengths', () => {
    for (const size of [0, 16, 31, 33]) {
      const action = () => poly1305(new Uint8Array(size), new Uint8Array(1), new Uint8Array(0));
      assert.throws(action, sshError('bad-argument', 'local'));
    }
  });
});
