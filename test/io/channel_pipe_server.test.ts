/** A channel that the peer has opened: how it is accepted, how its requests wait for answers, and how it is finished. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Reader } from '../../src/bytes/reader.ts';
import type { Event } from '../../src/core/events.ts';
import { protocolError, SshError } from '../../src/errors.ts';
import { type ChannelExtras, ChannelPipe } from '../../src/io/channel_pipe.ts';
import { Driver } from '../../src/io/driver.ts';
import { memoryPipes } from '../../src/io/memory_pipe.ts';
import { FakeConnection, settled } from '../support/fake_connection.ts';
import { PipeEnd } from '../support/pipe_end.ts';
import { rejectsWith } from '../support/rejects.ts';
import { VirtualClock } from '../support/virtual_clock.ts';

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);
const none = new Uint8Array(0);
const WAITING = 64;

/** Channel 7, which the peer has opened, on a connection that does what the test says. */
function accepting(extras: ChannelExtras = {}, closesItself = false) {
  const fake = new FakeConnection();
  const [pipe] = memoryPipes();
  const failures: (SshError | undefined)[] = [];
  const driver = new Driver(fake.connection, pipe, new VirtualClock(), {
    event: () => {},
    ask: () => undefined,
    ended: (cause) => failures.push(cause),
  });
  driver.start();
  fake.takeCalls();
  const tell = async (...events: Event[]): Promise<void> => {
    fake.events.push(...events);
    driver.wake();
    await settled();
  };
  const channel = ChannelPipe.accept(driver, 7, { extras, closesItself });
  return { fake, driver, tell, channel, failures };
}

const request = (name: string, body: Uint8Array = none, wantReply = true) =>
  ({ type: 'channel-request', channel: 7, request: name, wantReply, body }) as const;
const data = { type: 'channel-data', channel: 7, kind: 0, data: bytes(1, 2) } as const;
const eof = { type: 'channel-eof', channel: 7 } as const;
const closed = { type: 'channel-closed', channel: 7 } as const;

/** Answers that the test gives when it likes. */
function slow() {
  const heard: string[] = [];
  const answers: ((granted: boolean | Error) => void)[] = [];
  const extras: ChannelExtras = {
    request(name) {
      heard.push(name);
      return new Promise<boolean>((resolve, reject) => {
        answers.push((granted) => (granted instanceof Error ? reject(granted) : resolve(granted)));
      });
    },
  };
  const answer = async (granted: boolean | Error): Promise<void> => {
    answers.shift()?.(granted);
    await settled();
  };
  return { heard, extras, answer };
}

describe('ChannelPipe.accept', () => {
  it('confirms the channel, which is open at once', async () => {
    const { fake, tell, channel } = accepting();
    assert.deepEqual(fake.takeCalls(), ['acceptChannel 7']);
    assert.equal(channel.receiveWindow, 4096);
    const end = new PipeEnd(channel, false);
    channel.write([bytes(1)]);
    await tell(data, eof);
    channel.consumed(2);
    channel.end();
    assert.deepEqual(fake.takeCalls(), ['write 7 1', 'consumed 7 2', 'endChannel 7']);
    assert.deepEqual([[...end.bytes], end.notices], [[1, 2], ['end']]);
    await tell(closed);
    assert.deepEqual(end.notices, ['end', 'closed']);
    await channel.freed;
  });

  it('gives a channel that fails when the connection has ended meanwhile', async () => {
    const { fake, driver, tell } = accepting();
    const cause = new SshError('connection-lost', 'reset');
    fake.close(cause);
    await tell();
    const late = ChannelPipe.accept(driver, 8, {});
    const end = new PipeEnd(late);
    await settled();
    assert.equal(end.outcome?.cause, cause);
    await late.freed;
  });

  it('takes a second stream of bytes to the peer', () => {
    const { fake, channel } = accepting();
    fake.takeCalls();
    channel.write([bytes(1)], 1);
    assert.deepEqual(fake.takeCalls(), ['write 7 1']);
  });

  for (const order of ['ends first', 'ends last'] as const) {
    it(`that closes itself closes once both sides have ended, where it ${order}`, async () => {
      const { fake, tell, channel } = accepting({}, true);
      const end = new PipeEnd(channel, false);
      fake.takeCalls();
      if (order === 'ends first') channel.end();
      else await tell(eof);
      assert.ok(!fake.takeCalls().includes('closeChannel 7'), 'one side may still send');
      if (order === 'ends first') await tell(eof);
      else channel.end();
      assert.equal(fake.takeCalls().at(-1), 'closeChannel 7');
      await tell(closed);
      assert.deepEqual([end.notices, end.outcome], [['end', 'closed'], { cause: undefined }]);
    });
  }

  it('that does not close itself waits when both sides have ended: a program may still run', async () => {
    const { fake, tell, channel } = accepting();
    new PipeEnd(channel, false);
    fake.takeCalls();
    channel.end();
    await tell(eof);
    assert.deepEqual(fake.takeCalls(), ['endChannel 7']);
  });

  it('finishes with a request, and is told the end when the peer has closed too', async () => {
    const { fake, tell, channel } = accepting();
    const end = new PipeEnd(channel, false);
    fake.takeCalls();
    channel.finish('exit-status', bytes(0, 0, 0, 1));
    assert.deepEqual(fake.takeCalls(), ['finishChannel 7 exit-status 4']);
    await tell(data);
    assert.deepEqual([...end.bytes], [1, 2], 'the peer may still send');
    await tell(closed);
    assert.deepEqual(end.notices, ['closed']);
    channel.finish('exit-status', none);
    assert.deepEqual(fake.takeCalls(), []);
  });
});

