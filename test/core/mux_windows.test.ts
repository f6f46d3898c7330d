import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { none, opened, Side } from './mux_side.ts';

const KIB = 1024;

/** CHANNEL_DATA for a channel, of so many zeros. */
function dataFor(channel: number, size: number): Uint8Array {
  const payload = new Uint8Array(9 + size);
  payload[0] = 94;
  new DataView(payload.buffer).setUint32(1, channel);
  new DataView(payload.buffer).setUint32(5, size);
  return payload;
}

/** A side at 100 ms with so many channels open, whose windows begin with 64 KiB and may grow to 256 KiB. */
function farSide(channels: number): Side {
  const side = new Side({}, 64 * KIB, 256 * KIB);
  for (let i = 0; i < channels; i++) {
    side.roundTrip.now = 0;
    side.mux.open('session', none);
    for (const payload of side.sent) side.roundTrip.left(payload);
    side.sent = [];
    side.roundTrip.now = 100;
    side.receive(`5b 0000000${i} 0000000${9 - i} 00010000 00008000`);
  }
  side.takeEvents();
  return side;
}

/** Fills a channel's window and takes all of it, 100 ms later than what was before. */
function fill(side: Side, channel: number): void {
  side.roundTrip.now = (side.roundTrip.now ?? 0) + 100;
  const granted = side.mux.channel(channel)?.stats.granted ?? 0;
  for (let at = 0; at < granted; at += 32_768) side.mux.receive(dataFor(channel, Math.min(32_768, granted - at)));
  side.mux.consumed(channel, granted);
}

const window = (side: Side, channel: number): number | undefined => side.mux.channel(channel)?.window;

describe('Mux, with windows that grow,', () => {
  it('measures from CHANNEL_OPEN to its answer, and from requests to theirs', () => {
    const side = farSide(1);
    assert.equal(side.roundTrip.smallest, 100);
    const ask = (send: () => void, answer: string, time: number): void => {
      side.sent = [];
      send();
      for (const payload of side.sent) side.roundTrip.left(payload);
      side.roundTrip.now = (side.roundTrip.now as number) + time;
      side.receive(answer);
    };
    ask(() => side.mux.request(0, 'exec', none, true), '63 00000000', 90);
    assert.equal(side.roundTrip.smallest, 90);
    ask(() => side.mux.globals.request('x', none, true), '52', 80);
    assert.equal(side.roundTrip.smallest, 80);
    ask(() => side.mux.open('session', none), '5c 00000001 00000001 00000000 00000000', 70);
    assert.equal(side.roundTrip.smallest, 70);
    // one that wants no reply says nothing, whatever comes
    ask(() => side.mux.request(0, 'env', none, false), '63 00000000', 1);
    assert.equal(side.roundTrip.smallest, 70);
  });

  it('sends what the window grows by with what it owes, in one WINDOW_ADJUST', () => {
    const side = farSide(1);
    fill(side, 0);
    assert.deepEqual(side.takeSent(), ['5d' + '00000009' + '00020000']);
    fill(side, 0);
    assert.deepEqual(side.takeSent(), ['5d' + '00000009' + '00040000']);
    const { window: size, granted, adjustments, received } = side.mux.channel(0)?.stats ?? assert.fail();
    assert.deepEqual([size, granted, adjustments, received], [256 * KIB, 256 * KIB, 2, 192 * KIB]);
  });

  it('lets channels grow by so much together, and gives back what an ended one had', () => {
    const side = farSide(2);
    for (let i = 0; i < 5; i++) fill(side, 0);
    assert.deepEqual([window(side, 0), window(side, 1)], [256 * KIB, 64 * KIB]);
    for (let i = 0; i < 3; i++) fill(side, 1);
    assert.equal(window(side, 1), 64 * KIB);
    side.mux.close(0);
    assert.equal(window(side, 0), 256 * KIB, 'its number is not free yet, nor its window');
    fill(side, 1);
    assert.equal(window(side, 1), 64 * KIB);
    side.receive('61 00000000');
    for (let i = 0; i < 5; i++) fill(side, 1);
    assert.equal(window(side, 1), 256 * KIB);
  });

  it('gives no credit on a channel that sends no more, and lets it grow no more', () => {
    for (const end of ['60 00000000', undefined]) {
      const side = farSide(1);
      for (const size of [32_000, 32_000]) side.mux.receive(dataFor(0, size));
      side.mux.consumed(0, 1);
      if (end === undefined) side.mux.close(0);
      else side.receive(end);
      side.sent = [];
      side.roundTrip.now = 1000;
      side.mux.consumed(0, 63_999);
      assert.deepEqual([side.takeSent(), window(side, 0)], [[], 64 * KIB]);
    }
  });

  it('asks for a measurement with the first data, once, where nothing was measured', () => {
    const side = new Side({}, 64 * KIB, 256 * KIB);
    side.mux.open('session', none);
    side.receive('5b 00000000 00000009 00010000 00008000');
    side.mux.receive(dataFor(0, 10));
    side.mux.consumed(0, 1);
    assert.equal(side.measured, 0, 'nobody has told the time');
    side.roundTrip.now = 5;
    side.mux.consumed(0, 1);
    side.mux.consumed(0, 1);
    assert.equal(side.measured, 1);
    const known = farSide(1);
    fill(known, 0);
    assert.equal(known.measured, 0);
    const fixed = new Side({}, 64 * KIB);
    fixed.mux.open('session', none);
    fixed.receive('5b 00000000 00000009 00010000 00008000');
    fixed.roundTrip.now = 5;
    fixed.mux.receive(dataFor(0, 10));
    fixed.mux.consumed(0, 10);
    assert.equal(fixed.measured, 0, 'no window may grow');
  });

  it('takes a packet up to the window, whatever was announced as the most in one (T50), and not a byte more', () => {
    const side = opened();
    side.mux.receive(dataFor(0, 32_768 + 28));
    assert.equal(side.events.length, 1);
    assert.throws(() => side.mux.receive(dataFor(0, 32_768 - 27)), { code: 'protocol' });
  });
});

