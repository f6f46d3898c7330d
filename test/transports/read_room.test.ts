/** Memory that is read into. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ReadRoom } from '../../src/transports/read_room.ts';

const KIBIBYTE = 1024;

/** What a read that fills the room with `value`, or as much of it as `most`, brings. */
function read(rooms: ReadRoom, value: number, most = Number.POSITIVE_INFINITY): Uint8Array {
  const room = rooms.room();
  const count = Math.min(most, room.length);
  room.fill(value, 0, count);
  return rooms.take(count);
}

describe('a room for reads', () => {
  it('is never empty, and never gives the same memory twice', () => {
    const rooms = new ReadRoom(4 * KIBIBYTE);
    const chunks: Uint8Array[] = [];
    for (let i = 0; i < 200; i++) chunks.push(read(rooms, i, [1, 100, 1400, 5000, 70_000][i % 5]));
    for (const [i, chunk] of chunks.entries()) {
      assert.ok(chunk.length > 0);
      assert.ok(
        chunk.every((byte) => byte === i),
        `chunk ${i} was written over`,
      );
    }
  });

  it('lays side by side what several reads bring', () => {
    const rooms = new ReadRoom(16 * KIBIBYTE);
    const first = read(rooms, 1, 1000);
    const second = read(rooms, 2, 500);
    assert.equal(second.buffer, first.buffer);
    assert.equal(second.byteOffset, first.byteOffset + 1000);
  });

  it('starts with little and grows to 256 KiB while reads fill it', () => {
    const rooms = new ReadRoom(16 * KIBIBYTE);
    const sizes = Array.from({ length: 7 }, () => read(rooms, 0).length / KIBIBYTE);
    assert.deepEqual(sizes, [16, 32, 64, 128, 256, 256, 256]);
  });

  it('stays large through some small reads, and gives its memory back when there are only such', () => {
    const rooms = new ReadRoom(16 * KIBIBYTE);
    for (let i = 0; i < 5; i++) read(rooms, 0);
    for (let i = 0; i < 7; i++) read(rooms, 0, 100);
    read(rooms, 0, 3000);
    for (let i = 0; i < 7; i++) read(rooms, 0, 100);
    assert.equal(rooms.room().buffer.byteLength, 256 * KIBIBYTE);
    read(rooms, 0, 100);
    assert.equal(rooms.room().buffer.byteLength, 16 * KIBIBYTE);
  });

  it('takes 256 KiB at a time unless told otherwise, and reads into no less than a quarter of it', () => {
    const rooms = new ReadRoom();
    for (let i = 0; i < 100; i++) {
      const room = rooms.room();
      assert.equal(room.buffer.byteLength, 256 * KIBIBYTE);
      assert.ok(room.length >= 64 * KIBIBYTE);
      rooms.take(i % 2 === 0 ? 100 : Math.min(50_000, room.length));
    }
  });
});
