/** Exchange hashes that another implementation computed: see `vectors/ssh/generate.py`. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fromHex, hex } from '../../src/bytes/text.ts';
import { type ExchangeInputs, encodeSecret, exchangeHash } from '../../src/core/exchange_hash.ts';
import type { HashName } from '../../src/crypto/provider.ts';
import { crypto, vectors } from './tools.ts';

interface SecretRow {
  readonly name: string;
  readonly shared: string;
  readonly mpint: string;
  readonly string: string;
}

interface HashRow {
  readonly name: string;
  readonly hash: HashName;
  readonly shared: string;
  readonly secretAs: 'mpint' | 'string';
  readonly exchangeHash: string;
}

const { secrets, exchangeInputs, exchangeHashes } = vectors<{
  readonly secrets: readonly SecretRow[];
  readonly exchangeInputs: Readonly<Record<keyof ExchangeInputs, string>>;
  readonly exchangeHashes: readonly HashRow[];
}>('ssh/keys.json');

const inputs: ExchangeInputs = {
  clientIdentification: fromHex(exchangeInputs.clientIdentification),
  serverIdentification: fromHex(exchangeInputs.serverIdentification),
  clientKexinit: fromHex(exchangeInputs.clientKexinit),
  serverKexinit: fromHex(exchangeInputs.serverKexinit),
  hostKey: fromHex(exchangeInputs.hostKey),
  clientPublic: fromHex(exchangeInputs.clientPublic),
  serverPublic: fromHex(exchangeInputs.serverPublic),
};

describe('encodeSecret', () => {
  for (const row of secrets) {
    it(`${row.name}: as mpint and as string`, () => {
      assert.equal(hex(encodeSecret(fromHex(row.shared), 'mpint')), row.mpint);
      assert.equal(hex(encodeSecret(fromHex(row.shared), 'string')), row.string);
    });
  }

  it('drops leading zeros of an mpint and puts one before a set top bit (RFC 4251 §5)', () => {
    assert.equal(hex(encodeSecret(fromHex('0000ff01'), 'mpint')), '0000000300ff01');
    assert.equal(hex(encodeSecret(fromHex('00007f01'), 'mpint')), '000000027f01');
    assert.equal(hex(encodeSecret(fromHex('0000'), 'mpint')), '00000000');
    assert.equal(hex(encodeSecret(fromHex('0000ff01'), 'string')), '000000040000ff01');
  });
});

describe('exchangeHash', () => {
  it('is tested with every hash', () => {
    assert.deepEqual([...new Set(exchangeHashes.map(({ hash }) => hash))], ['sha1', 'sha256', 'sha384', 'sha512']);
  });

  for (const row of exchangeHashes) {
    it(row.name, () => {
      const secret = encodeSecret(fromHex(row.shared), row.secretAs);
      assert.equal(hex(exchangeHash(crypto.hashes[row.hash], inputs, secret)), row.exchangeHash);
    });
  }
});
