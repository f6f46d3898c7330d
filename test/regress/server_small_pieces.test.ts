/**
 * Clients that send byte by byte to where nobody reads yet: a session before its program, a forwarded connection whose target
 * takes nothing; and clients that read nothing of what they make the server say in packets of a few bytes. Each byte alone would cost the server some hundred, within one window hundreds of megabytes.
 */

import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { describe } from 'node:test';
import { join } from '../../src/bytes/bytes.ts';
import { ChannelPipe } from '../../src/io/channel_pipe.ts';
import { Driver } from '../../src/io/driver.ts';
import { memoryPipes } from '../../src/io/memory_pipe.ts';
import type { BytePipe, PipeSink } from '../../src/io/pipe.ts';
import { splice } from '../../src/io/splice.ts';
import { NodeSocketPipe } from '../../src/transports/node_socket.ts';
import { FakeConnection, settled } from '../support/fake_connection.ts';
import { it } from '../support/limited.ts';
import { PipeEnd } from '../support/pipe_end.ts';
import { VirtualClock } from '../support/virtual_clock.ts';

const MANY = 100_000;

/** A byte that tells its place. */
const at = (index: number): number => (index * 7 + (index >> 8)) & 0xff;

function assertFew(chunks: readonly Uint8Array[]): void {
  const bytes = join(chunks);
  assert.equal(bytes.length, MANY);
  const wrong = bytes.findIndex((byte, index) => byte !== at(index));
  assert.equal(wrong, -1, 'the first byte that is wrong');
  assert.ok(chunks.length < 100, `${chunks.length} arrays`);
}

describe('byte by byte', () => {
  it('a channel that nobody has opened keeps few arrays, and tells the end behind them', async () => {
    const fake = new FakeConnection();
    const [pipe] = memoryPipes();
    const driver = new Driver(fake.connection, pipe, new VirtualClock(), {
      event: () => {},
      ask: () => undefined,
      ended: () => {},
    });
    driver.start();
    const channel = ChannelPipe.accept(driver, 7, {});
    const events: FakeConnection['events'] = [];
    for (let index = 0; index < MANY; index++) {
      events.push({ type: 'channel-data', channel: 7, kind: 0, data: Uint8Array.of(at(index)) });
    }
    fake.events.push(...events.splice(0, 50_000));
    fake.events.push(...events);
    fake.events.push({ type: 'channel-eof', channel: 7 }, { type: 'channel-closed', channel: 7 });
    driver.wake();
    await settled();
    const end = new PipeEnd(channel, false);
    await settled();
    assertFew(end.chunks);
    assert.deepEqual(end.notices, ['end', 'closed']);
  });

  it('a socket that takes nothing keeps few arrays, and is full of many short writes', () => {
    const kept: Uint8Array[] = [];
    const socket = Object.assign(new EventEmitter(), {
      cork: () => {},
      uncork: () => {},
      write: (bytes: Uint8Array) => kept.push(bytes),
    });
    const pipe = new NodeSocketPipe(socket as unknown as Socket, { deliver: () => {}, spent: () => {} });
    const packet = (index: number): Uint8Array => Uint8Array.of(at(index));
    assert.equal(pipe.write(Array.from({ length: MANY }, (_, index) => packet(index))), true);
    assertFew(kept);
    let writes = 0;
    while (pipe.write([packet(0)]) && writes < 10_000) writes++;
    assert.ok(writes < 2048, `${writes} writes`);
  });

  it('a forwarded connection whose target has no room keeps few arrays', () => {
    const written: Uint8Array[] = [];
    let [room, credit] = [false, 0];
    const sinks: PipeSink[] = [];
    const end = (write: BytePipe['write']): BytePipe => ({
      open: (sink) => void sinks.push(sink),
      write,
      end: () => {},
      consumed: (count) => {
        credit += count;
      },
      close: () => {},
    });
    const target = end((pieces) => {
      written.push(...pieces);
      return room;
    });
    splice(
      end(() => true),
      target,
      new VirtualClock(),
    );
    const [fromClient, fromTarget] = sinks as [PipeSink, PipeSink];
    for (let index = 0; index < MANY; index++) fromClient.data(Uint8Array.of(at(index)));
    assert.equal(credit, 0, 'the client may not go on');
    room = true;
    fromTarget.drain();
    assertFew(written);
    assert.equal(credit, MANY);
  });
});
