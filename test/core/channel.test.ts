import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat, uint32At } from '../../src/bytes/bytes.ts';
import { hex } from '../../src/bytes/text.ts';
import { Channel, QUEUE_MARK, QUEUE_PIECES } from '../../src/core/channel.ts';
import { drawBelow } from '../support/feed.ts';
import { seededRandom } from '../support/random.ts';
import { pattern, thrown } from './tools.ts';

const REMOTE = 0x01020304;

function openChannel(window: number, maxPacket: number): Channel {
  const channel = new Channel(0, { at: 'opening' }, 65536, 10_000);
  channel.confirm(REMOTE, window, maxPacket);
  return channel;
}

interface Data {
  readonly kind: number;
  readonly data: Uint8Array;
}

/** The next packet, its header checked against RFC 4254 §5.2. */
function next(channel: Channel): Data | undefined {
  const parts = channel.nextData();
  if (parts === undefined) return undefined;
  const payload = concat(...parts);
  assert.ok(payload[0] === 94 || payload[0] === 95, 'CHANNEL_DATA or CHANNEL_EXTENDED_DATA');
  const start = payload[0] === 94 ? 9 : 13;
  assert.equal(uint32At(payload, 1), REMOTE);
  assert.equal(uint32At(payload, start - 4), payload.length - start, 'the length that it states');
  return { kind: payload[0] === 94 ? 0 : uint32At(payload, 5), data: payload.slice(start) };
}

function all(channel: Channel): Data[] {
  const found: Data[] = [];
  for (let data = next(channel); data !== undefined; data = next(channel)) found.push(data);
  return found;
}

const lengths = (found: readonly Data[]): number[] => found.map(({ data }) => data.length);

