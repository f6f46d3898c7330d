import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RoundTrip } from '../../src/core/round_trip.ts';

const payload = (): Uint8Array => new Uint8Array(5);

describe('RoundTrip', () => {
  it('runs from when the request leaves, not from when it is queued, to the reply', () => {
    const roundTrip = new RoundTrip();
    const request = payload();
    roundTrip.now = 1000;
    const probe = roundTrip.watch(request);
    roundTrip.now = 1500;
    roundTrip.left(request);
    roundTrip.now = 1620;
    roundTrip.replied(probe);
    assert.deepEqual([roundTrip.smallest, roundTrip.stats], [120, { roundTrip: 120, latestRoundTrip: 120 }]);
  });

  it('keeps the smallest, and the latest', () => {
    const roundTrip = new RoundTrip();
    for (const [leaves, comes] of [
      [0, 100],
      [100, 130],
      [130, 330],
    ] as const) {
      const request = payload();
      const probe = roundTrip.watch(request);
      roundTrip.now = leaves;
      roundTrip.left(request);
      roundTrip.now = comes;
      roundTrip.replied(probe);
    }
    assert.deepEqual(roundTrip.stats, { roundTrip: 30, latestRoundTrip: 200 });
  });

  it('tells requests that are alike, and others that leave between them, apart', () => {
    const roundTrip = new RoundTrip();
    const [one, two] = [payload(), payload()];
    const probes = [roundTrip.watch(one), roundTrip.watch(two)] as const;
    roundTrip.now = 10;
    roundTrip.left(payload());
    roundTrip.left(one);
    roundTrip.now = 50;
    roundTrip.left(two);
    roundTrip.now = 70;
    roundTrip.replied(probes[1]);
    assert.deepEqual(roundTrip.stats, { roundTrip: 20, latestRoundTrip: 20 });
    roundTrip.replied(probes[0]);
    assert.deepEqual(roundTrip.stats, { roundTrip: 20, latestRoundTrip: 60 });
  });

  it('measures nothing where the time was not told, nor where a reply came before its request', () => {
    const roundTrip = new RoundTrip();
    const [one, two, three] = [payload(), payload(), payload()];
    const probes = [roundTrip.watch(one), roundTrip.watch(two), roundTrip.watch(three)] as const;
    roundTrip.left(one);
    roundTrip.now = 10;
    roundTrip.replied(probes[0]);
    roundTrip.left(two);
    roundTrip.now = undefined;
    roundTrip.replied(probes[1]);
    roundTrip.now = 20;
    roundTrip.replied(probes[2]);
    assert.deepEqual([roundTrip.smallest, roundTrip.stats], [undefined, {}]);
  });

  it('goes on where a request never leaves', () => {
    const roundTrip = new RoundTrip();
    const [dropped, sent] = [payload(), payload()];
    const probes = [roundTrip.watch(dropped), roundTrip.watch(sent)] as const;
    roundTrip.now = 0;
    roundTrip.left(sent);
    roundTrip.left(dropped);
    roundTrip.now = 5;
    roundTrip.replied(probes[0]);
    assert.equal(roundTrip.smallest, undefined);
    roundTrip.replied(probes[1]);
    assert.equal(roundTrip.smallest, 5);
  });

  it('counts a reply once', () => {
    const roundTrip = new RoundTrip();
    const request = payload();
    const probe = roundTrip.watch(request);
    roundTrip.now = 0;
    roundTrip.left(request);
    roundTrip.now = 5;
    roundTrip.replied(probe);
    roundTrip.now = 500;
    roundTrip.replied(probe);
    assert.deepEqual(roundTrip.stats, { roundTrip: 5, latestRoundTrip: 5 });
  });

  it('does not keep what has left, nor anything beyond the end', () => {
    const roundTrip = new RoundTrip();
    const [one, two] = [payload(), payload()];
    const probes = [roundTrip.watch(one), roundTrip.watch(two)] as const;
    roundTrip.left(one);
    assert.equal(probes[0].payload, undefined);
    roundTrip.end();
    roundTrip.now = 1;
    roundTrip.left(two);
    roundTrip.replied(probes[1]);
    assert.equal(roundTrip.smallest, undefined);
  });
});
