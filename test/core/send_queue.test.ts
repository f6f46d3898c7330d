import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SendQueue } from '../../src/core/send_queue.ts';

/** A payload with this number and `size` bytes in all. */
function message(number: number, size = 1): Uint8Array {
  const payload = new Uint8Array(size);
  payload[0] = number;
  return payload;
}

/** Takes everything that may leave, as message numbers. */
function numbers(queue: SendQueue): number[] {
  const taken: number[] = [];
  for (let payload = queue.shift(); payload !== undefined; payload = queue.shift()) taken.push(payload[0] as number);
  return taken;
}

describe('SendQueue', () => {
  it('gives payloads back in order, and nothing when it is empty', () => {
    const queue = new SendQueue();
    assert.equal(queue.shift(), undefined);
    const payloads = [message(2), message(94), message(2)];
    for (const payload of payloads) queue.push(payload);
    for (const payload of payloads) assert.equal(queue.shift(), payload);
    assert.equal(queue.shift(), undefined);
    queue.push(message(5));
    assert.deepEqual(numbers(queue), [5]);
  });

  it('lets out through the closed gate what RFC 4253 §7.1 allows, and nothing else', () => {
    const queue = new SendQueue();
    queue.closeGate();
    for (let number = 1; number <= 255; number++) queue.push(message(number));
    const allowed = [
      1,
      2,
      3,
      4,
      20,
      21,
      22,
      23,
      24,
      25,
      26,
      27,
      28,
      29,
      ...Array.from({ length: 20 }, (_, i) => 30 + i),
    ];
    assert.deepEqual(numbers(queue), allowed);
  });

  it('keeps what was pushed before the gate closed ahead of the KEXINIT', () => {
    const queue = new SendQueue();
    for (const number of [93, 98, 20]) queue.push(message(number));
    queue.closeGate();
    queue.push(message(94));
    assert.deepEqual(numbers(queue), [93, 98, 20]);
  });

  it('holds the rest in order until the gate opens, behind NEWKEYS and what goes first', () => {
    const queue = new SendQueue();
    queue.push(message(20));
    queue.closeGate();
    for (const number of [90, 30, 98, 80]) queue.push(message(number));
    assert.deepEqual(numbers(queue), [20, 30]);
    queue.push(message(21));
    queue.openGate(message(7));
    queue.push(message(96));
    assert.deepEqual(numbers(queue), [21, 7, 90, 98, 80, 96]);
  });

  it('holds again when the gate closes again', () => {
    const queue = new SendQueue();
    for (let round = 0; round < 3; round++) {
      queue.closeGate();
      queue.push(message(90));
      assert.equal(queue.gateOpen, false);
      assert.deepEqual(numbers(queue), []);
      queue.openGate();
      assert.equal(queue.gateOpen, true);
      assert.deepEqual(numbers(queue), [90]);
    }
  });

  it('counts the bytes that wait, held ones too, and 128 for each payload', () => {
    const queue = new SendQueue();
    queue.push(message(2, 10));
    queue.closeGate();
    queue.push(message(90, 100));
    queue.push(message(2, 1000));
    assert.equal(queue.bytes, 1110 + 3 * 128);
    queue.shift();
    assert.equal(queue.bytes, 1100 + 2 * 128);
    queue.openGate(message(7, 5));
    assert.equal(queue.bytes, 1105 + 3 * 128);
    numbers(queue);
    assert.equal(queue.bytes, 0);
  });

  it('keeps the order while it never runs empty', () => {
    const queue = new SendQueue();
    for (let i = 0; i < 100; i++) queue.push(message(i & 0xff));
    for (let i = 100; i < 10_000; i++) {
      queue.push(message(i & 0xff));
      assert.equal(queue.shift()?.[0], (i - 100) & 0xff);
    }
    assert.equal(queue.bytes, 100 * 129);
    assert.deepEqual(
      numbers(queue),
      Array.from({ length: 100 }, (_, i) => (9900 + i) & 0xff),
    );
  });

  it('drops everything when it is cleared', () => {
    const queue = new SendQueue();
    queue.push(message(2));
    queue.closeGate();
    queue.push(message(90));
    queue.clear();
    assert.equal(queue.bytes, 0);
    assert.deepEqual(numbers(queue), []);
    queue.openGate();
    assert.deepEqual(numbers(queue), []);
    queue.push(message(1));
    assert.deepEqual(numbers(queue), [1]);
  });

  it('takes a flood of held answers: a mebibyte of CHANNEL_FAILURE', () => {
    const queue = new SendQueue();
    queue.closeGate();
    for (let i = 0; i < 209_715; i++) queue.push(message(100, 5));
    queue.push(message(21));
    queue.openGate();
    const taken = numbers(queue);
    assert.equal(taken.length, 209_716);
    assert.deepEqual([taken[0], taken[1], taken[209_715]], [21, 100, 100]);
  });
});
