/**
 * Our client and our server in virtual time: every wait for the other side ends, at its limit and not before, and a connection
 * that is only quiet lives on. Nothing here looks at a real clock.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AuthAttempt } from '../../src/core/events.ts';
import { defaultLimits } from '../../src/core/limits.ts';
import type { SshError } from '../../src/errors.ts';
import { type Break, otherSide, Pair, type PairOptions, type Side, sides } from '../support/pair.ts';
import { patterned } from '../support/scripted_sftp.ts';

const nothing = new Uint8Array(0);
const HOUR = 3_600_000;

/** What `side` ends with, exactly after `milliseconds` from now, and not before. */
function endsAfter(pair: Pair, side: Side, milliseconds: number, code: SshError['code']): SshError {
  pair.advance(milliseconds - 1);
  assert.ok(!pair.side(side).connection.closed, `the ${side} must not end before its limit`);
  pair.advance(1);
  return pair.side(side).failed(code);
}

describe('waits for the other side', () => {
  const limits: Record<Side, typeof defaultLimits> = {
    client: { ...defaultLimits, identificationTime: 20_000, keyExchangeTime: 50_000, authTime: 90_000 },
    server: { ...defaultLimits, identificationTime: 25_000, keyExchangeTime: 55_000, loginTime: 100_000 },
  };
  const silent = (from: Side, packets: number, options: PairOptions = {}): Pair => {
    const breaks: Break = { from, packets, how: 'silence' };
    const pair = new Pair({ client: { limits: limits.client }, server: { limits: limits.server }, breaks, ...options });
    pair.pump();
    assert.ok(pair.broken);
    return pair;
  };

  for (const side of sides) {
    it(`the ${side} waits for an identification as long as it may`, () => {
      const error = endsAfter(silent('client', 0), side, limits[side].identificationTime, 'timeout');
      assert.match(error.message, new RegExp(`identification came within ${limits[side].identificationTime} ms`));
    });

    it(`the ${side} waits for each step of the first key exchange as long as it may`, () => {
      // at the client's end a person may be asked about the host key, so a server gives it the time of the login
      const [limit, says] =
        side === 'client'
          ? ([limits.client.keyExchangeTime, /The key exchange did not end within 50000 ms/] as const)
          : ([limits.server.loginTime, /Nobody logged in within 100000 ms/] as const);
      // from the peer's identification and KEXINIT to the last packet before its NEWKEYS
      for (const packets of [1, 2]) {
        const error = endsAfter(silent(otherSide(side), packets), side, limit, 'timeout');
        assert.match(error.message, says);
      }
    });
  }

  it('the client waits for each answer to its login as long as it may, and a person is not timed', () => {
    const clientScript = { onCredentials: () => 'later' as const };
    const serverScript = { onLogin: () => 'later' as const };
    // the server's patience would end first
    const server = { limits: { ...defaultLimits, loginTime: Number.POSITIVE_INFINITY } };
    const pair = new Pair({ client: { limits: limits.client }, clientScript, server, serverScript });
    const { client } = pair;
    pair.advance(24 * HOUR);
    pair.alive();
    const open = client.questions.shift();
    client.connection.answer(open?.id ?? -1, { method: 'password', password: 'x' } satisfies AuthAttempt);
    client.settle();
    pair.pump();
    endsAfter(pair, 'client', limits.client.authTime, 'timeout');
    // the server is still deciding: its input is held, but not the end of it
    pair.server.failed('connection-lost');
  });

  it('the server gives a login its time, from the start, whatever the client does meanwhile', () => {
    const pair = new Pair({
      client: { limits: limits.client },
      clientScript: { onCredentials: () => 'later' },
      server: { limits: { ...limits.server, authFailures: 1000 } },
      serverScript: { onLogin: () => ({ verdict: 'refuse' }) },
    });
    pair.pump();
    for (let i = 0; i < 9; i++) {
      pair.advance(10_000);
      const open = pair.client.questions.shift();
      pair.client.connection.answer(open?.id ?? -1, { method: 'password', password: `${i}` });
      pair.client.settle();
    }
    assert.match(endsAfter(pair, 'server', 10_000, 'timeout').message, /Nobody logged in within 100000 ms/);
    assert.match(pair.client.failed('disconnected').message, /11, byApplication/);
  });

  it('a login in time is not ended after it', () => {
    const pair = new Pair({ server: { limits: limits.server } }).login();
    pair.advance(24 * HOUR);
    pair.alive();
  });

  for (const side of sides) {
    it(`the ${side} waits for a later key exchange as long as it may, whoever started it`, () => {
      for (const starter of sides) {
        const pair = new Pair({ client: { limits: limits.client }, server: { limits: limits.server } }).login();
        pair.side(starter).connection.rekey();
        // KEXINIT arrives, and nothing after it
        pair.silenceAfter(starter, 1);
        endsAfter(pair, side, limits[side].keyExchangeTime, 'timeout');
      }
    });

    it(`the ${side} waits for the answer to its CLOSE as long as it may, and then lets go of the channel alone`, () => {
      const config = { limits: { ...defaultLimits, channelCloseTime: 7000 } };
      const pair = new Pair({ client: config, server: config }).login();
      const id = pair.client.connection.openChannel('session', nothing);
      pair.pump();
      pair.silenceAfter(otherSide(side), 0);
      pair.side(side).connection.closeChannel(id);
      pair.advance(6999);
      assert.ok(!pair.side(side).has('channel-closed'));
      pair.advance(1);
      assert.equal(pair.side(side).only('channel-closed').channel, id);
      pair.side(side).alive();
      // its number stays reserved, in case the answer comes after all
      assert.equal(pair.side(side).connection.openChannel('session', nothing), id + 1);
    });
  }

  it('data that finds no window holds a CLOSE up for its time, and an exit status for ever', () => {
    const config = { window: 4096, maxPacket: 1024, limits: { ...defaultLimits, channelCloseTime: 7000 } };
    const pair = new Pair({ client: config, server: config, clientScript: { consume: false } }).login();
    const { client, server } = pair;
    for (let i = 0; i < 2; i++) client.connection.openChannel('session', nothing);
    pair.pump();
    for (const id of [0, 1]) server.connection.write(id, [patterned(10_000)]);
    server.connection.endChannel(0);
    server.connection.closeChannel(0);
    server.connection.finishChannel(1, 'exit-status', Uint8Array.of(0, 0, 0, 9));
    pair.advance(6999);
    assert.ok(!client.has('channel-closed'));
    pair.advance(1);
    assert.equal(client.only('channel-closed').channel, 0);
    assert.ok(!client.has('channel-eof'));
    pair.advance(24 * HOUR);
    pair.alive();
    assert.ok(!client.has('channel-request'));
    for (let i = 0; i < 10; i++) {
      client.connection.consumed(1, 1024);
      pair.pump();
    }
    assert.equal(client.only('channel-request').request, 'exit-status');
    assert.equal(client.channel(1).bytes, 10_000);
    assert.deepEqual(
      client.of('channel-closed').map(({ channel }) => channel),
      [0, 1],
    );
  });
});

