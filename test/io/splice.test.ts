import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SshError } from '../../src/errors.ts';
import { memoryPipes } from '../../src/io/memory_pipe.ts';
import type { BytePipe, PipeSink } from '../../src/io/pipe.ts';
import { splice } from '../../src/io/splice.ts';
import { settled } from '../support/fake_connection.ts';
import { PipeEnd, pattern } from '../support/pipe_end.ts';
import { VirtualClock } from '../support/virtual_clock.ts';

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);
const lost = new SshError('connection-lost', 'reset');
const NO_CAUSE = { cause: undefined };

/** A pipe that does what the test says. */
class ManualPipe implements BytePipe {
  readonly calls: string[] = [];
  room = true;
  sink: PipeSink | undefined;

  open(sink: PipeSink): void {
    this.sink = sink;
  }

  write(pieces: readonly Uint8Array[]): boolean {
    this.calls.push(`write ${pieces.map((piece) => piece.length).join('+')}`);
    return this.room;
  }

  end(): void {
    this.calls.push('end');
  }

  consumed(count: number): void {
    this.calls.push(`consumed ${count}`);
  }

  close(cause?: SshError): void {
    this.calls.push(`close ${cause?.code}`);
  }

  takeCalls(): string[] {
    return this.calls.splice(0);
  }
}

/** Two manual pipes, joined. */
function joined() {
  const [left, right, clock] = [new ManualPipe(), new ManualPipe(), new VirtualClock()];
  let done = false;
  splice(left, right, clock).then(() => {
    done = true;
  });
  const [fromLeft, fromRight] = [left.sink, right.sink];
  assert.ok(fromLeft !== undefined && fromRight !== undefined);
  return { left, right, clock, fromLeft, fromRight, isDone: () => done };
}

/** Two memory pipes, joined in the middle. */
function line(bound = 1024 * 1024) {
  const [near, left] = memoryPipes({ bound });
  const [right, far] = memoryPipes({ bound });
  const joining = splice(left, right, new VirtualClock());
  return { near, far, joining };
}

describe('splice, of memory pipes,', () => {
  it('carries both ways, and ends when both sides have ended', async () => {
    const { near, far, joining } = line();
    const [a, b] = [new PipeEnd(near), new PipeEnd(far)];
    near.write([bytes(1), bytes(2)]);
    far.write([bytes(9)]);
    near.write([bytes(3)]);
    near.end();
    far.end();
    await joining;
    await settled();
    assert.deepEqual([[...b.bytes], [...a.bytes]], [[1, 2, 3], [9]]);
    assert.deepEqual([a.outcome, b.outcome], [NO_CAUSE, NO_CAUSE]);
  });

  it('ends each direction on its own', async () => {
    const { near, far, joining } = line();
    const [a, b] = [new PipeEnd(near), new PipeEnd(far)];
    near.end();
    await settled();
    assert.deepEqual([a.notices, b.notices], [[], ['end']]);
    far.write([bytes(5)]);
    await settled();
    assert.deepEqual([...a.bytes], [5]);
    far.end();
    await joining;
    await settled();
    assert.deepEqual(
      [a.notices, b.notices],
      [
        ['end', 'closed'],
        ['end', 'closed'],
      ],
    );
  });

  it('holds back a sender whose receiver does not read, and loses nothing', async () => {
    const bound = 1000;
    const { near, far, joining } = line(bound);
    const [a, b] = [new PipeEnd(near), new PipeEnd(far, false)];
    const all = pattern(100_000);
    let [sent, given] = [0, 0];
    const send = async (): Promise<void> => {
      for (let room = true; room && sent < all.length; sent += 100) room = near.write([all.slice(sent, sent + 100)]);
      await settled();
    };
    await send();
    // one pipe's bound before the splice, one behind it, and the piece that reached it in each
    assert.ok(sent <= 2 * bound + 200, `${sent} bytes were taken`);
    assert.equal(b.received, bound);
    for (let rounds = 0; sent < all.length; rounds++) {
      assert.ok(rounds < 1000, 'what is given back lets the sender go on');
      far.consumed(b.received - given);
      given = b.received;
      await settled();
      if (a.drains > 0) await send();
    }
    b.consumes = true;
    far.consumed(b.received - given);
    near.end();
    far.end();
    await joining;
    await settled();
    assert.equal(b.received, all.length);
    assert.ok(b.bytes.every((byte, i) => byte === all[i]));
  });
  it('breaks the other side when one is lost', async () => {
    const { near, far, joining } = line();
    const b = new PipeEnd(far);
    new PipeEnd(near);
    near.close(lost);
    await joining;
    await settled();
    assert.equal(b.outcome?.cause?.code, 'connection-lost');
  });
});

