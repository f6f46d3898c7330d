import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MAX_WINDOW, MIN_ADJUST, ReceiveWindow } from '../../src/core/window.ts';
import { drawBelow } from '../support/feed.ts';
import { seededRandom } from '../support/random.ts';
import { thrown } from './tools.ts';
import { type LineRun, runLine } from './window_line.ts';

const DEFAULT = 2 * 1024 * 1024;

describe('ReceiveWindow', () => {
  it('has the limits of RFC 4254 §5.2 and of the design', () => {
    assert.deepEqual([MAX_WINDOW, MIN_ADJUST], [4294967295, 1024]);
  });

  it('takes exactly what was granted', () => {
    const window = new ReceiveWindow(5000);
    window.received(4999);
    window.received(1);
    window.received(0);
    const error = thrown('protocol', () => window.received(1));
    assert.equal(error.message, 'The peer sent 1 bytes into a channel window of 0');
    assert.deepEqual([error.fault, error.disconnect], ['peer', 2]);
  });

  it('refuses one byte too many at once', () => {
    const window = new ReceiveWindow(5000);
    assert.equal(
      thrown('protocol', () => window.received(5001)).message,
      'The peer sent 5001 bytes into a channel window of 5000',
    );
  });

  it('gives no credit for what arrived and was not consumed', () => {
    const window = new ReceiveWindow(DEFAULT);
    for (let i = 0; i < 64; i++) window.received(32768);
    thrown('protocol', () => window.received(1));
  });

  it('gives credit in steps of a sixteenth', () => {
    const window = new ReceiveWindow(DEFAULT);
    window.received(DEFAULT);
    const adjustments: number[] = [];
    for (let i = 0; i < 64; i++) {
      const adjust = window.consumed(32768);
      if (adjust !== 0) adjustments.push(adjust);
    }
    assert.deepEqual(
      adjustments,
      Array.from({ length: 16 }, () => 131072),
    );
    window.received(DEFAULT);
    thrown('protocol', () => window.received(1));
  });

  it('never gives less than 1024 bytes of credit', () => {
    const window = new ReceiveWindow(4096);
    window.received(4096);
    assert.deepEqual(
      [1000, 23, 1, 5000].map((count) => window.consumed(count)),
      [0, 0, 1024, 5000],
    );
  });

  it('smaller than an adjustment still gives all of it back, or the channel would stop for ever', () => {
    for (const size of [1, 100, 1023, 1024, 1025]) {
      const window = new ReceiveWindow(size);
      for (let round = 0; round < 3; round++) {
        window.received(size);
        assert.equal(window.consumed(size), size, `a window of ${size}`);
      }
    }
  });

  for (const size of [1024, 5000, 32768, 65536, 1_000_003, DEFAULT]) {
    it(`of ${size} bytes: what is granted and unused, under way and kept together never exceeds it`, () => {
      const random = seededRandom(`window ${size}`);
      const window = new ReceiveWindow(size);
      let granted = size; // what the peer may still send
      let kept = 0; // received, not consumed
      let owed = 0; // consumed, not granted again
      for (let i = 0; i < 20_000; i++) {
        if (drawBelow(random, 2) === 0) {
          const count = Math.min(granted, drawBelow(random, 40_000));
          window.received(count);
          granted -= count;
          kept += count;
        } else {
          const count = Math.min(kept, drawBelow(random, 40_000));
          kept -= count;
          owed += count;
          const adjust = window.consumed(count);
          assert.ok(adjust === 0 || (adjust >= 1024 && adjust === owed), `an adjustment of ${adjust} for ${owed}`);
          owed -= adjust;
          granted += adjust;
          assert.ok(owed < Math.max(1024, size / 16), 'no more than a step is kept back');
        }
        assert.equal(granted + kept + owed, size);
      }
      window.received(granted);
      thrown('protocol', () => window.received(1));
    });
  }

  it('never lets a sender run dry that keeps half of it on the way, while the consumer keeps up', () => {
    const window = new ReceiveWindow(DEFAULT);
    const flying: number[] = []; // packets on the way to us
    const returning: { readonly due: number; readonly bytes: number }[] = []; // adjustments on the way back
    let free = DEFAULT;
    let least = free;
    // a packet leaves and one arrives each step; 30 packets (983 040 bytes) are in flight, adjustments need 1 step
    for (let step = 0; step < 10_000; step++) {
      while (returning[0] !== undefined && returning[0].due <= step) free += returning.shift()?.bytes ?? 0;
      assert.ok(free >= 32768, `the sender may not send at step ${step}`);
      free -= 32768;
      least = Math.min(least, free);
      flying.push(32768);
      if (flying.length <= 30) continue;
      const count = flying.shift() ?? 0;
      window.received(count);
      const bytes = window.consumed(count);
      if (bytes > 0) returning.push({ due: step + 30, bytes });
    }
    // 60 packets of delay and one step of 131 072 bytes are all that is ever missing
    assert.ok(least >= DEFAULT - 61 * 32768 - 131072, `${least} bytes were left`);
  });
});

