/** AES counter mode of both providers against RFC 3686, SP 800-38A and OpenSSL. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat } from '../../src/bytes/bytes.ts';
import { fromHex, hex } from '../../src/bytes/text.ts';
import type { StreamName } from '../../src/crypto/provider.ts';
import { seededRandom } from '../support/random.ts';
import { ownVectors, type VectorGroup } from '../support/vectors.ts';
import { assertEach, providers, reads, shifted, sshError } from './tools.ts';

interface Row {
  readonly id: string;
  readonly stream: StreamName;
  readonly key: string;
  readonly counter: string;
  readonly plaintext: string;
  readonly ciphertext: string;
}

const groups = ownVectors<VectorGroup<Row>>('crypto/aes_ctr.json');
const rows = groups.flatMap((group) => group.rows);

for (const provider of providers) {
  const streamOf = (row: Row) => provider.streams[row.stream].create(fromHex(row.key), fromHex(row.counter));

  describe(`streams of ${provider.name}`, () => {
    for (const group of groups) {
      it(`give the ciphertexts of ${group.section} (${group.source})`, async () => {
        await assertEach(
          group.rows,
          (row) => row.id,
          (row) => reads(streamOf(row).apply(fromHex(row.plaintext)), row.ciphertext),
        );
      });
    }

    it('decipher what they enciphered', async () => {
      await assertEach(
        rows,
        (row) => row.id,
        (row) => reads(streamOf(row).apply(fromHex(row.ciphertext)), row.plaintext),
      );
    });

    it('go on where the last call ended, wherever that was', async () => {
      await assertEach(
        rows,
        (row) => row.id,
        (row) => {
          const plaintext = fromHex(row.plaintext);
          return [1, 3, 5, 15, 16, 17, 31].every((step) => {
            const stream = streamOf(row);
            const parts: Uint8Array[] = [];
            for (let at = 0; at < plaintext.length; at += step) {
              parts.push(stream.apply(plaintext.slice(at, at + step)));
              parts.push(stream.apply(new Uint8Array(0)));
            }
            return reads(concat(...parts), row.ciphertext);
          });
        },
      );
    });

    it('read views that start off a word boundary, and touch nothing around them', () => {
      const row = rows.find((each) => each.id === 'sp800-38a-f.5-256');
      assert.ok(row !== undefined);
      for (let offset = 1; offset < 8; offset++) {
        const data = shifted(fromHex(row.plaintext), offset);
        const around = () => new Uint8Array(data.buffer).filter((_, i) => i < offset || i >= offset + data.length);
        assert.equal(hex(streamOf(row).apply(data)), row.ciphertext);
        assert.deepEqual(around(), new Uint8Array(offset + 3).fill(0xa5));
      }
    });

    it('leave key and counter as they were, and keep their own', () => {
      const row = rows.find((each) => each.id === 'sp800-38a-f.5-128');
      assert.ok(row !== undefined);
      const [key, counter] = [fromHex(row.key), fromHex(row.counter)];
      const stream = provider.streams[row.stream].create(key, counter);
      const first = stream.apply(fromHex(row.plaintext).slice(0, 20));
      assert.deepEqual([hex(key), hex(counter)], [row.key, row.counter]);
      key.fill(0);
      counter.fill(0);
      assert.equal(hex(concat(first, stream.apply(fromHex(row.plaintext).slice(20)))), row.ciphertext);
    });

    it('refuse keys and counters of other lengths', () => {
      const random = seededRandom('aes ctr');
      for (const [name, keySize] of [
        ['aes128-ctr', 16] as const,
        ['aes192-ctr', 24] as const,
        ['aes256-ctr', 32] as const,
      ]) {
        const primitive = provider.streams[name];
        assert.equal(primitive.keySize, keySize);
        for (const size of [0, 16, 24, 32, 33].filter((each) => each !== keySize)) {
          assert.throws(() => primitive.create(random(size), random(16)), sshError('bad-argument', 'local'));
        }
        for (const size of [0, 12, 17]) {
          assert.throws(() => primitive.create(random(keySize), random(size)), sshError('bad-argument', 'local'));
        }
      }
    });
  });
}
