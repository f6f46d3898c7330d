import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import type { Row } from '../../src/wire/message.ts';
import { categoryOf, messageName, rowOf } from '../../src/wire/table.ts';
import { root } from '../support/root.ts';

const vectors = JSON.parse(readFileSync(new URL('vectors/wire/rfc4250.json', root), 'utf8')) as {
  rows: { number: number; name: string }[];
};
const assigned = new Map(vectors.rows.map(({ number, name }) => [number, name]));

/** The categories of 0..255 for a client and a server: RFC 4250 §4.1.1 ranges, written out. */
const categories: readonly [from: number, to: number, client: string, server: string][] = [
  [1, 1, 'disconnect', 'disconnect'],
  [2, 4, 'control', 'control'],
  [5, 5, 'service-request', 'service-request'],
  [6, 6, 'service-accept', 'service-accept'],
  [7, 7, 'ext-info', 'ext-info'],
  [20, 20, 'kexinit', 'kexinit'],
  [21, 21, 'newkeys', 'newkeys'],
  [30, 49, 'exchange', 'exchange'],
  [50, 50, 'auth-request', 'auth-request'],
  [51, 53, 'auth-reply', 'auth-reply'],
  [60, 79, 'auth-reply', 'auth-request'],
  [80, 82, 'connection', 'connection'],
  [90, 100, 'connection', 'connection'],
  [192, 193, 'ping', 'ping'],
];

describe('rowOf', () => {
  it('has exactly the messages of RFC 4250 §4.1.2 that mean the same everywhere, under their names', () => {
    for (let number = 0; number < 256; number++) {
      assert.equal(rowOf(number)?.name, assigned.get(number), `message ${number}`);
    }
  });

  it('has each row under its own number', () => {
    for (const number of assigned.keys()) assert.equal((rowOf(number) as Row).number, number);
  });

  it('keeps `rest` for the last field of a row', () => {
    for (const number of assigned.keys()) {
      const types = Object.values((rowOf(number) as Row).fields);
      assert.ok(!types.slice(0, -1).includes('rest'), `message ${number}`);
    }
  });
});

describe('categoryOf', () => {
  for (const role of ['client', 'server'] as const) {
    it(`of 0..255 as a ${role} receives them`, () => {
      for (let number = 0; number < 256; number++) {
        const range = categories.find(([from, to]) => number >= from && number <= to);
        assert.equal(categoryOf(number, role), range?.[role === 'client' ? 2 : 3], `message ${number}`);
      }
    });
  }
});

describe('messageName', () => {
  it('is the name of the RFC, or the number', () => {
    assert.equal(messageName(20), 'SSH_MSG_KEXINIT');
    assert.equal(messageName(30), 'message 30');
    assert.equal(messageName(255), 'message 255');
  });
});
