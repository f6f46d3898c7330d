import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat, equalBytes } from '../../src/bytes/bytes.ts';
import { fromHex, hex, utf8 } from '../../src/bytes/text.ts';
import { drawBelow } from '../support/feed.ts';
import { seededRandom } from '../support/random.ts';
import { data, none, opened, Side } from './mux_side.ts';
import { pattern, thrown } from './tools.ts';

describe('Mux, opening a channel,', () => {
  it('writes CHANNEL_OPEN as RFC 4254 §5.1 has it', () => {
    const side = new Side();
    assert.equal(side.mux.open('session', fromHex('aabb')), 0);
    assert.deepEqual(side.takeSent(), [`5a00000007${hex(utf8('session'))}000000000001000000008000aabb`]);
  });

  it('tells that it is open, and then sends to the number that the peer gave', () => {
    const side = new Side();
    side.mux.open('session', none);
    side.takeSent();
    side.receive('5b 00000000 00000009 00010000 00008000 ffff');
    assert.deepEqual(side.takeEvents(), [{ type: 'channel-opened', channel: 0 }]);
    side.mux.write(0, [fromHex('0102')], 0);
    assert.deepEqual(side.takeBulk(), ['5e00000009000000020102']);
  });

  it('gives the lowest free number', () => {
    const side = new Side();
    assert.deepEqual(
      [0, 1, 2].map(() => side.mux.open('x', none)),
      [0, 1, 2],
    );
    side.receive('5c 00000001 00000001 00000000 00000000');
    assert.deepEqual([side.mux.open('x', none), side.mux.open('x', none)], [1, 3]);
  });

  it('tells that it was refused, with the reason, sanitised', () => {
    const side = new Side();
    side.mux.open('session', none);
    side.receive(`5c 00000000 00000001 00000005 ${hex(utf8('no\x1b!!'))} 00000000`);
    const [event] = side.takeEvents();
    assert.ok(event?.type === 'channel-refused' && event.channel === 0);
    assert.deepEqual([event.error.code, event.error.fault], ['channel-open-failed', 'peer']);
    assert.match(event.error.message, /^The peer refused the channel \(1, administrativelyProhibited\): no\\x1b!!; /);
  });

  it('names reasons that RFC 4254 §5.1 does not know', () => {
    const side = new Side();
    side.mux.open('session', none);
    side.receive('5c 00000000 fe000001 00000000 00000000');
    const [event] = side.takeEvents();
    assert.ok(event?.type === 'channel-refused');
    assert.match(event.error.message, /\(4261412865, unknown reason\)/);
  });

  it('takes one answer, for a channel that waits for one', () => {
    const confirmation = '5b 00000000 00000009 00010000 00008000';
    const failure = '5c 00000000 00000001 00000000 00000000';
    for (const answer of [confirmation, failure]) {
      assert.match(
        thrown('protocol', () => opened().receive(answer)).message,
        /for channel 0, which is not being opened$/,
      );
      assert.match(
        thrown('protocol', () => new Side().receive(answer)).message,
        /for channel 0, which is not being opened$/,
      );
      const refused = new Side();
      refused.mux.open('x', none);
      refused.receive(failure);
      thrown('protocol', () => refused.receive(answer));
    }
  });

  it('opens no more than the limit, and says what to do', () => {
    const side = new Side({ channels: 3 });
    for (let i = 0; i < 3; i++) side.mux.open('x', none);
    const error = thrown('limit', () => side.mux.open('x', none));
    assert.deepEqual([error.message, error.fault], ['3 channels are in use: close one first', 'local']);
  });
});

describe('Mux, asked for a channel,', () => {
  const request = `5a 00000007 ${hex(utf8('session'))} 00000009 00000005 00000003 aabb`;

  function asked(): Side {
    const side = new Side();
    side.receive(request);
    return side;
  }

  it('asks in turn, and confirms with its own figures', () => {
    const side = asked();
    assert.deepEqual(side.takeEvents(), [
      { type: 'channel-open-request', channel: 0, kind: 'session', body: fromHex('aabb') },
    ]);
    assert.deepEqual(side.takeSent(), []);
    side.mux.accept(0);
    assert.deepEqual(side.takeSent(), ['5b00000009000000000001000000008000']);
    side.mux.accept(0);
    side.mux.refuse(0, 1, '');
    assert.deepEqual(side.takeSent(), [], 'once');
    side.mux.write(0, [pattern(10)], 0);
    assert.deepEqual(side.takeBulk(), [
      `5e0000000900000003${hex(pattern(3))}`,
      `5e0000000900000002${hex(pattern(10).slice(3, 5))}`,
    ]);
  });

  it('refuses with the reason that it is given, and its number is free', () => {
    const side = asked();
    side.mux.refuse(0, 3, 'what?');
    assert.deepEqual(side.takeSent(), [`5c000000090000000300000005${hex(utf8('what?'))}00000000`]);
    side.mux.refuse(0, 3, 'what?');
    side.mux.accept(0);
    assert.deepEqual(side.takeSent(), []);
    assert.equal(side.mux.open('x', none), 0);
  });

  it('takes nothing on it before it is accepted', () => {
    for (const message of [data('00'), '5d 00000000 00000001', '60 00000000', '61 00000000', '63 00000000']) {
      thrown('protocol', () => asked().receive(message));
    }
  });

  it('sends nothing on it before it is accepted', () => {
    const side = asked();
    side.mux.write(0, [pattern(3)], 0);
    side.mux.end(0);
    side.mux.close(0);
    side.mux.request(0, 'x', none, true);
    side.mux.reply(0, true);
    side.mux.consumed(0, 100_000);
    assert.deepEqual([side.takeSent(), side.takeBulk()], [[], []]);
  });

  it('refuses by itself when there are too many, without an event', () => {
    const side = new Side({ channels: 1 });
    side.mux.open('x', none);
    side.takeSent();
    side.receive(request);
    assert.deepEqual(side.takeEvents(), []);
    assert.deepEqual(side.takeSent(), [`5c000000090000000400000011${hex(utf8('too many channels'))}00000000`]);
  });
});

