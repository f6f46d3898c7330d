import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fromHex } from '../../src/bytes/text.ts';
import { CLOSE, data, EOF, none, opened, type Side, types } from './mux_side.ts';
import { thrown } from './tools.ts';

describe('Mux, ending a channel,', () => {
  it('sends EOF at once when nothing is queued, and once', () => {
    const side = opened();
    side.mux.end(0);
    side.mux.end(0);
    assert.deepEqual(side.takeSent(), [EOF]);
  });

  it('sends EOF after what is queued', () => {
    const side = opened('00000002');
    side.mux.write(0, [fromHex('010203')], 0);
    side.mux.end(0);
    side.takeBulk();
    assert.deepEqual(side.takeSent(), []);
    side.receive('5d 00000000 00000001');
    assert.deepEqual(side.takeBulk(), ['5e000000090000000103']);
    assert.deepEqual(side.takeSent(), [EOF]);
  });

  it('sends EOF and CLOSE after what is queued when it is ended and closed', () => {
    const side = opened('00000002');
    side.mux.write(0, [fromHex('010203')], 0);
    side.mux.end(0);
    side.mux.close(0);
    side.mux.close(0);
    side.takeBulk();
    assert.deepEqual(side.takeSent(), []);
    side.receive('5d 00000000 00000001');
    assert.deepEqual(side.takeBulk(), ['5e000000090000000103']);
    assert.deepEqual(side.takeSent(), [EOF, CLOSE]);
  });

  it('sends CLOSE at once when it is only closed, and drops what is queued', () => {
    const side = opened();
    side.mux.write(0, [fromHex('010203')], 0);
    side.mux.close(0);
    side.mux.close(0);
    side.mux.end(0);
    assert.deepEqual([side.takeBulk(), side.takeSent()], [[], [CLOSE]]);
    side.receive('5d 00000000 00000001');
    assert.deepEqual(side.takeBulk(), [], 'a late WINDOW_ADJUST brings nothing back');
  });

  it('sends CLOSE at once when what is queued is to be abandoned, even after it was ended and closed', () => {
    const side = opened('00000002');
    side.mux.write(0, [fromHex('010203')], 0);
    side.mux.end(0);
    side.mux.close(0);
    side.mux.close(0, true);
    assert.deepEqual([side.takeBulk(), side.takeSent()], [[], [CLOSE]]);
  });

  it('closes a peer that takes nothing more in the end, counting from the last that it took', () => {
    const side = opened('00000002');
    side.mux.write(0, [fromHex('010203')], 0);
    side.mux.end(0);
    side.mux.close(0);
    assert.equal(side.mux.dueAt(1000), 11_000);
    assert.deepEqual(side.takeBulk(), ['5e00000009000000020102']);
    assert.equal(side.mux.dueAt(5000), 15_000);
    side.mux.tick(14_999);
    assert.deepEqual(side.takeSent(), []);
    side.mux.tick(15_000);
    assert.deepEqual([side.takeSent(), side.takeEvents()], [[CLOSE], []]);
    assert.equal(side.mux.dueAt(15_000), 25_000);
    side.mux.tick(25_000);
    assert.deepEqual(side.takeEvents(), [{ type: 'channel-closed', channel: 0 }]);
  });

  it('closes after its EOF went out, without a second one', () => {
    const side = opened();
    side.mux.end(0);
    side.mux.close(0);
    assert.deepEqual(side.takeSent(), [EOF, CLOSE]);
  });

  it('goes on receiving after its EOF', () => {
    const side = opened();
    side.mux.end(0);
    side.receive(data('01'));
    side.receive('62 00000000 00000001 78 00 ');
    assert.deepEqual(types(side.takeEvents()), ['channel-data', 'channel-request']);
  });

  it("goes on sending after the peer's EOF, which it tells once", () => {
    const side = opened();
    side.receive('60 00000000');
    side.receive('60 00000000');
    assert.deepEqual(side.takeEvents(), [{ type: 'channel-eof', channel: 0 }]);
    assert.deepEqual(side.takeSent(), []);
    side.mux.write(0, [fromHex('01')], 0);
    assert.deepEqual(side.takeBulk(), ['5e000000090000000101']);
    side.receive('62 00000000 0000000b 657869742d737461747573 00 00000003');
    assert.deepEqual(types(side.takeEvents()), ['channel-request'], 'exit-status may follow EOF');
  });

  it("answers the peer's CLOSE, drops what is queued, and the number is free", () => {
    const side = opened();
    side.mux.write(0, [fromHex('01')], 0);
    side.receive('61 00000000');
    assert.deepEqual(side.takeSent(), [CLOSE]);
    assert.deepEqual(side.takeEvents(), [{ type: 'channel-closed', channel: 0 }]);
    assert.deepEqual(side.takeBulk(), []);
    assert.equal(side.mux.open('x', none), 0);
  });

  it('answers CLOSE also while its own EOF and CLOSE wait for window', () => {
    const side = opened('00000000');
    side.mux.write(0, [fromHex('01')], 0);
    side.mux.end(0);
    side.mux.close(0);
    side.receive('61 00000000');
    assert.deepEqual([side.takeSent(), side.takeBulk()], [[CLOSE], []]);
    assert.deepEqual(types(side.takeEvents()), ['channel-closed']);
  });

  it('does not answer the answer', () => {
    const side = opened();
    side.mux.close(0);
    assert.deepEqual([side.takeSent(), side.takeEvents()], [[CLOSE], []]);
    side.receive('61 00000000');
    assert.deepEqual([side.takeSent(), side.takeEvents()], [[], [{ type: 'channel-closed', channel: 0 }]]);
  });

  it('swallows what was on its way when it closed', () => {
    const side = opened();
    side.mux.close(0);
    side.takeSent();
    for (const late of [data('01'), '5d 00000000 00000001', '62 00000000 00000001 78 01', '60 00000000'])
      side.receive(late);
    assert.deepEqual([side.takeSent(), side.takeEvents()], [[], []]);
    side.receive('61 00000000');
    assert.deepEqual(types(side.takeEvents()), ['channel-closed']);
  });

  it('knows the channel no more after both CLOSEs', () => {
    for (const late of [
      data(''),
      '5d 00000000 00000001',
      '60 00000000',
      '61 00000000',
      '62 00000000 00000001 78 00',
      '63 00000000',
      '64 00000000',
    ]) {
      const side = opened();
      side.receive('61 00000000');
      assert.match(thrown('protocol', () => side.receive(late)).message, / for channel 0, which is not open$/);
    }
  });

  it('sends nothing on it after CLOSE', () => {
    const side = opened();
    side.mux.close(0);
    side.takeSent();
    side.mux.write(0, [fromHex('01')], 0);
    side.mux.request(0, 'x', none, true);
    side.mux.reply(0, true);
    side.mux.end(0);
    side.mux.close(0);
    assert.deepEqual([side.takeSent(), side.takeBulk()], [[], []]);
  });
});

