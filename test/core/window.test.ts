import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MAX_WINDOW, MIN_ADJUST, ReceiveWindow } from '../../src/core/window.ts';
import { drawBelow } from '../support/feed.ts';
import { seededRandom } from '../support/random.ts';
import { thrown } from './tools.ts';

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
