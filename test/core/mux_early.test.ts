/** A first channel that is used before the peer has confirmed it, and data that goes before the peer has granted it. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fromHex, hex, utf8 } from '../../src/bytes/text.ts';
import { CLOSE, data, none, opened, Side, types } from './mux_side.ts';
import { thrown } from './tools.ts';

const REQUEST = `620000000000000004${hex(utf8('exec'))}01`;

/** A side whose channel 0 is presumed to be 0 at the peer, too. */
function early(): Side {
  const side = new Side();
  side.mux.open('session', none, 0);
  side.takeSent();
  assert.deepEqual(side.takeEvents(), [{ type: 'channel-opened', channel: 0 }]);
  return side;
}

describe('Mux, with the first channel presumed,', () => {
  it('tells that it is open at once, sends requests behind CHANNEL_OPEN, and tells nothing twice', () => {
    const side = new Side();
    side.mux.open('session', none, 0);
    side.mux.request(0, 'exec', none, true);
    assert.deepEqual(side.takeSent(), [`5a00000007${hex(utf8('session'))}000000000001000000008000`, REQUEST]);
    side.takeEvents();
    side.receive('5b 00000000 00000000 00000010 00008000');
    assert.deepEqual(side.takeEvents(), []);
    side.receive('63 00000000');
    assert.deepEqual(types(side.takeEvents()), ['channel-reply']);
  });

  it('sends no data before the confirmation has a window, and then as much as that', () => {
    const side = early();
    side.mux.write(0, [fromHex('010203')], 0);
    assert.deepEqual(side.takeBulk(), []);
    side.receive('5b 00000000 00000000 00000002 00008000');
    assert.deepEqual(side.takeBulk(), ['5e00000000000000020102']);
    assert.equal(side.mux.channel(0)?.stats.peerWindow, 2);
  });

  it('ends where the peer gave another number, and says what to do', () => {
    const error = thrown('protocol', () => early().receive('5b 00000000 00000007 00000010 00008000'));
    assert.match(error.message, /first channel the number 7, .* known to give 0: set quirks\.firstChannel/);
  });

  it('tells a refusal, and forgets the channel with what waited on it', () => {
    const side = early();
    side.mux.write(0, [fromHex('01')], 0);
    side.receive(`5c 00000000 00000001 00000002 ${hex(utf8('no'))} 00000000`);
    assert.deepEqual(types(side.takeEvents()), ['channel-refused']);
    assert.deepEqual([side.mux.channels, side.takeBulk()], [0, []]);
    thrown('protocol', () => side.receive('5b 00000000 00000000 00000010 00008000'));
  });

  it('takes one answer only', () => {
    const side = early();
    side.receive('5b 00000000 00000000 00000010 00008000');
    for (const again of ['5b 00000000 00000000 00000010 00008000', `5c 00000000 00000001 00000000 00000000`]) {
      assert.match(thrown('protocol', () => side.receive(again)).message, /which is not being opened/);
    }
  });

  it('closes it, whatever the peer has said by then', () => {
    const side = early();
    side.mux.close(0);
    assert.deepEqual(side.takeSent(), [CLOSE.replace('9', '0')]);
    side.receive('5b 00000000 00000000 00000010 00008000');
    side.receive('61 00000000');
    assert.deepEqual(types(side.takeEvents()), ['channel-closed']);
    const refused = early();
    refused.mux.close(0);
    refused.receive('5c 00000000 00000001 00000000 00000000');
    assert.deepEqual(types(refused.takeEvents()), ['channel-refused']);
    assert.equal(refused.mux.dueAt(0), Number.POSITIVE_INFINITY, 'nothing waits for CLOSE any more');
  });

  it('presumes nothing of a second channel, or of one after a channel of the peer', () => {
    const side = early();
    side.mux.open('session', none, 0);
    assert.deepEqual(side.takeEvents(), []);
    const asked = new Side();
    asked.receive(`5a 00000001 ${hex(utf8('x'))} 00000004 00000010 00008000`);
    asked.takeEvents();
    asked.mux.open('session', none, 0);
    assert.deepEqual(asked.takeEvents(), []);
    const later = early();
    later.receive('5c 00000000 00000001 00000000 00000000');
    later.takeEvents();
    later.mux.open('session', none, 0);
    assert.deepEqual(later.takeEvents(), []);
  });
});

describe('Mux, with a window presumed,', () => {
  it('lets so much data go behind the request, and takes it off the first grant', () => {
    const side = opened('00000000');
    side.mux.request(0, 'exec', none, true, 3);
    side.mux.write(0, [fromHex('0102030405')], 0);
    assert.deepEqual(side.takeBulk(), ['5e0000000900000003010203']);
    assert.equal(side.mux.channel(0)?.stats.windowLimited, true);
    side.receive('5d 00000000 00000004');
    assert.deepEqual(side.takeBulk(), ['5e000000090000000104']);
    side.receive('5d 00000000 00000004');
    assert.deepEqual(side.takeBulk(), ['5e000000090000000105']);
    assert.equal(side.mux.channel(0)?.stats.peerWindow, 4);
  });

  it('takes it off grants that are smaller, too', () => {
    const side = opened('00000000');
    side.mux.request(0, 'exec', none, true, 3);
    side.mux.write(0, [fromHex('0102030405')], 0);
    side.takeBulk();
    for (const expected of [[], [], [], ['5e000000090000000104'], ['5e000000090000000105']]) {
      side.receive('5d 00000000 00000001');
      assert.deepEqual(side.takeBulk(), expected);
    }
  });

  it('does so before any grant only: a window that is used up is used up', () => {
    const side = opened('00000001');
    side.mux.request(0, 'exec', none, true, 3);
    side.mux.write(0, [fromHex('0102')], 0);
    assert.deepEqual(side.takeBulk(), ['5e000000090000000101']);
    const twice = opened('00000000');
    twice.mux.request(0, 'a', none, true, 1);
    twice.mux.request(0, 'b', none, true, 1);
    twice.mux.write(0, [fromHex('0102')], 0);
    assert.deepEqual(twice.takeBulk(), ['5e000000090000000101']);
  });

  it('counts what is received as ever', () => {
    const side = early();
    side.receive('5b 00000000 00000000 00000000 00008000');
    side.receive(data('0102'));
    assert.deepEqual(types(side.takeEvents()), ['channel-data']);
  });
});
