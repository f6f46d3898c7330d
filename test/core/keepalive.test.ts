import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Keepalive } from '../../src/core/keepalive.ts';
import { thrown } from './tools.ts';

describe('Keepalive', () => {
  it('is due after each interval of silence, `count` times, and then the peer is dead', () => {
    const keepalive = new Keepalive({ interval: 1000, count: 3 });
    assert.equal(keepalive.dueAt(0), 1000);
    const sent: number[] = [];
    let error: unknown;
    for (let now = 0; now <= 10_000 && error === undefined; now += 100) {
      try {
        if (keepalive.due(now)) sent.push(now);
        keepalive.dueAt(now); // the driver looks after every step
      } catch (thrown) {
        error = { at: now, thrown };
      }
    }
    assert.deepEqual(sent, [1000, 2000, 3000]);
    assert.equal((error as { at: number }).at, 4000);
  });

  it('says how long nothing was heard, and that the line is at fault', () => {
    const keepalive = new Keepalive({ interval: 500, count: 1 });
    keepalive.dueAt(0);
    assert.equal(keepalive.due(500), true);
    keepalive.dueAt(500);
    const error = thrown('keepalive-timeout', () => keepalive.due(1000));
    assert.equal(error.message, 'Nothing was heard from the peer for 2 times 500 ms');
    assert.deepEqual([error.fault, error.disconnect], ['network', undefined]);
  });

  it('starts over with every sign of life', () => {
    const keepalive = new Keepalive({ interval: 1000, count: 1 });
    keepalive.dueAt(0);
    assert.equal(keepalive.due(1000), true);
    keepalive.heard();
    assert.equal(keepalive.dueAt(1500), 2500);
    assert.equal(keepalive.due(2000), false);
    assert.equal(keepalive.due(2500), true, 'the count starts over too');
  });

  it('gives up at once with a count of 0', () => {
    const keepalive = new Keepalive({ interval: 1000, count: 0 });
    keepalive.dueAt(0);
    thrown('keepalive-timeout', () => keepalive.due(1000));
  });

  it('never is due when it is off', () => {
    const keepalive = new Keepalive({ interval: Number.POSITIVE_INFINITY, count: 0 });
    assert.equal(keepalive.dueAt(0), Number.POSITIVE_INFINITY);
    assert.equal(keepalive.due(1e15), false);
  });

  it('knows the replies to its own requests, once each', () => {
    const keepalive = new Keepalive({ interval: 1000, count: 3 });
    keepalive.sent(7);
    keepalive.sent(9);
    assert.deepEqual(
      [8, 9, 9, 7].map((id) => keepalive.answered(id)),
      [false, true, false, true],
    );
  });
});
