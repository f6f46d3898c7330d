import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat } from '../../../src/bytes/bytes.ts';
import { ChunkQueue } from '../../../src/bytes/chunks.ts';
import { hex } from '../../../src/bytes/text.ts';
import { PacketReader, PacketWriter } from '../../../src/core/packet.ts';
import { cut } from '../../support/feed.ts';
import { seededRandom } from '../../support/random.ts';
import { openOf, type Protection, pattern, plain, protections, sealOf, traffic } from '../tools.ts';

const MAX = 256 * 1024;

interface Pair {
  readonly writer: PacketWriter;
  readonly queue: ChunkQueue;
  readonly reader: PacketReader;
}

function pair(protection: Protection, sequence = 0): Pair {
  const queue = new ChunkQueue();
  const writer = new PacketWriter(seededRandom('padding'), sequence);
  const reader = new PacketReader(queue, MAX, sequence);
  writer.rekey(sealOf(protection), false);
  reader.rekey(openOf(protection), false);
  return { writer, queue, reader };
}

function packetOf({ writer }: Pair, payload: Uint8Array): Uint8Array {
  const out: Uint8Array[] = [];
  const size = writer.write([payload], out);
  const packet = concat(...out);
  assert.equal(packet.length, size);
  return packet;
}

const sizes = [...Array.from({ length: 300 }, (_, i) => i + 1), 32768, 35000];

for (const protection of [plain, ...protections]) {
  describe(protection.name, () => {
    it(`${protection.name}: gives back payloads of 1..300, 32768 and 35000 bytes, in random pieces`, () => {
      const line = pair(protection);
      const payloads = sizes.map((size) => pattern(size, size, 11));
      const bytes = concat(...payloads.map((payload) => packetOf(line, payload)));
      const received: string[] = [];
      for (const piece of cut(bytes, 'random', seededRandom(protection.name))) {
        line.queue.push(piece);
        for (let payload = line.reader.next(); payload !== undefined; payload = line.reader.next()) {
          received.push(hex(payload));
        }
      }
      assert.deepEqual(received, payloads.map(hex));
      assert.equal(line.queue.length, 0);
      assert.deepEqual(traffic(line.reader), traffic(line.writer));
      assert.deepEqual(traffic(line.reader), { bytes: bytes.length, packets: 302 });
    });

    it(`${protection.name}: goes on over the end of the sequence numbers`, () => {
      const line = pair(protection, 0xfffffffe);
      for (let i = 0; i < 5; i++) {
        line.queue.push(packetOf(line, pattern(20, i)));
        assert.deepEqual(line.reader.next(), pattern(20, i));
      }
      assert.deepEqual([line.writer.sequence, line.reader.sequence], [3, 3]);
    });

    it(`${protection.name}: goes on over new keys, with and without a reset of the sequence numbers`, () => {
      const line = pair(protection, 1000);
      for (const reset of [false, true, true, false]) {
        line.queue.push(packetOf(line, pattern(9, 21)));
        line.queue.push(packetOf(line, pattern(50, 22)));
        assert.deepEqual(line.reader.next(), pattern(9, 21));
        line.writer.rekey(sealOf(protection), reset);
        assert.deepEqual(line.reader.next(), pattern(50, 22));
        line.reader.rekey(openOf(protection), reset);
      }
      assert.deepEqual([line.writer.sequence, line.reader.sequence], [2, 2]);
    });

    it(`${protection.name}: does not touch the bytes behind a packet in the same chunk`, () => {
      const line = pair(protection);
      const packet = packetOf(line, pattern(33));
      line.queue.push(concat(packet, pattern(64, 77)));
      assert.deepEqual(line.reader.next(), pattern(33));
      assert.deepEqual(line.queue.takeAll(), pattern(64, 77));
    });
  });
}
