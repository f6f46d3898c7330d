import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat } from '../../src/bytes/bytes.ts';
import { fromHex } from '../../src/bytes/text.ts';
import { none, opened, Side } from './mux_side.ts';
import { thrown } from './tools.ts';

describe('Mux, with channel requests,', () => {
  it('writes CHANNEL_REQUEST as RFC 4254 §5.4 has it', () => {
    const side = opened();
    side.mux.request(0, 'exec', fromHex('00000001 61'), true);
    side.mux.request(0, 'x', none, false);
    assert.deepEqual(side.takeSent(), ['62000000090000000465786563010000000161', '62000000090000000178' + '00']);
  });

  it('gives replies to the requests that want one, in order', () => {
    const side = opened();
    const first = side.mux.request(0, 'a', none, true);
    side.mux.request(0, 'b', none, false);
    const second = side.mux.request(0, 'c', none, true);
    side.receive('63 00000000');
    side.receive('64 00000000');
    assert.deepEqual(side.takeEvents(), [
      { type: 'channel-reply', channel: 0, id: first, ok: true },
      { type: 'channel-reply', channel: 0, id: second, ok: false },
    ]);
    assert.notEqual(first, second);
  });

  it('ignores replies that nobody asked for', () => {
    const side = opened();
    side.mux.request(0, 'a', none, false);
    side.receive('63 00000000');
    side.receive('64 00000000');
    assert.deepEqual(side.takeEvents(), []);
  });

  it("hands on the peer's requests and answers them", () => {
    const side = opened();
    side.receive('62 00000000 00000004 65786563 01 00000001 61');
    side.receive('62 00000000 00000001 78 00');
    assert.deepEqual(side.takeEvents(), [
      { type: 'channel-request', channel: 0, request: 'exec', wantReply: true, body: fromHex('0000000161') },
      { type: 'channel-request', channel: 0, request: 'x', wantReply: false, body: none },
    ]);
    side.mux.reply(0, true);
    side.mux.reply(0, false);
    assert.deepEqual(side.takeSent(), ['6300000009', '6400000009']);
  });
});

describe('Mux, with global requests,', () => {
  it('writes GLOBAL_REQUEST as RFC 4254 §4 has it, and gives replies in order', () => {
    const side = new Side();
    const first = side.mux.globals.request('x@y', fromHex('01'), true);
    side.mux.globals.request('x@y', none, false);
    const second = side.mux.globals.request('z', none, true);
    assert.deepEqual(side.takeSent(), ['500000000378407901' + '01', '500000000378407900', '50000000017a01']);
    side.receive('52');
    side.receive('51 0102');
    side.receive('51');
    assert.deepEqual(side.takeEvents(), [
      { type: 'global-reply', id: first, ok: false, body: none },
      { type: 'global-reply', id: second, ok: true, body: fromHex('0102') },
    ]);
  });

  it("hands on the peer's and answers them", () => {
    const side = new Side();
    side.receive('50 00000003 784079 01 ff');
    assert.deepEqual(side.takeEvents(), [
      { type: 'global-request', request: 'x@y', wantReply: true, body: fromHex('ff') },
    ]);
    side.mux.globals.reply(true, fromHex('0001'));
    side.mux.globals.reply(false, fromHex('0001'));
    assert.deepEqual(side.takeSent(), ['510001', '52']);
  });

  it('takes UNIMPLEMENTED for the failure of the oldest', () => {
    const side = new Side();
    const id = side.mux.globals.request('x', none, true);
    side.mux.globals.unimplemented(98);
    assert.deepEqual(side.takeEvents(), []);
    side.mux.globals.unimplemented(80);
    side.mux.globals.unimplemented(80);
    assert.deepEqual(side.takeEvents(), [{ type: 'global-reply', id, ok: false, body: none }]);
  });
});

describe('Mux, receiving what is broken,', () => {
  const messages: Readonly<Record<string, string>> = {
    GLOBAL_REQUEST: '50 00000001 78 01',
    CHANNEL_OPEN: '5a 00000001 78 00000009 00000001 00000001',
    CHANNEL_OPEN_CONFIRMATION: '5b 00000001 00000009 00010000 00008000',
    CHANNEL_OPEN_FAILURE: '5c 00000001 00000001 00000000 00000000',
    CHANNEL_WINDOW_ADJUST: '5d 00000000 00000001',
    CHANNEL_DATA: '5e 00000000 00000001 00',
    CHANNEL_EXTENDED_DATA: '5f 00000000 00000001 00000001 00',
    CHANNEL_EOF: '60 00000000',
    CHANNEL_CLOSE: '61 00000000',
    CHANNEL_REQUEST: '62 00000000 00000001 78 01',
    CHANNEL_SUCCESS: '63 00000000',
    CHANNEL_FAILURE: '64 00000000',
  };
  const endsOpen = ['GLOBAL_REQUEST', 'CHANNEL_OPEN', 'CHANNEL_OPEN_CONFIRMATION', 'CHANNEL_REQUEST'];

  /** Channel 0 is open, channel 1 is being opened. */
  function ready(): Side {
    const side = opened();
    side.mux.open('x', none);
    side.takeSent();
    return side;
  }

  for (const [name, message] of Object.entries(messages)) {
    it(`${name}: takes it whole, refuses every truncation${endsOpen.includes(name) ? '' : ' and bytes too many'}`, () => {
      const payload = fromHex(message);
      ready().mux.receive(payload);
      for (let length = 1; length < payload.length; length++) {
        thrown('decode', () => ready().mux.receive(payload.slice(0, length)));
      }
      if (!endsOpen.includes(name)) thrown('decode', () => ready().mux.receive(concat(payload, Uint8Array.of(0))));
    });
  }

  it('refuses REQUEST_FAILURE with bytes too many', () => {
    thrown('decode', () => ready().receive('52 00'));
  });

  it('refuses every message for a channel that was never there', () => {
    for (const number of [91, 92, 93, 94, 95, 96, 97, 98, 99, 100]) {
      const message = Object.values(messages)
        .map(fromHex)
        .find(([first]) => first === number)
        ?.slice();
      assert.ok(message !== undefined);
      message[1] = 0xff;
      assert.match(
        thrown('protocol', () => ready().mux.receive(message)).message,
        /for channel 42781\d+, which is not/,
      );
    }
  });
});
