/** TCP listeners of each runtime, against its own dial and, for what that cannot do, `node:net`. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect as connectNode, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { SshError } from '../../src/errors.ts';
import type { Accepted } from '../../src/io/listen.ts';
import type { BytePipe, PipeSink } from '../../src/io/pipe.ts';
import { dial } from '../support/connect.ts';
import { Host, listen } from '../support/listen.ts';
import { freePort } from '../support/peers/process.ts';
import { PipeEnd, pattern } from '../support/pipe_end.ts';
import { seededRandom } from '../support/random.ts';
import { rejectsWith } from '../support/rejects.ts';

const MEBIBYTE = 1024 * 1024;
const options = { timeout: 60_000 };
const host = '127.0.0.1';

const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
const ipv6 = { ...options, ...(addresses.some(({ address }) => address === '::1') ? {} : { skip: 'there is no ::1' }) };

/** Sends back what comes, no faster than it is taken. */
class Echo implements PipeSink {
  readonly #pipe: BytePipe;
  #owed = 0;
  #room = true;

  constructor(pipe: BytePipe) {
    this.#pipe = pipe;
    pipe.open(this);
  }

  data(bytes: Uint8Array): void {
    this.#owed += bytes.length;
    this.#room = this.#pipe.write([bytes]) && this.#room;
    this.#giveBack();
  }

  drain(): void {
    this.#room = true;
    this.#giveBack();
  }

  end(): void {
    this.#pipe.end();
  }

  closed(): void {}

  #giveBack(): void {
    if (!this.#room || this.#owed === 0) return;
    const count = this.#owed;
    this.#owed = 0;
    this.#pipe.consumed(count);
  }
}

const echo = ({ pipe }: Accepted): unknown => new Echo(pipe);

const open = async (port: number, consumes = true): Promise<PipeEnd> =>
  new PipeEnd(await dial({ host, port, timeout: 10_000 }), consumes);

/** Writes all of `bytes` in pieces of random sizes, waiting whenever the pipe says so. */
async function writeAll(end: PipeEnd, bytes: Uint8Array, seed: string): Promise<void> {
  const random = seededRandom(seed);
  for (let at = 0; at < bytes.length; ) {
    const [high = 0, low = 0] = random(2);
    const size = 1 + high * (low % 2 === 0 ? 1 : 500);
    const drains = end.drains;
    if (!end.pipe.write([bytes.slice(at, at + size)])) await end.until(() => end.drains > drains, 'drain');
    at += size;
  }
}

