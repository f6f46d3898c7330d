import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat, putUint32, uint32At } from '../../src/bytes/bytes.ts';
import { ChunkQueue } from '../../src/bytes/chunks.ts';
import { hex, utf8 } from '../../src/bytes/text.ts';
import { PacketReader, PacketWriter } from '../../src/core/packet.ts';
import type { Open, Seal } from '../../src/core/protection/types.ts';
import { openOf, type Protection, pattern, plain, protections, sealed, sealOf, thrown, traffic } from './tools.ts';

const MAX = 35000; // RFC 4253 §6.1
const all: readonly Protection[] = [plain, ...protections];

/** A seal with the framing of `protection` that protects nothing and adds a tag of zeros. */
function glassSeal({ block, counts, tag }: Protection): Seal {
  return {
    blockSize: block,
    lengthCounts: counts,
    tagSize: tag,
    seal: (_sequence, packet, out) => void out.push(packet, new Uint8Array(tag)),
  };
}

function writerFor(seal: Seal, random = (length: number): Uint8Array => pattern(length)): PacketWriter {
  const writer = new PacketWriter(random);
  writer.rekey(seal, false);
  return writer;
}

function readerFor(open: Open, input: Uint8Array, max = MAX): PacketReader {
  const queue = new ChunkQueue();
  queue.push(input.slice());
  const reader = new PacketReader(queue, max);
  reader.rekey(open, false);
  return reader;
}

/** packet_length ‖ padding_length ‖ payload ‖ padding, with a length field that may lie. */
function packetOf(payload: Uint8Array, padding: number, length = 1 + payload.length + padding): Uint8Array {
  const packet = new Uint8Array(5 + payload.length + padding);
  putUint32(packet, 0, length);
  packet[4] = padding;
  packet.set(payload, 5);
  packet.set(pattern(padding, 200), 5 + payload.length);
  return packet;
}

/** The smallest payload, not empty, that fills blocks together with `padding` bytes of padding. */
function fittingPayload({ block, counts }: Protection, padding: number): Uint8Array {
  let size = 1;
  const length = (): number => 1 + size + padding + (counts ? 4 : 0);
  while (length() % block !== 0 || length() < 16) size++;
  return pattern(size, 94);
}