describe('Channel.nextData', () => {
  it('writes RFC 4254 §5.2', () => {
    const channel = openChannel(100, 100);
    channel.queue([Uint8Array.of(7, 8)], 0);
    assert.equal(hex(concat(...(channel.nextData() ?? []))), '5e01020304000000020708');
    channel.queue([Uint8Array.of(9)], 1);
    assert.equal(hex(concat(...(channel.nextData() ?? []))), '5f01020304000000010000000109');
  });

  it('sends nothing that is not queued, and no empty packet', () => {
    const channel = openChannel(100, 100);
    assert.equal(channel.nextData(), undefined);
    channel.queue([], 0);
    channel.queue([new Uint8Array(0), new Uint8Array(0)], 0);
    assert.deepEqual([channel.queued, channel.sendable, channel.nextData()], [0, false, undefined]);
  });

  for (const max of [1, 9, 1000, 16384, 32768]) {
    it(`fills packets of ${max} bytes and no more, and loses nothing`, () => {
      const size = Math.min(1_048_576, max * 700) + 5;
      const channel = openChannel(0xffffffff, max);
      const bytes = pattern(size, 3, 31);
      channel.queue([bytes.subarray(0, 10), bytes.subarray(10, 11), bytes.subarray(11)], 0);
      const found = all(channel);
      const full = Math.floor(size / max);
      assert.deepEqual(lengths(found), [
        ...Array.from({ length: full }, () => max),
        ...(size % max ? [size % max] : []),
      ]);
      assert.deepEqual(concat(...found.map(({ data }) => data)), bytes);
      assert.equal(channel.queued, 0);
    });
  }

  for (const max of [32769, 0xffffffff]) {
    it(`never sends more than 32768 bytes at once, whatever the peer says it takes (${max})`, () => {
      const channel = openChannel(0xffffffff, max);
      channel.queue([pattern(100_000)], 0);
      assert.deepEqual(lengths(all(channel)), [32768, 32768, 32768, 1696]);
    });
  }

  it('takes a maximum packet of 0 for 1', () => {
    const channel = openChannel(100, 0);
    channel.queue([pattern(3)], 0);
    assert.deepEqual(lengths(all(channel)), [1, 1, 1]);
  });

  it('joins small pieces into one packet', () => {
    const channel = openChannel(1_000_000, 32768);
    for (let i = 0; i < 1000; i++) channel.queue([pattern(100, i)], 0);
    const found = all(channel);
    assert.deepEqual(lengths(found), [32768, 32768, 32768, 1696]);
    assert.deepEqual(
      concat(...found.map(({ data }) => data)),
      concat(...Array.from({ length: 1000 }, (_, i) => pattern(100, i))),
    );
  });

  it('does not copy the bytes that it was given', () => {
    const channel = openChannel(1_000_000, 32768);
    const piece = pattern(1000);
    channel.queue([piece], 0);
    const [, part] = channel.nextData() ?? [];
    assert.equal(part?.buffer, piece.buffer);
  });

  it('keeps the order of both kinds, each packet of one', () => {
    const channel = openChannel(1_000_000, 32768);
    channel.queue([Uint8Array.of(1), Uint8Array.of(2)], 0);
    channel.queue([Uint8Array.of(3)], 1);
    channel.queue([Uint8Array.of(4)], 1);
    channel.queue([Uint8Array.of(5)], 0);
    assert.deepEqual(
      all(channel).map(({ kind, data }) => [kind, hex(data)]),
      [
        [0, '0102'],
        [1, '0304'],
        [0, '05'],
      ],
    );
  });

  it('keeps within the window, and goes on as it is raised', () => {
    const channel = openChannel(10, 32768);
    channel.queue([pattern(100)], 0);
    assert.deepEqual(lengths(all(channel)), [10]);
    assert.deepEqual([channel.sendable, channel.queued], [false, 90]);
    channel.adjust(1);
    assert.equal(channel.sendable, true);
    assert.deepEqual(lengths(all(channel)), [1]);
    channel.adjust(0);
    assert.equal(channel.sendable, false);
    channel.adjust(1000);
    assert.deepEqual(lengths(all(channel)), [89]);
    channel.queue([pattern(1000)], 1);
    assert.deepEqual(lengths(all(channel)), [911], 'extended data counts too');
  });

  it('sends nothing into a window that opens at 0', () => {
    const channel = openChannel(0, 32768);
    channel.queue([pattern(100)], 0);
    assert.equal(channel.nextData(), undefined);
    channel.adjust(50);
    assert.deepEqual(lengths(all(channel)), [50]);
  });

  it('sends nothing before the channel is confirmed', () => {
    const channel = new Channel(0, { at: 'opening' }, 65536, 10_000);
    channel.queue([pattern(5)], 0);
    assert.equal(channel.nextData(), undefined);
    channel.confirm(REMOTE, 100, 100);
    assert.deepEqual(lengths(all(channel)), [5]);
  });

  it('with random pieces, kinds and windows gives every byte once, in order, within every bound', () => {
    const random = seededRandom('channel');
    for (const max of [1, 9, 777, 32768]) {
      const channel = openChannel(0, max);
      const given: number[] = [];
      const got: number[] = [];
      let window = 0;
      for (let step = 0; step < 2000; step++) {
        const kind = drawBelow(random, 4) === 0 ? 1 : 0;
        const piece = pattern(drawBelow(random, max * 2 + 2), drawBelow(random, 256), 3);
        channel.queue([piece], kind);
        for (const byte of piece) given.push(kind * 256 + byte);
        const grant = drawBelow(random, max * 3);
        channel.adjust(grant);
        window += grant;
        for (const { kind: found, data } of drawBelow(random, 2) === 0 ? all(channel) : []) {
          assert.ok(data.length > 0 && data.length <= max && data.length <= window);
          window -= data.length;
          for (const byte of data) got.push(found * 256 + byte);
        }
        if (given.length > 200_000) break;
      }
      channel.adjust(given.length - got.length);
      for (const { kind: found, data } of all(channel)) for (const byte of data) got.push(found * 256 + byte);
      assert.ok(got.length === given.length && got.every((each, i) => each === given[i]), `maximum packet ${max}`);
    }
  });

  it('lets go of what was sent although the queue never runs empty', () => {
    const channel = openChannel(0xffffffff, 1);
    for (let i = 0; i < 5000; i++) channel.queue([Uint8Array.of(i)], 0);
    const got: number[] = [];
    for (let i = 0; i < 20_000; i++) {
      channel.queue([Uint8Array.of(5000 + i)], 0);
      got.push(...(next(channel)?.data ?? []));
    }
    assert.deepEqual(
      got,
      Array.from({ length: 20_000 }, (_, i) => i & 0xff),
    );
  });
});