describe('requests of the peer', () => {
  it('are answered in order, each when the one before it is', async () => {
    const { heard, extras, answer } = slow();
    const { fake, tell } = accepting(extras);
    fake.takeCalls();
    await tell(request('a'), request('b', none, false), request('c'));
    assert.deepEqual([heard, fake.takeCalls()], [['a'], []]);
    await answer(true);
    assert.deepEqual([heard, fake.takeCalls()], [['a', 'b'], ['reply 7 true']]);
    await answer(true);
    assert.deepEqual([heard, fake.takeCalls()], [['a', 'b', 'c'], []]);
    await answer(false);
    assert.deepEqual(fake.takeCalls(), ['reply 7 false']);
  });

  it('are granted by a promise or at once, as it comes', async () => {
    const heard: string[] = [];
    const { fake, tell } = accepting({
      request(name) {
        heard.push(name);
        return name === 'slow' ? Promise.resolve(true) : name === 'yes';
      },
    });
    fake.takeCalls();
    await tell(request('yes'), request('slow'), request('no'), request('yes'));
    assert.deepEqual(heard, ['yes', 'slow', 'no', 'yes']);
    assert.deepEqual(fake.takeCalls(), ['reply 7 true', 'reply 7 true', 'reply 7 false', 'reply 7 true']);
  });

  it('are refused where the promise rejects, and the next one is heard', async () => {
    const { heard, extras, answer } = slow();
    const { fake, tell } = accepting(extras);
    fake.takeCalls();
    await tell(request('a'), request('b'));
    await answer(new Error('no'));
    assert.deepEqual([heard, fake.takeCalls()], [['a', 'b'], ['reply 7 false']]);
  });

  it(`wait in their number up to ${WAITING}; one more costs the peer this channel`, async () => {
    const { heard, extras, answer } = slow();
    const { fake, tell, channel } = accepting(extras);
    const end = new PipeEnd(channel, false);
    fake.takeCalls();
    await tell(request('first'));
    await tell(...Array.from({ length: WAITING }, () => request('x')));
    assert.deepEqual(fake.takeCalls(), []);
    await tell(request('y'));
    assert.deepEqual(fake.takeCalls(), ['closeChannel 7']);
    await tell(closed);
    assert.equal(end.outcome?.cause?.code, 'limit');
    assert.equal(end.outcome?.cause?.fault, 'peer');
    await answer(true);
    assert.deepEqual([heard, fake.takeCalls()], [['first'], []], 'nobody hears the others');
  });

  it('are heard no more once the channel is closed here', async () => {
    const { heard, extras, answer } = slow();
    const { fake, tell, channel } = accepting(extras);
    fake.takeCalls();
    await tell(request('a'), request('b'));
    channel.close(new SshError('aborted', 'enough'));
    fake.takeCalls();
    await answer(true);
    assert.deepEqual([heard, fake.takeCalls()], [['a'], []]);
    await tell(request('c'));
    assert.deepEqual(heard, ['a']);
  });

  it('cost the peer the channel, and nothing else, when they are malformed', async () => {
    const { fake, tell, channel, failures } = accepting({
      request(_name, body) {
        new Reader(body).u32();
        return true;
      },
    });
    const end = new PipeEnd(channel, false);
    fake.takeCalls();
    await tell(request('exec\x1b', bytes(1, 2)));
    assert.deepEqual(fake.takeCalls(), ['closeChannel 7']);
    await tell(closed);
    const cause = end.outcome?.cause;
    assert.equal(cause?.code, 'protocol');
    assert.match(cause.message, /^The peer's exec\\x1b request is malformed: Truncated uint32/);
    assert.deepEqual(failures, []);
  });

  it('end the connection when what hears them fails in any other way', async () => {
    const { tell, failures } = accepting({
      request() {
        throw protocolError('what a request cannot be');
      },
    });
    await tell(request('a'));
    assert.deepEqual(
      failures.map((cause) => cause?.message),
      ['what a request cannot be'],
    );
  });

  it('of ours are refused with the channel', async () => {
    const { tell, channel } = accepting();
    const waiting = channel.request('x');
    await tell(closed);
    await rejectsWith(waiting, 'channel-closed');
  });
});
