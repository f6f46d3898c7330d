import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat } from '../../../src/bytes/bytes.ts';
import { ChunkQueue } from '../../../src/bytes/chunks.ts';
import { PacketReader, PacketWriter } from '../../../src/core/packet.ts';
import { SshError } from '../../../src/errors.ts';
import { seededRandom } from '../../support/random.ts';
import { openOf, type Protection, pattern, protections, sealOf, thrown } from '../tools.ts';

const MAX = 256; // small, so that a changed length soon asks for too much

function writerOf(protection: Protection, sequence = 0): PacketWriter {
  const writer = new PacketWriter(seededRandom('padding'), sequence);
  writer.rekey(sealOf(protection), false);
  return writer;
}

function packet(writer: PacketWriter, payload: Uint8Array): Uint8Array {
  const out: Uint8Array[] = [];
  writer.write([payload], out);
  return concat(...out);
}

function readerOf(protection: Protection, input: Uint8Array, sequence = 0): PacketReader {
  const queue = new ChunkQueue();
  queue.push(input.slice());
  const reader = new PacketReader(queue, MAX, sequence);
  reader.rekey(openOf(protection), false);
  return reader;
}

/** What becomes of changed input; more bytes follow it than the largest packet has. */
function fate(protection: Protection, input: Uint8Array): string {
  const reader = readerOf(protection, concat(input, pattern(2 * MAX)));
  try {
    return reader.next() === undefined ? 'waits' : 'a payload';
  } catch (error) {
    assert.ok(error instanceof SshError);
    return error.code;
  }
}

for (const protection of protections) {
  const { name } = protection;
  describe(`Tampering, ${name},`, () => {
    const whole = packet(writerOf(protection), Uint8Array.of(94)); // the smallest packet
    const lengthFate = (bit: number): string => (bit < 32 ? 'integrity or protocol' : 'integrity');

    it(`${name}: every flipped bit is noticed`, () => {
      assert.equal(fate(protection, whole), 'a payload');
      for (let bit = 0; bit < whole.length * 8; bit++) {
        const changed = whole.slice();
        changed[bit >> 3] = (changed[bit >> 3] as number) ^ (0x80 >> (bit & 7));
        const found = fate(protection, changed);
        assert.ok(lengthFate(bit).split(' or ').includes(found), `bit ${bit}: ${found}, not ${lengthFate(bit)}`);
      }
    });

    it(`${name}: every replaced byte is noticed`, () => {
      for (let at = 0; at < whole.length; at++) {
        const changed = whole.slice();
        changed[at] = (changed[at] as number) ^ 0xff;
        const found = fate(protection, changed);
        assert.ok(
          lengthFate(at * 8)
            .split(' or ')
            .includes(found),
          `byte ${at}: ${found}`,
        );
      }
    });

    it(`${name}: a packet that lacks bytes anywhere gives nothing`, () => {
      for (let at = 4; at < whole.length; at++) {
        const shortened = concat(whole.subarray(0, at), whole.subarray(at + 1));
        assert.equal(readerOf(protection, shortened).next(), undefined, 'waits for as many bytes as it was told');
        assert.equal(fate(protection, shortened), 'integrity', `without byte ${at}`);
      }
    });

    it(`${name}: says which packet failed and whose fault it is`, () => {
      const changed = whole.slice();
      changed[changed.length - 1] = (changed[changed.length - 1] as number) ^ 1;
      const error = thrown('integrity', () => readerOf(protection, concat(changed, pattern(MAX))).next());
      assert.match(error.message, /^Packet 0 fails its integrity check/);
      assert.deepEqual([error.fault, error.disconnect], ['peer', 5]);
    });

    it(`${name}: a packet that is repeated, left out or out of order is noticed`, () => {
      const writer = writerOf(protection);
      // of equal length, so that an encrypted length still fits
      const [first, second, third] = [1, 2, 3].map((i) => packet(writer, pattern(18, i))) as [
        Uint8Array,
        Uint8Array,
        Uint8Array,
      ];
      for (const [what, line] of Object.entries({
        repeated: concat(first, first, pattern(2 * MAX)),
        'left out': concat(first, third, pattern(2 * MAX)),
        swapped: concat(second, first, pattern(2 * MAX)),
      })) {
        const reader = readerOf(protection, line);
        if (what !== 'swapped') assert.deepEqual(reader.next(), pattern(18, 1));
        let found = 'a payload';
        try {
          found = reader.next() === undefined ? 'waits' : found;
        } catch (error) {
          found = (error as SshError).code;
        }
        assert.ok(['integrity', 'protocol'].includes(found), `${what}: ${found}`);
      }
    });

    it(`${name}: the keys of the other direction open nothing`, () => {
      const queue = new ChunkQueue();
      queue.push(concat(whole, pattern(2 * MAX)));
      const reader = new PacketReader(queue, MAX);
      reader.rekey(openOf(protection, 'toClient'), false);
      assert.throws(
        () => reader.next(),
        (error) => error instanceof SshError && /^(integrity|protocol)$/.test(error.code),
      );
    });
  });
}
