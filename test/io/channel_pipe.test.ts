import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Event } from '../../src/core/events.ts';
import { SshError } from '../../src/errors.ts';
import { type ChannelExtras, ChannelPipe } from '../../src/io/channel_pipe.ts';
import { Driver } from '../../src/io/driver.ts';
import type { BytePipe, PipeSink } from '../../src/io/pipe.ts';
import { FakeConnection, settled } from '../support/fake_connection.ts';
import { PipeEnd } from '../support/pipe_end.ts';
import { rejectsWith } from '../support/rejects.ts';
import { VirtualClock } from '../support/virtual_clock.ts';

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);
const none = new Uint8Array(0);

/** A driver over a pipe that goes nowhere; `tell` makes the connection say something. */
function setUp() {
  const fake = new FakeConnection();
  let sink: PipeSink | undefined;
  const pipe: BytePipe = {
    open: (opened) => {
      sink = opened;
    },
    write: () => true,
    end: () => {},
    consumed: () => {},
    close: () => {},
  };
  const driver = new Driver(fake.connection, pipe, new VirtualClock(), {
    event: () => {},
    ask: () => undefined,
    ended: () => {},
  });
  driver.start();
  fake.takeCalls();
  const tell = (...events: Event[]): void => {
    fake.events.push(...events);
    sink?.data(none);
  };
  const connect = (extras: ChannelExtras = {}, signal?: AbortSignal): Promise<ChannelPipe> =>
    ChannelPipe.connect(driver, 'session', { body: bytes(1, 2), extras, signal });
  return { fake, driver, tell, connect };
}

const opened = { type: 'channel-opened', channel: 0 } as const;
const closed = { type: 'channel-closed', channel: 0 } as const;
const eof = { type: 'channel-eof', channel: 0 } as const;
const drain = { type: 'channel-drain', channel: 0 } as const;
const data = (...values: number[]) => ({ type: 'channel-data', channel: 0, kind: 0, data: bytes(...values) }) as const;

/** An open channel with its sink. */
async function opening(extras: ChannelExtras = {}) {
  const parts = setUp();
  const connecting = parts.connect(extras);
  parts.tell(opened);
  const pipe = await connecting;
  parts.fake.takeCalls();
  return { ...parts, pipe, end: new PipeEnd(pipe, false) };
}

