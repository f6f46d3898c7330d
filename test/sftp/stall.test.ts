import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StallGuard } from '../../src/sftp/stall.ts';
import { VirtualClock } from '../support/virtual_clock.ts';

describe('StallGuard', () => {
  it('fires once, the limit after something was last heard', async () => {
    const clock = new VirtualClock();
    let heard = 0;
    const fired: number[] = [];
    const guard = new StallGuard(
      clock,
      1000,
      () => heard,
      () => fired.push(clock.now()),
    );
    guard.start();
    for (let i = 0; i < 5; i++) {
      await clock.pass(700);
      heard = clock.now();
    }
    await clock.pass(5000);
    assert.deepEqual(fired, [4500]);
    assert.equal(clock.timers, 0);
  });

  it('counts from its start where nothing was heard since', async () => {
    const clock = new VirtualClock();
    await clock.pass(10_000);
    let fired = 0;
    const guard = new StallGuard(
      clock,
      1000,
      () => 0,
      () => fired++,
    );
    guard.start();
    await clock.pass(999);
    assert.equal(fired, 0);
    await clock.pass(1);
    assert.equal(fired, 1);
  });

  it('does nothing once stopped, nor without a limit', async () => {
    const clock = new VirtualClock();
    let fired = 0;
    const guard = new StallGuard(
      clock,
      1000,
      () => 0,
      () => fired++,
    );
    guard.start();
    guard.stop();
    for (const limit of [0, Number.POSITIVE_INFINITY])
      new StallGuard(
        clock,
        limit,
        () => 0,
        () => fired++,
      ).start();
    assert.equal(clock.timers, 0);
    await clock.pass(10_000);
    assert.equal(fired, 0);
  });
});
