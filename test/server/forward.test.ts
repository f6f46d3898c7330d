/** Forwarding at a server: connections to targets, and listeners, each as its policy says. RFC 4254 §7. */

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { decodeFields, encodeFields } from '../../src/bytes/schema.ts';
import { SshError } from '../../src/errors.ts';
import type { Accepted, Listener } from '../../src/io/listen.ts';
import { memoryPipes } from '../../src/io/memory_pipe.ts';
import type { BytePipe } from '../../src/io/pipe.ts';
import { streamsFromPipe } from '../../src/io/streams.ts';
import type { ForwardHandlers, ForwardTarget, Login, Permissions } from '../../src/server/handlers.ts';
import { connection } from '../../src/wire/connection.ts';
import { encode } from '../../src/wire/message.ts';
import { channelOpen, forwardedPort, globalRequest } from '../../src/wire/requests.ts';
import { it } from '../support/limited.ts';
import { PipeEnd, pattern } from '../support/pipe_end.ts';
import { RawChannel } from '../support/raw_channel.ts';
import { type RawClient, Serving } from '../support/serving.ts';

const none = new Uint8Array(0);
const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);

/** A server that forwards so, and a client that is logged in with these permissions. */
async function serve(forward: ForwardHandlers, permissions: Permissions = {}) {
  const auth = { password: () => ({ permissions, identity: 'the one' }) };
  const serving = await Serving.start({ forward, auth, session: { exec: () => 0 } });
  const raw = await serving.rawOpen();
  return { serving, raw, [Symbol.asyncDispose]: () => serving.close() };
}

const target = (host: string, port: number): Uint8Array =>
  encodeFields(channelOpen['direct-tcpip'], { host, port, originHost: '127.0.0.1', originPort: 40000 });

/** Asks for a connection that must be refused; gives the reason (RFC 4254 §5.1). */
async function refusal(raw: RawClient, body: Uint8Array): Promise<number> {
  raw.client.open('direct-tcpip', 9, body);
  const { recipient, reason } = await raw.take(connection.channelOpenFailure);
  assert.equal(recipient, 9);
  return reason;
}

const PROHIBITED = 1;
const CONNECT_FAILED = 2;
const SHORTAGE = 4;

/** A policy that connects to nothing but memory; the far ends are in `ends`. */
function toMemory(bound?: number) {
  const heard: { readonly target: ForwardTarget; readonly login: Login }[] = [];
  const ends: PipeEnd[] = [];
  const connect: NonNullable<ForwardHandlers['connect']> = (asked, login) => {
    heard.push({ target: asked, login });
    const [near, far] = memoryPipes(bound === undefined ? {} : { bound });
    ends.push(new PipeEnd(far, bound === undefined));
    return near;
  };
  return { heard, ends, connect, end: (index = 0): PipeEnd => ends[index] ?? assert.fail('no connection was made') };
}

