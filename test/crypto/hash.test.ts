/** Hashes and HMAC of both providers against FIPS 180-4, RFC 2202, RFC 4231. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fromHex } from '../../src/bytes/text.ts';
import type { HashName, MacName } from '../../src/crypto/provider.ts';
import { ownVectors, type VectorGroup } from '../support/vectors.ts';
import { assertEach, providers, reads } from './tools.ts';

type HashGroup = VectorGroup<{ id: string; hash: HashName; message: string; digest: string }>;
type MacGroup = VectorGroup<{ id: string; mac: MacName; key: string; message: string; tag: string }>;

const nothing = new Uint8Array(0);

for (const provider of providers) {
  describe(`hashes of ${provider.name}`, () => {
    for (const group of ownVectors<HashGroup>('crypto/hash.json')) {
      it(`give the digests of ${group.source}`, async () => {
        await assertEach(
          group.rows,
          (row) => row.id,
          (row) => reads(provider.hashes[row.hash].digest(fromHex(row.message)), row.digest),
        );
      });
    }

    it('say how long their digests are', () => {
      const sizes = Object.entries(provider.hashes).map(([name, hash]) => [
        name,
        hash.size,
        hash.digest(nothing).length,
      ]);
      assert.deepEqual(sizes, [
        ['sha1', 20, 20],
        ['sha256', 32, 32],
        ['sha384', 48, 48],
        ['sha512', 64, 64],
      ]);
    });
  });

  describe(`macs of ${provider.name}`, () => {
    for (const group of ownVectors<MacGroup>('crypto/hmac.json')) {
      it(`give the tags of ${group.source}, split anywhere, message after message`, async () => {
        await assertEach(
          group.rows,
          (row) => row.id,
          (row) => {
            const message = fromHex(row.message);
            const mac = provider.macs[row.mac].create(fromHex(row.key));
            const cuts = [0, 1, message.length >> 1, message.length];
            return cuts.every((at) => reads(mac.compute(message.subarray(0, at), message.subarray(at)), row.tag));
          },
        );
      });
    }

    it('say how long their tags are', () => {
      const sizes = Object.entries(provider.macs).map(([name, mac]) => [
        name,
        mac.size,
        mac.create(nothing).compute(nothing, nothing).length,
      ]);
      assert.deepEqual(sizes, [
        ['hmac-md5', 16, 16],
        ['hmac-sha1', 20, 20],
        ['hmac-sha256', 32, 32],
        ['hmac-sha512', 64, 64],
      ]);
    });

    it('keep the key they were made with when its array is overwritten', () => {
      const key = fromHex('4a656665');
      const mac = provider.macs['hmac-sha256'].create(key);
      key.fill(0);
      const tag = mac.compute(new TextEncoder().encode('what do ya want for nothing?'), nothing);
      assert.ok(reads(tag, '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843'));
    });
  });
}
