/**
 * Channels between our client and our server, opened by either: data both ways at once through small windows while keys change,
 * every order of endings, requests and their replies in order. RFC 4254 §4–6.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat, equalBytes } from '../../src/bytes/bytes.ts';
import { utf8 } from '../../src/bytes/text.ts';
import { defaultRekeyLimits } from '../../src/core/rekey.ts';
import type { CoreSide } from '../support/core_side.ts';
import { drawBelow } from '../support/feed.ts';
import { scenario } from '../support/link.ts';
import { otherSide, Pair, type PairOptions, type Side, sides } from '../support/pair.ts';
import { seededRandom } from '../support/random.ts';
import { patterned } from '../support/scripted_sftp.ts';

const nothing = new Uint8Array(0);

/** A pair on which both grant channels and requests. */
function openPair(options: PairOptions = {}): Pair {
  const { onEvent } = options.clientScript ?? {};
  return new Pair({
    ...options,
    clientScript: {
      ...options.clientScript,
      onEvent(event, side) {
        if (onEvent?.(event, side) === true) return true;
        if (event.type === 'channel-open-request') side.connection.acceptChannel(event.channel);
        else if (event.type === 'channel-request' && event.wantReply)
          side.connection.replyChannelRequest(event.channel, true);
        else return false;
        return true;
      },
    },
  }).login();
}

/** A channel that `side` opened, with its number on both sides. */
function open(pair: Pair, side: Side): Record<Side, number> {
  const near = pair.side(side);
  const far = pair.side(otherSide(side));
  const id = near.connection.openChannel('session', nothing);
  pair.pump();
  assert.equal(near.of('channel-opened').at(-1)?.channel, id);
  const request = far.of('channel-open-request').at(-1);
  assert.equal(request?.kind, 'session');
  const other = request?.channel ?? -1;
  return side === 'client' ? { client: id, server: other } : { client: other, server: id };
}

/** What came on a channel, both kinds. */
function received(side: CoreSide, id: number): { data: Uint8Array; stderr: Uint8Array } {
  const log = side.channel(id);
  return { data: concat(...log.data), stderr: concat(...log.stderr) };
}

scenario('both send at once through small windows while both renew keys every 64 KiB', (chunking) => {
  const total = chunking === 'bytes' ? 140_000 : 500_000;
  const random = seededRandom('traffic both ways');
  for (const [order, window, maxPacket] of [
    ['crossing', 5000, 1000],
    ['turns', 3000, 3000],
    ['crossing', 100_000, 32_768],
  ] as const) {
    const rekey = { ...defaultRekeyLimits, bytes: 64 * 1024 };
    const config = { rekey, window, maxPacket };
    const pair = openPair({ chunking, order, client: config, server: config });
    const channels = [open(pair, 'client'), open(pair, 'server')];
    const sent = sides.map(() => channels.map(() => ({ data: [] as Uint8Array[], stderr: [] as Uint8Array[] })));
    for (let size = 0; size < total; ) {
      for (const [i, side] of sides.entries()) {
        for (const [j, ids] of channels.entries()) {
          const piece = random(1 + drawBelow(random, total / 20));
          const kind = drawBelow(random, 4) === 0 ? 1 : 0;
          pair.side(side).connection.write(ids[side], [piece.slice()], kind);
          const log = sent[i]?.[j];
          (kind === 0 ? log?.data : log?.stderr)?.push(piece);
          size += piece.length;
        }
      }
      if (drawBelow(random, 3) > 0) pair.pump();
    }
    pair.pump();
    pair.alive();
    for (const [i, side] of sides.entries()) {
      for (const [j, ids] of channels.entries()) {
        const far = otherSide(side);
        const came = received(pair.side(far), ids[far]);
        for (const kind of ['data', 'stderr'] as const) {
          assert.ok(equalBytes(came[kind], concat(...(sent[i]?.[j]?.[kind] ?? []))), `${kind} from ${side}`);
        }
      }
    }
    const { length } = pair.client.of('keys');
    // the bytes of one direction count, and each direction carries about half
    assert.ok(length > total / 2 / (64 * 1024), `${length} key exchanges`);
    assert.equal(pair.server.of('keys').length, length);
  }
});

scenario('a receiver that gives nothing back stops the sender at its window, and starts it again', (chunking) => {
  const config = { window: 4096, maxPacket: 1024 };
  const pair = openPair({
    chunking,
    client: config,
    server: config,
    clientScript: { consume: false },
    serverScript: { consume: false },
  });
  const ids = open(pair, 'client');
  for (const side of sides) pair.side(side).connection.write(ids[side], [patterned(10_000, side)]);
  pair.pump();
  for (const side of sides) assert.equal(pair.side(side).channel(ids[side]).bytes, 4096);
  for (let round = 1; round <= 8; round++) {
    for (const side of sides) pair.side(side).connection.consumed(ids[side], 1024);
    pair.pump();
    const expected = Math.min(10_000, 4096 + round * 1024);
    for (const side of sides) assert.equal(pair.side(side).channel(ids[side]).bytes, expected);
  }
  for (const side of sides) {
    assert.deepEqual(received(pair.side(side), ids[side]).data, patterned(10_000, otherSide(side)));
  }
});

