import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Timer } from '../../src/core/timer.ts';

describe('Timer', () => {
  it('is off until it is started', () => {
    const timer = new Timer(100);
    assert.deepEqual([timer.running, timer.dueAt(5), timer.expired(1e9)], [false, undefined, false]);
  });

  it('runs from the first look at it, and does not move with later ones', () => {
    const timer = new Timer(100);
    timer.start();
    assert.equal(timer.running, true);
    assert.deepEqual([timer.dueAt(1000), timer.dueAt(1050), timer.dueAt(2000)], [1100, 1100, 1100]);
  });

  it('ends at its time, not before, and stays ended', () => {
    const timer = new Timer(100);
    timer.start();
    assert.deepEqual(
      [1000, 1099, 1100, 1101].map((now) => timer.expired(now)),
      [false, false, true, true],
    );
  });

  it('starts anew, from the next look', () => {
    const timer = new Timer(100);
    timer.start();
    assert.equal(timer.expired(1000), false);
    timer.start();
    assert.equal(timer.expired(5000), false);
    assert.equal(timer.dueAt(5001), 5100);
  });

  it('stops', () => {
    const timer = new Timer(100);
    timer.start();
    timer.dueAt(1000);
    timer.stop();
    assert.deepEqual([timer.running, timer.dueAt(1050), timer.expired(9999)], [false, undefined, false]);
  });

  it('with an infinite duration never ends', () => {
    const timer = new Timer(Number.POSITIVE_INFINITY);
    timer.start();
    assert.deepEqual([timer.dueAt(0), timer.expired(Number.MAX_VALUE)], [undefined, false]);
  });

  it('of no duration has ended at once', () => {
    const timer = new Timer(0);
    timer.start();
    assert.equal(timer.expired(7), true);
  });
});