describe('Channel.adjust', () => {
  it('takes the window up to 2^32 - 1 and refuses one byte more (RFC 4254 §5.2)', () => {
    const channel = openChannel(0xfffffffe, 32768);
    channel.adjust(1);
    const error = thrown('protocol', () => channel.adjust(1));
    assert.equal(error.message, 'WINDOW_ADJUST of 1 bytes raises a channel window past 2^32-1');
    thrown('protocol', () => openChannel(1, 1).adjust(0xffffffff));
  });

  it('counts from what is left', () => {
    const channel = openChannel(0xffffffff, 32768);
    channel.queue([pattern(1000)], 0);
    all(channel);
    channel.adjust(1000);
    thrown('protocol', () => channel.adjust(1));
  });
});

describe('Channel.queue', () => {
  for (const [window, mark] of [
    [1, 65_536],
    [100_000, 200_000],
    [600_000, QUEUE_MARK],
  ] as const) {
    it(`asks for patience from ${mark} bytes on where the peer's window is ${window}`, () => {
      const channel = openChannel(window, 32768);
      assert.equal(channel.queue([pattern(mark - 1)], 0), true);
      assert.equal(channel.queue([pattern(1)], 0), false);
      channel.adjust(Math.max(0, mark / 2 - window));
      all(channel);
      assert.equal(channel.hasDrained(), true);
    });
  }

  it('asks for patience from a mebibyte on, and says once when half of it is gone', () => {
    assert.equal(QUEUE_MARK, 1_048_576);
    const channel = openChannel(0xffffffff, 32768);
    assert.equal(channel.queue([pattern(QUEUE_MARK - 1)], 0), true);
    assert.equal(channel.hasDrained(), false);
    assert.equal(channel.queue([pattern(1)], 0), false);
    assert.equal(channel.queue([], 0), false, 'still full');
    let sent = 0;
    let drainedAt = -1;
    for (let data = next(channel); data !== undefined; data = next(channel)) {
      sent += data.data.length;
      if (!channel.hasDrained()) continue;
      assert.equal(drainedAt, -1, 'only once');
      drainedAt = sent;
    }
    assert.equal(drainedAt, 524_288);
    assert.equal(channel.queue([pattern(10)], 0), true);
    all(channel);
    assert.equal(channel.hasDrained(), false, 'nobody waits');
  });

  it('asks for patience from so many pieces on, however short, and says once when half of them are gone', () => {
    assert.equal(QUEUE_PIECES, 8192);
    const channel = openChannel(0xffffffff, 1000);
    for (let i = 1; i < 8192; i++) assert.equal(channel.queue([Uint8Array.of(i)], 0), true);
    assert.equal(channel.queue([Uint8Array.of(0)], 0), false);
    const drained: number[] = [];
    let sent = 0;
    for (let data = next(channel); data !== undefined; data = next(channel)) {
      sent += data.data.length;
      if (channel.hasDrained()) drained.push(sent);
    }
    assert.deepEqual(drained, [5000], 'with the first packet that leaves no more than 4096');
    assert.equal(sent, 8192);
    assert.equal(channel.queue([Uint8Array.of(1)], 0), true);
  });

  it('is emptied by dropQueue, and goes on from there', () => {
    const channel = openChannel(100, 10);
    channel.queue([pattern(55)], 0);
    next(channel);
    channel.dropQueue();
    assert.deepEqual([channel.queued, channel.sendable, channel.nextData()], [0, false, undefined]);
    channel.queue([Uint8Array.of(1, 2)], 0);
    assert.deepEqual(all(channel), [{ kind: 0, data: Uint8Array.of(1, 2) }]);
  });
});