describe('PacketWriter', () => {
  for (const protection of all) {
    const { name, block, counts, tag } = protection;

    it(`${name}: RFC 4253 §6 holds for payloads of 1..64 bytes`, () => {
      const writer = writerFor(glassSeal(protection));
      for (let size = 1; size <= 64; size++) {
        const payload = pattern(size, size);
        const out: Uint8Array[] = [];
        const written = writer.write([payload], out);
        const [packet = new Uint8Array(0)] = out;
        const length = uint32At(packet, 0);
        const padding = packet[4] as number;
        const counted = length + (counts ? 4 : 0);
        assert.equal(packet.length, 4 + length, 'packet_length is all but itself and the MAC');
        assert.equal(written, packet.length + tag, 'the size includes the MAC');
        assert.equal(counted % block, 0, 'fills blocks');
        assert.ok(counted >= 16, 'is at least 16 bytes');
        assert.ok(padding >= 4, 'at least four bytes of padding');
        assert.ok(padding < 4 + block || counted === 16, 'no more padding than it takes');
        assert.equal(length, 1 + size + padding);
        assert.deepEqual(packet.slice(5, 5 + size), payload);
      }
    });
  }

  it('joins the parts of a payload', () => {
    const out: Uint8Array[] = [];
    new PacketWriter(pattern).write([Uint8Array.of(94, 1), new Uint8Array(0), Uint8Array.of(2, 3)], out);
    assert.equal(hex(concat(...out)), `0000000c07 5e010203 ${hex(pattern(7))}`.replaceAll(' ', ''));
  });

  it('pads with random bytes that it uses once', () => {
    let drawn = 0;
    const random = (length: number): Uint8Array => pattern(length, ++drawn, 0);
    const writer = writerFor(glassSeal(plain), random);
    const paddings: number[] = [];
    for (let i = 0; i < 600; i++) {
      const out: Uint8Array[] = [];
      writer.write([Uint8Array.of(2)], out);
      const packet = concat(...out);
      assert.equal(packet.length, 16);
      paddings.push(packet[15] as number);
      assert.deepEqual(packet.slice(6), pattern(10, packet[15], 0), 'a padding comes from one draw');
    }
    // 10 bytes of padding each: 409 fit in 4096
    assert.deepEqual([paddings[0], paddings[408], paddings[409], paddings[599], drawn], [1, 1, 2, 2, 2]);
  });

  it('counts bytes and packets since the last keys', () => {
    const writer = new PacketWriter(pattern);
    assert.deepEqual(traffic(writer), { bytes: 0, packets: 0 });
    writer.write([Uint8Array.of(2)], []);
    writer.write([pattern(20)], []);
    assert.deepEqual(traffic(writer), { bytes: 16 + 32, packets: 2 });
    writer.rekey(glassSeal(protections[0] as Protection), false);
    assert.deepEqual(traffic(writer), { bytes: 0, packets: 0 });
    writer.write([Uint8Array.of(2)], []);
    assert.deepEqual(traffic(writer), { bytes: 4 + 16 + 16, packets: 1 });
  });

  it('passes the sequence number, which a reset sets to 0 and new keys alone do not', () => {
    const seen: number[] = [];
    const seal: Seal = { ...glassSeal(plain), seal: (sequence) => void seen.push(sequence) };
    const writer = writerFor(seal);
    const write = (): number => writer.write([Uint8Array.of(2)], []);
    write();
    write();
    writer.rekey(seal, false);
    write();
    writer.rekey(seal, true);
    write();
    write();
    assert.deepEqual(seen, [0, 1, 2, 0, 1]);
    assert.equal(writer.sequence, 2);
  });

  it('wraps the sequence number after 2^32 - 1 (RFC 4253 §6.4)', () => {
    const seen: number[] = [];
    const seal: Seal = { ...glassSeal(plain), seal: (sequence) => void seen.push(sequence) };
    const writer = new PacketWriter(pattern, 0xfffffffe);
    writer.rekey(seal, false);
    for (let i = 0; i < 4; i++) writer.write([Uint8Array.of(2)], []);
    assert.deepEqual(seen, [0xfffffffe, 0xffffffff, 0, 1]);
  });
});

describe('PacketReader', () => {
  it('reads a packet that is typed out', () => {
    const bytes = concat(utf8('\0\0\0\x0c\x0a\x15'), new Uint8Array(10), utf8('\0\0\0\x0c\x04'), pattern(11, 50));
    const reader = readerFor(openOf(plain), bytes);
    assert.equal(hex(reader.next() ?? new Uint8Array(0)), '15');
    assert.equal(hex(reader.next() ?? new Uint8Array(0)), hex(pattern(7, 50)));
    assert.equal(reader.next(), undefined);
    assert.deepEqual(traffic(reader), { bytes: 32, packets: 2 });
    assert.equal(reader.sequence, 2);
  });

  it('passes the sequence number, which a reset sets to 0, new keys alone do not, and 2^32 wraps', () => {
    const seen: number[] = [];
    const open: Open = {
      ...openOf(plain),
      open: (sequence, packet) => {
        seen.push(sequence);
        return packet.subarray(4);
      },
    };
    const queue = new ChunkQueue();
    for (let i = 0; i < 6; i++) queue.push(packetOf(pattern(4), 7));
    const reader = new PacketReader(queue, MAX, 0xfffffffe);
    reader.rekey(open, false);
    for (let i = 0; i < 3; i++) reader.next();
    reader.rekey(open, false);
    reader.next();
    reader.rekey(open, true);
    reader.next();
    reader.next();
    assert.deepEqual(seen, [0xfffffffe, 0xffffffff, 0, 1, 0, 1]);
    assert.deepEqual(traffic(reader), { bytes: 32, packets: 2 });
  });

  it('asks for the length of a packet once, however often it is called', () => {
    let asked = 0;
    const open: Open = {
      ...openOf(plain),
      length: (_sequence, header) => {
        asked++;
        return uint32At(header, 0);
      },
    };
    const queue = new ChunkQueue();
    const reader = new PacketReader(queue, MAX);
    reader.rekey(open, false);
    for (const byte of packetOf(pattern(4), 7)) {
      assert.equal(reader.next(), undefined);
      queue.push(Uint8Array.of(byte));
    }
    assert.deepEqual(reader.next(), pattern(4));
    assert.equal(asked, 1);
  });
});

