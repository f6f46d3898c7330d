import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SshError } from '../../src/errors.ts';
import { type ChannelEvent, type ConnectionEvent, Driver, type OwnerQuestion } from '../../src/io/driver.ts';
import type { BytePipe, PipeSink } from '../../src/io/pipe.ts';
import { FakeConnection, settled } from '../support/fake_connection.ts';
import { VirtualClock } from '../support/virtual_clock.ts';

/** A pipe that keeps what it is told, and delivers what a test says. */
class FakePipe implements BytePipe {
  readonly calls: string[] = [];
  readonly written: Uint8Array[][] = [];
  /** What `write` returns. */
  room = true;
  sink: PipeSink | undefined;
  /** Runs inside `write`. */
  onWrite: () => void = () => {};

  open(sink: PipeSink): void {
    this.sink = sink;
  }
  write(pieces: readonly Uint8Array[]): boolean {
    this.written.push([...pieces]);
    this.onWrite();
    return this.room;
  }
  end(): void {
    this.calls.push('end');
  }
  consumed(count: number): void {
    this.calls.push(`consumed ${count}`);
  }
  close(cause?: SshError): void {
    this.calls.push(cause === undefined ? 'close' : `close ${cause.code}`);
  }
}

function setUp(ask: (question: OwnerQuestion) => unknown = () => undefined) {
  const fake = new FakeConnection();
  const pipe = new FakePipe();
  const clock = new VirtualClock();
  const events: ConnectionEvent[] = [];
  const ends: (SshError | undefined)[] = [];
  const driver = new Driver(fake.connection, pipe, clock, {
    event: (event) => events.push(event),
    ask,
    ended: (cause) => ends.push(cause),
  });
  driver.start();
  const sink = pipe.sink as PipeSink;
  return { fake, pipe, clock, driver, events, ends, sink };
}

const bytes = (length: number): Uint8Array => new Uint8Array(length);
const banner = { type: 'banner', text: 'hello' } as const;

