/** Rates from bytes and times. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SftpClient } from '../../src/sftp/client.ts';
import type { Progress } from '../../src/sftp/options.ts';
import { perSecond, RateMeter } from '../../src/sftp/rate.ts';
import { patterned, ScriptedSftp } from '../support/scripted_sftp.ts';
import { VirtualClock } from '../support/virtual_clock.ts';

describe('perSecond', () => {
  it('is bytes a second, and 0 where no time has passed', () => {
    assert.equal(perSecond(1000, 500), 2000);
    assert.equal(perSecond(1000, 0), 0);
    assert.equal(perSecond(0, 10), 0);
  });
});

describe('RateMeter.rate', () => {
  it('is that since the start, at first', () => {
    const meter = new RateMeter(1000);
    assert.equal(meter.rate(0, 1000), 0);
    assert.equal(meter.rate(100, 1100), 1000);
    assert.equal(meter.rate(300, 1400), 750);
  });

  it('is that of the last half to whole second, later', () => {
    const meter = new RateMeter(0);
    for (let at = 100; at <= 2000; at += 100) meter.rate(at * 10, at);
    assert.equal(meter.rate(20_000, 2000), 10_000);
    // nothing comes any more
    const rates = [2400, 2500, 2900, 3000, 3500].map((at) => meter.rate(20_000, at));
    assert.ok((rates[0] as number) < 10_000 && (rates[0] as number) > 0);
    assert.equal(rates.at(-1), 0);
  });

  it('follows a change within a second', () => {
    const meter = new RateMeter(0);
    for (let at = 100; at <= 3000; at += 100) meter.rate(at, at);
    let rate = 0;
    for (let at = 100; at <= 1100; at += 100) rate = meter.rate(3000 + 10 * at, 3000 + at);
    assert.ok(rate > 9000, `${rate}`);
  });
});

describe('onProgress and the result of a transfer', () => {
  it('tell rates by the clock of the client', async () => {
    const clock = new VirtualClock();
    const server = new ScriptedSftp({ order: (waiting) => (waiting > 1 ? waiting - 1 : 0) }).add(
      '/f',
      patterned(400_000),
    );
    const client = await SftpClient.open(server, { clock });
    const seen: Progress[] = [];
    const reading = client.readFile('/f', { requests: 2, onProgress: (progress) => seen.push(progress) });
    while (seen.length === 0) await clock.pass(10);
    await clock.pass(1000);
    await reading;
    assert.ok(seen.every(({ rate, bytes }) => rate >= 0 && Number.isFinite(rate) && bytes <= 400_000));

    const putting = client.put(patterned(100_000), '/g');
    await clock.pass(500);
    const stats = await putting;
    assert.equal(stats.lanes, 1);
    assert.equal(stats.rate, perSecond(stats.bytes, stats.seconds * 1000));
    assert.equal('roundTrip' in stats, false, 'a pipe that cannot tell');
    await client.close();
  });
});
