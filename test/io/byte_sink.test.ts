import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SshError } from '../../src/errors.ts';
import { ByteSink } from '../../src/io/byte_sink.ts';
import { settled } from '../support/fake_connection.ts';
import { rejectsWith } from '../support/rejects.ts';

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);

/** A sink on a pipe that has room or not; `calls` is what the pipe was told. */
function sinking(room = true) {
  const calls: string[] = [];
  const pipe = {
    room,
    write(pieces: readonly Uint8Array[]): boolean {
      calls.push(`write ${pieces.map((piece) => piece.length).join('+')}`);
      return pipe.room;
    },
    end: () => void calls.push('end'),
    close: (cause?: SshError) => void calls.push(`close ${cause?.code}`),
  };
  return { calls, pipe, sink: new ByteSink(pipe) };
}

/** Whether `idle` has resolved by the time that all that is ready has run. */
async function isIdle(sink: ByteSink): Promise<boolean> {
  let done = false;
  sink.idle().then(() => {
    done = true;
  });
  await settled();
  return done;
}

describe('ByteSink', () => {
  it('writes, and resolves when the pipe has room', async () => {
    const { calls, pipe, sink } = sinking(false);
    const writer = sink.stream.getWriter();
    let done = false;
    const written = writer.write(bytes(1, 2)).then(() => {
      done = true;
    });
    await settled();
    assert.deepEqual([calls, done], [['write 2'], false]);
    pipe.room = true;
    sink.drain();
    await written;
    await writer.close();
    assert.deepEqual(calls, ['write 2', 'end']);
  });

  it('takes nothing but bytes', async () => {
    const { calls, sink } = sinking();
    await rejectsWith(sink.stream.getWriter().write('text' as unknown as Uint8Array), 'bad-argument');
    assert.deepEqual(calls, []);
  });

  it('closes the pipe when the writer aborts', async () => {
    const { calls, sink } = sinking();
    await sink.stream.abort('enough');
    assert.deepEqual(calls, ['close aborted']);
  });
});

describe('ByteSink.idle', () => {
  it('resolves at once where nothing was written', async () => {
    assert.equal(await isIdle(sinking().sink), true);
  });

  it('resolves when the pipe has taken all chunks, with or without room', async () => {
    const { calls, sink } = sinking(false);
    const writer = sink.stream.getWriter();
    writer.write(bytes(1));
    writer.write(bytes(2, 3));
    assert.equal(await isIdle(sink), false);
    assert.deepEqual(calls, ['write 1']);
    sink.drain();
    assert.equal(await isIdle(sink), true);
    assert.deepEqual(calls, ['write 1', 'write 2']);
  });

  it('resolves when the stream is failed', async () => {
    const { sink } = sinking(false);
    const writer = sink.stream.getWriter();
    writer.closed.catch(() => {});
    writer.write(bytes(1)).catch(() => {});
    writer.write(bytes(2)).catch(() => {});
    const idle = sink.idle();
    sink.fail(new SshError('channel-closed', 'gone'));
    await idle;
    assert.equal(await isIdle(sink), true);
  });

  it('resolves when a chunk was not bytes: nothing behind it is written', async () => {
    const { calls, sink } = sinking();
    const writer = sink.stream.getWriter();
    writer.closed.catch(() => {});
    for (const chunk of [bytes(1), 'text' as unknown as Uint8Array, bytes(2)]) writer.write(chunk).catch(() => {});
    assert.equal(await isIdle(sink), true);
    assert.deepEqual(calls, ['write 1']);
  });

  it('resolves when the writer has closed the stream, though it goes on writing', async () => {
    const { calls, sink } = sinking();
    const writer = sink.stream.getWriter();
    writer.write(bytes(1));
    const closed = writer.close();
    const late = writer.write(bytes(2));
    await closed;
    await assert.rejects(late, TypeError);
    assert.equal(await isIdle(sink), true);
    // Node 20 throws, and calls it an error of its own
    await assert.rejects(async () => await writer.write(bytes(3)));
    assert.equal(await isIdle(sink), true);
    assert.deepEqual(calls, ['write 1', 'end']);
  });

  it('resolves when the writer has aborted the stream', async () => {
    const { sink } = sinking(false);
    const writer = sink.stream.getWriter();
    writer.closed.catch(() => {});
    writer.write(bytes(1)).catch(() => {});
    writer.write(bytes(2)).catch(() => {});
    await settled();
    const aborted = writer.abort('enough');
    sink.drain();
    await aborted;
    assert.equal(await isIdle(sink), true);
    await writer.write(bytes(3)).catch(() => {});
    assert.equal(await isIdle(sink), true);
  });
});