describe('direct-tcpip', () => {
  it('is connected by the policy, and carries both ways until both have ended', async () => {
    const memory = toMemory();
    await using parts = await serve(memory);
    const { raw } = parts;
    const channel = await RawChannel.open(raw, { kind: 'direct-tcpip', body: target('db\x1b', 5432) });
    assert.deepEqual(
      memory.heard.map(({ target: asked, login }) => [asked, login.username, login.identity]),
      [[{ host: 'db\\x1b', port: 5432, originHost: '127.0.0.1', originPort: 40000 }, 'ada', 'the one']],
    );
    channel.write(bytes(1, 2, 3));
    await raw.quiet();
    memory.end().pipe.write([bytes(9, 8)]);
    await channel.readAll();
    assert.deepEqual(
      [[...memory.end().bytes], [...channel.stdout]],
      [
        [1, 2, 3],
        [9, 8],
      ],
    );
    channel.eof();
    await raw.quiet();
    assert.deepEqual(memory.end().notices, ['end']);
    memory.end().pipe.write([bytes(7)]);
    memory.end().pipe.end();
    await channel.closed();
    assert.deepEqual(
      [[...channel.stdout], channel.told],
      [
        [9, 8, 7],
        ['data', 'data', 'eof', 'close'],
      ],
    );
    assert.deepEqual(memory.end().notices, ['end', 'closed']);
  });

  it('may be connected to streams, after a while', async () => {
    const memory = toMemory();
    await using parts = await serve({
      async connect(...asked) {
        await new Promise((resolve) => setTimeout(resolve, 5));
        return streamsFromPipe((await memory.connect(...asked)) as BytePipe);
      },
    });
    const { raw } = parts;
    raw.client.open('direct-tcpip', 5, target('db', 1));
    await raw.coming(connection.channelOpenConfirmation.number);
    raw.client.send(encode(connection.channelData, { recipient: 0, data: bytes(1) }));
    raw.flush();
    await memory.end().until(() => memory.end().received === 1, 'the byte');
  });

  it('is refused where there is no policy, or it gives nothing', async () => {
    const without = await serve({});
    assert.equal(await refusal(without.raw, target('db', 1)), PROHIBITED);
    await without.serving.close();
    for (const given of [undefined, false, null, Promise.resolve(undefined)]) {
      await using parts = await serve({ connect: () => given as undefined });
      assert.equal(await refusal(parts.raw, target('db', 1)), PROHIBITED);
      assert.deepEqual(parts.serving.takeFailures(), []);
    }
  });

  it('is refused where the policy fails, or gives what is no pipe, which is told', async () => {
    const failing: ForwardHandlers['connect'][] = [
      () => {
        throw new Error('no route');
      },
      () => Promise.reject(new SshError('connect-failed', 'no route')),
      () => true as unknown as undefined,
      () => ({}) as unknown as undefined,
      () => 'db:1' as unknown as undefined,
    ];
    for (const connect of failing) {
      await using parts = await serve({ connect: connect as NonNullable<ForwardHandlers['connect']> });
      assert.equal(await refusal(parts.raw, target('db', 1)), CONNECT_FAILED);
      assert.equal(parts.serving.takeFailures().length, 1);
      assert.equal(await refusal(parts.raw, target('db', 1)), CONNECT_FAILED, 'the connection lives');
    }
  });

  it('is refused, and the policy not asked, for what is no target', async () => {
    await using parts = await serve({ connect: () => assert.fail('nobody may be asked') });
    const whole = target('db', 80);
    const wrong = [
      target('db', 0),
      target('db', 65536),
      target('db', 0xffffffff),
      none,
      whole.subarray(0, 20),
      bytes(...whole, 0),
    ];
    for (const body of wrong) assert.equal(await refusal(parts.raw, body), PROHIBITED);
    assert.deepEqual(parts.serving.takeFailures(), []);
  });

  it('is refused to who may not have it', async () => {
    const memory = toMemory();
    const cases: readonly (readonly [Permissions, host: string, port: number, granted: boolean])[] = [
      [{ portForwarding: false }, 'db', 5432, false],
      [{ portForwarding: true }, 'db', 5432, true],
      [{ permitOpen: [] }, 'db', 5432, false],
      [{ permitOpen: [{ host: 'db', port: 5432 }] }, 'db', 5432, true],
      [{ permitOpen: [{ host: 'db', port: 5432 }] }, 'db', 5433, false],
      [{ permitOpen: [{ host: 'db', port: 5432 }] }, 'db2', 5432, false],
      [
        {
          permitOpen: [
            { host: 'x', port: 1 },
            { host: 'db', port: '*' },
          ],
        },
        'db',
        9,
        true,
      ],
      [{ permitOpen: [{ host: 'db', port: '*' }], portForwarding: false }, 'db', 9, false],
    ];
    for (const [permissions, host, port, granted] of cases) {
      await using parts = await serve(memory, permissions);
      const before = memory.heard.length;
      parts.raw.client.open('direct-tcpip', 9, target(host, port));
      await parts.raw.quiet();
      const number = parts.raw.client.poll()?.[0];
      const what = `${JSON.stringify(permissions)} ${host}:${port}`;
      assert.equal(
        number,
        granted ? connection.channelOpenConfirmation.number : connection.channelOpenFailure.number,
        what,
      );
      assert.equal(memory.heard.length - before, granted ? 1 : 0, what);
    }
  });

  it('holds back a client whose target does not read', async () => {
    const memory = toMemory(1000);
    await using parts = await serve(memory);
    const channel = await RawChannel.open(parts.raw, { kind: 'direct-tcpip', body: target('db', 1) });
    const data = pattern(30_000);
    let sent = 0;
    for (let stalled = 0; stalled < 3; ) {
      if (channel.sendWindow >= data.length) {
        channel.write(data);
        sent += data.length;
        stalled = 0;
      } else {
        stalled++;
      }
      await channel.readAll();
    }
    assert.ok(sent <= 2 * 1024 * 1024 && sent > 1024 * 1024, `${sent} bytes were taken`);
    const end = memory.end();
    end.consumes = true;
    end.pipe.consumed(end.received);
    await end.until(() => end.received === sent, 'all that was sent');
    await channel.readAll();
    assert.ok(channel.sendWindow > data.length, 'and the client may go on');
  });

  it('ends with its target, and with its client', async () => {
    const memory = toMemory();
    await using parts = await serve(memory);
    const { raw } = parts;
    const first = await RawChannel.open(raw, { kind: 'direct-tcpip', body: target('db', 1), id: 1 });
    memory.end(0).pipe.close(new SshError('connection-lost', 'reset'));
    await first.closed();
    await RawChannel.open(raw, { kind: 'direct-tcpip', body: target('db', 1), id: 2 });
    raw.reset();
    assert.equal((await memory.end(1).closing())?.code, 'connection-lost');
    assert.deepEqual(parts.serving.takeFailures(), []);
  });

  it('that is still being connected when the client goes is given up', async () => {
    const [near, far] = memoryPipes();
    const end = new PipeEnd(far);
    let give: (pipe: BytePipe) => void = () => {};
    const signals: AbortSignal[] = [];
    await using parts = await serve({
      connect(_target, _login, signal) {
        signals.push(signal);
        if (signals.length === 2)
          return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
        return new Promise((resolve) => (give = resolve));
      },
    });
    const { raw, serving } = parts;
    for (const id of [5, 6]) raw.client.open('direct-tcpip', id, target('db', 1));
    await raw.quiet();
    assert.equal(signals[0]?.aborted, false);
    raw.reset();
    await serving.cause();
    assert.deepEqual(
      signals.map(({ aborted, reason }) => [aborted, reason.code]),
      [
        [true, 'connection-closed'],
        [true, 'connection-closed'],
      ],
    );
    give(near);
    await end.until(() => end.ended || end.outcome !== undefined, 'the end of the pipe');
    assert.deepEqual(serving.takeFailures(), [], 'nobody needs to know');
  });

  it('to a pipe that throws costs its channel, and keeps nobody from their end', async () => {
    const fail = (): never => {
      throw new Error('a pipe must not throw');
    };
    const pipe: BytePipe = { open() {}, write: () => true, end() {}, consumed() {}, close() {} };
    const memory = toMemory();
    await using parts = await serve({
      connect: (asked, ...more) => {
        if (asked.port === 1) return { ...pipe, open: fail };
        return asked.port === 2 ? { ...pipe, close: fail } : memory.connect(asked, ...more);
      },
    });
    const { raw, serving } = parts;
    const first = await RawChannel.open(raw, { kind: 'direct-tcpip', body: target('db', 1), id: 1 });
    await first.closed();
    assert.deepEqual(serving.takeFailures(), ['internal: a pipe must not throw']);
    await RawChannel.open(raw, { kind: 'direct-tcpip', body: target('db', 2), id: 2 });
    await RawChannel.open(raw, { kind: 'direct-tcpip', body: target('db', 3), id: 3 });
    raw.reset();
    await serving.cause();
    assert.equal((await memory.end().closing())?.code, 'connection-lost');
    assert.equal(serving.server.connections.size, 0);
  });

  it('is for 256 at once', async () => {
    const memory = toMemory();
    await using parts = await serve({
      connect: (asked, ...more) => (asked.port === 1 ? new Promise(() => {}) : memory.connect(asked, ...more)),
    });
    const { raw } = parts;
    for (let id = 0; id < 255; id++) raw.client.open('direct-tcpip', id, target('db', 1));
    const last = await RawChannel.open(raw, { kind: 'direct-tcpip', body: target('db', 2), id: 255 });
    assert.equal(await refusal(raw, target('db', 2)), SHORTAGE);
    memory.end().pipe.end();
    last.eof();
    await last.closed();
    await RawChannel.open(raw, { kind: 'direct-tcpip', body: target('db', 2), id: 256 });
    assert.equal(await refusal(raw, target('db', 2)), SHORTAGE);
  });
});

