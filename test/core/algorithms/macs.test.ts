/** MACs as they are sent: whole, or cut to their first bytes. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fromHex, hex, utf8 } from '../../../src/bytes/text.ts';
import { macOf, macs } from '../../../src/core/algorithms/macs.ts';
import { nodeProvider } from '../../../src/crypto/native/node.ts';
import type { MacName } from '../../../src/crypto/provider.ts';
import { pureProvider } from '../../../src/crypto/pure/index.ts';

/** Test case 5 of RFC 2202 §2 and §3 (`digest-96`) and of RFC 4231 §4.6, which cuts to 128 bits. */
const cut: readonly [MacName, number, string][] = [
  ['hmac-md5', 16, '56461ef2342edc00f9bab995'],
  ['hmac-sha1', 20, '4c1a03424b55e07fe7f27be1'],
  ['hmac-sha256', 20, 'a3b6167473100ee06e0c796c2955552b'],
  ['hmac-sha512', 20, '415fad6271580a531d4179bc891d87a6'],
];

for (const provider of [pureProvider, nodeProvider()]) {
  describe(`macOf, ${provider.name},`, () => {
    for (const [primitive, keySize, expected] of cut) {
      it(`${primitive}: cuts to the first ${expected.length / 2} bytes`, () => {
        const { size } = provider.macs[primitive];
        const row = { primitive, size, tagSize: expected.length / 2, etm: false };
        const mac = macOf(provider, row, fromHex('0c'.repeat(keySize)));
        assert.equal(hex(mac.compute(utf8('Test With '), utf8('Truncation'))), expected);
      });
    }

    it('gives what each row says', () => {
      for (const [name, row] of macs) {
        const tag = macOf(provider, row, new Uint8Array(row.size)).compute(utf8(name), new Uint8Array(0));
        assert.equal(tag.length, row.tagSize, name);
        assert.equal(row.size, provider.macs[row.primitive].size);
        assert.deepEqual([row.tagSize === 12, row.etm], [name.includes('-96'), name.includes('-etm')], name);
      }
    });
  });
}