/** A socket of `node:net`, connected, that minds nothing. */
async function raw(port: number): Promise<Socket> {
  const socket = connectNode({ host, port, allowHalfOpen: true });
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

/** The host still takes connections, and bytes on them. */
async function takesMore(served: Host): Promise<void> {
  const index = served.accepted.length;
  const end = await open(served.port);
  const { pipe } = await served.connection(index);
  const other = new PipeEnd(pipe);
  end.pipe.write([pattern(10)]);
  await other.until(() => other.received === 10, 'bytes');
  end.pipe.close();
  await end.closing();
}

describe('a TCP listener', () => {
  it('accepts pipes that carry bytes both ways, no faster than they are taken', options, async () => {
    await using served = await Host.start({}, echo);
    const end = await open(served.port);
    const bytes = pattern(12 * MEBIBYTE + 5);
    await writeAll(end, bytes, 'both ways');
    end.pipe.end();
    assert.equal(await end.closing(), undefined);
    assert.deepEqual(end.bytes, Buffer.from(bytes));
    assert.deepEqual(end.notices.slice(-2), ['end', 'closed']);
  });

  it('delivers chunks that are plain and stay as they are', options, async () => {
    await using served = await Host.start();
    const end = await open(served.port);
    const other = new PipeEnd((await served.connection()).pipe);
    const bytes = pattern(3 * MEBIBYTE + 7);
    await writeAll(end, bytes, 'chunks');
    await other.until(() => other.received === bytes.length, 'the bytes');
    assert.deepEqual(other.bytes, Buffer.from(bytes));
    for (const chunk of other.chunks) assert.equal(Object.getPrototypeOf(chunk), Uint8Array.prototype);
    end.pipe.close();
    await end.closing();
  });

  it('says where it listens and who connects', options, async () => {
    await using served = await Host.start({ host: 'localhost' });
    const { address } = served.listener;
    assert.ok(address.port > 0 && address.port < 65536);
    assert.ok(['127.0.0.1', '::1'].includes(address.host), address.host);
    const socket = connectNode(address.port, address.host);
    await once(socket, 'connect');
    const { remote } = await served.connection();
    assert.deepEqual(remote, { address: address.host, port: socket.localPort });
    socket.destroy();
  });

  it('listens on the port that it is given', options, async () => {
    const port = await freePort();
    await using served = await Host.start({ port });
    assert.deepEqual(served.listener.address, { host, port });
    await takesMore(served);
  });

  it('keeps what comes before a pipe is opened', options, async () => {
    await using served = await Host.start();
    const end = await open(served.port);
    end.pipe.write([new TextEncoder().encode('early')]);
    end.pipe.end();
    const { pipe } = await served.connection();
    await sleep(100);
    const other = new PipeEnd(pipe);
    assert.equal(other.received, 0, 'delivered from inside the call');
    await other.until(() => other.ended, 'end');
    assert.equal(new TextDecoder().decode(other.bytes), 'early');
    pipe.write([new TextEncoder().encode('late')]);
    pipe.end();
    assert.equal(await end.closing(), undefined);
    assert.equal(new TextDecoder().decode(end.bytes), 'late');
    assert.equal(await other.closing(), undefined);
  });

  it('holds a peer back whose pipe is not opened, or whose bytes are not consumed', options, async () => {
    await using served = await Host.start();
    const end = await open(served.port);
    const bytes = pattern(48 * MEBIBYTE);
    let written = false;
    const writing = writeAll(end, bytes, 'held').then(() => {
      written = true;
    });
    const { pipe } = await served.connection();
    await sleep(300);
    assert.equal(written, false, 'not held back before it was opened');
    const other = new PipeEnd(pipe, false);
    await other.until(() => other.received >= MEBIBYTE, 'what the pipe may deliver');
    await sleep(300);
    assert.ok(other.received <= 2 * MEBIBYTE, `${other.received} bytes were delivered`);
    assert.equal(written, false, 'not held back');
    other.consumes = true;
    pipe.consumed(other.received);
    await writing;
    end.pipe.end();
    await other.until(() => other.ended, 'end');
    assert.deepEqual(other.bytes, Buffer.from(bytes));
  });

  it('says when enough is queued, and when there is room again', options, async () => {
    await using served = await Host.start();
    const end = await open(served.port, false);
    const other = new PipeEnd((await served.connection()).pipe);
    let written = 0;
    for (let room = true; room; written += 65536) {
      room = other.pipe.write([new Uint8Array(65536)]);
      assert.ok(written < 256 * MEBIBYTE, 'there is always room');
      await sleep(0);
    }
    await sleep(100);
    assert.equal(other.drains, 0);
    end.consumes = true;
    end.pipe.consumed(end.received);
    await other.until(() => other.drains === 1, 'drain');
    other.pipe.end();
    await end.until(() => end.ended, 'end');
    assert.equal(end.received, written);
  });

  it('accepts pipes whose halves end each on its own', options, async () => {
    await using served = await Host.start();
    const first = await open(served.port);
    const second = new PipeEnd((await served.connection()).pipe);
    first.pipe.write([pattern(MEBIBYTE)]);
    first.pipe.end();
    await second.until(() => second.ended, 'end');
    assert.equal(second.outcome, undefined);
    second.pipe.write([pattern(3 * MEBIBYTE)]);
    second.pipe.end();
    assert.equal(second.pipe.write([pattern(10)]), true);
    assert.equal(await first.closing(), undefined);
    assert.equal(await second.closing(), undefined);
    assert.deepEqual(first.bytes, Buffer.from(pattern(3 * MEBIBYTE)));
    assert.deepEqual(second.bytes, Buffer.from(pattern(MEBIBYTE)));

    const third = await open(served.port);
    const fourth = new PipeEnd((await served.connection(1)).pipe);
    fourth.pipe.end();
    await third.until(() => third.ended, 'end');
    third.pipe.write([pattern(MEBIBYTE)]);
    third.pipe.end();
    assert.equal(await fourth.closing(), undefined);
    assert.deepEqual(fourth.bytes, Buffer.from(pattern(MEBIBYTE)));
  });

  it('takes a hundred connections at once and mixes up none', options, async () => {
    await using served = await Host.start({}, echo);
    const echoes = Array.from({ length: 100 }, async (_, i) => {
      const end = await open(served.port);
      const bytes = pattern(20_000 + i, i * 1000);
      end.pipe.write([bytes.slice()]);
      await end.until(() => end.received === bytes.length, `echo ${i}`);
      assert.deepEqual(end.bytes, Buffer.from(bytes));
      end.pipe.end();
      assert.equal(await end.closing(), undefined);
    });
    await Promise.all(echoes);
    assert.equal(served.accepted.length, 100);
    assert.equal(new Set(served.accepted.map(({ remote }) => remote.port)).size, 100);
    assert.deepEqual(served.failures, []);
  });

  it('outlives an `accept` that throws, tells of it, and closes that connection', options, async () => {
    let first = true;
    await using served = await Host.start({}, () => {
      if (!first) return;
      first = false;
      throw new Error('no such luck');
    });
    const end = await open(served.port);
    await end.until(() => end.ended || end.outcome !== undefined, 'the end');
    end.pipe.close();
    assert.deepEqual(
      served.failures.map(({ code, message }) => ({ code, message })),
      [{ code: 'bad-argument', message: 'no such luck' }],
    );
    await takesMore(served);
  });
});

describe('a TCP listener without a descriptor left', () => {
  const shell = {
    ...options,
    ...(process.platform === 'win32' ? { skip: 'it takes a POSIX shell to limit them' } : {}),
  };

  it('waits quietly, goes on when there are some, and lets its program end', shell, async () => {
    using lone = startLone(64);
    const port = Number(await lone.line(0));
    const sockets = Array.from({ length: 120 }, () => connectNode(port, host).on('error', () => {}));
    const report = await lone.line(1);
    for (const socket of sockets) socket.destroy();
    const [, connections, milliseconds] = /^(\d+) connections, (\d+) ms$/.exec(report) ?? [];
    assert.ok(Number(connections) > 0 && Number(connections) < 64, report);
    assert.ok(Number(milliseconds) < 150, report);
    let end: PipeEnd | undefined;
    for (let tries = 0; end === undefined && tries < 100; tries++) {
      const next = await open(port);
      next.pipe.write([new TextEncoder().encode('end')]);
      await next.until(() => next.received > 0 || next.ended || next.outcome !== undefined, 'echo or end');
      if (next.received > 0) end = next;
      else next.pipe.close();
    }
    end?.pipe.end();
    assert.equal(new TextDecoder().decode(end?.bytes), 'end');
    assert.equal(await lone.ends(), 0);
  });
});

interface Lone {
  /** The line with this number, once it is there. */
  line(number: number): Promise<string>;
  /** The exit code, once it has ended. */
  ends(): Promise<number | null>;
  [Symbol.dispose](): void;
}

/** The program that listens, in the runtime at hand, with that many descriptors. */
function startLone(descriptors: number): Lone {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const program = fileURLToPath(new URL(`../support/lone_listener.${extension}`, import.meta.url));
  const leading = 'Deno' in globalThis ? ['run', '-A', '--no-lock', '--no-check'] : [];
  const script = `ulimit -n ${descriptors}; exec "$0" "$@"`;
  const args = ['-c', script, process.execPath, ...leading, program];
  // Deno dies when it finds no descriptor for its look for a newer version.
  const env = { ...process.env, DENO_NO_UPDATE_CHECK: '1' };
  const child = spawn('/bin/sh', args, { stdio: ['ignore', 'pipe', 'inherit'], env });
  let output = '';
  child.stdout.on('data', (text) => {
    output += text;
  });
  const exited = new Promise<number | null>((resolve) => child.on('exit', resolve));
  const killer = setTimeout(() => child.kill('SIGKILL'), 40_000);
  return {
    async line(number) {
      for (let tries = 0; output.split('\n').length < number + 2; tries++) {
        assert.ok(tries < 1000, `no line ${number} in: ${output}`);
        await sleep(20);
      }
      return output.split('\n')[number] as string;
    },
    ends: () => exited,
    [Symbol.dispose]() {
      clearTimeout(killer);
      child.kill('SIGKILL');
    },
  };
}

describe('an accepted connection that fails', () => {
  it('tells that the peer has reset it', options, async () => {
    await using served = await Host.start();
    const socket = await raw(served.port);
    const end = new PipeEnd((await served.connection()).pipe);
    socket.write('x');
    await end.until(() => end.received === 1, 'a byte');
    socket.resetAndDestroy();
    const cause = await end.closing();
    assert.ok(cause instanceof SshError);
    assert.equal(cause.code, 'connection-lost');
    assert.equal(cause.fault, 'network');
    assert.equal(end.pipe.write([pattern(10)]), true);
    end.pipe.end();
    end.pipe.close();
    await takesMore(served);
  });

  it('before it is opened tells so once it is', options, async () => {
    await using served = await Host.start();
    const sockets = await Promise.all(Array.from({ length: 5 }, () => raw(served.port)));
    await served.connection(4);
    for (const [i, socket] of sockets.entries()) {
      if (i % 2 === 0) socket.write('x');
      socket.resetAndDestroy();
    }
    await sleep(200);
    const ends = served.accepted.map(({ pipe }) => new PipeEnd(pipe));
    for (const end of ends) {
      // Where bytes came first, the reset looks like an end to Node 20.
      await end.until(() => end.outcome !== undefined || (end.ended && end.received > 0), 'reset');
      end.pipe.end();
      const cause = await end.closing();
      assert.ok(cause?.code === 'connection-lost' || end.received > 0, `${cause?.code}`);
    }
    await takesMore(served);
  });

  it('as soon as it is made hurts nobody, whether it is heard of or not', options, async () => {
    await using served = await Host.start({}, echo);
    for (let i = 0; i < 30; i++) (await raw(served.port)).resetAndDestroy();
    const end = await open(served.port);
    end.pipe.write([pattern(100)]);
    await end.until(() => end.received === 100, 'the echo');
    end.pipe.close();
    assert.ok(served.accepted.length >= 1 && served.accepted.length <= 31);
    assert.deepEqual(served.failures, []);
  });

  it('is closed at once, with the cause that it was given', options, async () => {
    await using served = await Host.start();
    const end = await open(served.port);
    const other = new PipeEnd((await served.connection()).pipe);
    const cause = new SshError('aborted', 'enough');
    other.pipe.close(cause);
    assert.equal(other.outcome, undefined, 'told from inside the call');
    other.pipe.close();
    assert.equal(await other.closing(), cause);
    await end.until(() => end.ended || end.outcome !== undefined, 'the end');
    end.pipe.close();
  });

  it('may be closed unopened', options, async () => {
    await using served = await Host.start({}, ({ pipe }) => pipe.close());
    for (let i = 0; i < 10; i++) {
      const end = await open(served.port);
      end.pipe.write([pattern(100)]);
      await end.until(() => end.ended || end.outcome !== undefined, 'the end');
      assert.equal(end.received, 0);
      end.pipe.close();
    }
    assert.deepEqual(served.failures, []);
  });
});

describe('a TCP listener that ends', () => {
  it('accepts nobody any more, frees the port, and leaves its connections alone', options, async () => {
    await using served = await Host.start({}, echo);
    const { port } = served;
    const end = await open(port);
    await served.connection();
    const closing = served.listener.close();
    await Promise.all([closing, served.listener.close()]);
    await served.listener.close();
    await rejectsWith(dial({ host, port, timeout: 10_000 }), 'connect-failed');
    await using next = await Host.start({ port });
    assert.equal(next.port, port);
    await takesMore(next);
    assert.equal(served.accepted.length, 1);
    end.pipe.write([pattern(1000)]);
    await end.until(() => end.received === 1000, 'the echo');
    end.pipe.end();
    assert.equal(await end.closing(), undefined);
  });

  it('does so when its signal fires', options, async () => {
    const controller = new AbortController();
    await using served = await Host.start({ signal: controller.signal }, echo);
    const { port } = served;
    const end = await open(port);
    await served.connection();
    controller.abort();
    await served.listener.close();
    await rejectsWith(dial({ host, port, timeout: 10_000 }), 'connect-failed');
    end.pipe.write([pattern(1000)]);
    await end.until(() => end.received === 1000, 'the echo');
    end.pipe.close();
    assert.deepEqual(served.failures, []);
  });

  it('never listens when its signal has fired before', options, async () => {
    const port = await freePort();
    const signal = AbortSignal.abort('enough');
    const error = await rejectsWith(
      listen({ host, port, signal }, () => {}),
      'aborted',
    );
    assert.equal(error.cause, 'enough');
    await rejectsWith(dial({ host, port, timeout: 10_000 }), 'connect-failed');
  });

  it('is gone when its signal fires while it starts', options, async () => {
    const port = await freePort();
    const controller = new AbortController();
    const starting = listen({ host: 'localhost', port, signal: controller.signal }, () => {});
    controller.abort();
    const outcome = await starting.then(
      (listener) => listener.close(), // it was quick
      (error) => error,
    );
    assert.ok(outcome === undefined || (outcome instanceof SshError && outcome.code === 'aborted'), String(outcome));
    for (let tries = 0; tries < 50; tries++) {
      await sleep(10);
      if ((await dial({ host, port, timeout: 10_000 }).catch(() => undefined)) === undefined) break;
      assert.ok(tries < 49, 'it listens');
    }
    await using served = await Host.start({ port });
    await takesMore(served);
  });
});

describe('a place that cannot be listened on', () => {
  const failing = (where: string, port = 0): Promise<SshError> =>
    rejectsWith(
      listen({ host: where, port }, () => {}),
      'listen-failed',
    );

  it('because its port is in use says so', options, async () => {
    await using served = await Host.start();
    const error = await failing(host, served.port);
    assert.equal(error.phase, 'listen');
    assert.equal(error.fault, 'local');
    assert.equal((error.cause as { code?: string }).code, 'EADDRINUSE');
    assert.equal(
      error.message,
      `Cannot listen on 127.0.0.1:${served.port}: the port is in use; choose another, or end what listens there`,
    );
    await takesMore(served);
  });

  it('because the machine has no such address says so', options, async () => {
    // RFC 5737 §3: an address of documentation, which is nobody's
    const error = await failing('203.0.113.77');
    assert.match(error.message, /^Cannot listen on 203\.0\.113\.77:0: this machine has no such address/);
  });

  it('because its name is unknown says so', options, async () => {
    const error = await failing('nowhere.invalid');
    assert.match(error.message, /^Cannot listen on nowhere\.invalid:0: the name cannot be resolved/);
  });

  it('because it makes no sense is a bad argument', options, async () => {
    for (const port of [-1, 65536, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      const error = await rejectsWith(
        listen({ host, port }, () => {}),
        'bad-argument',
      );
      assert.ok(error.message.includes(String(port)), error.message);
    }
    for (const where of ['', '[::1]']) {
      await rejectsWith(
        listen({ host: where, port: 0 }, () => {}),
        'bad-argument',
      );
    }
  });
});

describe('a TCP listener of IPv6', () => {
  it('names addresses without brackets', ipv6, async () => {
    await using served = await Host.start({ host: '::1' }, echo);
    assert.equal(served.listener.address.host, '::1');
    const end = new PipeEnd(await dial({ host: '::1', port: served.port, timeout: 10_000 }));
    end.pipe.write([pattern(1000)]);
    await end.until(() => end.received === 1000, 'the echo');
    assert.equal(served.accepted[0]?.remote.address, '::1');
    end.pipe.close();
    const message = (
      await rejectsWith(
        listen({ host: '::1', port: served.port }, () => {}),
        'listen-failed',
      )
    ).message;
    assert.ok(message.startsWith(`Cannot listen on [::1]:${served.port}: `), message);
  });

  it('takes IPv4 too on all addresses, and shows it as that', ipv6, async () => {
    await using served = await Host.start({ host: '::' });
    assert.equal(served.listener.address.host, '::');
    for (const [i, address] of ['127.0.0.1', '::1'].entries()) {
      const end = new PipeEnd(await dial({ host: address, port: served.port, timeout: 10_000 }));
      const { remote } = await served.connection(i);
      assert.equal(remote.address, address);
      end.pipe.close();
    }
  });
});
