/**
 * The line between our client and our server breaks after every packet of whole sessions, with an end, with an error, or without a
 * word: both ends reach `closed`, once, with a cause that says what happened, and want nothing any more.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SshErrorCode } from '../../src/errors.ts';
import { type Break, type Pair, type Side, sides } from '../support/pair.ts';
import { play, type Scenario, scenarios } from '../support/pair_scenarios.ts';

const keepalive = { interval: 30_000, count: 3 };
const config = { client: { keepalive }, server: { keepalive } };

/** Longer than any limit: of a login, of a key exchange, of silence. */
const PATIENCE = 10 * 60_000;

/** What a side may end with, by what it notices. */
const causes: Readonly<Record<Break['how'], readonly (SshErrorCode | undefined)[]>> = {
  fin: ['connection-lost', 'identification'],
  reset: ['connection-lost'],
  silence: ['timeout', 'keepalive-timeout'],
};

/** How a session ends that nobody disturbs: the client leaves. */
const inPeace: Readonly<Record<Side, SshErrorCode | undefined>> = { client: undefined, server: 'disconnected' };

function checkEnded(pair: Pair, how: Break['how'], about: string): void {
  for (const side of sides) {
    const { connection, events } = pair.side(side);
    assert.ok(connection.closed, `${about}: the ${side} is still open`);
    const { cause } = pair.side(side);
    assert.equal(events.at(-1)?.type, 'closed', about);
    const code = cause?.code;
    // the break may come after the client has left, and after the server has heard of it
    const ended = pair.client.cause === undefined ? [...causes[how], inPeace[side]] : causes[how];
    assert.ok(ended.includes(code), `${about}: the ${side} ended with ${code}: ${cause?.message}`);
    if (code !== undefined)
      assert.ok(cause?.fault === 'network' || cause?.fault === 'peer', `${about}: ${cause?.fault}`);
    afterwards(pair, side, about);
  }
}

/** A connection that has ended takes every call, and does nothing. */
function afterwards(pair: Pair, side: Side, about: string): void {
  const one = pair.side(side);
  const { connection, events } = one;
  const { length } = events;
  one.takeOutput(); // its DISCONNECT, if it has one
  connection.receive(new Uint8Array(100));
  connection.endOfInput();
  connection.openChannel('session', new Uint8Array(0));
  connection.write(0, [new Uint8Array(10)]);
  connection.finishChannel(0, 'exit-status', new Uint8Array(4));
  connection.requestGlobal('x', new Uint8Array(0), true);
  connection.rekey();
  connection.disconnect();
  one.advance(24 * 3_600_000);
  assert.equal(events.length, length, about);
  assert.deepEqual(one.takeOutput(), [], about);
  assert.equal(one.due, undefined, about);
}

/** How many packets each side sends in the whole of it. */
function count(scenario: Scenario): Record<Side, number> {
  const pair = play(scenario, { ...config, breaks: { from: 'client', packets: Number.POSITIVE_INFINITY, how: 'fin' } });
  assert.deepEqual(
    sides.map((side) => pair.side(side).cause?.code),
    sides.map((side) => inPeace[side]),
  );
  return pair.packets;
}

describe('a line that breaks', () => {
  for (const scenario of scenarios) {
    it(`after any packet of ${scenario.name} ends both sides, each once`, () => {
      const packets = count(scenario);
      assert.ok(packets.client > 10 && packets.server > 10, JSON.stringify(packets));
      for (const from of sides) {
        for (let after = 0; after <= packets[from]; after++) {
          for (const how of ['fin', 'reset', 'silence'] as const) {
            const pair = play(scenario, { ...config, breaks: { from, packets: after, how } });
            assert.ok(pair.broken, 'the line has broken');
            if (how === 'silence') pair.advance(PATIENCE);
            checkEnded(pair, how, `${how} after ${after} packets of the ${from}`);
          }
        }
      }
    });
  }

  it('in the middle of any packet ends both sides too', () => {
    const [scenario] = scenarios;
    const whole = play(scenario as Scenario, config);
    for (const from of sides) {
      const total = whole.bytesFrom(from).length;
      for (let after = 0; after < total; after += 7) {
        const pair = play(scenario as Scenario, {
          ...config,
          chunking: 'bytes',
          breakAfterBytes: { from, bytes: after },
        });
        assert.ok(pair.broken);
        checkEnded(pair, 'reset', `after ${after} bytes of the ${from}`);
      }
    }
  });
});