describe('splice', () => {
  it('gives back at once what there was room for', () => {
    const { left, right, fromLeft, fromRight } = joined();
    fromLeft.data(bytes(1, 2));
    assert.deepEqual([right.takeCalls(), left.takeCalls()], [['write 2'], ['consumed 2']]);
    fromRight.data(bytes(3));
    assert.deepEqual([left.takeCalls(), right.takeCalls()], [['write 1'], ['consumed 1']]);
  });

  it('gives back the rest when there is room again, and nothing twice', () => {
    const { left, right, fromLeft, fromRight } = joined();
    right.room = false;
    fromLeft.data(bytes(1, 2));
    fromLeft.data(bytes(3));
    assert.deepEqual([right.takeCalls(), left.takeCalls()], [['write 2'], []]);
    fromRight.drain();
    assert.deepEqual([right.takeCalls(), left.takeCalls()], [['write 1'], []], 'no room for that either');
    right.room = true;
    fromRight.drain();
    assert.deepEqual(left.takeCalls(), ['consumed 3']);
    fromRight.drain();
    fromLeft.data(bytes(4));
    assert.deepEqual(left.takeCalls(), ['consumed 1']);
  });

  it('writes what waits for room before the end', () => {
    for (const how of ['end', 'closed'] as const) {
      const { right, fromLeft } = joined();
      right.room = false;
      fromLeft.data(bytes(1, 2));
      fromLeft.data(bytes(3));
      if (how === 'end') fromLeft.end();
      else fromLeft.closed(undefined);
      assert.deepEqual(right.takeCalls(), ['write 2', 'write 1', 'end'], how);
    }
  });

  it('ends one side when the other has gone in good order, and closes it where that is not enough', async () => {
    const { right, fromLeft, fromRight, clock, isDone } = joined();
    fromLeft.closed(undefined);
    assert.deepEqual(right.takeCalls(), ['end']);
    await clock.pass(9999);
    assert.deepEqual(right.takeCalls(), []);
    await clock.pass(1);
    assert.deepEqual([right.takeCalls(), isDone()], [['close undefined'], false]);
    fromRight.closed(undefined);
    await settled();
    assert.equal(isDone(), true);
  });

  it('waits for nothing once both have gone', async () => {
    const { left, right, fromLeft, fromRight, clock, isDone } = joined();
    fromLeft.closed(undefined);
    fromRight.closed(lost);
    await settled();
    assert.deepEqual([isDone(), clock.timers], [true, 0]);
    assert.deepEqual([left.takeCalls(), right.takeCalls()], [[], ['end']]);
  });

  it('gives a side that has yet to take what was written its time', async () => {
    const { right, fromLeft, fromRight, clock } = joined();
    right.room = false;
    fromLeft.data(bytes(1));
    fromLeft.closed(undefined);
    await clock.pass(60_000);
    assert.deepEqual(right.takeCalls(), ['write 1', 'end']);
    fromRight.drain();
    await clock.pass(9999);
    assert.deepEqual(right.takeCalls(), []);
    await clock.pass(1);
    assert.deepEqual(right.takeCalls(), ['close undefined']);
  });

  it('does not wait for ever for a side that takes nothing', async () => {
    const { right, fromLeft, clock } = joined();
    right.room = false;
    fromLeft.data(bytes(1));
    fromLeft.closed(undefined);
    right.takeCalls();
    await clock.pass(3_600_000);
    assert.deepEqual(right.takeCalls(), ['close undefined']);
  });

  it('drops what comes for a side that has gone, and gives it back', () => {
    const { left, right, fromLeft, fromRight } = joined();
    fromRight.closed(undefined);
    right.takeCalls();
    left.takeCalls();
    fromLeft.data(bytes(1, 2, 3));
    assert.deepEqual([right.takeCalls(), left.takeCalls()], [[], ['consumed 3']]);
  });

  it('closes one side with why the other was lost', () => {
    const { right, fromLeft } = joined();
    fromLeft.closed(lost);
    assert.deepEqual(right.takeCalls(), ['close connection-lost']);
  });
});
