/**
 * Our client and our server exchange keys anew: by bytes, by packets and at will, started by either side and by both at once,
 * while channels, requests and a login go on. RFC 4253 §9.
 */

import assert from 'node:assert/strict';
import { concat, equalBytes } from '../../src/bytes/bytes.ts';
import { defaultRekeyLimits, type RekeyLimits } from '../../src/core/rekey.ts';
import { drawBelow } from '../support/feed.ts';
import { scenario } from '../support/link.ts';
import { otherSide, Pair, type PairOptions, type Side, sides } from '../support/pair.ts';
import { seededRandom } from '../support/random.ts';
import { patterned } from '../support/scripted_sftp.ts';

const nothing = new Uint8Array(0);

const limitsOf = (changes: Partial<RekeyLimits>) => ({ rekey: { ...defaultRekeyLimits, ...changes } });

/** A pair with a channel of number 0 on both sides, whose keys have to be renewed as `who` says. */
function open(who: readonly Side[], changes: Partial<RekeyLimits>, options: PairOptions): Pair {
  const config = (side: Side) => (who.includes(side) ? limitsOf(changes) : {});
  const pair = new Pair({ ...options, client: config('client'), server: config('server') }).login();
  assert.equal(pair.client.connection.openChannel('session', nothing), 0);
  pair.pump();
  return pair;
}

/** Both sides have ended as many exchanges, in one session; returns how many. */
function exchanges(pair: Pair): number {
  pair.alive();
  const { client, server } = pair;
  assert.equal(server.of('keys').length, client.of('keys').length);
  assert.deepEqual(server.connection.sessionId, client.connection.sessionId);
  return client.of('keys').length;
}

const everybody: readonly (readonly Side[])[] = [['client'], ['server'], ['client', 'server']];

scenario('whoever has sent enough bytes renews the keys, and so does whoever has received enough', (chunking) => {
  for (const who of everybody) {
    for (const order of ['turns', 'crossing'] as const) {
      for (const sender of sides) {
        const pair = open(who, { bytes: 20_000 }, { chunking, order });
        const file = patterned(100_000, sender);
        for (let at = 0; at < file.length; at += 2000) {
          pair.side(sender).connection.write(0, [file.slice(at, at + 2000)]);
          pair.pump();
        }
        const came = concat(...pair.side(otherSide(sender)).channel(0).data);
        assert.ok(equalBytes(came, file));
        // each exchange lets 20 000 bytes pass, and what was under way when it began
        const count = exchanges(pair);
        assert.ok(count >= 5 && count <= 7, `${count} exchanges by ${who.join(' and ')}`);
      }
    }
  }
});

scenario('whoever has seen enough packets renews the keys', (chunking) => {
  for (const who of everybody) {
    for (const order of ['turns', 'crossing'] as const) {
      for (const sender of sides) {
        const pair = open(who, { packets: 20 }, { chunking, order });
        const before = exchanges(pair);
        for (let i = 0; i < 100; i++) {
          pair.side(sender).connection.requestGlobal('hello@example.org', nothing, false);
          pair.pump();
        }
        assert.equal(pair.side(otherSide(sender)).of('global-request').length, 100);
        const count = exchanges(pair) - before;
        // of twenty packets under the same keys some are of the exchange itself
        assert.ok(count >= 4 && count <= 7, `${count} exchanges by ${who.join(' and ')}`);
      }
    }
  }
});

scenario('at will, by either side and by both at once: one exchange each time', (chunking) => {
  for (const order of ['turns', 'crossing'] as const) {
    const pair = open([], {}, { chunking, order });
    let expected = 1;
    for (const who of [...everybody, ...everybody]) {
      for (const side of who) {
        pair.side(side).connection.rekey();
        pair.side(side).connection.rekey();
      }
      pair.pump();
      assert.equal(exchanges(pair), ++expected);
      const { strict } = pair.client.connection;
      assert.ok(strict && pair.server.connection.strict, 'strict key exchange was agreed once, for good');
    }
  }
});

scenario('before the login nobody renews keys, whatever the limits', (chunking) => {
  const pair = new Pair({
    chunking,
    client: limitsOf({ bytes: 1, packets: 1, time: 1000 }),
    server: limitsOf({ bytes: 1, packets: 1, time: 1000 }),
    clientScript: { onCredentials: () => 'later' },
  });
  pair.pump();
  for (const side of sides) pair.side(side).connection.rekey();
  pair.advance(60_000);
  assert.equal(exchanges(pair), 1);
});

scenario('what was asked before and during a key exchange is answered after it, in order', (chunking) => {
  for (const order of ['turns', 'crossing'] as const) {
    for (const who of everybody) {
      const pair = open([], {}, { chunking, order });
      const ids = sides.map((side) => {
        const { connection } = pair.side(side);
        const before = connection.requestGlobal('before@example.org', nothing, true);
        if (who.includes(side)) connection.rekey();
        // these wait behind the gate, together with data and a new channel
        const during = connection.requestGlobal('during@example.org', nothing, true);
        connection.write(0, [patterned(5000, side)]);
        connection.openChannel('session', nothing);
        return [before, during];
      });
      pair.pump();
      assert.equal(exchanges(pair), 2);
      for (const [i, side] of sides.entries()) {
        const here = pair.side(side);
        assert.deepEqual(
          here.of('global-reply').map(({ id }) => id),
          ids[i],
        );
        assert.deepEqual(concat(...here.channel(0).data), patterned(5000, otherSide(side)));
        assert.deepEqual(
          here.of('global-request').map(({ request }) => request),
          ['before@example.org', 'during@example.org'],
        );
      }
      // a client refuses what it has not asked for
      assert.equal(pair.client.of('channel-opened').length, 2);
      assert.equal(pair.server.of('channel-refused').length, 1);
    }
  }
});

scenario('keys change at any moment of mixed traffic, and nothing is lost or doubled', (chunking) => {
  const random = seededRandom('any moment');
  const pair = open(['client', 'server'], { packets: 40, bytes: 30_000 }, { chunking, order: 'crossing' });
  const sent: Record<Side, Uint8Array[]> = { client: [], server: [] };
  for (let i = 0; i < 150; i++) {
    for (const side of sides) {
      const { connection } = pair.side(side);
      const what = drawBelow(random, 8);
      if (what === 0) connection.rekey();
      else if (what === 1) connection.requestGlobal('hello@example.org', nothing, true);
      else {
        const piece = random(1 + drawBelow(random, chunking === 'bytes' ? 300 : 4000));
        sent[side].push(piece);
        connection.write(0, [piece.slice()]);
      }
    }
    if (drawBelow(random, 2) === 0) pair.pump();
  }
  pair.pump();
  assert.ok(exchanges(pair) > 10);
  for (const side of sides) {
    const came = concat(...pair.side(otherSide(side)).channel(0).data);
    assert.ok(equalBytes(came, concat(...sent[side])), side);
    assert.equal(pair.side(side).of('global-reply').length, pair.side(otherSide(side)).of('global-request').length);
  }
});
