/** Keys that another implementation derived: see `vectors/ssh/generate.py`. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat } from '../../src/bytes/bytes.ts';
import { ChunkQueue } from '../../src/bytes/chunks.ts';
import { fromHex, hex } from '../../src/bytes/text.ts';
import type { DirectionAlgorithms } from '../../src/core/events.ts';
import { type Direction, deriveKey, type KeySource, openFor, sealFor } from '../../src/core/key_schedule.ts';
import { PacketReader, PacketWriter } from '../../src/core/packet.ts';
import type { HashName } from '../../src/crypto/provider.ts';
import { crypto, thrown, vectors } from './tools.ts';

interface SourceRow {
  readonly name: string;
  readonly hash: HashName;
  readonly secret: string;
  readonly exchangeHash: string;
  readonly sessionId: string;
}

interface PacketRow {
  readonly cipher: string;
  readonly mac: string | null;
  readonly sequence: number;
  readonly payload: string;
  readonly padding: string;
  readonly sealed: string;
}

const { rows: derivations } = vectors<{
  readonly rows: readonly (SourceRow & { readonly letters: Readonly<Record<string, string>> })[];
}>('ssh/keys.json', 'derivations');
const { rows: directions } = vectors<{
  readonly rows: readonly (SourceRow & Readonly<Record<Direction, PacketRow>>)[];
}>('ssh/keys.json', 'directions');

function sourceOf(row: SourceRow): KeySource {
  return {
    hash: crypto.hashes[row.hash],
    secret: fromHex(row.secret),
    exchangeHash: fromHex(row.exchangeHash),
    sessionId: fromHex(row.sessionId),
  };
}

function algorithmsOf({ cipher, mac }: PacketRow): DirectionAlgorithms {
  return { cipher, compression: 'none', ...(mac === null ? {} : { mac }) };
}

describe('deriveKey', () => {
  it('is tested with every hash', () => {
    assert.deepEqual([...new Set(derivations.map(({ hash }) => hash))], ['sha1', 'sha256', 'sha384', 'sha512']);
  });

  for (const row of derivations) {
    it(`${row.name}: letters A to F in all sizes that are used, and beyond three digests`, () => {
      for (const [letter, material] of Object.entries(row.letters)) {
        for (const size of [0, 1, 12, 16, 20, 24, 31, 32, 33, 48, 63, 64, 65, 96, 128, 129, 200]) {
          assert.equal(hex(deriveKey(sourceOf(row), letter, size)), material.slice(0, 2 * size), `${letter}, ${size}`);
        }
      }
    });
  }

  it('takes the hash of RFC 4253 §7.2 in this order: K, H, letter, session id', () => {
    // SHA-256 of 'KKHHAss', by sha256sum
    const text = (value: string): Uint8Array => Uint8Array.from(value, (character) => character.charCodeAt(0));
    const source = { hash: crypto.hashes.sha256, secret: text('KK'), exchangeHash: text('HH'), sessionId: text('ss') };
    assert.equal(hex(deriveKey(source, 'A', 32)), 'e6f7c4f1bf0a6037989e1a584923b03d2fe62aea941ef6650aeebc7960548006');
  });
});

describe('sealFor and openFor', () => {
  for (const row of directions) {
    for (const direction of ['toServer', 'toClient'] as const) {
      const { sequence, payload, padding, sealed } = row[direction];
      const algorithms = algorithmsOf(row[direction]);

      it(`${row.name}: packets ${direction}`, () => {
        const random = (length: number): Uint8Array =>
          concat(fromHex(padding), new Uint8Array(length - padding.length / 2));
        const writer = new PacketWriter(random, sequence);
        writer.rekey(sealFor(crypto, sourceOf(row), direction, algorithms), false);
        const out: Uint8Array[] = [];
        writer.write([fromHex(payload)], out);
        assert.equal(hex(concat(...out)), sealed);

        const queue = new ChunkQueue();
        queue.push(fromHex(sealed));
        const reader = new PacketReader(queue, 35000, sequence);
        reader.rekey(openFor(crypto, sourceOf(row), direction, algorithms), false);
        assert.equal(hex(reader.next() ?? new Uint8Array(0)), payload);
      });
    }
  }

  it('refuse a cipher without a row, and a cipher that lacks its MAC', () => {
    const [row] = derivations;
    assert.ok(row !== undefined);
    for (const make of [sealFor, openFor]) {
      const attempt = (cipher: string, mac: string) => (): unknown =>
        make(crypto, sourceOf(row), 'toServer', { cipher, mac, compression: 'none' });
      assert.match(
        thrown('not-supported', attempt('cast128-cbc', 'hmac-sha2-256')).message,
        /^Cipher cast128-cbc has no row$/,
      );
      thrown('not-supported', attempt('aes128-ctr', 'umac-64@openssh.com'));
    }
  });
});