describe('Mux, receiving data,', () => {
  it('hands it on as a view, with its kind', () => {
    const side = opened();
    const payload = fromHex(data('010203'));
    side.mux.receive(payload);
    side.receive('5f 00000000 00000001 00000002 0405');
    const events = side.takeEvents();
    assert.deepEqual(events, [
      { type: 'channel-data', channel: 0, kind: 0, data: fromHex('010203'), exclusive: false },
      { type: 'channel-data', channel: 0, kind: 1, data: fromHex('0405'), exclusive: false },
    ]);
    assert.ok(events[0]?.type === 'channel-data' && events[0].data.buffer === payload.buffer);
  });

  it('makes no event of empty data', () => {
    const side = opened();
    side.receive(data(''));
    assert.deepEqual(side.takeEvents(), []);
  });

  it('refuses more than the window, over both kinds together', () => {
    const side = opened();
    side.mux.receive(concat(fromHex('5e 00000000 00008000'), new Uint8Array(0x8000)));
    side.mux.receive(concat(fromHex('5f 00000000 00000001 00008000'), new Uint8Array(0x8000)));
    const error = thrown('protocol', () => side.receive(data('00')));
    assert.equal(error.message, 'The peer sent 1 bytes into a channel window of 0');
  });

  it('takes a packet above our maximum that fits the window', () => {
    const side = opened();
    side.mux.receive(concat(fromHex('5e 00000000 0000801c'), new Uint8Array(0x801c)));
    assert.equal(side.takeEvents().length, 1);
  });

  it('gives credit back as it is consumed', () => {
    const side = opened();
    side.mux.receive(concat(fromHex('5e 00000000 00002000'), new Uint8Array(0x2000)));
    side.mux.consumed(0, 4095);
    assert.deepEqual(side.takeSent(), []);
    side.mux.consumed(0, 1);
    assert.deepEqual(side.takeSent(), ['5d0000000900001000']);
    side.mux.consumed(7, 10_000);
    assert.deepEqual(side.takeSent(), []);
  });

  it('gives no credit to a peer that will send no more', () => {
    for (const end of ['60 00000000', undefined]) {
      const side = opened();
      side.mux.receive(concat(fromHex('5e 00000000 00002000'), new Uint8Array(0x2000)));
      if (end === undefined) side.mux.close(0);
      else side.receive(end);
      side.takeSent();
      side.mux.consumed(0, 0x2000);
      assert.deepEqual(side.takeSent(), []);
    }
  });

  it('refuses data after EOF, and lengths that lie', () => {
    const side = opened();
    side.receive('60 00000000');
    assert.equal(thrown('protocol', () => side.receive(data('00'))).message, 'Data for channel 0 after its EOF');
    for (const lie of [
      '5e 00000000 00000002 00',
      '5e 00000000 00000000 00',
      '5e 00000000',
      '5f 00000000 00000001 00000002 00',
    ]) {
      thrown('decode', () => opened().receive(lie));
    }
  });
});