/** Listeners that a test calls; `take` hands in a connection and gives its far end. */
function inMemory() {
  const open = new Map<string, (accepted: Accepted) => void>();
  const log: string[] = [];
  const listen: NonNullable<ForwardHandlers['listen']> = ({ host, port }, login, accept): Listener => {
    const address = { host, port: port === 0 ? 40_000 + open.size : port };
    const name = `${host}:${address.port}`;
    log.push(`${login.username} ${name}`);
    open.set(name, accept);
    return {
      address,
      async close() {
        log.push(`close ${name}`);
        open.delete(name);
      },
    };
  };
  const take = (name: string): PipeEnd => {
    const accept = open.get(name) ?? assert.fail(`nobody listens on ${name}`);
    const [near, far] = memoryPipes();
    accept({ pipe: near, remote: { address: '::1', port: 50_001 } });
    return new PipeEnd(far);
  };
  return { open, log, listen, take };
}

const bind = (host: string, port: number): Uint8Array => encodeFields(globalRequest['tcpip-forward'], { host, port });

/** Sends a global request; gives what is said to it, or `undefined` for a failure. */
async function ask(raw: RawClient, name: string, body: Uint8Array): Promise<Uint8Array | undefined> {
  raw.client.globalRequest(name, body, true);
  await raw.quiet();
  const payload = raw.client.poll();
  if (payload?.[0] === connection.requestFailure.number) return undefined;
  assert.equal(payload?.[0], connection.requestSuccess.number, `an answer to ${name}`);
  return payload.subarray(1);
}

