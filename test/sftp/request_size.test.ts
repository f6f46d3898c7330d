import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BASE_REQUEST, MAX_REQUEST, RequestSize } from '../../src/sftp/request_size.ts';

const MIB = 1024 * 1024;

describe('RequestSize', () => {
  it('is 32 KiB where the window is full of such requests, and larger where more is needed to fill it', () => {
    const size = (window: number, requests: number): number =>
      new RequestSize(() => MAX_REQUEST).next(window, requests);
    assert.equal(size(2 * MIB, 128), BASE_REQUEST);
    assert.equal(size(16 * MIB, 128), 126_976);
    assert.equal(size(64 * MIB, 128), MAX_REQUEST);
    assert.equal(size(2 * MIB, 1), MAX_REQUEST);
  });

  it('never goes beyond what is allowed', () => {
    assert.equal(new RequestSize(() => 10_000).next(64 * MIB, 1), 10_000);
  });

  it('takes up a limit that comes later, but not beyond what the server was seen to answer', () => {
    let max = BASE_REQUEST;
    const [size, clamped] = [new RequestSize(() => max), new RequestSize(() => max)];
    for (const each of [size, clamped]) assert.equal(each.next(64 * MIB, 128), BASE_REQUEST);
    for (let i = 0; i < 4; i++) clamped.answered(BASE_REQUEST, 9000);
    max = MAX_REQUEST;
    assert.equal(size.next(64 * MIB, 128), MAX_REQUEST);
    assert.equal(clamped.next(64 * MIB, 128), 9000);
  });

  it('shrinks after a streak of short answers, to the longest of them, and not for one', () => {
    const size = new RequestSize(() => MAX_REQUEST);
    const next = (): number => size.next(2 * MIB, 128);
    next();
    size.answered(BASE_REQUEST, 1);
    size.answered(BASE_REQUEST, BASE_REQUEST);
    for (const got of [100, 5000, 4000]) size.answered(BASE_REQUEST, got);
    assert.equal(next(), BASE_REQUEST);
    size.answered(BASE_REQUEST, 300);
    assert.equal(next(), 5000);
  });

  it('does not shrink below 2 KiB, nor for the tails of short answers', () => {
    const size = new RequestSize(() => MAX_REQUEST);
    size.next(2 * MIB, 128);
    for (let i = 0; i < 10; i++) size.answered(1000, 10);
    assert.equal(size.next(2 * MIB, 128), BASE_REQUEST);
    for (let i = 0; i < 4; i++) size.answered(BASE_REQUEST, 10);
    assert.equal(size.next(2 * MIB, 128), 2048);
  });

  it('grows back after full answers, and tries more rarely each time that fails', () => {
    const size = new RequestSize(() => BASE_REQUEST);
    const next = (): number => size.next(2 * MIB, 128);
    const clamp = 16_384;
    let tries = 0;
    let asked = next();
    for (let i = 0; i < 10_000; i++) {
      if (asked > clamp) tries++;
      size.answered(asked, Math.min(asked, clamp));
      asked = next();
    }
    assert.ok(tries >= 8 && tries <= 50, `${tries} of 10000 requests were too large`);
    for (let i = 0; i < 5000; i++) size.answered(next(), next());
    assert.equal(next(), BASE_REQUEST);
  });
});
