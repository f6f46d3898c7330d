import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SshError } from '../../src/errors.ts';
import { ByteSource } from '../../src/io/byte_source.ts';
import { memoryPipes } from '../../src/io/memory_pipe.ts';
import { pipeFromStreams, streamsFromPipe } from '../../src/io/streams.ts';
import { settled } from '../support/fake_connection.ts';
import { PipeEnd, pattern } from '../support/pipe_end.ts';
import { rejectsWith } from '../support/rejects.ts';

const MEBIBYTE = 1024 * 1024;
const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);

/** Counts what was given back. */
function source(options?: ConstructorParameters<typeof ByteSource>[1]) {
  const state = { given: 0 };
  const made = new ByteSource((count) => {
    state.given += count;
  }, options);
  return { source: made, state, reader: made.stream.getReader() };
}

describe('ByteSource', () => {
  it('gives bytes back when they are read and not before', async () => {
    const { source: from, state, reader } = source();
    from.push(bytes(1, 2, 3));
    from.push(bytes(4));
    await settled();
    assert.equal(state.given, 0);
    assert.deepEqual((await reader.read()).value, bytes(1, 2, 3));
    await settled();
    assert.equal(state.given, 3);
    assert.deepEqual((await reader.read()).value, bytes(4));
    assert.equal(state.given, 4);
  });

  it('serves readers that came first', async () => {
    const { source: from, state, reader } = source();
    const reads = [reader.read(), reader.read(), reader.read()];
    await settled();
    from.push(bytes(1));
    await settled();
    from.push(bytes(2, 3));
    await settled();
    from.end();
    assert.deepEqual(await Promise.all(reads), [
      { done: false, value: bytes(1) },
      { done: false, value: bytes(2, 3) },
      { done: true, value: undefined },
    ]);
    assert.equal(state.given, 3);
  });

  it('ends behind what waits', async () => {
    const { source: from, reader } = source();
    from.push(bytes(1));
    from.end();
    assert.deepEqual((await reader.read()).value, bytes(1));
    assert.equal((await reader.read()).done, true);
  });

  it('fails at once, and gives back what waits', async () => {
    const { source: from, state, reader } = source();
    const error = new SshError('connection-lost', 'reset');
    from.push(bytes(1, 2));
    from.fail(error);
    from.fail(new SshError('aborted', 'again'));
    from.end();
    assert.equal(await rejectsWith(reader.read(), 'connection-lost'), error);
    assert.equal(state.given, 2);
    from.push(bytes(3));
    assert.equal(state.given, 3);
  });

  it('stops at once, without an error, and gives back what waits and what still comes', async () => {
    const { source: from, state, reader } = source();
    const first = reader.read();
    await settled();
    from.push(bytes(1));
    await first;
    from.push(bytes(2, 3));
    from.stop();
    assert.equal(state.given, 3);
    assert.equal((await reader.read()).done, true);
    from.push(bytes(4));
    from.stop();
    from.end();
    from.fail(new SshError('channel-closed', 'gone'));
    assert.equal(state.given, 4);
    await reader.closed;
    const waiting = source();
    const read = waiting.reader.read();
    waiting.source.stop();
    assert.equal((await read).done, true);
  });

  it('drops what comes after a cancel', async () => {
    const { source: from, state, reader } = source();
    from.push(bytes(1, 2));
    await reader.cancel();
    from.push(bytes(3));
    assert.equal(state.given, 3);
  });

  it('keeps what nobody reads up to its bound, holding up nobody, and fails where something is missing', async () => {
    const { source: from, state, reader } = source({ keepUnread: 4 });
    from.push(bytes(1, 2));
    from.push(bytes(3, 4));
    from.push(bytes(5));
    from.push(bytes(6));
    from.end();
    assert.equal(state.given, 6);
    assert.deepEqual((await reader.read()).value, bytes(1, 2));
    assert.deepEqual((await reader.read()).value, bytes(3, 4));
    assert.match((await rejectsWith(reader.read(), 'limit')).message, /4 bytes/);
    assert.equal(state.given, 6);
  });

  it('holds the sender back once somebody has begun to read', async () => {
    const { source: from, state, reader } = source({ keepUnread: 4 });
    from.push(bytes(1, 2));
    assert.equal(state.given, 2);
    await reader.read();
    from.push(bytes(3, 4, 5, 6, 7));
    assert.equal(state.given, 2);
    await reader.read();
    assert.equal(state.given, 7);
    from.end();
    assert.equal((await reader.read()).done, true);
  });
});