describe('tcpip-forward', () => {
  it('tells the port to who let the server choose, and to nobody else (T56)', async () => {
    const memory = inMemory();
    await using parts = await serve(memory);
    const chosen = await ask(parts.raw, 'tcpip-forward', bind('', 0));
    assert.deepEqual(chosen && decodeFields(forwardedPort, chosen), { port: 40_000 });
    assert.deepEqual(await ask(parts.raw, 'tcpip-forward', bind('localhost', 8080)), none);
    assert.deepEqual(memory.log, ['ada :40000', 'ada localhost:8080']);
  });

  it('brings connections under the address that the client named (RFC 4254 §7.2)', async () => {
    const memory = inMemory();
    await using parts = await serve(memory);
    const { raw } = parts;
    await ask(raw, 'tcpip-forward', bind('', 0));
    await ask(raw, 'tcpip-forward', bind('127.0.0.1', 8080));
    for (const [name, host, port] of [
      [':40000', '', 40_000],
      ['127.0.0.1:8080', '127.0.0.1', 8080],
    ] as const) {
      const end = memory.take(name);
      const { channel, kind, body } = await RawChannel.accept(raw);
      assert.equal(kind, 'forwarded-tcpip');
      const about = decodeFields(channelOpen['forwarded-tcpip'], body);
      assert.deepEqual(about, { host, port, originHost: '::1', originPort: 50_001 });
      end.pipe.write([bytes(1, 2)]);
      channel.write(bytes(3));
      await channel.readAll();
      assert.deepEqual([[...channel.stdout], [...end.bytes]], [[1, 2], [3]]);
      end.pipe.end();
      channel.eof();
      await channel.closed();
      await end.closing();
    }
  });

  it('is cancelled by its address, with the port that was told, once', async () => {
    const memory = inMemory();
    await using parts = await serve(memory);
    const { raw } = parts;
    await ask(raw, 'tcpip-forward', bind('', 0));
    await ask(raw, 'tcpip-forward', bind('', 8080));
    for (const wrong of [bind('', 0), bind('localhost', 8080), bind('', 8081)]) {
      assert.equal(await ask(raw, 'cancel-tcpip-forward', wrong), undefined);
    }
    assert.deepEqual(await ask(raw, 'cancel-tcpip-forward', bind('', 40_000)), none);
    assert.equal(await ask(raw, 'cancel-tcpip-forward', bind('', 40_000)), undefined);
    assert.deepEqual([...memory.open.keys()], [':8080']);
    assert.deepEqual(await ask(raw, 'tcpip-forward', bind('', 40_000)), none, 'and may be had again');
  });

  it('is refused where there is no policy, or it gives nothing', async () => {
    await using without = await serve({});
    assert.equal(await ask(without.raw, 'tcpip-forward', bind('', 0)), undefined);
    assert.equal(await ask(without.raw, 'cancel-tcpip-forward', bind('', 0)), undefined);
    for (const given of [undefined, false, null]) {
      await using parts = await serve({ listen: () => given as undefined });
      assert.equal(await ask(parts.raw, 'tcpip-forward', bind('', 0)), undefined);
      assert.deepEqual(parts.serving.takeFailures(), []);
    }
  });

  it('is refused where the policy fails, which is told', async () => {
    for (const listen of [
      () => {
        throw new Error('port is taken');
      },
      () => Promise.reject(new SshError('listen-failed', 'port is taken')),
      () => ({}) as Listener,
    ]) {
      await using parts = await serve({ listen });
      assert.equal(await ask(parts.raw, 'tcpip-forward', bind('', 80)), undefined);
      assert.equal(parts.serving.takeFailures().length, 1);
      assert.equal(await ask(parts.raw, 'x@y', none), undefined, 'the connection lives');
    }
  });

  it('is refused to who may not have it', async () => {
    const cases: readonly (readonly [Permissions, host: string, port: number, granted: boolean])[] = [
      [{ portForwarding: false }, '', 8080, false],
      [{ permitListen: [] }, '', 8080, false],
      [{ permitListen: [{ host: '*', port: 8080 }] }, 'localhost', 8080, true],
      [{ permitListen: [{ host: '*', port: 8080 }] }, 'localhost', 8081, false],
      [{ permitListen: [{ host: '*', port: 8080 }] }, 'localhost', 0, false],
      [{ permitListen: [{ host: 'localhost', port: '*' }] }, 'localhost', 8081, true],
      [{ permitListen: [{ host: 'localhost', port: '*' }] }, '', 8081, false],
    ];
    for (const [permissions, host, port, granted] of cases) {
      const memory = inMemory();
      await using parts = await serve(memory, permissions);
      const answer = await ask(parts.raw, 'tcpip-forward', bind(host, port));
      assert.equal(answer !== undefined, granted, `${JSON.stringify(permissions)} ${host}:${port}`);
      assert.equal(memory.log.length, granted ? 1 : 0);
    }
  });

  it('is refused for what is no address, or one that is taken, or one too many', async () => {
    const memory = inMemory();
    await using parts = await serve(memory);
    const { raw } = parts;
    for (const wrong of [
      bind('', 65536),
      bind('', 0xffffffff),
      none,
      bind('', 80).subarray(0, 7),
      bytes(...bind('', 80), 0),
    ]) {
      assert.equal(await ask(raw, 'tcpip-forward', wrong), undefined);
      assert.equal(await ask(raw, 'cancel-tcpip-forward', wrong), undefined);
    }
    assert.deepEqual([memory.log, parts.serving.takeFailures()], [[], []]);
    assert.deepEqual(await ask(raw, 'tcpip-forward', bind('', 8080)), none);
    assert.equal(await ask(raw, 'tcpip-forward', bind('', 8080)), undefined);
    for (let port = 1; port < 64; port++) assert.deepEqual(await ask(raw, 'tcpip-forward', bind('', port)), none);
    assert.equal(await ask(raw, 'tcpip-forward', bind('', 64)), undefined);
    assert.equal(memory.open.size, 64);
  });

  it('is done without an answer where none is wanted', async () => {
    const memory = inMemory();
    await using parts = await serve(memory);
    parts.raw.client.globalRequest('tcpip-forward', bind('', 8080), false);
    await parts.raw.quiet();
    parts.raw.client.expectNothing();
    assert.equal(memory.open.size, 1);
    parts.raw.client.globalRequest('cancel-tcpip-forward', bind('', 8080), false);
    await parts.raw.quiet();
    parts.raw.client.expectNothing();
    assert.equal(memory.open.size, 0);
  });

  it('ends with the client, and what was accepted with it', async () => {
    const memory = inMemory();
    await using parts = await serve(memory);
    const { raw, serving } = parts;
    await ask(raw, 'tcpip-forward', bind('', 8080));
    const running = memory.take(':8080');
    await RawChannel.accept(raw);
    const waiting = memory.take(':8080');
    await raw.quiet();
    raw.reset();
    await running.closing();
    await waiting.until(() => waiting.ended || waiting.outcome !== undefined, 'the end of what was not answered');
    await serving.cause();
    assert.deepEqual(memory.log, ['ada :8080', 'close :8080']);
    assert.deepEqual(serving.takeFailures(), []);
  });

  it('whose listener comes when the client has gone is closed', async () => {
    const memory = inMemory();
    let go: () => void = () => {};
    await using parts = await serve({
      async listen(...asked) {
        await new Promise<void>((resolve) => (go = resolve));
        return await memory.listen(...asked);
      },
    });
    const { raw, serving } = parts;
    raw.client.globalRequest('tcpip-forward', bind('', 8080));
    await raw.quiet();
    raw.reset();
    await serving.cause();
    go();
    await raw.quiet();
    assert.deepEqual(memory.log, ['ada :8080', 'close :8080']);
    assert.deepEqual(serving.takeFailures(), []);
  });

  it('whose listener cannot be closed is told', async () => {
    const listener = { address: { host: '', port: 1 }, close: () => Promise.reject(new Error('stuck')) };
    await using parts = await serve({ listen: () => listener });
    await ask(parts.raw, 'tcpip-forward', bind('', 1));
    assert.equal(await ask(parts.raw, 'cancel-tcpip-forward', bind('', 1)), undefined);
    await ask(parts.raw, 'tcpip-forward', bind('', 1));
    parts.raw.reset();
    await parts.serving.cause();
    await parts.raw.quiet();
    assert.deepEqual(parts.serving.takeFailures(), ['internal: stuck', 'internal: stuck']);
  });

  it('whose connection the client does not want closes that', async () => {
    const memory = inMemory();
    await using parts = await serve(memory);
    const { raw, serving } = parts;
    await ask(raw, 'tcpip-forward', bind('', 8080));
    const end = memory.take(':8080');
    const { sender } = await raw.take(connection.channelOpen);
    raw.client.send(
      encode(connection.channelOpenFailure, { recipient: sender, reason: 1, description: 'no', language: '' }),
    );
    await raw.quiet();
    assert.equal(end.ended, true);
    assert.deepEqual([serving.takeFailures(), serving.server.connections.size], [[], 1]);
  });
});

