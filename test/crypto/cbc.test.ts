/** CBC mode of both providers against SP 800-38A, SP 800-67, FIPS 81 and OpenSSL, and MD5 against RFC 1321. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat } from '../../src/bytes/bytes.ts';
import { fromHex, hex } from '../../src/bytes/text.ts';
import type { CbcName } from '../../src/crypto/provider.ts';
import { seededRandom } from '../support/random.ts';
import { ownVectors, type VectorGroup } from '../support/vectors.ts';
import { assertEach, providers, reads, shifted, sshError } from './tools.ts';

interface Row {
  readonly id: string;
  readonly cipher: CbcName;
  readonly key: string;
  readonly iv: string;
  readonly plaintext: string;
  readonly ciphertext: string;
}

const groups = ownVectors<VectorGroup<Row>>('crypto/cbc.json');
const rows = groups.flatMap((group) => group.rows);
const sizes: readonly (readonly [CbcName, number, 8 | 16])[] = [
  ['aes128-cbc', 16, 16],
  ['aes192-cbc', 24, 16],
  ['aes256-cbc', 32, 16],
  ['3des-cbc', 24, 8],
];

for (const provider of providers) {
  type Direction = 'encrypt' | 'decrypt';
  const streamOf = (row: Row, direction: Direction) =>
    provider.cbc[row.cipher].create(fromHex(row.key), fromHex(row.iv), direction);
  const text = (row: Row, direction: Direction) => (direction === 'encrypt' ? row.plaintext : row.ciphertext);
  const other = (row: Row, direction: Direction) => (direction === 'encrypt' ? row.ciphertext : row.plaintext);

  describe(`cbc of ${provider.name}`, () => {
    for (const group of groups) {
      it(`gives what ${group.source} gives, and back (${group.section})`, async () => {
        await assertEach(
          group.rows,
          (row) => row.id,
          (row) =>
            (['encrypt', 'decrypt'] as const).every((direction) =>
              reads(streamOf(row, direction).apply(fromHex(text(row, direction))), other(row, direction)),
            ),
        );
      });
    }

    it('chains on where the last call ended, over views that start anywhere', async () => {
      await assertEach(
        rows,
        (row) => row.id,
        (row) =>
          (['encrypt', 'decrypt'] as const).every((direction) => {
            const stream = streamOf(row, direction);
            const input = fromHex(text(row, direction));
            const { blockSize } = provider.cbc[row.cipher];
            const parts: Uint8Array[] = [];
            for (let at = 0, blocks = 1; at < input.length; at += blocks * blockSize, blocks = (blocks % 3) + 1) {
              const part = input.slice(at, at + blocks * blockSize);
              parts.push(stream.apply(shifted(part, (at / blockSize) % 8)).slice(), stream.apply(new Uint8Array(0)));
            }
            return reads(concat(...parts), other(row, direction));
          }),
      );
    });

    it('keeps a key and a vector of its own', () => {
      for (const row of rows.filter(({ id }) => id.includes('blocks-2'))) {
        const [key, iv] = [fromHex(row.key), fromHex(row.iv)];
        const stream = provider.cbc[row.cipher].create(key, iv, 'encrypt');
        assert.deepEqual([hex(key), hex(iv)], [row.key, row.iv]);
        key.fill(0);
        iv.fill(0);
        assert.equal(hex(stream.apply(fromHex(row.plaintext))), row.ciphertext);
      }
    });

    it('refuses keys and vectors of other lengths, and what fills no blocks', () => {
      const random = seededRandom('cbc');
      for (const [name, keySize, blockSize] of sizes) {
        const primitive = provider.cbc[name];
        assert.deepEqual([primitive.keySize, primitive.blockSize], [keySize, blockSize]);
        for (const size of [0, 8, 16, 24, 32, 33].filter((each) => each !== keySize)) {
          assert.throws(
            () => primitive.create(random(size), random(blockSize), 'encrypt'),
            sshError('bad-argument', 'local'),
          );
        }
        for (const size of [0, 8, 12, 16, 17].filter((each) => each !== blockSize)) {
          assert.throws(
            () => primitive.create(random(keySize), random(size), 'decrypt'),
            sshError('bad-argument', 'local'),
          );
        }
        for (const direction of ['encrypt', 'decrypt'] as const) {
          const stream = primitive.create(random(keySize), random(blockSize), direction);
          for (const size of [1, blockSize - 1, blockSize + 1, 100 * blockSize - 1]) {
            assert.throws(() => stream.apply(random(size)), sshError('bad-argument', 'local'));
          }
        }
      }
    });
  });

  describe(`md5 of ${provider.name}`, () => {
    for (const group of ownVectors<VectorGroup<{ id: string; message: string; digest: string }>>('crypto/md5.json')) {
      it(`gives the digests of ${group.source}`, async () => {
        await assertEach(
          group.rows,
          (row) => row.id,
          (row) => reads(provider.md5.digest(fromHex(row.message)), row.digest),
        );
        assert.equal(provider.md5.size, 16);
      });
    }

    it('is no hash that a signature could name', () => {
      assert.ok(!Object.keys(provider.hashes).includes('md5'));
    });
  });
}
