/**
 * The line breaks at every packet of a whole session, in either direction, and at bytes in the middle of packets: the connection
 * ends at once, once, with one typed cause, and leaves neither a timer nor anything to send.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SshError } from '../../src/errors.ts';
import { playSession, sessionScript } from '../support/core_session.ts';
import { drawBelow } from '../support/feed.ts';
import { Link } from '../support/link.ts';
import { seededRandom } from '../support/random.ts';

/** Thrown out of the script when the line is cut. */
class Cut extends Error {}

type Direction = 'toClient' | 'toPeer';

interface CutPoint {
  readonly direction: Direction;
  /** Packets, or bytes, after which the line breaks. */
  readonly packets?: number;
  readonly bytes?: number;
  /** How it breaks; in good order if absent. */
  readonly cause?: SshError;
}

/** A line that carries packets one by one and breaks where it is told to. */
class FragileLink extends Link {
  readonly passed: Record<Direction, { packets: number; bytes: number }> = {
    toClient: { packets: 0, bytes: 0 },
    toPeer: { packets: 0, bytes: 0 },
  };
  readonly #point: CutPoint | undefined;

  constructor(point?: CutPoint) {
    super('whole', { script: sessionScript, client: { keepalive: { interval: 30_000, count: 3 } } });
    this.#point = point;
    this.peer.pump = () => this.pump();
    this.#check('toClient');
    this.#check('toPeer');
  }

  override pump(): void {
    for (;;) {
      const output = this.client.takeOutput(1);
      for (const piece of output) this.#pass('toPeer', piece);
      const input = this.peer.takeOutput();
      for (const piece of input) this.#pass('toClient', piece);
      if (output.length === 0 && input.length === 0) return;
    }
  }

  #pass(direction: Direction, piece: Uint8Array): void {
    const point = this.#point?.direction === direction ? this.#point : undefined;
    const passed = this.passed[direction];
    const room = (point?.bytes ?? Number.POSITIVE_INFINITY) - passed.bytes;
    const bytes = piece.slice(0, room);
    passed.bytes += bytes.length;
    passed.packets++;
    if (direction === 'toClient') this.client.receive(bytes);
    else this.peer.receive(bytes);
    this.#check(direction);
  }

  #check(direction: Direction): void {
    if (this.#point?.direction !== direction) return;
    const { packets = Number.POSITIVE_INFINITY, bytes = Number.POSITIVE_INFINITY, cause } = this.#point;
    const passed = this.passed[direction];
    if (passed.packets < packets && passed.bytes < bytes) return;
    this.client.endOfInput(cause);
    throw new Cut();
  }
}

/** Plays the session on a line that breaks there, and checks what is left of the client. */
function playAndCut(point: CutPoint): void {
  let link: FragileLink | undefined;
  let client: Link['client'] | undefined;
  assert.throws(() => {
    link = new FragileLink(point);
    client = link.client;
    playSession(link);
  }, Cut);
  // cut before the first byte: there is no link to look at
  client ??= cutAtOnce(point.cause);
  const { cause } = client;
  assert.ok(cause instanceof SshError);
  const identified = client.has('identified');
  const lost = identified || point.cause !== undefined;
  assert.equal(cause.code, lost ? 'connection-lost' : 'identification', cause.message);
  if (point.cause !== undefined) assert.equal(cause.cause, point.cause);
  assert.equal(client.of('closed').length, 1);
  assert.equal(client.events.at(-1)?.type, 'closed');
  afterwards(client);
}

function cutAtOnce(cause: SshError | undefined): Link['client'] {
  const { client } = new Link('whole');
  client.takeOutput(); // the identification is on its way
  client.endOfInput(cause);
  return client;
}

/** A connection that has ended takes every call and does nothing. */
function afterwards(client: Link['client']): void {
  const { connection, events } = client;
  const { length } = events;
  for (const { id } of client.of('question')) {
    connection.answer(id, 'late');
    connection.refuse(id, new SshError('aborted', 'late'));
  }
  connection.receive(new Uint8Array(100));
  connection.endOfInput();
  connection.endOfInput(new SshError('connection-lost', 'again'));
  connection.openChannel('session', new Uint8Array(0));
  connection.write(0, [new Uint8Array(10)]);
  connection.endChannel(0);
  connection.consumed(0, 10);
  connection.requestChannel(0, 'x', new Uint8Array(0), true);
  connection.requestGlobal('x', new Uint8Array(0), true);
  connection.closeChannel(0);
  connection.rekey();
  connection.disconnect();
  client.advance(24 * 60 * 60_000);
  assert.equal(events.length, length, 'nothing is told after closed');
  assert.deepEqual(client.takeOutput(), [], 'nothing leaves a line that is gone');
  assert.equal(connection.nextTimeout(client.now), undefined);
}

const reset = new SshError('connection-lost', 'read ECONNRESET', { fault: 'network' });

describe('a line that breaks', () => {
  const whole = new FragileLink();
  playSession(whole);
  whole.client.alive();
  const { toClient, toPeer } = whole.passed;

  it('does not break by itself: the session plays to its end', () => {
    assert.equal(whole.client.of('keys').length, 2);
    assert.equal(whole.client.of('channel-closed').length, 2);
    assert.equal(whole.client.channel(0).bytes, 4 + 9 + 40_000);
    assert.ok(toClient.packets > 20 && toPeer.packets > 20);
  });

  for (const [direction, total] of [
    ['toClient', toClient.packets],
    ['toPeer', toPeer.packets],
  ] as const) {
    it(`after any packet ${direction} ends the client once, with one cause`, () => {
      for (let packets = 0; packets <= total; packets++) {
        for (const cause of [undefined, reset]) {
          playAndCut({ direction, packets, ...(cause === undefined ? {} : { cause }) });
        }
      }
    });
  }

  it('in the middle of any packet ends the client once, with one cause', () => {
    const random = seededRandom('where to cut');
    for (let i = 0; i < 150; i++) {
      const direction = i % 2 === 0 ? 'toClient' : 'toPeer';
      // most of the bytes are in the large packets of the end: half of the cuts are in the handshake
      const total = i % 4 < 2 ? 2500 : whole.passed[direction].bytes;
      const bytes = drawBelow(random, Math.min(total, 65_535));
      playAndCut({ direction, bytes, ...(i % 3 === 0 ? { cause: reset } : {}) });
    }
  });
});
