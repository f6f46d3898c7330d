import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { equalBytes } from '../../../src/bytes/bytes.ts';
import { hex } from '../../../src/bytes/text.ts';
import { SparseBytes } from '../../../src/sftp/server/sparse_bytes.ts';
import { drawBelow } from '../../support/feed.ts';
import { seededRandom } from '../../support/random.ts';

/** Memory of a given size, and how much of it is in use. */
function memory(size: number): { bytes: SparseBytes; used: () => number } {
  let used = 0;
  const bytes = new SparseBytes((more) => {
    if (used + more > size) return false;
    used += more;
    return true;
  });
  return { bytes, used: () => used };
}

describe('SparseBytes', () => {
  it('reads what was written, zeros where nothing was, and nothing past the end', () => {
    const { bytes } = memory(1 << 20);
    assert.equal(bytes.read(0, 10).length, 0);
    bytes.write(3, Uint8Array.of(1, 2));
    assert.equal(hex(bytes.read(0, 100)), '0000000102');
    assert.equal(hex(bytes.read(4, 1)), '02');
    assert.equal(bytes.read(5, 1).length, 0);
    assert.equal(bytes.read(2 ** 52, 1).length, 0);
  });

  it('gives copies and keeps copies', () => {
    const { bytes } = memory(1 << 20);
    const given = Uint8Array.of(1);
    bytes.write(0, given);
    given[0] = 9;
    const got = bytes.read(0, 1);
    got[0] = 8;
    assert.equal(hex(bytes.read(0, 1)), '01');
  });

  it('holes cost nothing', () => {
    const { bytes, used } = memory(1 << 20);
    bytes.write(2 ** 50, Uint8Array.of(1));
    bytes.resize(2 ** 52);
    assert.equal(bytes.size, 2 ** 52);
    assert.ok(used() <= 65536);
    assert.equal(hex(bytes.read(2 ** 50 - 1, 3)), '000100');
  });

  it('what was cut reads as zeros when it grows again, and its memory is given back', () => {
    const { bytes, used } = memory(1 << 20);
    bytes.write(0, new Uint8Array(200_000).fill(1));
    bytes.resize(100_000);
    bytes.resize(200_000);
    assert.ok(equalBytes(bytes.read(0, 100_000), new Uint8Array(100_000).fill(1)));
    assert.ok(equalBytes(bytes.read(100_000, 100_000), new Uint8Array(100_000)));
    bytes.resize(0);
    assert.equal(used(), 0);
  });

  it('stops at the last byte of memory', () => {
    const { bytes, used } = memory(100);
    assert.equal(bytes.write(0, new Uint8Array(60).fill(1)), true);
    assert.equal(bytes.write(60, new Uint8Array(40).fill(2)), true);
    assert.equal(used(), 100);
    assert.equal(bytes.write(100, Uint8Array.of(3)), false);
    assert.equal(bytes.size, 100);
    const large = memory(200_000);
    assert.equal(large.bytes.write(0, new Uint8Array(200_000)), true);
    assert.equal(large.bytes.write(200_000, Uint8Array.of(1)), false);
    assert.equal(memory(100_000).bytes.write(0, new Uint8Array(100_001)), false);
  });

  it('many small writes at the end copy little', () => {
    const { bytes } = memory(1 << 30);
    const line = new Uint8Array(50).fill(7);
    for (let i = 0; i < 100_000; i++) bytes.write(i * 50, line);
    assert.equal(bytes.size, 5_000_000);
    assert.ok(bytes.read(0, 5_000_000).every((byte) => byte === 7));
  });

  it('is an array of bytes, whatever is done to it', () => {
    const random = seededRandom('sparse');
    const { bytes, used } = memory(1 << 24);
    let model = new Uint8Array(0);
    const grow = (size: number): void => {
      const grown = new Uint8Array(size);
      grown.set(model.subarray(0, size));
      model = grown;
    };
    for (let i = 0; i < 400; i++) {
      const offset = drawBelow(random, 65536) * (1 + drawBelow(random, 4));
      const length = drawBelow(random, i % 2 === 0 ? 100 : 65536);
      const choice = drawBelow(random, 4);
      if (choice === 0) {
        bytes.resize(offset);
        grow(offset);
      } else {
        const data = random(length);
        assert.equal(bytes.write(offset, data), true);
        if (length > 0 && offset + length > model.length) grow(offset + length);
        model.set(data, offset);
      }
      assert.equal(bytes.size, model.length);
      const from = drawBelow(random, 65536) * 2;
      assert.ok(equalBytes(bytes.read(from, 70_000), model.subarray(from, from + 70_000)), String(i));
    }
    assert.ok(equalBytes(bytes.read(0, model.length), model));
    bytes.resize(0);
    assert.equal(used(), 0);
  });
});