// How a side ends a channel. After `ending` the channel must be over, whatever the other side does.
const endings: Readonly<Record<string, (side: CoreSide, id: number) => void>> = {
  close: ({ connection }, id) => connection.closeChannel(id),
  'EOF, CLOSE': ({ connection }, id) => {
    connection.endChannel(id);
    connection.closeChannel(id);
  },
  'EOF, later CLOSE': ({ connection }, id) => connection.endChannel(id),
  'EOF, CLOSE at once': ({ connection }, id) => {
    connection.endChannel(id);
    connection.closeChannel(id, true);
  },
  'EOF, exit-status, CLOSE': ({ connection }, id) =>
    connection.finishChannel(id, 'exit-status', Uint8Array.of(0, 0, 0, 3)),
  nothing: () => {},
};

/** Endings that send what is queued before them. */
const sendsAll = (ending: string): boolean => !['close', 'EOF, CLOSE at once'].includes(ending);
/** Endings after which a side still takes what comes: our CLOSE ends both directions. */
const hearsAll = (ending: string): boolean => ['nothing', 'EOF, later CLOSE'].includes(ending);

describe('endings', () => {
  for (const [first, endFirst] of Object.entries(endings)) {
    it(`${first}, against every way of the other side, in turns and at once, with data on the way`, () => {
      for (const [second, endSecond] of Object.entries(endings)) {
        if (first === 'nothing' && second === 'nothing') continue;
        for (const order of ['turns', 'crossing'] as const) {
          for (const opener of sides) {
            for (const together of [false, true]) {
              const [near, far] = [opener, otherSide(opener)];
              const window = { window: 3000, maxPacket: 1000 };
              const pair = openPair({ order, client: window, server: window });
              const ids = open(pair, opener);
              for (const side of sides) pair.side(side).connection.write(ids[side], [patterned(10_000, side)]);
              endFirst(pair.side(near), ids[near]);
              pair.side(near).settle();
              if (!together) pair.pump();
              endSecond(pair.side(far), ids[far]);
              pair.side(far).settle();
              pair.pump();
              // what is still open after that is closed at last
              for (const side of sides) pair.side(side).connection.closeChannel(ids[side]);
              pair.pump();
              checkEnding(pair, ids, { [near]: first, [far]: second } as Record<Side, string>);
            }
          }
        }
      }
    });
  }
});

function checkEnding(pair: Pair, ids: Record<Side, number>, ending: Record<Side, string>): void {
  const about = `client: ${ending.client}; server: ${ending.server}`;
  pair.alive();
  for (const side of sides) {
    const { events, connection } = pair.side(side);
    assert.equal(pair.side(side).only('channel-closed').channel, ids[side], about);
    assert.equal(events.at(-1)?.type, 'channel-closed', about);
    const came = received(pair.side(side), ids[side]).data;
    const whole = patterned(10_000, otherSide(side));
    assert.ok(
      equalBytes(came, whole.subarray(0, came.length)),
      `${about}: what came is the beginning of what was sent`,
    );
    const other = ending[otherSide(side)];
    const isWhole = sendsAll(other) && hearsAll(ending[side]);
    if (isWhole) assert.equal(came.length, whole.length, about);
    const eof = pair.side(side).of('channel-eof');
    assert.ok(eof.length <= 1, about);
    if (eof.length === 1) assert.equal(came.length, whole.length, `${about}: EOF comes after everything`);
    const ended = pair.side(side).of('channel-request');
    if (isWhole && other.includes('exit-status')) {
      assert.deepEqual(
        ended.map(({ request, body, wantReply }) => ({ request, body, wantReply })),
        [{ request: 'exit-status', body: Uint8Array.of(0, 0, 0, 3), wantReply: false }],
        about,
      );
    } else assert.ok(ended.length <= 1, about);
    // the number is free again
    assert.equal(connection.openChannel('session', nothing), 0, about);
  }
}

scenario('requests both ways at once are answered each in its order', (chunking) => {
  const asked: Record<Side, string[]> = { client: [], server: [] };
  const script = (name: Side) => ({
    onEvent(event: CoreSide['events'][number], side: CoreSide): boolean {
      if (event.type !== 'channel-request') return false;
      asked[name].push(`${event.request} ${event.wantReply}`);
      if (event.wantReply) side.connection.replyChannelRequest(event.channel, event.body[0] === 1);
      return true;
    },
  });
  const pair = openPair({
    chunking,
    order: 'crossing',
    clientScript: script('client'),
    serverScript: script('server'),
  });
  const channels = [open(pair, 'client'), open(pair, 'server')];
  const random = seededRandom('which requests are granted');
  const expected: Record<Side, { channel: number; id: number; ok: boolean }[]> = { client: [], server: [] };
  const sent: Record<Side, string[]> = { client: [], server: [] };
  for (let i = 0; i < 40; i++) {
    for (const side of sides) {
      const ids = channels[drawBelow(random, 2)] as Record<Side, number>;
      const ok = drawBelow(random, 2) === 1;
      const wantReply = drawBelow(random, 4) > 0;
      const name = `request-${i}@example.org`;
      const { connection } = pair.side(side);
      const id = connection.requestChannel(ids[side], name, Uint8Array.of(ok ? 1 : 0), wantReply);
      sent[otherSide(side)].push(`${name} ${wantReply}`);
      if (wantReply) expected[side].push({ channel: ids[side], id, ok });
    }
    if (drawBelow(random, 3) === 0) pair.pump();
  }
  pair.pump();
  pair.alive();
  assert.deepEqual(asked, sent);
  for (const side of sides) {
    const replies = pair.side(side).of('channel-reply');
    assert.deepEqual(
      replies.map(({ channel, id, ok }) => ({ channel, id, ok })),
      expected[side],
    );
  }
});

