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
  return delivered(rooms, count);
}

/** What comes of a delivery; `kept`: what its receiver says is in use, if anything. */
function delivered(rooms: ReadRoom, count: number, kept?: number): Uint8Array {
  let bytes = new Uint8Array(0);
  rooms.deliver(count, (given) => {
    bytes = given as typeof bytes;
    if (kept !== undefined) rooms.spent(kept);
  });
  return bytes;
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
      delivered(rooms, i % 2 === 0 ? 100 : Math.min(50_000, room.length));
    }
  });

  it('is read into again from its start once nothing in it is used', () => {
    const rooms = new ReadRoom();
    const first = rooms.room();
    delivered(rooms, 1000, 0);
    assert.equal(rooms.room().byteOffset, first.byteOffset);
    assert.equal(rooms.room().buffer, first.buffer);
    delivered(rooms, 1000, 1);
    assert.equal(rooms.room().byteOffset, 1000);
  });

  it('never reads over what is in use, and needs three pieces of memory for any length', () => {
    const rooms = new ReadRoom();
    const memories = new Set<ArrayBufferLike>();
    let used: Uint8Array[] = [];
    for (let i = 1; i < 2000; i++) {
      const count = [70_000, 1, 16_384, 33_000][i % 4] as number;
      const room = rooms.room();
      const length = Math.min(count, room.length);
      room.fill(i % 251, 0, length);
      for (const [back, bytes] of used.entries()) {
        assert.ok(bytes[0] === (i - used.length + back) % 251 && bytes[bytes.length - 1] === bytes[0]);
      }
      const kept = i % 3 === 0 ? 0 : i % 3 === 1 ? length : undefined;
      let bytes = new Uint8Array(0);
      const before = used.reduce((sum, each) => sum + each.length, 0);
      rooms.deliver(length, (given) => {
        bytes = given as typeof bytes;
        rooms.spent(kept ?? before + length);
      });
      used = kept === 0 ? [] : kept === undefined ? [...used, bytes] : [bytes];
      memories.add(bytes.buffer);
    }
    assert.ok(memories.size <= 3, `${memories.size} pieces of memory`);
  });

  it('leaves alone for good what was delivered to somebody who did not say', () => {
    const rooms = new ReadRoom();
    const kept = read(rooms, 7, 1000);
    for (let i = 0; i < 50; i++) {
      rooms.room().fill(9, 0, 50_000);
      delivered(rooms, 50_000, 0);
    }
    assert.ok(kept.every((byte) => byte === 7));
  });
});
