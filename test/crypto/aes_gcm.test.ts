/** AES-GCM of both providers against the cases of its authors. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat } from '../../src/bytes/bytes.ts';
import { fromHex, hex } from '../../src/bytes/text.ts';
import type { AeadName } from '../../src/crypto/provider.ts';
import { ownVectors, type VectorGroup } from '../support/vectors.ts';
import { assertEach, providers, reads, shifted, sshError } from './tools.ts';

interface Row {
  readonly id: string;
  readonly aead: AeadName;
  readonly key: string;
  readonly nonce: string;
  readonly associated: string;
  readonly plaintext: string;
  readonly ciphertext: string;
  readonly tag: string;
  readonly result: 'valid' | 'invalid';
}

const rows = ownVectors<VectorGroup<Row>>('crypto/aes_gcm.json').flatMap((group) => group.rows);
const valid = rows.filter((row) => row.result === 'valid');
const invalid = rows.filter((row) => row.result === 'invalid');

for (const provider of providers) {
  const aeadOf = (row: Row) => provider.aeads[row.aead].create(fromHex(row.key));
  const seal = (row: Row, data = fromHex(row.plaintext)) =>
    concat(...aeadOf(row).seal(fromHex(row.nonce), fromHex(row.associated), data));
  const open = (row: Row, data = fromHex(row.ciphertext + row.tag)) =>
    aeadOf(row).open(fromHex(row.nonce), fromHex(row.associated), data);

  describe(`aeads of ${provider.name}`, () => {
    it('seal to ciphertext and tag of the published cases', async () => {
      await assertEach(
        valid,
        (row) => row.id,
        (row) => reads(seal(row), row.ciphertext + row.tag),
      );
    });

    it('open them again', async () => {
      await assertEach(
        valid,
        (row) => row.id,
        (row) => reads(open(row), row.plaintext),
      );
    });

    it('open nothing that was altered', async () => {
      await assertEach(
        invalid,
        (row) => row.id,
        (row) => open(row) === undefined,
      );
    });

    it('open nothing shorter than a tag', () => {
      for (let length = 0; length < 16; length++) {
        assert.equal(open(valid[0] as Row, new Uint8Array(length)), undefined);
      }
    });

    it('serve many messages with one key, also after one that did not open', () => {
      const row = valid.find((each) => each.id === 'case-16') as Row;
      const aead = aeadOf(row);
      const [nonce, associated] = [fromHex(row.nonce), fromHex(row.associated)];
      for (let round = 0; round < 3; round++) {
        assert.equal(aead.open(nonce, associated, new Uint8Array(40)), undefined);
        const sealed = concat(...aead.seal(nonce, associated, fromHex(row.plaintext)));
        assert.equal(hex(sealed), row.ciphertext + row.tag);
        assert.ok(reads(aead.open(nonce, associated, sealed), row.plaintext));
      }
    });

    it('read views that start off a word boundary', () => {
      const row = valid.find((each) => each.id === 'case-4') as Row;
      for (let offset = 1; offset < 8; offset++) {
        assert.equal(hex(seal(row, shifted(fromHex(row.plaintext), offset))), row.ciphertext + row.tag);
        assert.ok(reads(open(row, shifted(fromHex(row.ciphertext + row.tag), offset)), row.plaintext));
      }
    });

    it('only read key, nonce and associated data, and keep their own key', () => {
      const row = valid.find((each) => each.id === 'case-4') as Row;
      const [key, nonce, associated] = [fromHex(row.key), fromHex(row.nonce), fromHex(row.associated)];
      const aead = provider.aeads[row.aead].create(key);
      aead.seal(nonce, associated, fromHex(row.plaintext));
      assert.deepEqual([hex(key), hex(nonce), hex(associated)], [row.key, row.nonce, row.associated]);
      key.fill(0);
      assert.equal(hex(concat(...aead.seal(nonce, associated, fromHex(row.plaintext)))), row.ciphertext + row.tag);
    });

    it('refuse keys and nonces of other lengths', () => {
      const aead = provider.aeads['aes128-gcm'];
      assert.deepEqual([aead.keySize, aead.nonceSize, aead.tagSize], [16, 12, 16]);
      assert.equal(provider.aeads['aes256-gcm'].keySize, 32);
      assert.throws(() => aead.create(new Uint8Array(32)), sshError('bad-argument', 'local'));
      assert.throws(() => provider.aeads['aes256-gcm'].create(new Uint8Array(24)), sshError('bad-argument', 'local'));
      const keyed = aead.create(new Uint8Array(16));
      const data = new Uint8Array(16);
      for (const size of [0, 8, 11, 13, 16]) {
        assert.throws(() => keyed.seal(new Uint8Array(size), data, data), sshError('bad-argument', 'local'));
        assert.throws(() => keyed.open(new Uint8Array(size), data, data), sshError('bad-argument', 'local'));
      }
    });
  });
}