const MIB = 1024 * 1024;
const MAX = 64 * MIB;

/** The window's size at each time. */
const at = (run: LineRun, times: readonly number[]): number[] => times.map((time) => run.sizes[time] as number);

describe('ReceiveWindow, growing,', () => {
  it('doubles every round trip of 100 ms until it is at its limit', () => {
    const run = runLine({ roundTrip: 100, window: DEFAULT, maxWindow: MAX }, 1500);
    // the first window comes after 50 ms
    assert.deepEqual(
      at(run, [49, 50, 150, 250, 350, 450]),
      [2, 4, 8, 16, 32, 64].map((mib) => mib * MIB),
    );
    assert.equal(run.window.size, MAX);
  });

  for (const line of [20_000, 100_000, 250_000]) {
    it(`stops at twice what a line of ${line / 1000} MB/s brings in a round trip, and fills the line`, () => {
      const run = runLine({ roundTrip: 100, line, window: DEFAULT, maxWindow: MAX }, 4000);
      const once = line * 100;
      assert.ok(run.window.size >= 1.9 * once && run.window.size <= 2.2 * once, `${run.window.size} for ${once}`);
      assert.deepEqual(at(run, [2500]), [run.window.size], 'it has long stopped');
      assert.ok(run.consumed > 0.8 * 4000 * line, `${run.consumed} bytes came`);
    });
  }

  it('does not grow where the line is short: a millisecond at 1 GB/s', () => {
    const run = runLine({ roundTrip: 2, measured: 0.9, line: 1_000_000, window: DEFAULT, maxWindow: MAX }, 3000);
    assert.equal(run.window.size, DEFAULT);
  });

  it('does not take what is consumed at one stroke for a rate', () => {
    // all that came in 8 ms is taken within 2, as when a disk has written it
    const consumer = (time: number): number => (time % 8 === 0 ? 500_000 : time % 8 === 1 ? 1e9 : 0);
    const run = runLine({ roundTrip: 2, measured: 1, line: 250_000, consumer, window: DEFAULT, maxWindow: MAX }, 3000);
    assert.equal(run.window.size, DEFAULT);
  });

  it('does not grow when the sender has little to send', () => {
    const run = runLine({ roundTrip: 100, sender: () => 5000, window: DEFAULT, maxWindow: MAX }, 3000);
    assert.equal(run.window.size, DEFAULT);
  });

  it('grows for what comes after a silence as if nothing had been before', () => {
    const sender = (time: number): number => (time < 5000 ? (time % 1000 === 0 ? 500 : 0) : 1e9);
    const run = runLine({ roundTrip: 100, sender, window: DEFAULT, maxWindow: MAX }, 6000);
    assert.deepEqual(at(run, [5040]), [DEFAULT]);
    assert.equal(run.window.size, MAX);
  });

  it('stops for a consumer that lags, whatever the line could bring', () => {
    // 1 MB/s (T67), 10 MB/s, and one that needs 5 MB in flight: the window stays well below twice that
    for (const [consumer, most] of [
      [1000, DEFAULT],
      [10_000, DEFAULT],
      [50_000, 8_400_000],
    ] as const) {
      const run = runLine({ roundTrip: 100, consumer, window: DEFAULT, maxWindow: MAX }, 10_000);
      assert.ok(run.window.size <= most, `${run.window.size} for a consumer of ${consumer} bytes a millisecond`);
      assert.ok(run.mostHeld <= run.window.size);
      // and takes nothing from it: once the window is there, the consumer never waits
      assert.ok(run.consumed > 0.93 * consumer * 9900, `${run.consumed} of ${consumer * 9900}`);
    }
  });

  it('goes on growing when a consumer that stood still keeps up again', () => {
    const consumer = (time: number): number => (time < 2000 ? 1000 : 1e9);
    const run = runLine({ roundTrip: 100, consumer, window: DEFAULT, maxWindow: MAX }, 4000);
    assert.deepEqual(at(run, [1999]), [DEFAULT]);
    assert.equal(run.window.size, MAX);
  });

  it('does not grow without room, nor without a round trip, nor without the time', () => {
    const fixed = runLine({ roundTrip: 100, window: DEFAULT, maxWindow: DEFAULT }, 2000);
    assert.equal(fixed.window.size, DEFAULT);
    const unmeasured = runLine({ roundTrip: 100, measured: undefined, window: DEFAULT, maxWindow: MAX }, 2000);
    assert.equal(unmeasured.window.size, DEFAULT);
    const timeless = new ReceiveWindow(DEFAULT);
    for (let i = 0; i < 1000; i++) {
      timeless.received(DEFAULT);
      timeless.consumed(DEFAULT, undefined, 100, MAX);
    }
    assert.equal(timeless.size, DEFAULT);
  });

  it('gives the new credit at once, with all that it owes, in no smaller steps than other credit', () => {
    const window = new ReceiveWindow(DEFAULT);
    window.received(1_500_000);
    assert.equal(window.consumed(5, 0, 100, MAX), 0);
    assert.equal(window.consumed(999_995, 50, 100, MAX), 1_000_000, 'a million a round trip needs two, and has them');
    assert.equal(window.consumed(95_000, 99, 100, MAX), 0, 'it needs 92 848 more: less than a step');
    assert.equal(window.consumed(55_000, 99, 100, MAX), 150_000 + 2_300_000 - DEFAULT);
    // the first five bytes are older than a round trip now
    assert.equal(window.consumed(350_000, 120, 100, MAX), 350_000 + 2 * 1_499_995 - 2_300_000);
    assert.deepEqual(
      [window.size, window.granted, window.adjustments, window.total],
      [2_999_990, 2_999_990, 3, 1_500_000],
    );
  });

  it('at most doubles in a round, however much comes', () => {
    const window = new ReceiveWindow(DEFAULT);
    const sizes: number[] = [];
    for (let now = 0; now < 300; now += 20) {
      window.received(window.granted);
      window.consumed(window.size, now, 100, MAX);
      sizes.push(window.size / DEFAULT);
    }
    assert.deepEqual(sizes, [2, 2, 2, 2, 2, 4, 4, 4, 4, 4, 8, 8, 8, 8, 8]);
  });

  it('waits with growing until no more than a quarter of it waits for the consumer', () => {
    const window = new ReceiveWindow(DEFAULT);
    window.received(DEFAULT);
    window.consumed((DEFAULT * 3) / 4 - 1, 0, 100, MAX);
    assert.equal(window.size, DEFAULT);
    window.consumed(1, 1, 100, MAX);
    assert.equal(window.size, (DEFAULT * 3) / 2);
  });

  it('grows by no more than there is room, and by nothing that is no adjustment', () => {
    const grown = (room: number): number => {
      const window = new ReceiveWindow(DEFAULT);
      window.received(DEFAULT);
      window.consumed(1, 0, 100, room);
      window.consumed(DEFAULT - 1, 100, 100, room);
      return window.size - DEFAULT;
    };
    assert.deepEqual([0, 1023, 1024, 777_777, MAX].map(grown), [0, 0, 1024, 777_777, DEFAULT - 2]);
  });

  it('is exact at any size, with any times: nothing is granted twice, nothing is lost', () => {
    const random = seededRandom('growing window');
    for (let run = 0; run < 40; run++) {
      const first = 1024 + drawBelow(random, 200_000);
      const most = first + drawBelow(random, 2_000_000);
      const roundTrip = drawBelow(random, 200);
      const window = new ReceiveWindow(first);
      let [granted, kept, owed, now] = [first, 0, 0, 0];
      for (let i = 0; i < 2000; i++) {
        now += drawBelow(random, 8);
        const before = window.size;
        if (drawBelow(random, 2) === 0) {
          const count = Math.min(granted, drawBelow(random, 40_000));
          window.received(count);
          granted -= count;
          kept += count;
        } else {
          const count = Math.min(kept, drawBelow(random, 40_000));
          kept -= count;
          owed += count;
          const adjust = window.consumed(count, now, roundTrip, most - window.size);
          const growth = window.size - before;
          assert.ok(growth >= 0 && window.size <= most, 'it never shrinks, nor passes its limit');
          assert.ok(window.size <= 2 * before);
          assert.ok(adjust === 0 ? growth === 0 : adjust >= 1024 && adjust === owed + growth);
          if (adjust > 0) owed = 0;
          granted += adjust;
        }
        assert.equal(granted + kept + owed, window.size);
        assert.equal(window.granted, granted);
      }
      window.received(granted);
      thrown('protocol', () => window.received(1));
    }
  });
});