describe('Driver', () => {
  it('tells the time with what comes, and with what may leave', async () => {
    const { fake, clock, driver, sink } = setUp();
    const told = (): (number | undefined)[] => [...new Set(fake.times.splice(0))];
    told();
    await clock.pass(70);
    sink.data(bytes(3));
    assert.deepEqual([fake.received.length, told()], [1, [70]]);
    await clock.pass(5);
    driver.wake();
    await settled();
    assert.deepEqual(told(), [75]);
  });

  it('starts the connection, then the pipe, and sends what is there', () => {
    const fake = new FakeConnection();
    const pipe = new FakePipe();
    fake.output.push([bytes(3)], [bytes(4), bytes(5)]);
    const driver = new Driver(fake.connection, pipe, new VirtualClock(), {
      event: () => {},
      ask: () => undefined,
      ended: () => {},
    });
    driver.start();
    assert.equal(fake.calls[0], 'start');
    assert.notEqual(pipe.sink, undefined);
    assert.deepEqual(pipe.written, [[bytes(3)], [bytes(4), bytes(5)]]);
  });

  it('hands over what comes, tells the events, and gives the bytes back', () => {
    const { fake, pipe, events, sink } = setUp();
    fake.onReceive = () => fake.events.push(banner, banner);
    sink.data(bytes(10));
    assert.deepEqual(fake.received, [bytes(10)]);
    assert.deepEqual(events, [banner, banner]);
    assert.deepEqual(pipe.calls, ['consumed 10']);
  });

  it('gives nothing back while the connection holds its input', async () => {
    const { fake, pipe, driver, sink } = setUp();
    fake.holdsInput = true;
    sink.data(bytes(10));
    sink.data(bytes(7));
    assert.deepEqual(pipe.calls, []);
    fake.holdsInput = false;
    driver.wake();
    await settled();
    assert.deepEqual(pipe.calls, ['consumed 17']);
  });

  it('takes no output while the pipe has no room', () => {
    const { fake, pipe, sink } = setUp();
    fake.output.push([bytes(1)], [bytes(2)], [bytes(3)]);
    pipe.room = false;
    sink.data(bytes(1));
    assert.deepEqual(pipe.written, [[bytes(1)]]);
    sink.data(bytes(1));
    assert.equal(pipe.written.length, 1);
    pipe.room = true;
    sink.drain();
    assert.deepEqual(pipe.written, [[bytes(1)], [bytes(2)], [bytes(3)]]);
  });

  it('sends many commands of one turn together', async () => {
    const { fake, pipe, driver } = setUp();
    fake.calls.length = 0;
    driver.wake();
    driver.wake();
    fake.output.push([bytes(1)]);
    driver.wake();
    assert.equal(pipe.written.length, 0);
    await settled();
    assert.equal(pipe.written.length, 1);
    assert.deepEqual(fake.calls, ['takeOutput', 'takeOutput']);
  });

  it('goes on in the same loop when a handler calls in, and does not recurse', async () => {
    const fake = new FakeConnection();
    const pipe = new FakePipe();
    let depth = 0;
    let deepest = 0;
    let left = 20_000;
    const driver: Driver = new Driver(fake.connection, pipe, new VirtualClock(), {
      event: () => {
        deepest = Math.max(deepest, ++depth);
        if (left-- > 0) fake.events.push(banner);
        driver.wake();
        depth--;
      },
      ask: () => undefined,
      ended: () => {},
    });
    driver.start();
    fake.events.push(banner);
    pipe.sink?.data(bytes(1));
    assert.equal(left, -1);
    assert.equal(deepest, 1);
    await settled();
  });

  it('answers the question of work by itself', async () => {
    const { fake, sink } = setUp(() => assert.fail('it was asked'));
    fake.onReceive = () => {
      fake.events.push({ type: 'question', id: 4, question: { kind: 'work', promise: Promise.resolve('done') } });
    };
    sink.data(bytes(1));
    assert.deepEqual(fake.answers, []);
    await settled();
    assert.deepEqual(fake.answers, [[4, 'done']]);
  });

  it('refuses with what work fails with', async () => {
    const { fake, ends, sink } = setUp();
    const promise = Promise.reject(new Error('no point on the curve'));
    fake.onReceive = () => fake.events.push({ type: 'question', id: 4, question: { kind: 'work', promise } });
    sink.data(bytes(1));
    await settled();
    assert.equal(fake.refusals[0]?.[1].code, 'crypto');
    assert.equal(ends[0], fake.refusals[0]?.[1]);
  });

  it('asks its owner anything else, who may answer now, later, or not at all', async () => {
    const refusal = new SshError('host-key-unknown', 'never seen');
    const answers: Record<string, unknown> = {
      'new-password': 'now',
      credentials: Promise.resolve('later'),
      'host-key': Promise.reject(refusal),
    };
    const { fake, sink } = setUp((question) => answers[question.kind]);
    const questions = [
      { kind: 'new-password', prompt: '' },
      { kind: 'credentials', methods: [], failed: undefined, partial: false, serverSigAlgs: undefined },
      { kind: 'host-key', algorithm: '', hostKey: bytes(0), signature: bytes(0) },
    ] as const;
    questions.forEach((question, id) => {
      fake.onReceive = () => fake.events.push({ type: 'question', id, question });
      sink.data(bytes(1));
    });
    await settled();
    assert.deepEqual(fake.answers, [
      [0, 'now'],
      [1, 'later'],
    ]);
    assert.deepEqual(fake.refusals, [[2, refusal]]);
  });

  it('wraps what its owner throws', async () => {
    const { fake, ends, sink } = setUp(() => {
      throw new Error('the dialog was closed');
    });
    const question = { kind: 'new-password', prompt: '' } as const;
    fake.onReceive = () => fake.events.push({ type: 'question', id: 0, question });
    sink.data(bytes(1));
    await settled();
    assert.equal(ends[0]?.code, 'aborted');
    assert.equal(ends[0]?.message, 'the dialog was closed');
  });

  it('ends the connection when a handler throws', async () => {
    const fake = new FakeConnection();
    const pipe = new FakePipe();
    const ends: (SshError | undefined)[] = [];
    const driver = new Driver(fake.connection, pipe, new VirtualClock(), {
      event: () => {
        throw new TypeError('a mistake');
      },
      ask: () => undefined,
      ended: (cause) => ends.push(cause),
    });
    driver.start();
    fake.events.push(banner);
    pipe.sink?.data(bytes(1));
    await settled();
    assert.equal(ends[0]?.message, 'a mistake');
    assert.ok(fake.calls.includes('disconnect'));
    assert.ok(pipe.calls.includes('end'));
  });
});