describe('ChannelPipe', () => {
  it('is there when the peer has confirmed', async () => {
    const { fake, tell, connect } = setUp();
    const connecting = connect();
    assert.deepEqual(fake.takeCalls(), ['openChannel session 2']);
    tell(opened);
    assert.equal((await connecting).receiveWindow, 4096);
  });

  it('is not there when the peer refuses', async () => {
    const { tell, connect } = setUp();
    const connecting = connect();
    const error = new SshError('channel-open-failed', 'prohibited');
    tell({ type: 'channel-refused', channel: 0, error });
    assert.equal(await rejectsWith(connecting, 'channel-open-failed'), error);
  });

  it('fails with the connection while it opens', async () => {
    const { fake, tell, connect } = setUp();
    const connecting = connect();
    const cause = new SshError('connection-lost', 'reset');
    fake.close(cause);
    tell();
    assert.equal(await rejectsWith(connecting, 'connection-lost'), cause);
    assert.equal(await rejectsWith(connect(), 'connection-lost'), cause);
  });

  it('is closed when it opens after its signal has fired', async () => {
    const { fake, tell, connect } = setUp();
    const controller = new AbortController();
    const connecting = connect({}, controller.signal);
    controller.abort('why');
    assert.equal((await rejectsWith(connecting, 'aborted')).cause, 'why');
    fake.takeCalls();
    tell(opened);
    assert.deepEqual(fake.takeCalls(), ['closeChannel 0']);
    await rejectsWith(connect({}, AbortSignal.abort()), 'aborted');
    assert.deepEqual(fake.takeCalls(), []);
  });

  it('delivers, and gives back what is consumed', async () => {
    const { fake, tell, pipe, end } = await opening();
    tell(data(1, 2, 3), data(4));
    assert.deepEqual([...end.bytes], [1, 2, 3, 4]);
    assert.deepEqual(fake.takeCalls(), []);
    pipe.consumed(3);
    assert.deepEqual(fake.takeCalls(), ['consumed 0 3']);
  });

  it('tells its window as it grows, and what it has moved, also when it has ended', async () => {
    const { fake, tell, pipe } = await opening();
    assert.deepEqual(pipe.stats, fake.view.stats);
    fake.view.window = 9999;
    fake.stats = { roundTrip: 12, latestRoundTrip: 15, bytesIn: 3 };
    assert.equal(pipe.receiveWindow, 9999);
    assert.deepEqual(pipe.stats, { roundTrip: 12, ...fake.view.stats });
    tell(closed);
    assert.deepEqual(pipe.stats, { roundTrip: 12, ...fake.view.stats });
  });

  it('writes, and says when there is room again', async () => {
    const { fake, tell, pipe, end } = await opening();
    assert.equal(pipe.write([bytes(1), bytes(2, 3)]), true);
    fake.room = false;
    assert.equal(pipe.write([bytes(4)]), false);
    tell(drain);
    pipe.end();
    assert.deepEqual(end.notices, ['drain']);
    assert.deepEqual(fake.takeCalls(), ['write 0 1+2', 'write 0 1', 'endChannel 0']);
  });

  it('keeps what comes before it is opened, and tells it in order, not from inside the call', async () => {
    const { tell, connect } = setUp();
    const connecting = connect();
    tell(opened, data(1), data(2));
    const pipe = await connecting;
    tell(data(3), eof);
    const end = new PipeEnd(pipe);
    assert.equal(end.received, 0);
    tell(closed);
    assert.equal(end.received, 0);
    await settled();
    assert.deepEqual([...end.bytes], [1, 2, 3]);
    assert.deepEqual(end.notices, ['end', 'closed']);
  });

  it('ends in good order with CLOSE from both sides', async () => {
    const { fake, tell, pipe, end } = await opening();
    tell(data(1), eof, closed);
    assert.deepEqual(end.notices, ['end', 'closed']);
    assert.equal(end.outcome?.cause, undefined);
    await pipe.freed;
    pipe.consumed(1); // the number may be another channel's by now
    pipe.write([bytes(1)]);
    pipe.end();
    pipe.close();
    pipe.notify('signal');
    assert.deepEqual(fake.takeCalls(), []);
    await rejectsWith(pipe.request('exec'), 'channel-closed');
  });

  it('drops what still comes when it was closed here, and is told the end when the peer has closed too', async () => {
    const { fake, tell, pipe, end } = await opening();
    const cause = new SshError('limit', 'too much');
    pipe.close(cause);
    pipe.close(new SshError('aborted', 'again'));
    assert.deepEqual(fake.takeCalls(), ['closeChannel 0']);
    tell(data(1, 2), eof, drain);
    assert.equal(end.received, 0);
    await settled();
    assert.deepEqual(end.notices, []);
    tell(closed);
    assert.deepEqual(end.notices, ['closed']);
    assert.equal(end.outcome?.cause, cause);
  });

  it('fails with the connection, once', async () => {
    const { fake, tell, pipe, end } = await opening();
    const waiting = pipe.request('exec');
    const cause = new SshError('connection-lost', 'reset');
    fake.close(cause);
    tell();
    assert.equal(end.outcome?.cause, cause);
    assert.equal(await rejectsWith(waiting, 'connection-lost'), cause);
    assert.equal(await rejectsWith(pipe.request('exec'), 'connection-lost'), cause);
    await pipe.freed;
  });

  describe('requests', () => {
    it('of ours get the answer that belongs to them', async () => {
      const { fake, tell, pipe } = await opening();
      const answers = [pipe.request('exec', bytes(1)), pipe.request('env'), pipe.request('shell')];
      pipe.notify('signal', bytes(1, 2));
      assert.deepEqual(fake.takeCalls(), [
        'request 0 exec 1 true',
        'request 0 env 0 true',
        'request 0 shell 0 true',
        'request 0 signal 2 false',
      ]);
      tell(
        { type: 'channel-reply', channel: 0, id: 101, ok: true },
        { type: 'channel-reply', channel: 0, id: 102, ok: false },
      );
      assert.deepEqual(await Promise.all(answers.slice(0, 2)), [true, false]);
      tell(closed);
      await rejectsWith(answers[2] as Promise<boolean>, 'channel-closed');
    });

    it('of the peer are answered only where it wants that, and with failure where nobody knows them', async () => {
      const heard: string[] = [];
      const { fake, tell } = await opening({
        request: (request) => {
          heard.push(request);
          return request === 'exit-status';
        },
      });
      const request = (name: string, wantReply: boolean) =>
        ({ type: 'channel-request', channel: 0, request: name, wantReply, body: none }) as const;
      tell(request('exit-status', false), request('exit-status', true), request('x@y', true), request('x@y', false));
      assert.deepEqual(heard, ['exit-status', 'exit-status', 'x@y', 'x@y']);
      assert.deepEqual(fake.takeCalls(), ['reply 0 true', 'reply 0 false']);
      const plain = await opening();
      plain.tell(request('x@y', true));
      assert.deepEqual(plain.fake.takeCalls(), ['reply 0 false']);
    });
  });

  describe('extended data', () => {
    const stderr = { type: 'channel-data', channel: 0, kind: 1, data: bytes(7, 8) } as const;

    it('goes to whoever wants it', async () => {
      const heard: unknown[] = [];
      const { fake, tell, pipe, end } = await opening({
        extended: (kind, bytes, channel) => heard.push(kind, [...bytes], channel),
      });
      tell(stderr);
      assert.deepEqual(heard, [1, [7, 8], pipe]);
      assert.equal(end.received, 0);
      assert.deepEqual(fake.takeCalls(), []);
    });

    it('is dropped and given back where nobody does', async () => {
      const { fake, tell } = await opening();
      tell(stderr);
      assert.deepEqual(fake.takeCalls(), ['consumed 0 2']);
    });
  });
});
