import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Extents } from '../../src/sftp/extents.ts';
import { drawBelow } from '../support/feed.ts';
import { seededRandom } from '../support/random.ts';

describe('Extents', () => {
  it('knows how far there is no gap, whatever the order', () => {
    const extents = new Extents();
    assert.equal(extents.contiguousFrom(0), 0);
    extents.add(10, 20);
    assert.equal(extents.contiguousFrom(0), 0);
    assert.equal(extents.contiguousFrom(10), 20);
    assert.equal(extents.contiguousFrom(15), 20);
    extents.add(0, 9);
    assert.equal(extents.contiguousFrom(0), 9);
    extents.add(9, 10);
    assert.equal(extents.contiguousFrom(0), 20);
    extents.add(20, 20);
    extents.add(20, 30);
    assert.equal(extents.contiguousFrom(0), 30);
  });

  it('agrees with a set of bytes, for random parts that overlap', () => {
    const random = seededRandom('extents');
    for (let round = 0; round < 200; round++) {
      const extents = new Extents();
      const bytes = new Set<number>();
      for (let i = 0; i < 12; i++) {
        const start = drawBelow(random, 60);
        const end = start + drawBelow(random, 15);
        extents.add(start, end);
        for (let at = start; at < end; at++) bytes.add(at);
        for (const from of [0, 7, 30]) {
          let to = from;
          while (bytes.has(to)) to++;
          assert.equal(extents.contiguousFrom(from), to);
        }
      }
    }
  });
});