scenario('replies that are given later still belong to the requests in order', (chunking) => {
  const pair = openPair({ chunking, serverScript: { onEvent: ({ type }) => type === 'channel-request' } });
  const ids = open(pair, 'client');
  const { client, server } = pair;
  const requests = ['a', 'b', 'c'].map((name) => client.connection.requestChannel(ids.client, name, nothing, true));
  pair.pump();
  assert.equal(server.of('channel-request').length, 3);
  assert.ok(!client.has('channel-reply'));
  for (const ok of [true, false, true]) {
    server.connection.replyChannelRequest(ids.server, ok);
    pair.pump();
  }
  assert.deepEqual(
    client.of('channel-reply').map(({ id, ok }) => [id, ok]),
    requests.map((id, i) => [id, i !== 1]),
  );
});

scenario('global requests both ways at once are answered in order, with what there is to say', (chunking) => {
  const script = {
    onEvent(event: CoreSide['events'][number], side: CoreSide): boolean {
      if (event.type !== 'global-request') return false;
      if (event.wantReply) side.connection.replyGlobalRequest(event.body.length > 0, concat(utf8('re: '), event.body));
      return true;
    },
  };
  const pair = openPair({ chunking, order: 'crossing', clientScript: script, serverScript: script });
  const texts = ['first', '', 'third', '', 'fifth'];
  const expected = sides.map((side) =>
    texts.map((text, i) => {
      const { connection } = pair.side(side);
      connection.requestGlobal('unanswered@example.org', utf8('x'), false);
      const id = connection.requestGlobal(`request-${i}@example.org`, utf8(text), true);
      return { id, ok: text !== '', body: text === '' ? nothing : utf8(`re: ${text}`) };
    }),
  );
  pair.pump();
  pair.alive();
  for (const [i, side] of sides.entries()) {
    const replies = pair.side(side).of('global-reply');
    assert.deepEqual(
      replies.map(({ id, ok, body }) => ({ id, ok, body: body.slice() })),
      expected[i],
    );
    assert.equal(pair.side(side).of('global-request').length, 2 * texts.length);
  }
});

scenario('either side may refuse a channel, with its reason, and its number is free again', (chunking) => {
  const script = {
    onEvent(event: CoreSide['events'][number], side: CoreSide): boolean {
      if (event.type !== 'channel-open-request' || event.kind !== 'x11') return false;
      side.connection.refuseChannel(event.channel, 3, `no ${event.kind} of ${event.body.length} bytes`);
      return true;
    },
  };
  const pair = openPair({ chunking, clientScript: script, serverScript: script });
  for (const [i, side] of sides.entries()) {
    const { connection } = pair.side(side);
    assert.equal(connection.openChannel('x11', new Uint8Array(5)), i);
    pair.pump();
    const { error, channel } = pair.side(side).only('channel-refused');
    assert.equal(channel, i);
    assert.match(error.message, /\(3, unknownChannelType\): no x11 of 5 bytes/);
    assert.deepEqual(open(pair, side), { client: i, server: i });
  }
});

scenario('channels that both open at the same moment do not mix', (chunking) => {
  const pair = openPair({ chunking, order: 'crossing' });
  for (let i = 0; i < 5; i++) for (const side of sides) pair.side(side).connection.openChannel(`of-${side}`, nothing);
  pair.pump();
  for (const side of sides) {
    const requests = pair.side(side).of('channel-open-request');
    assert.deepEqual(new Set(requests.map(({ kind }) => kind)), new Set([`of-${otherSide(side)}`]));
    const numbers = [...requests, ...pair.side(side).of('channel-opened')].map(({ channel }) => channel);
    assert.deepEqual(numbers.sort(), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  }
  for (let id = 0; id < 10; id++) {
    for (const side of sides) pair.side(side).connection.write(id, [utf8(`${side} ${id}`)]);
  }
  pair.pump();
  for (const side of sides) {
    const texts = Array.from({ length: 10 }, (_, id) => new TextDecoder().decode(received(pair.side(side), id).data));
    assert.deepEqual(
      texts.map((text) => text.split(' ')[0]),
      texts.map(() => otherSide(side)),
    );
    assert.equal(new Set(texts).size, 10);
  }
});