/** Whether the length is deciphered together with what follows it, so that nobody may learn what is wrong with it. */
const isHidden = ({ name }: Protection): boolean => name.includes('-cbc ') && !name.includes('-etm');

describe('PacketReader refuses, from the first four bytes alone,', () => {
  for (const protection of all) {
    const { name, block, counts } = protection;
    const aligned = 4000 - (counts ? 4 : 0); // 4000 is a multiple of 8 and of 16
    const least = counts ? 12 : block;
    const bad = [
      0,
      1,
      2,
      3,
      4,
      5,
      7,
      least - 1,
      least - block,
      aligned - 1,
      aligned + 1,
      aligned + 4,
      aligned + block / 2,
    ];
    const tooLong = [aligned + block, 0x7ffffff0, 0x80000000, 0xfffffff0, 0xfffffffc, 0xffffffff];

    it(`${name}: lengths that are too small, too large or no whole blocks`, () => {
      const cases = [
        ...bad.map((length) => [length, MAX] as const),
        ...tooLong.map((length) => [length, aligned] as const),
      ];
      for (const [length, max] of cases.filter(([each]) => each >= 0)) {
        const whole = sealed(protection, packetOf(pattern(16), counts ? 11 : 15, length));
        if (isHidden(protection)) {
          assert.equal(fateOfHidden(protection, whole.subarray(0, block), max), 'integrity', `length ${length}`);
          continue;
        }
        const reader = readerFor(openOf(protection), whole.subarray(0, 4), max);
        const error = thrown('protocol', () => reader.next());
        assert.match(
          error.message,
          new RegExp(`^Packet length ${length} is not acceptable: it must be at most ${max} `),
        );
        assert.deepEqual([error.fault, error.disconnect], ['peer', 2]);
      }
    });

    it(`${name}: but not the largest length that is allowed`, () => {
      const payload = pattern(aligned - 1 - 4, 94);
      const reader = readerFor(openOf(protection), sealed(protection, packetOf(payload, 4)), aligned);
      assert.deepEqual(reader.next(), payload);
    });
  }

  it('text where a packet must stand, once its line is there', () => {
    const reader = readerFor(openOf(plain), utf8('Protocol mismatch.\n'));
    const error = thrown('identification', () => reader.next());
    assert.match(error.message, /"Protocol mismatch\."/);
    assert.equal(error.fault, 'peer');
  });
});

/** What becomes of the first bytes, and that it is told with the last one of the largest packet and not before (CVE-2008-5161). */
function fateOfHidden(protection: Protection, first: Uint8Array, max: number): string {
  const queue = new ChunkQueue();
  const reader = new PacketReader(queue, max);
  reader.rekey(openOf(protection), false);
  const largest = Math.floor((4 + max) / protection.block) * protection.block + protection.tag;
  const line = concat(first, pattern(largest - first.length));
  const middle = Math.min(first.length, largest - 1);
  for (const [from, to] of [
    [0, middle],
    [middle, largest - 1],
  ]) {
    queue.push(line.slice(from, to));
    assert.equal(reader.next(), undefined, `${to} bytes tell nothing`);
  }
  queue.push(line.slice(-1));
  const error = thrown('integrity', () => reader.next());
  assert.deepEqual([error.fault, error.disconnect], ['peer', 5]);
  return error.code;
}

