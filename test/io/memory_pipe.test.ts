import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SshError } from '../../src/errors.ts';
import { memoryPipes } from '../../src/io/memory_pipe.ts';
import { settled } from '../support/fake_connection.ts';
import { PipeEnd, pattern } from '../support/pipe_end.ts';

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);

describe('memoryPipes', () => {
  it('carry bytes both ways, never from inside a call', async () => {
    const [left, right] = memoryPipes();
    const [a, b] = [new PipeEnd(left), new PipeEnd(right)];
    assert.equal(left.write([bytes(1, 2), bytes(3)]), true);
    right.write([bytes(9)]);
    assert.equal(a.received + b.received, 0);
    await settled();
    assert.deepEqual(
      b.chunks.map((chunk) => [...chunk]),
      [[1, 2], [3]],
    );
    assert.deepEqual([...a.bytes], [9]);
  });

  it('keep what comes before an end is opened', async () => {
    const [left, right] = memoryPipes();
    left.open(new PipeEnd(memoryPipes()[0]));
    left.write([bytes(1)]);
    left.end();
    await settled();
    const b = new PipeEnd(right);
    await settled();
    assert.deepEqual([...b.bytes], [1]);
    assert.deepEqual(b.notices, ['end']);
  });

  it('cut what is written as they are told', async () => {
    const [left, right] = memoryPipes({ chunk: (all) => Array.from(all, (byte) => bytes(byte)) });
    const b = new PipeEnd(right);
    new PipeEnd(left);
    left.write([bytes(1, 2), bytes(3)]);
    await settled();
    assert.deepEqual(
      b.chunks.map((chunk) => [...chunk]),
      [[1], [2], [3]],
    );
  });

  it('carry hundreds of thousands of pieces, which would take minutes if each moved all that follow', async () => {
    const [left, right] = memoryPipes({ chunk: (all) => Array.from(all, (byte) => bytes(byte)) });
    const b = new PipeEnd(right);
    new PipeEnd(left);
    const all = pattern(300_000);
    left.write([all]);
    left.end();
    await settled();
    assert.deepEqual(new Uint8Array(b.bytes), all);
    assert.deepEqual(b.notices, ['end']);
  });

  it('stop at the bound until bytes are consumed, and then say so', async () => {
    const [left, right] = memoryPipes({ bound: 100 });
    const a = new PipeEnd(left);
    const b = new PipeEnd(right, false);
    const all = pattern(1000);
    let written = 0;
    const write = (): void => {
      while (written < 1000 && left.write([all.slice(written, written + 30)])) written += 30;
      written += 30;
    };
    write();
    for (; written < 300; written += 30) assert.equal(left.write([all.slice(written, written + 30)]), false);
    await settled();
    assert.ok(b.received >= 100 && b.received < 130, `${b.received}`);
    assert.equal(a.drains, 0);
    while (b.received < 1000) {
      const drains = a.drains;
      right.consumed(30);
      await settled();
      if (a.drains > drains) write();
    }
    assert.deepEqual(b.bytes, Buffer.from(all));
  });

  it('end in good order when both sides have', async () => {
    const [left, right] = memoryPipes();
    const [a, b] = [new PipeEnd(left), new PipeEnd(right)];
    left.write([bytes(1)]);
    left.end();
    left.write([bytes(2)]);
    await settled();
    assert.deepEqual([b.notices, [...b.bytes]], [['end'], [1]]);
    right.write([bytes(3)]);
    right.end();
    await settled();
    assert.deepEqual(a.notices, ['end', 'closed']);
    assert.deepEqual(b.notices, ['end', 'closed']);
    assert.deepEqual([a.outcome, b.outcome, [...a.bytes]], [{ cause: undefined }, { cause: undefined }, [3]]);
  });

  it('close at once here, and as a lost connection there', async () => {
    const [left, right] = memoryPipes();
    const [a, b] = [new PipeEnd(left), new PipeEnd(right)];
    const cause = new SshError('aborted', 'enough');
    left.write([bytes(1)]);
    left.close(cause);
    assert.deepEqual(a.notices, []);
    await settled();
    assert.equal(a.outcome?.cause, cause);
    assert.equal(b.outcome?.cause?.code, 'connection-lost');
    assert.equal(b.received, 0);
    right.write([bytes(1)]);
    right.close();
    await settled();
    assert.equal(a.received, 0);
  });

  it('end there in good order when closed without a cause', async () => {
    const [left, right] = memoryPipes({ bound: 10 });
    const [a, b] = [new PipeEnd(left), new PipeEnd(right)];
    left.write([bytes(1)]);
    left.close();
    await settled();
    assert.deepEqual(a.notices, ['closed']);
    assert.deepEqual([b.notices, [...b.bytes]], [['end'], [1]]);
    assert.equal(right.write([pattern(100)]), true, 'nobody will make room');
    right.end();
    await settled();
    assert.deepEqual(b.notices, ['end', 'closed']);
  });
});