describe('Mux, sending data,', () => {
  it('serves channels in turn', () => {
    const side = new Side();
    for (const id of [0, 1, 2]) {
      side.mux.open('x', none);
      side.receive(`5b 0000000${id} 0000000${id} 00010000 00000002`);
    }
    side.mux.write(0, [fromHex('a0a1a2a3a4')], 0);
    side.mux.write(1, [fromHex('b0')], 0);
    side.mux.write(2, [fromHex('c0c1c2')], 0);
    const order = side.takeBulk().map((packet) => packet.slice(18));
    assert.deepEqual(order, ['a0a1', 'b0', 'c0c1', 'a2a3', 'c2', 'a4']);
  });

  it('passes over a channel without window and comes back to it', () => {
    const side = opened('00000002');
    side.mux.write(0, [fromHex('01020304')], 0);
    assert.deepEqual(side.takeBulk(), ['5e00000009000000020102']);
    side.receive('5d 00000000 00000001');
    assert.deepEqual(side.takeBulk(), ['5e000000090000000103']);
    side.receive('5d 00000000 00000005');
    assert.deepEqual(side.takeBulk(), ['5e000000090000000104']);
  });

  it('says when to wait and when to go on', () => {
    const side = opened('7fffffff');
    assert.equal(side.mux.write(0, [new Uint8Array(1_048_575)], 0), true);
    assert.equal(side.mux.write(0, [new Uint8Array(1)], 0), false);
    let packets = 0;
    while (side.events.length === 0) {
      side.mux.bulk();
      packets++;
    }
    assert.deepEqual([side.takeEvents(), packets], [[{ type: 'channel-drain', channel: 0 }], 16]);
    side.takeBulk();
    assert.deepEqual(side.takeEvents(), []);
  });

  it('takes writes to a channel that is gone, and forgets them', () => {
    const side = opened();
    side.mux.end(0);
    assert.equal(side.mux.write(0, [new Uint8Array(2_000_000)], 0), true);
    assert.equal(side.mux.write(5, [new Uint8Array(2_000_000)], 0), true);
    assert.deepEqual(side.takeBulk(), []);
  });
});

describe('Two muxes', () => {
  it('carry every byte once and in order, whatever is written and consumed when', () => {
    const random = seededRandom('two muxes');
    const [a, b] = [new Side({}, 8000), new Side({}, 8000)];
    const written = new Map<string, Uint8Array[]>();
    const arrived = new Map<string, Uint8Array[]>();
    const kept: { readonly side: Side; readonly channel: number; readonly count: number }[] = [];
    const log = (map: Map<string, Uint8Array[]>, key: string, bytes: Uint8Array): void => {
      map.set(key, [...(map.get(key) ?? []), bytes]);
    };
    const move = (from: Side, to: Side, name: string, most: number): void => {
      for (let i = 0; i < most; i++) {
        const parts = from.mux.bulk();
        if (parts === undefined) break;
        from.sent.push(concat(...parts));
      }
      for (const payload of from.sent.splice(0)) to.mux.receive(payload);
      for (const event of to.takeEvents()) {
        if (event.type === 'channel-open-request') to.mux.accept(event.channel);
        if (event.type !== 'channel-data') continue;
        log(arrived, `${name} ${event.channel} ${event.kind}`, event.data);
        kept.push({ side: to, channel: event.channel, count: event.data.length });
      }
    };
    const step = (most: number): void => {
      move(a, b, 'a', most);
      move(b, a, 'b', most);
    };
    for (let i = 0; i < 3; i++) a.mux.open('x', none);
    step(0);
    for (let i = 0; i < 1000; i++) {
      const [side, name] = drawBelow(random, 2) === 0 ? [a, 'a'] : [b, 'b'];
      const [channel, kind] = [drawBelow(random, 3), drawBelow(random, 2)];
      const piece = pattern(drawBelow(random, 2000), i, 3);
      side.mux.write(channel, [piece], kind);
      log(written, `${name} ${channel} ${kind}`, piece);
      step(drawBelow(random, 4));
      const most = drawBelow(random, 40);
      for (const each of kept.splice(0, kept.length - most)) each.side.mux.consumed(each.channel, each.count);
    }
    for (let quiet = 0; quiet < 3; quiet = kept.length === 0 ? quiet + 1 : 0) {
      for (const { side, channel, count } of kept.splice(0)) side.mux.consumed(channel, count);
      step(100);
    }
    assert.equal(written.size, 12, 'both kinds on three channels, both ways');
    for (const [key, pieces] of written) {
      assert.ok(equalBytes(concat(...(arrived.get(key) ?? [])), concat(...pieces)), key);
    }
  });

  it('close a channel from both sides at once, and both are told once', () => {
    const [a, b] = [new Side(), new Side()];
    a.mux.open('x', none);
    for (const payload of a.sent.splice(0)) b.mux.receive(payload);
    b.mux.accept(0);
    for (const payload of b.sent.splice(0)) a.mux.receive(payload);
    a.takeEvents();
    b.takeEvents();
    a.mux.close(0);
    b.mux.close(0);
    const [fromA, fromB] = [a.sent.splice(0), b.sent.splice(0)];
    for (const payload of fromA) b.mux.receive(payload);
    for (const payload of fromB) a.mux.receive(payload);
    assert.deepEqual(
      [a.takeEvents(), b.takeEvents()],
      [[{ type: 'channel-closed', channel: 0 }], [{ type: 'channel-closed', channel: 0 }]],
    );
    assert.deepEqual([a.sent, b.sent], [[], []]);
  });
});