describe('Mux, when the peer never answers CLOSE,', () => {
  function closing(): Side {
    const side = opened();
    side.mux.request(0, 'x', none, true);
    assert.equal(side.mux.dueAt(0), Number.POSITIVE_INFINITY);
    side.mux.close(0);
    assert.equal(side.mux.dueAt(1000), 11_000);
    side.takeSent();
    side.mux.tick(10_999);
    assert.deepEqual(side.takeEvents(), []);
    side.mux.tick(11_000);
    return side;
  }

  it('lets go of it after its time, and wants no more timers', () => {
    const side = closing();
    assert.deepEqual(side.takeEvents(), [{ type: 'channel-closed', channel: 0 }]);
    assert.equal(side.mux.dueAt(11_000), Number.POSITIVE_INFINITY);
    side.mux.tick(99_999);
    assert.deepEqual(side.takeEvents(), []);
  });

  it('keeps the number until the peer has let go of it too', () => {
    const side = closing();
    assert.equal(side.mux.open('x', none), 1);
    side.takeEvents();
    side.receive('61 00000000');
    assert.deepEqual(side.takeEvents(), [], 'closed was told before');
    assert.equal(side.mux.open('x', none), 0);
  });

  it('tells nothing more about it', () => {
    const side = closing();
    side.takeEvents();
    for (const late of ['63 00000000', data('01'), '60 00000000', '62 00000000 00000001 78 01']) side.receive(late);
    assert.deepEqual([side.takeEvents(), side.takeSent()], [[], []]);
  });

  it('is not bothered when the answer comes in time', () => {
    const side = opened();
    side.mux.close(0);
    side.mux.dueAt(1000);
    side.receive('61 00000000');
    assert.equal(side.mux.dueAt(1000), Number.POSITIVE_INFINITY);
  });
});
