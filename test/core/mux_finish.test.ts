/** How a server ends a channel when its program has ended: EOF, a last request, CLOSE. RFC 4254 §5.3, §6.10. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fromHex } from '../../src/bytes/text.ts';
import { CLOSE, data, EOF, none, opened, Side, types } from './mux_side.ts';

/** exit-status 7 to the peer's channel 9: RFC 4254 §6.10. */
const STATUS = '6200000009 0000000b 657869742d737461747573 00 00000007'.replaceAll(' ', '');

function finish(side: Side): void {
  side.mux.finish(0, 'exit-status', fromHex('00000007'));
}

describe('Mux, finishing a channel,', () => {
  it('sends EOF, the request and CLOSE at once when nothing is queued', () => {
    const side = opened();
    finish(side);
    assert.deepEqual(side.takeSent(), [EOF, STATUS, CLOSE]);
  });

  it('sends them after what is queued, however it was cut, and of stderr too', () => {
    const side = opened('00000002');
    side.mux.write(0, [fromHex('0102')], 0);
    side.mux.write(0, [fromHex('03')], 1);
    finish(side);
    assert.deepEqual([side.takeBulk(), side.takeSent()], [['5e00000009000000020102'], []]);
    side.receive('5d 00000000 00000001');
    assert.deepEqual(side.takeBulk(), ['5f00000009000000010000000103']);
    assert.deepEqual(side.takeSent(), [EOF, STATUS, CLOSE]);
  });

  it('sends no second EOF when it was ended before', () => {
    const side = opened();
    side.mux.end(0);
    assert.deepEqual(side.takeSent(), [EOF]);
    finish(side);
    assert.deepEqual(side.takeSent(), [STATUS, CLOSE]);
  });

  it('sends one EOF when it was ended and the queue is not empty yet', () => {
    const side = opened('00000000');
    side.mux.write(0, [fromHex('01')], 0);
    side.mux.end(0);
    finish(side);
    assert.deepEqual(side.takeSent(), []);
    side.receive('5d 00000000 00000001');
    side.takeBulk();
    assert.deepEqual(side.takeSent(), [EOF, STATUS, CLOSE]);
  });

  it('takes nothing more to send, and sends each once', () => {
    const side = opened('00000000');
    side.mux.write(0, [fromHex('01')], 0);
    finish(side);
    finish(side);
    side.mux.write(0, [fromHex('02')], 0);
    side.mux.end(0);
    side.mux.close(0);
    side.receive('5d 00000000 00000009');
    assert.deepEqual(side.takeBulk(), ['5e000000090000000101']);
    assert.deepEqual(side.takeSent(), [EOF, STATUS, CLOSE]);
    finish(side);
    assert.deepEqual(side.takeSent(), []);
  });

  it('still answers requests, and gives back what it consumes, while the queue is not empty', () => {
    const side = opened('00000000');
    side.mux.write(0, [fromHex('01')], 0);
    finish(side);
    side.receive('62 00000000 00000001 78 01');
    side.receive(data('00'.repeat(32768)));
    assert.deepEqual(types(side.takeEvents()), ['channel-request', 'channel-data']);
    side.mux.reply(0, true);
    side.mux.consumed(0, 32768);
    assert.deepEqual(side.takeSent(), ['6300000009', '5d0000000900008000']);
  });

  it('waits for a peer that reads nothing as long as that takes', () => {
    const side = opened('00000000');
    side.mux.write(0, [fromHex('0102')], 0);
    finish(side);
    for (const now of [0, 10_000, 1_000_000_000]) {
      assert.equal(side.mux.dueAt(now), Number.POSITIVE_INFINITY);
      side.mux.tick(now);
    }
    assert.deepEqual([side.takeSent(), side.takeEvents()], [[], []]);
    side.receive('5d 00000000 00000001');
    side.takeBulk();
    assert.equal(side.mux.dueAt(1_000_000_000), Number.POSITIVE_INFINITY, 'nor once it reads slowly');
    side.receive('5d 00000000 00000001');
    side.takeBulk();
    assert.deepEqual(side.takeSent(), [EOF, STATUS, CLOSE]);
  });

  it('gives the peer its time to answer CLOSE, and lets go then', () => {
    const side = opened();
    finish(side);
    assert.equal(side.mux.dueAt(1000), 11_000);
    side.mux.tick(11_000);
    assert.deepEqual(side.takeEvents(), [{ type: 'channel-closed', channel: 0 }]);
  });

  it('gives that time from CLOSE on, and not from the last that the peer took', () => {
    const side = opened('00000001');
    side.mux.write(0, [fromHex('0102')], 0);
    finish(side);
    side.takeBulk();
    side.mux.dueAt(0);
    side.receive('5d 00000000 00000001');
    side.takeBulk();
    assert.equal(side.mux.dueAt(50_000), 60_000);
  });

  it("answers the peer's CLOSE at once, and says nothing more", () => {
    const side = opened('00000000');
    side.mux.write(0, [fromHex('01')], 0);
    finish(side);
    side.receive('61 00000000');
    assert.deepEqual([side.takeSent(), side.takeBulk()], [[CLOSE], []]);
    assert.deepEqual(side.takeEvents(), [{ type: 'channel-closed', channel: 0 }]);
    assert.equal(side.mux.open('x', none), 0, 'the number is free');
  });

  it('does not answer the answer to its CLOSE', () => {
    const side = opened();
    finish(side);
    side.takeSent();
    side.receive('61 00000000');
    assert.deepEqual([side.takeSent(), types(side.takeEvents())], [[], ['channel-closed']]);
  });

  it('is overtaken when the rest is to be abandoned', () => {
    const side = opened('00000000');
    side.mux.write(0, [fromHex('01')], 0);
    finish(side);
    side.mux.close(0, true);
    assert.deepEqual([side.takeSent(), side.takeBulk()], [[CLOSE], []]);
    assert.equal(side.mux.dueAt(0), 10_000);
  });

  it('comes too late for a channel that is closing, closed, not open yet, or not there', () => {
    const closing = opened('00000000');
    closing.mux.write(0, [fromHex('01')], 0);
    closing.mux.end(0);
    closing.mux.close(0);
    finish(closing);
    closing.receive('5d 00000000 00000001');
    closing.takeBulk();
    assert.deepEqual(closing.takeSent(), [EOF, CLOSE]);
    finish(closing);
    closing.receive('61 00000000');
    finish(closing);
    assert.deepEqual(closing.takeSent(), []);
    const requested = new Side();
    requested.receive('5a 00000001 78 00000009 00000000 00000001');
    finish(requested);
    assert.deepEqual(requested.takeSent(), []);
  });
});