describe('Driver timers', () => {
  it('are one at most, and tick when they are due', async () => {
    const { fake, clock, driver } = setUp();
    assert.equal(clock.timers, 0);
    fake.due = 500;
    driver.wake();
    await settled();
    assert.equal(clock.timers, 1);
    fake.due = 200;
    driver.wake();
    await settled();
    assert.equal(clock.timers, 1);
    await clock.pass(199);
    assert.deepEqual(
      fake.calls.filter((call) => call.startsWith('tick')),
      [],
    );
    fake.due = 900;
    await clock.pass(1);
    assert.deepEqual(
      fake.calls.filter((call) => call.startsWith('tick')),
      ['tick 200'],
    );
    assert.equal(clock.timers, 1);
    await clock.pass(700);
    assert.deepEqual(
      fake.calls.filter((call) => call.startsWith('tick')),
      ['tick 200', 'tick 900'],
    );
  });

  it('stay as they are when the time limit moves on with every packet', async () => {
    const { fake, clock, sink } = setUp();
    let armed = 0;
    const after = clock.after.bind(clock);
    clock.after = (milliseconds, run) => {
      armed++;
      return after(milliseconds, run);
    };
    for (let i = 0; i < 100; i++) {
      fake.due = 1000 + i;
      sink.data(bytes(1));
    }
    assert.equal(armed, 1);
    await clock.pass(1000);
    assert.equal(armed, 2);
    await clock.pass(99);
    assert.deepEqual(
      fake.calls.filter((call) => call.startsWith('tick')),
      ['tick 1000', 'tick 1099'],
    );
    assert.equal(clock.timers, 0);
  });

  it('wait in steps that timers can take', async () => {
    const { fake, clock, driver } = setUp();
    const delays: number[] = [];
    clock.after = (milliseconds) => {
      delays.push(milliseconds);
      return () => {};
    };
    fake.due = 2 ** 40;
    driver.wake();
    await settled();
    assert.deepEqual(delays, [0x7fffffff]);
  });
});

