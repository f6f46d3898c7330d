/** Exchange hashes that another implementation computed: see `vectors/ssh/generate.py`. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mpintBody } from '../../src/bytes/mpint.ts';
import { fromHex, hex } from '../../src/bytes/text.ts';
import { hashedGroup } from '../../src/core/exchange/group_exchange.ts';
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

const { rows: secrets } = vectors<{ readonly rows: readonly SecretRow[] }>('ssh/keys.json', 'secrets');
const { inputs: given, rows: exchangeHashes } = vectors<{
  readonly inputs: Readonly<Record<keyof ExchangeInputs, string>>;
  readonly rows: readonly HashRow[];
}>('ssh/keys.json', 'exchange hashes');

const inputs: ExchangeInputs = {
  clientIdentification: fromHex(given.clientIdentification),
  serverIdentification: fromHex(given.serverIdentification),
  clientKexinit: fromHex(given.clientKexinit),
  serverKexinit: fromHex(given.serverKexinit),
  hostKey: fromHex(given.hostKey),
  clientPublic: fromHex(given.clientPublic),
  serverPublic: fromHex(given.serverPublic),
};

interface GroupRow extends Readonly<Record<'prime' | 'generator' | 'clientPublic' | 'serverPublic', string>> {
  readonly name: string;
  readonly hash: HashName;
  readonly sizes: readonly number[];
  readonly shared: string;
  readonly exchangeHash: string;
}

const { rows: groupExchanges } = vectors<{ readonly rows: readonly GroupRow[] }>(
  'ssh/keys.json',
  'group exchange hashes',
);

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

  for (const row of groupExchanges) {
    it(`of a group exchange: ${row.name}`, () => {
      const value = (name: 'clientPublic' | 'serverPublic') => mpintBody(fromHex(row[name]));
      const group = hashedGroup(row.sizes, {
        bits: 2048,
        prime: fromHex(row.prime),
        generator: fromHex(row.generator),
      });
      const values = { group, clientPublic: value('clientPublic'), serverPublic: value('serverPublic') };
      const secret = encodeSecret(fromHex(row.shared), 'mpint');
      assert.equal(hex(exchangeHash(crypto.hashes[row.hash], { ...inputs, ...values }, secret)), row.exchangeHash);
    });
  }
});