describe('global requests', () => {
  /** A policy that listens when the test says so. */
  async function slowly() {
    const memory = inMemory();
    const waiting: (() => void)[] = [];
    const parts = await serve({
      async listen(...asked) {
        await new Promise<void>((resolve) => waiting.push(resolve));
        return await memory.listen(...asked);
      },
    });
    return { ...parts, waiting, memory };
  }

  it('are answered in order (RFC 4254 §4)', async () => {
    await using parts = await slowly();
    const { raw, waiting } = parts;
    raw.client.globalRequest('tcpip-forward', bind('', 0));
    raw.client.globalRequest('keepalive@openssh.com');
    raw.client.globalRequest('tcpip-forward', bind('', 70_000));
    raw.client.globalRequest('tcpip-forward', bind('', 8080));
    raw.client.globalRequest('cancel-tcpip-forward', bind('', 8080));
    raw.client.globalRequest('x@y', none, false);
    await raw.quiet();
    raw.client.expectNothing();
    const channel = await RawChannel.open(raw);
    assert.equal(await channel.request('exec', bytes(0, 0, 0, 1, 120)), true, 'channels do not wait for them');
    await channel.closed();
    waiting.shift()?.();
    await raw.quiet();
    assert.equal(raw.client.take(connection.requestSuccess).body.length, 4);
    for (let i = 0; i < 2; i++) raw.client.take(connection.requestFailure);
    raw.client.expectNothing();
    waiting.shift()?.();
    await raw.quiet();
    for (let i = 0; i < 2; i++) assert.equal(raw.client.take(connection.requestSuccess).body.length, 0);
    raw.client.expectNothing();
    assert.deepEqual(parts.memory.log, ['ada :40000', 'ada :8080', 'close :8080']);
  });

  it('wait in their number up to 64; one more costs the connection', async () => {
    await using parts = await slowly();
    const { raw, serving } = parts;
    for (let i = 0; i < 64; i++) raw.client.globalRequest(i === 0 ? 'tcpip-forward' : 'x@y', bind('', 0));
    await raw.quiet();
    assert.equal(serving.server.connections.size, 1);
    raw.client.globalRequest('x@y');
    await raw.quiet();
    assert.equal((await serving.cause())?.code, 'limit');
    raw.client.expect(1);
    assert.equal(serving.server.connections.size, 0);
  });

  it('may be any number, one after the other', async () => {
    await using parts = await serve(inMemory());
    for (let i = 0; i < 200; i++) {
      assert.notEqual(await ask(parts.raw, 'tcpip-forward', bind('', 8080)), undefined);
      assert.notEqual(await ask(parts.raw, 'cancel-tcpip-forward', bind('', 8080)), undefined);
    }
  });
});