describe("Mux, with the peer's window,", () => {
  it('tells when data waits for it, how often it began to, and the largest that it has been', () => {
    const side = opened('00000064');
    const stats = () => side.mux.channel(0)?.stats ?? assert.fail();
    assert.deepEqual([stats().peerWindow, stats().windowLimited, stats().windowWaits], [100, false, 0]);
    side.mux.write(0, [new Uint8Array(90)], 0);
    side.takeBulk();
    assert.deepEqual([stats().sent, stats().windowLimited, stats().windowWaits], [90, false, 0]);
    side.mux.write(0, [new Uint8Array(90)], 0);
    assert.equal(stats().windowLimited, false, 'ten bytes may still leave');
    side.takeBulk();
    assert.deepEqual([stats().sent, stats().windowLimited, stats().windowWaits], [100, true, 1]);
    side.mux.write(0, [new Uint8Array(5)], 0);
    assert.equal(stats().windowWaits, 1, 'it waits already');
    side.receive('5d 00000000 00000064');
    side.takeBulk();
    assert.deepEqual([stats().sent, stats().windowLimited, stats().windowWaits], [185, false, 1]);
    side.receive('5d 00000000 00000200');
    assert.equal(stats().peerWindow, 15 + 512);
    side.mux.write(0, [new Uint8Array(15 + 512)], 0);
    side.takeBulk();
    assert.equal(stats().windowLimited, false, 'the window is used up, but nothing waits');
    side.mux.write(0, [new Uint8Array(1)], 0);
    assert.deepEqual([stats().windowLimited, stats().windowWaits], [true, 2]);
  });

  for (const maxPacket of [9, 16_384]) {
    it(`sends no packet of more than the ${maxPacket} bytes that it takes, nor beyond its window (T49)`, () => {
      const side = opened('00010000', maxPacket.toString(16).padStart(8, '0'));
      const total = 1024 * KIB;
      side.mux.write(0, [new Uint8Array(total)], 0);
      let granted = 64 * KIB;
      let sent = 0;
      while (sent < total) {
        for (let parts = side.mux.bulk(); parts !== undefined; parts = side.mux.bulk()) {
          const size = parts.reduce((sum, part) => sum + part.length, -9);
          assert.ok(size >= 1 && size <= maxPacket, `a packet with ${size} bytes`);
          sent += size;
        }
        assert.equal(sent, Math.min(total, granted));
        side.receive('5d 00000000 00007001');
        granted += 0x7001;
      }
      assert.equal(side.mux.channel(0)?.stats.sent, total);
    });
  }
});