describe('PacketReader, where the length is hidden,', () => {
  for (const protection of all.filter(isHidden)) {
    it(`${protection.name}: refuses a bad length with the right MAC over the largest packet`, () => {
      const largest = Math.floor((4 + MAX) / protection.block) * protection.block;
      const packet = packetOf(pattern(largest - 5 - 4, 94), 4, 3);
      assert.equal(packet.length, largest);
      thrown('integrity', () => readerFor(openOf(protection), sealed(protection, packet)).next());
      const right = packetOf(pattern(largest - 5 - 4, 94), 4);
      assert.equal(readerFor(openOf(protection), sealed(protection, right)).next()?.length, largest - 9);
    });

    it(`${protection.name}: tells of a wrong MAC when the largest packet would be there, wherever this one ended`, () => {
      const { block, tag } = protection;
      const largest = Math.floor((4 + MAX) / block) * block + tag;
      for (const size of [16, 16 + block, 4000, largest - tag - block, largest - tag]) {
        const packet = sealed(protection, packetOf(pattern(size - 5 - 4, 94), 4));
        packet[packet.length - 1] = (packet[packet.length - 1] as number) ^ 1;
        assert.equal(fateOfHidden(protection, packet, MAX), 'integrity', `${size} bytes`);
      }
    });
  }
});

describe('PacketReader, by the padding,', () => {
  for (const protection of all) {
    const { name } = protection;

    it(`${name}: accepts 4..255 bytes of it`, () => {
      for (let padding = 4; padding <= 255; padding++) {
        const payload = fittingPayload(protection, padding);
        const reader = readerFor(openOf(protection), sealed(protection, packetOf(payload, padding)));
        assert.deepEqual(reader.next(), payload, `${padding} bytes of padding`);
      }
    });

    it(`${name}: refuses less than four bytes, as much as the packet or more, and no payload`, () => {
      // 44 or 48 bytes after packet_length: whole blocks of 8 and of 16, with or without it
      const length = protection.counts ? 44 : 48;
      const lies = [0, 1, 2, 3, length - 1, length, length + 1, 200, 255];
      for (const padding of lies) {
        const packet = packetOf(pattern(length - 5, 94), 4);
        packet[4] = padding;
        const reader = readerFor(openOf(protection), sealed(protection, packet));
        const error = thrown('protocol', () => reader.next());
        assert.match(
          error.message,
          new RegExp(`^Packet of ${length} bytes with ${padding} bytes of padding holds no message$`),
        );
        assert.equal(error.disconnect, 2);
      }
      const packet = packetOf(pattern(length - 5, 94), 4);
      packet[4] = length - 2;
      assert.deepEqual(readerFor(openOf(protection), sealed(protection, packet)).next(), Uint8Array.of(94));
    });
  }
});

describe('PacketReader waits', () => {
  for (const protection of all) {
    it(`${protection.name}: for the last byte of a packet`, () => {
      const packet = sealed(protection, packetOf(fittingPayload(protection, 6), 6));
      for (let length = 0; length < packet.length; length++) {
        assert.equal(readerFor(openOf(protection), packet.subarray(0, length)).next(), undefined, `${length} bytes`);
      }
      assert.deepEqual(readerFor(openOf(protection), packet).next(), fittingPayload(protection, 6));
    });
  }
});

describe('Seals and opens', () => {
  for (const protection of protections) {
    const { name, block, counts, tag } = protection;
    it(`${name}: have the figures of their texts`, () => {
      for (const { blockSize, lengthCounts, tagSize } of [sealOf(protection), openOf(protection)]) {
        assert.deepEqual(
          { blockSize, lengthCounts, tagSize },
          { blockSize: block, lengthCounts: counts, tagSize: tag },
        );
      }
    });
  }
});
