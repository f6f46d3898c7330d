import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RoundTrip } from '../../src/core/round_trip.ts';
import { ReceiveWindow } from '../../src/core/window.ts';
import { WindowGrowth } from '../../src/core/window_growth.ts';

const KIB = 1024;

/** A connection at 100 ms, whose channels begin with 64 KiB and may grow to 256 KiB. */
function growth(roundTripTime: number | 'unmeasured' = 100) {
  const roundTrip = new RoundTrip();
  if (roundTripTime !== 'unmeasured') measure(roundTrip, roundTripTime);
  let measured = 0;
  const pool = new WindowGrowth({ window: 64 * KIB, maxWindow: 256 * KIB }, roundTrip, () => void measured++);
  return {
    pool,
    roundTrip,
    get measured() {
      return measured;
    },
    /** Fills windows and takes all again, every 100 ms. */
    fill(rounds: number, ...windows: ReceiveWindow[]): void {
      for (let i = 0; i < rounds; i++) {
        roundTrip.now = (roundTrip.now ?? 0) + 100;
        for (const window of windows) {
          window.received(window.granted);
          pool.consumed(window, window.size);
        }
      }
    },
  };
}

function measure(roundTrip: RoundTrip, time: number): void {
  const request = new Uint8Array(1);
  const probe = roundTrip.watch(request);
  roundTrip.now ??= 0;
  roundTrip.left(request);
  roundTrip.now += time;
  roundTrip.replied(probe);
}

describe('WindowGrowth', () => {
  it('lets one channel grow to the limit', () => {
    const { pool, fill } = growth();
    const window = new ReceiveWindow(64 * KIB);
    fill(10, window);
    assert.equal(window.size, 256 * KIB);
    pool.ended(window);
  });

  it('lets all together grow by no more than one may, whatever their order', () => {
    const line = growth();
    const windows = Array.from({ length: 5 }, () => new ReceiveWindow(64 * KIB));
    line.fill(10, ...windows);
    const sizes = windows.map((window) => window.size);
    assert.equal(
      sizes.reduce((sum, size) => sum + size - 64 * KIB, 0),
      192 * KIB,
      String(sizes),
    );
  });

  it('gives the others what an ended channel had grown by, and no more', () => {
    const line = growth();
    const [one, two, three] = [0, 1, 2].map(() => new ReceiveWindow(64 * KIB)) as [
      ReceiveWindow,
      ReceiveWindow,
      ReceiveWindow,
    ];
    line.fill(10, one);
    line.fill(10, two);
    assert.deepEqual([one.size, two.size], [256 * KIB, 64 * KIB]);
    line.pool.ended(one);
    line.fill(1, two);
    assert.equal(two.size, 128 * KIB);
    line.fill(10, three);
    assert.equal(three.size, 192 * KIB);
    line.pool.ended(two);
    line.pool.ended(three);
    const last = new ReceiveWindow(64 * KIB);
    line.fill(10, last);
    assert.equal(last.size, 256 * KIB);
  });

  it('has the round trip measured once, with the first data, where nothing was', () => {
    const line = growth('unmeasured');
    const window = new ReceiveWindow(64 * KIB);
    line.fill(3, window);
    assert.deepEqual([line.measured, window.size], [1, 64 * KIB]);
    measure(line.roundTrip, 100);
    line.fill(10, window);
    assert.deepEqual([line.measured, window.size], [1, 256 * KIB]);
    const known = growth();
    known.fill(3, new ReceiveWindow(64 * KIB));
    assert.equal(known.measured, 0);
  });

  it('has nothing measured without the time, nor where no window may grow', () => {
    let measured = 0;
    const roundTrip = new RoundTrip();
    const window = new ReceiveWindow(64 * KIB);
    window.received(3);
    new WindowGrowth({ window: 64 * KIB, maxWindow: 128 * KIB }, roundTrip, () => void measured++).consumed(window, 1);
    roundTrip.now = 5;
    new WindowGrowth({ window: 64 * KIB, maxWindow: 64 * KIB }, roundTrip, () => void measured++).consumed(window, 1);
    assert.equal(measured, 0);
  });
});