describe('keepalive', () => {
  const keepalive = { interval: 30_000, count: 3 };

  for (const who of [['client'], ['server'], ['client', 'server']] as const) {
    const config = (side: Side) => ((who as readonly Side[]).includes(side) ? { keepalive } : {});
    const open = (): Pair => new Pair({ client: config('client'), server: config('server') }).login();

    it(`of ${who.join(' and ')}: a connection that is only quiet lives on`, () => {
      const pair = open();
      pair.advance(10 * HOUR);
      pair.alive();
      let asked = 0;
      for (const side of sides) {
        const requests = pair.side(side).of('global-request');
        assert.ok(requests.every(({ request, wantReply }) => request === 'keepalive@openssh.com' && wantReply));
        asked += requests.length;
        assert.ok(!pair.side(side).has('global-reply'), 'nobody above sees the replies');
      }
      // once each half minute; a key exchange each hour puts the next question off
      const most = (10 * HOUR) / keepalive.interval;
      assert.ok(asked >= most - 10 && asked <= most * who.length, `${asked} questions`);
    });

    it(`of ${who.join(' and ')}: a line that carries nothing any more is noticed`, () => {
      const pair = open();
      pair.advance(HOUR + 1);
      pair.silenceAfter('client', 0);
      pair.advance(4 * keepalive.interval);
      for (const side of who) pair.side(side).failed('keepalive-timeout');
      for (const side of sides) {
        if (!(who as readonly Side[]).includes(side)) pair.side(side).alive();
      }
    });
  }

  it('counts from what was heard last, whatever it was', () => {
    const pair = new Pair({ client: { keepalive } }).login();
    for (let i = 0; i < 20; i++) {
      pair.advance(29_000);
      pair.server.connection.requestGlobal('hello@example.org', nothing, false);
      pair.pump();
    }
    assert.ok(!pair.server.has('global-request'), 'no keepalive was due');
    pair.silenceAfter('client', 0);
    endsAfter(pair, 'client', 4 * keepalive.interval, 'keepalive-timeout');
  });
});

describe('time between key exchanges', () => {
  for (const [name, client, server] of [
    ['of the client', HOUR, Number.POSITIVE_INFINITY],
    ['of the server', Number.POSITIVE_INFINITY, HOUR],
    ['of both at the same moment', HOUR, HOUR],
    ['of both, the server first', HOUR, HOUR / 2],
  ] as const) {
    it(`${name}: keys are renewed when it is over, once`, () => {
      const rekey = (time: number) => ({ rekey: { bytes: 2 ** 30, packets: 2 ** 31, time } });
      for (const order of ['turns', 'crossing'] as const) {
        const pair = new Pair({ order, client: rekey(client), server: rekey(server) }).login();
        const session = pair.client.connection.sessionId;
        const step = Math.min(client, server);
        for (let i = 1; i <= 5; i++) {
          pair.advance(step - 1);
          for (const side of sides) assert.equal(pair.side(side).of('keys').length, i);
          pair.advance(1);
          for (const side of sides) assert.equal(pair.side(side).of('keys').length, i + 1);
        }
        pair.alive();
        for (const side of sides) assert.deepEqual(pair.side(side).connection.sessionId, session);
      }
    });
  }
});
