/** Random bytes of the providers, and the seeded source of the tests. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hex } from '../../src/bytes/text.ts';
import { seededRandom } from '../support/random.ts';
import { providers } from './tools.ts';

for (const provider of providers) {
  describe(`random of ${provider.name}`, () => {
    it('fills every length, also what getRandomValues does not take at once', () => {
      for (const length of [0, 1, 16, 65535, 65536, 65537, 200_000]) {
        const bytes = provider.random(length);
        assert.equal(bytes.length, length);
        // 32 zero bytes in a row are no accident.
        for (let at = 0; at + 32 <= length; at += 32) {
          assert.ok(
            bytes.subarray(at, at + 32).some((byte) => byte !== 0),
            `zeros at ${at} of ${length}`,
          );
        }
      }
    });

    it('does not repeat itself', () => {
      const draws = new Set(Array.from({ length: 1000 }, () => hex(provider.random(16))));
      assert.equal(draws.size, 1000);
    });
  });
}

describe('seededRandom', () => {
  // SHA-256(SHA-256("puressh") ‖ 0), then ‖ 1, by CPython's hashlib.
  const stream =
    '1aecb67ce389e1abb1c518f4f3aba30e9abaeb71ba7f53f07e5dd719333f80ca' +
    'd2466bc6eb0dde22969be5beb71de300e72bde959ebec718655b627f44bb4f4a';

  it('gives the same stream however it is drawn', () => {
    assert.equal(hex(seededRandom('puressh')(64)), stream);
    const random = seededRandom('puressh');
    assert.equal([0, 1, 5, 31, 0, 20, 7].map((length) => hex(random(length))).join(''), stream);
  });

  it('gives another stream for another seed', () => {
    assert.notEqual(hex(seededRandom('puressH')(16)), stream.slice(0, 32));
  });
});
