/** Bytes in pieces. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { packed, piecesAfter } from '../../src/bytes/pieces.ts';

const bytes = (...values: number[]): Uint8Array => new Uint8Array(values);

describe('packed', () => {
  it('makes one of pieces that are short on average, and leaves others as they are', () => {
    const short = [bytes(1, 2), bytes(), new Uint8Array(1023 * 3 - 2), bytes(9)];
    const length = short.reduce((sum, piece) => sum + piece.length, 0);
    const [one, ...rest] = packed(short, length);
    assert.deepEqual(rest, []);
    assert.deepEqual([one?.length, one?.[0], one?.[1], one?.[length - 1]], [3070, 1, 2, 9]);
    const long = [bytes(1), new Uint8Array(2047)];
    assert.equal(packed(long, 2048), long);
    const single = [bytes(1)];
    assert.equal(packed(single, 1), single);
    assert.deepEqual(packed([], 0), []);
  });
});

describe('piecesAfter', () => {
  const pieces = [bytes(), bytes(1, 2, 3), bytes(4), bytes(), bytes(5, 6)];

  it('leaves off any number of bytes, and what is empty in front', () => {
    for (let count = 0; count <= 6; count++) {
      const rest = piecesAfter(pieces, count);
      assert.deepEqual(
        rest.flatMap((piece) => [...piece]),
        [1, 2, 3, 4, 5, 6].slice(count),
      );
      assert.notEqual(rest[0]?.length, 0);
    }
    assert.deepEqual(piecesAfter(pieces, 6), []);
    assert.deepEqual(piecesAfter([], 0), []);
    assert.deepEqual(piecesAfter([bytes(), bytes()], 0), []);
  });

  it('copies nothing and changes nothing', () => {
    const rest = piecesAfter(pieces, 2);
    assert.equal(rest[0]?.buffer, pieces[1]?.buffer);
    assert.equal(rest[1], pieces[2]);
    assert.deepEqual(
      pieces.map(({ length }) => length),
      [0, 3, 1, 0, 2],
    );
    const whole = [bytes(1), bytes(2)];
    assert.equal(piecesAfter(whole, 0), whole);
  });
});
