/** What the listeners of all runtimes share, and Deno's loop, with listeners that only the test has. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SshError } from '../../src/errors.ts';
import type { Accepted } from '../../src/io/listen.ts';
import { memoryPipes } from '../../src/io/memory_pipe.ts';
import type { DenoConn, DenoListener } from '../../src/transports/deno_api.ts';
import { acceptAll } from '../../src/transports/deno_listener.ts';
import { acceptFailed, listenFailed } from '../../src/transports/listen_error.ts';
import { listenerOf, peerAddress, Reception } from '../../src/transports/tcp_listener.ts';

const options = { timeout: 60_000 };
const address = { host: '127.0.0.1', port: 2222 };

const failure = (code: string): Error => Object.assign(new Error(`os error ${code}`), { code });

class Received {
  readonly accepted: Accepted[] = [];
  readonly failures: SshError[] = [];
  readonly reception: Reception = new Reception(
    (each) => this.accepted.push(each),
    (error) => this.failures.push(error),
  );
}

class FakeConn implements DenoConn {
  readonly remoteAddr = { hostname: '192.0.2.7', port: 40_000 };
  closed = 0;
  read(): Promise<number | null> {
    return new Promise(() => {});
  }
  write(bytes: Uint8Array): Promise<number> {
    return Promise.resolve(bytes.length);
  }
  closeWrite(): Promise<void> {
    return Promise.resolve();
  }
  close(): void {
    this.closed++;
  }
  setNoDelay(): void {
    throw failure('EINVAL'); // as some systems do once the peer is gone
  }
}

/** Answers what `next` gives; when that gives nothing, only the end of the listener brings an answer. */
class FakeListener implements DenoListener {
  readonly addr = { hostname: address.host, port: address.port };
  calls = 0;
  readonly #next: (call: number) => DenoConn | Error | undefined;
  #end: () => void = () => {};

  constructor(next: (call: number) => DenoConn | Error | undefined) {
    this.#next = next;
  }

  accept(): Promise<DenoConn> {
    const next = this.#next(this.calls++);
    return new Promise((resolve, reject) => {
      if (next instanceof Error) reject(next);
      else if (next !== undefined) resolve(next);
      else this.#end = () => reject(new Error('the listener is closed'));
    });
  }

  close(): void {
    this.#end();
  }
}

describe("Deno's accepting", () => {
  it('goes on after failures, and tells the first of a row', options, async () => {
    const row = [failure('EMFILE'), failure('ENFILE'), new FakeConn(), failure('EMFILE'), new FakeConn()];
    const listener = new FakeListener((call) => row[call]);
    const received = new Received();
    const stop = acceptAll(listener, address, received.reception);
    for (let tries = 0; received.accepted.length < 2 && tries < 500; tries++) await sleep(20);
    await stop();
    assert.equal(received.accepted.length, 2);
    assert.deepEqual(received.accepted[0]?.remote, { address: '192.0.2.7', port: 40_000 });
    assert.equal(received.failures.length, 2);
    const [error] = received.failures;
    assert.equal(error?.code, 'listen-failed');
    assert.equal(error?.phase, 'accept');
    assert.match(error?.message ?? '', /^Cannot accept a connection on 127\.0\.0\.1:2222: this program has too many/);
  });

  it('does not try without a pause what fails at once', options, async () => {
    const listener = new FakeListener(() => failure('EMFILE'));
    const received = new Received();
    const began = performance.now();
    const stop = acceptAll(listener, address, received.reception);
    await sleep(350);
    const most = (performance.now() - began) / 100 + 2; // timers may be a little early
    assert.ok(listener.calls >= 2 && listener.calls <= most, `${listener.calls} calls`);
    await stop(); // in the middle of a pause
    const { calls } = listener;
    await sleep(150);
    assert.equal(listener.calls, calls);
    assert.equal(received.failures.length, 1);
  });

  it('takes no notice of peers that are gone already', options, async () => {
    const conn = new FakeConn();
    const listener = new FakeListener((call) =>
      call < 1000 ? failure('ECONNABORTED') : call === 1000 ? conn : undefined,
    );
    const received = new Received();
    const stop = acceptAll(listener, address, received.reception);
    for (let tries = 0; received.accepted.length === 0 && tries < 500; tries++) await sleep(10);
    assert.equal(received.accepted.length, 1);
    assert.deepEqual(received.failures, []);
    await stop();
    assert.deepEqual(received.failures, []);
    received.accepted[0]?.pipe.close();
    assert.equal(conn.closed, 1);
  });

  it('closes a connection that comes when it has been stopped', options, async () => {
    const conn = new FakeConn();
    const received = new Received();
    const stop = acceptAll(new FakeListener(() => conn), address, received.reception);
    await stop();
    assert.equal(conn.closed, 1);
    assert.deepEqual(received.accepted, []);
  });
});

describe('the reception of connections', () => {
  it('closes a connection whose peer nobody knows any more, and tells nobody', () => {
    const received = new Received();
    for (const [peer, port] of [
      [undefined, undefined],
      ['', 0],
      ['192.0.2.1', undefined],
    ] as const) {
      let closed = false;
      const [pipe] = memoryPipes();
      const watched = Object.assign(Object.create(pipe) as typeof pipe, {
        close() {
          closed = true;
        },
      });
      received.reception.take(watched, peer, port);
      assert.equal(closed, true);
    }
    assert.deepEqual(received.accepted, []);
    assert.deepEqual(received.failures, []);
  });

  it('shows IPv4 that came in over IPv6 as IPv4', () => {
    assert.equal(peerAddress('::ffff:192.0.2.1'), '192.0.2.1');
    assert.equal(peerAddress('::FFFF:192.0.2.1'), '192.0.2.1');
    for (const other of [
      '192.0.2.1',
      '::1',
      '::',
      '::192.0.2.1',
      '2001:db8::ffff:1',
      'fe80::1%eth0',
      '::ffff:0:192.0.2.1',
    ]) {
      assert.equal(peerAddress(other), other);
    }
  });
});

describe('the end of a listener', () => {
  it('comes once, by its owner or its signal', async () => {
    let stops = 0;
    const controller = new AbortController();
    const stop = async (): Promise<void> => {
      stops++;
    };
    const listener = listenerOf(address, stop, controller.signal);
    await Promise.all([listener.close(), listener.close()]);
    controller.abort();
    assert.equal(stops, 1);
    listenerOf(address, stop, controller.signal);
    assert.equal(stops, 2);
  });
});

describe('a failure to listen', () => {
  it('says of each cause what to do, and of others what the system said', () => {
    const told = new Map(
      ['EADDRINUSE', 'EADDRNOTAVAIL', 'EACCES', 'EINVAL', 'ENOTFOUND', 'EAI_AGAIN', 'EAFNOSUPPORT', 'EMFILE'].map(
        (code) => [code, listenFailed(address, failure(code)).message],
      ),
    );
    for (const message of told.values()) assert.match(message, /^Cannot listen on 127\.0\.0\.1:2222: (?!os error).+; /);
    assert.equal(new Set(told.values()).size, told.size);
    assert.match(told.get('EACCES') as string, /does not permit it; ports below 1024/);
    const other = acceptFailed({ host: '::1', port: 22 }, new Error('odd\u001b[2J')).message;
    assert.ok(other.startsWith('Cannot accept a connection on [::1]:22: odd'), other);
    assert.ok(!other.includes('\u001b'));
  });
});