describe('streamsFromPipe', () => {
  it('carries bytes both ways and ends', async () => {
    const [left, right] = memoryPipes();
    const streams = streamsFromPipe(left);
    const end = new PipeEnd(right);
    const writer = streams.writable.getWriter();
    for (const buffer of [pattern(600), Buffer.from(pattern(1000).subarray(600))]) {
      await writer.write(buffer);
      buffer.fill(0); // the writer's own again
    }
    await writer.close();
    await end.until(() => end.ended, 'end');
    assert.deepEqual(end.bytes, Buffer.from(pattern(1000)));
    right.write([bytes(7)]);
    right.end();
    const reader = streams.readable.getReader();
    assert.deepEqual((await reader.read()).value, bytes(7));
    assert.equal((await reader.read()).done, true);
  });

  it('lets a write wait for room', async () => {
    const [left, right] = memoryPipes({ bound: 1000 });
    const { writable } = streamsFromPipe(left);
    const end = new PipeEnd(right, false);
    const writer = writable.getWriter();
    await writer.write(pattern(999));
    let written = false;
    const waiting = writer.write(pattern(1)).then(() => {
      written = true;
    });
    await settled();
    assert.equal(written, false);
    right.consumed(end.received);
    await waiting;
  });

  it('holds the sender back until somebody reads', async () => {
    const [left, right] = memoryPipes({ bound: 1000 });
    const { readable } = streamsFromPipe(left);
    const sender = new PipeEnd(right);
    assert.equal(right.write([pattern(1000)]), false);
    await settled();
    assert.equal(sender.drains, 0);
    await readable.getReader().read();
    await settled();
    assert.equal(sender.drains, 1);
  });

  it('fails both with what ended the pipe', async () => {
    const [left] = memoryPipes({ bound: 10 });
    const { readable, writable } = streamsFromPipe(left);
    const cause = new SshError('connection-lost', 'reset');
    const pending = [writable.getWriter().write(pattern(10)), readable.getReader().read()];
    await settled();
    left.close(cause);
    for (const promise of pending) assert.equal(await rejectsWith(promise, 'connection-lost'), cause);
  });

  it('takes nothing but bytes', async () => {
    const [left] = memoryPipes();
    const { writable } = streamsFromPipe(left);
    await rejectsWith(writable.getWriter().write('text' as unknown as Uint8Array), 'bad-argument');
  });

  it('closes the pipe when the writer aborts', async () => {
    const [left, right] = memoryPipes();
    const { writable } = streamsFromPipe(left);
    const end = new PipeEnd(right);
    await writable.abort('enough');
    assert.equal((await end.closing())?.code, 'connection-lost');
  });
});

describe('pipeFromStreams', () => {
  /** A pipe on streams whose other ends are in the test's hands. */
  function setUp(highWaterMark = 1) {
    const incoming = new TransformStream<Uint8Array, Uint8Array>(undefined, { highWaterMark });
    const outgoing = new TransformStream<Uint8Array, Uint8Array>(undefined, { highWaterMark });
    const pipe = pipeFromStreams({ readable: incoming.readable, writable: outgoing.writable });
    return { pipe, send: incoming.writable.getWriter(), read: outgoing.readable.getReader() };
  }

  it('carries bytes both ways and ends', async () => {
    const { pipe, send, read } = setUp();
    const end = new PipeEnd(pipe);
    assert.equal(pipe.write([bytes(1), bytes(2, 3)]), true);
    assert.deepEqual((await read.read()).value, bytes(1, 2, 3));
    await send.write(bytes(4, 5));
    await send.close();
    await end.until(() => end.ended, 'end');
    assert.deepEqual([...end.bytes], [4, 5]);
    pipe.end();
    assert.equal((await read.read()).done, true);
    assert.equal(await end.closing(), undefined);
  });

  it('stops reading while too much waits to be consumed', async () => {
    const { pipe, send } = setUp();
    const end = new PipeEnd(pipe, false);
    let sent = 0;
    (async () => {
      for (; sent < 8; sent++) await send.write(pattern(MEBIBYTE / 2));
    })();
    for (let i = 0; i < 10; i++) await settled();
    assert.equal(end.received, MEBIBYTE);
    assert.ok(sent < 5, `${sent}`);
    end.consumes = true;
    pipe.consumed(MEBIBYTE);
    await end.until(() => end.received === 4 * MEBIBYTE, 'the rest');
  });

  it('says when enough is queued, and when there is room again', async () => {
    const { pipe, read } = setUp();
    const end = new PipeEnd(pipe);
    assert.equal(pipe.write([pattern(MEBIBYTE / 2)]), true);
    assert.equal(pipe.write([pattern(MEBIBYTE / 2)]), false);
    await settled();
    assert.equal(end.drains, 0);
    for (let size = 0; size < MEBIBYTE; ) size += ((await read.read()).value as Uint8Array).length;
    await end.until(() => end.drains === 1, 'drain');
    assert.equal(pipe.write([pattern(1)]), true);
  });

  it('ends as lost when either stream fails', async () => {
    const reading = setUp();
    const first = new PipeEnd(reading.pipe);
    await reading.send.abort(new Error('the cable'));
    const cause = await first.closing();
    assert.equal(cause?.code, 'connection-lost');
    assert.equal(cause?.message, 'the cable');
    const writing = setUp();
    const second = new PipeEnd(writing.pipe);
    await writing.read.cancel(new Error('no interest'));
    assert.equal((await second.closing())?.code, 'connection-lost');
    second.pipe.write([bytes(1)]);
    second.pipe.end();
    second.pipe.close();
  });

  it('refuses what is not bytes', async () => {
    const { pipe, send } = setUp();
    const end = new PipeEnd(pipe);
    send.write('text' as unknown as Uint8Array).catch(() => {});
    assert.equal((await end.closing())?.code, 'bad-argument');
  });

  it('closes both streams at once, not from inside the call', async () => {
    const { pipe, send, read } = setUp();
    const end = new PipeEnd(pipe);
    const cause = new SshError('aborted', 'enough');
    pipe.close(cause);
    assert.equal(end.outcome, undefined);
    assert.equal(await end.closing(), cause);
    await assert.rejects(read.read());
    await assert.rejects(send.write(bytes(1)));
  });
});