describe('Driver at the end', () => {
  const channelOwner = () => {
    const events: ChannelEvent[] = [];
    const losses: SshError[] = [];
    return { events, losses, event: (e: ChannelEvent) => events.push(e), lost: (c: SshError) => losses.push(c) };
  };

  it('routes the events of a channel to its owner until it is closed or refused', () => {
    const { fake, driver, events, sink } = setUp();
    const [first, second] = [channelOwner(), channelOwner()];
    assert.equal(driver.openChannel('session', bytes(2), first), 0);
    assert.equal(driver.openChannel('other', bytes(0), second), 1);
    const opened = { type: 'channel-opened', channel: 0 } as const;
    const eof = { type: 'channel-eof', channel: 0 } as const;
    const closed = { type: 'channel-closed', channel: 0 } as const;
    const refused = { type: 'channel-refused', channel: 1, error: new SshError('channel-open-failed', 'no') } as const;
    const request = { type: 'channel-open-request', channel: 7, kind: 'x11', body: bytes(0) } as const;
    fake.onReceive = () => fake.events.push(opened, refused, eof, closed, eof, refused, request);
    sink.data(bytes(1));
    assert.deepEqual(first.events, [opened, eof, closed]);
    assert.deepEqual(second.events, [refused]);
    assert.deepEqual(events, [request]);
  });

  it('tells every channel and then the owner the one cause', () => {
    const { fake, driver, ends, sink } = setUp();
    const owners = [channelOwner(), channelOwner()];
    for (const owner of owners) driver.openChannel('session', bytes(0), owner);
    const cause = new SshError('keepalive-timeout', 'silence');
    fake.onReceive = () => fake.close(cause);
    sink.data(bytes(1));
    for (const owner of owners) assert.deepEqual(owner.losses, [cause]);
    assert.deepEqual(ends, [cause]);
    assert.equal(driver.endedBy, cause);
    const late = channelOwner();
    driver.attach(5, late);
    return settled().then(() => assert.deepEqual(late.losses, [cause]));
  });

  it('tells the others, and ends the pipe, when one of those that it tells throws', async () => {
    const fake = new FakeConnection();
    const pipe = new FakePipe();
    const told: string[] = [];
    const fail = (name: string) => (): never => {
      told.push(name);
      throw new Error('a mistake');
    };
    const owner = { event: () => {}, ask: () => undefined, ended: fail('owner') };
    const driver = new Driver(fake.connection, pipe, new VirtualClock(), owner);
    driver.start();
    for (const name of ['first', 'second'])
      driver.openChannel('session', bytes(0), { event: () => {}, lost: fail(name) });
    fake.close(undefined);
    driver.wake();
    await settled();
    assert.deepEqual(told, ['first', 'second', 'owner']);
    assert.deepEqual(pipe.calls, ['end']);
    pipe.sink?.closed(undefined);
    await driver.down;
  });

  it('sends the farewell even where the pipe has no room, ends the pipe, and waits for the peer to do the same', async () => {
    const { fake, pipe, clock, driver, ends, sink } = setUp();
    pipe.room = false;
    fake.output.push([bytes(1)]);
    sink.data(bytes(1));
    fake.output.push([bytes(9)]);
    driver.close();
    await settled();
    assert.deepEqual(pipe.written, [[bytes(1)], [bytes(9)]]);
    assert.deepEqual(ends, [undefined]);
    assert.equal(driver.endedBy?.code, 'connection-closed');
    assert.deepEqual(pipe.calls, ['consumed 1', 'end']);
    let down = false;
    driver.down.then(() => {
      down = true;
    });
    sink.data(bytes(100)); // dropped, but given back, or the peer's end would never come
    assert.deepEqual(pipe.calls.slice(2), ['consumed 100']);
    sink.end();
    assert.deepEqual(pipe.calls.slice(3), ['close']);
    await settled();
    assert.equal(down, false);
    sink.closed(undefined);
    await settled();
    assert.equal(down, true);
    assert.equal(clock.timers, 0);
    assert.deepEqual(ends, [undefined]);
  });

  it('cuts the pipe when the peer does not end it in time', async () => {
    const { pipe, clock, driver } = setUp();
    driver.close();
    await settled();
    await clock.pass(1999);
    assert.deepEqual(pipe.calls, ['end']);
    await clock.pass(1);
    assert.deepEqual(pipe.calls, ['end', 'close']);
    assert.equal(clock.timers, 0);
  });

  it('ends with the cause that this side gave', async () => {
    const { driver, ends } = setUp();
    const cause = new SshError('aborted', 'enough');
    driver.close(cause);
    driver.close(new SshError('aborted', 'too late'));
    await settled();
    assert.deepEqual(ends, [cause]);
    assert.equal(driver.endedBy, cause);
  });

  it('ends when the peer ends the stream', () => {
    const { fake, pipe, sink, ends } = setUp();
    sink.end();
    assert.ok(fake.calls.includes('endOfInput'));
    assert.equal(ends.length, 1);
    assert.deepEqual(pipe.calls, ['end']);
  });

  it('leaves a pipe alone that is down, and no timer behind', async () => {
    const { fake, pipe, clock, driver, sink, ends } = setUp();
    fake.due = 1000;
    driver.wake();
    await settled();
    assert.equal(clock.timers, 1);
    const cause = new SshError('connection-lost', 'reset');
    sink.closed(cause);
    assert.deepEqual(ends, [cause]);
    assert.deepEqual(pipe.calls, []);
    assert.equal(clock.timers, 0);
    await driver.down;
  });
});
