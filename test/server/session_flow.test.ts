/** Bytes of sessions at a server: held up, in bulk, and cut off; how many sessions there may be; and requests that are none. */

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { equalBytes } from '../../src/bytes/bytes.ts';
import { SshError } from '../../src/errors.ts';
import type { Program, ServerSession, SessionHandlers } from '../../src/server/session.ts';
import type { SshClient } from '../../src/ssh_client.ts';
import { connection } from '../../src/wire/connection.ts';
import { decode, encode } from '../../src/wire/message.ts';
import { it } from '../support/limited.ts';
import { pattern } from '../support/pipe_end.ts';
import { RawChannel } from '../support/raw_channel.ts';
import { rejectsWith } from '../support/rejects.ts';
import { Serving } from '../support/serving.ts';
import { VirtualClock } from '../support/virtual_clock.ts';

const MEBIBYTE = 1024 * 1024;
const none = new Uint8Array(0);

const serve = (exec: Program, more: SessionHandlers = {}): Promise<Serving> =>
  Serving.start({ session: { exec, ...more } });

/** Waits until `holds`; what it waits for must come. */
async function until(holds: () => boolean, what: string): Promise<void> {
  for (const limit = performance.now() + 20_000; !holds(); ) {
    assert.ok(performance.now() < limit, `${what} must come`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

async function readAll(stream: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  const reader = stream.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) chunks.push(part.value);
  const all = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}

/** Waits for the client to go. */
const gone = (session: ServerSession): Promise<void> =>
  new Promise((resolve) => session.signal.addEventListener('abort', () => resolve(), { once: true }));

describe('bytes of a session', () => {
  it('go both ways at once, in bulk', async () => {
    const size = 8 * MEBIBYTE;
    await using serving = await serve(async (session) => {
      const writer = session.stdout.getWriter();
      const errors = session.stderr.getWriter();
      for await (const chunk of session.stdin) {
        await writer.write(chunk);
        await errors.write(chunk.subarray(0, 1));
      }
      return 3;
    });
    const ssh = await serving.connect();
    const input = pattern(size);
    const result = await ssh.run('cat', { stdin: input });
    assert.equal(result.code, 3);
    assert.ok(equalBytes(result.stdout, input));
    assert.ok(result.stderr.length > 0);
  });

  it('that nobody reads hold up their writer, and no other session', async () => {
    let wrote = 0;
    await using serving = await serve(async (session) => {
      if (session.command === 'small') return 5;
      for (; wrote < 16 * MEBIBYTE; wrote += 65536) await session.write(new Uint8Array(65536));
    });
    const ssh = await serving.connect({ window: 65536 });
    const flood = await ssh.exec('flood');
    for (let before = -1; before < wrote; await new Promise((resolve) => setTimeout(resolve, 20))) before = wrote;
    assert.ok(wrote < 4 * MEBIBYTE, `${wrote} bytes were taken while nobody read`);
    assert.equal((await ssh.run('small')).code, 5);
    await flood.stdout.cancel();
    assert.equal((await flood.exit).code, 0);
    assert.equal(wrote, 16 * MEBIBYTE);
  });

  it('that the program does not read hold up their writer, until it ends', async () => {
    let end: (code: number) => void = () => {};
    await using serving = await serve(() => new Promise<number>((resolve) => (end = resolve)));
    const ssh = await serving.connect();
    const session = await ssh.exec('deaf');
    const writer = session.stdin.getWriter();
    writer.closed.catch(() => {});
    let wrote = 0;
    let failure: unknown;
    const writing = (async () => {
      for (;;) {
        await writer.write(new Uint8Array(65536));
        wrote += 65536;
      }
    })().catch((error) => {
      failure = error;
    });
    for (let before = -1; before < wrote; await new Promise((resolve) => setTimeout(resolve, 20))) before = wrote;
    assert.ok(wrote < 8 * MEBIBYTE, `${wrote} bytes were taken while nobody read`);
    end(6);
    assert.equal((await session.exit).code, 6);
    await writing;
    assert.ok(failure instanceof SshError && failure.code === 'channel-closed');
  });

  it('end at end of input, and the program may still write', async () => {
    await using serving = await serve(async (session) => {
      const input = await readAll(session.stdin);
      await session.write(`${input.length} bytes`);
    });
    const ssh = await serving.connect();
    const { stdout } = await ssh.run('count', { stdin: new Uint8Array(100_000) });
    assert.equal(new TextDecoder().decode(stdout), '100000 bytes');
  });

  it('can be had as a pipe', async () => {
    await using serving = await serve(
      (session) =>
        new Promise<number>((resolve) => {
          const { pipe } = session;
          pipe.open({
            data(bytes) {
              pipe.write([bytes]);
              pipe.consumed(bytes.length);
            },
            end: () => resolve(8),
            drain() {},
            closed() {},
          });
        }),
    );
    const ssh = await serving.connect();
    const result = await ssh.run('echo', { stdin: pattern(MEBIBYTE) });
    assert.equal(result.code, 8);
    assert.ok(equalBytes(result.stdout, pattern(MEBIBYTE)));
  });

  it('are not lost for a client that reads slower than any time limit', async () => {
    const clock = new VirtualClock();
    const session = { exec: (running: ServerSession) => running.write('0123456789') };
    const serving = await Serving.start({ session, keepalive: false, timeouts: { channelClose: 1000 } }, clock);
    const raw = await serving.rawOpen();
    const channel = await RawChannel.open(raw, { window: 0 });
    await channel.request('exec', Uint8Array.of(0, 0, 0, 1, 120));
    for (let i = 0; i < 10; i++) {
      await clock.pass(100_000);
      channel.adjust(1);
      await channel.readAll();
    }
    await channel.closed();
    assert.equal(new TextDecoder().decode(channel.stdout), '0123456789');
    assert.deepEqual(channel.told.slice(-3), ['eof', 'exit-status 0', 'close']);
    await serving.close();
  });
});

describe('a program whose client is gone', () => {
  /** Runs a program that writes until it cannot, and tells what it met. */
  async function running() {
    const met: Record<string, unknown> = {};
    let started = false;
    const program: Program = async (session) => {
      const input = readAll(session.stdin).then(
        (bytes) => `ended after ${bytes.length}`,
        (error: SshError) => error.code,
      );
      started = true;
      try {
        for (;;) {
          await session.write(new Uint8Array(65536));
          session.write('nobody waits for this'); // and nobody looks when it fails
        }
      } catch (error) {
        met.write = (error as SshError).code;
      }
      met.signal = session.signal.reason.code;
      met.input = await input;
      throw new Error('the program is cross, but nobody needs to know');
    };
    const serving = await serve(program);
    const raw = await serving.rawOpen();
    const channel = await RawChannel.open(raw);
    await channel.request('exec', Uint8Array.of(0, 0, 0, 1, 120));
    await until(() => started, 'the program');
    return { serving, raw, channel, met, [Symbol.asyncDispose]: () => serving.close() };
  }

  it('hears it when the session is closed', async () => {
    await using parts = await running();
    parts.channel.write(Uint8Array.of(1, 2, 3));
    parts.channel.close();
    await parts.raw.quiet();
    await until(() => parts.met.input !== undefined, 'the end of the program');
    assert.deepEqual(parts.met, { write: 'channel-closed', signal: 'channel-closed', input: 'ended after 3' });
    assert.deepEqual(parts.serving.takeFailures(), []);
    assert.equal(parts.serving.server.connections.size, 1, 'the connection lives');
  });

  it('hears it when the connection is lost', async () => {
    await using parts = await running();
    parts.raw.reset();
    await until(() => parts.met.input !== undefined, 'the end of the program');
    assert.deepEqual(parts.met, { write: 'connection-lost', signal: 'channel-closed', input: 'connection-lost' });
    assert.deepEqual(parts.serving.takeFailures(), []);
    assert.equal(parts.serving.server.connections.size, 0);
  });

  it('may run on, and takes no session from the client', async () => {
    let stop: () => void = () => {};
    await using serving = await Serving.start({
      capacity: { sessions: 1 },
      session: { exec: () => new Promise<void>((resolve) => (stop = resolve)), shell: () => 0 },
    });
    const ssh = await serving.connect();
    const session = await ssh.exec('for ever');
    await session.close();
    await session.exit.catch(() => {});
    assert.equal((await (await ssh.shell()).exit).code, 0);
    stop();
    assert.deepEqual(serving.takeFailures(), []);
  });

  it('is told nothing by a client that sends on: what comes after CLOSE ends nothing', async () => {
    await using serving = await serve(gone);
    const raw = await serving.rawOpen();
    const channel = await RawChannel.open(raw);
    channel.notify('exec', Uint8Array.of(0, 0, 0, 1, 120));
    channel.close();
    await channel.readAll();
    assert.deepEqual(channel.told, ['close']);
    assert.equal(serving.server.connections.size, 1);
  });
});

describe('sessions', () => {
  it('are as many as the server allows, and one that has ended makes room', async () => {
    const running: ServerSession[] = [];
    await using serving = await Serving.start({
      capacity: { sessions: 2 },
      session: {
        exec: (session) => {
          running.push(session);
          return gone(session);
        },
      },
    });
    const raw = await serving.rawOpen();
    const first = await RawChannel.open(raw, { id: 1 });
    await RawChannel.open(raw, { id: 2 });
    raw.client.open('session', 3);
    const refused = await raw.take(connection.channelOpenFailure);
    assert.deepEqual([refused.recipient, refused.reason], [3, 4]); // RFC 4254 §5.1: resource shortage
    assert.equal(refused.description, 'no more than 2 sessions at once');
    first.close();
    raw.client.open('session', 4); // in the same packet, or nearly
    await raw.quiet();
    raw.client.expect(connection.channelClose.number);
    assert.equal(raw.client.take(connection.channelOpenConfirmation).recipient, 4);
  });

  it('may be many, one after the other (T59)', async () => {
    for (const sessions of [1, 10]) {
      let running = 0;
      let most = 0;
      await using serving = await Serving.start({
        capacity: { sessions },
        session: {
          async exec(session) {
            running++;
            most = Math.max(most, running);
            await session.write(session.command ?? '');
            running--;
            return 7;
          },
        },
      });
      const ssh: SshClient = await serving.connect();
      for (let i = 0; i < 200; i++) {
        const { code, stdout } = await ssh.run(String(i));
        assert.deepEqual([code, new TextDecoder().decode(stdout)], [7, String(i)]);
      }
      assert.equal(most, 1);
    }
  });

  it('are the only channels beside forwarded ones', async () => {
    await using serving = await serve(() => 0);
    const raw = await serving.rawOpen();
    for (const kind of [
      'x11',
      'auth-agent@openssh.com',
      'forwarded-tcpip',
      'direct-streamlocal@openssh.com',
      'tun@openssh.com',
      'Session',
      '',
    ]) {
      raw.client.open(kind, 9);
      const { recipient, reason } = await raw.take(connection.channelOpenFailure);
      assert.deepEqual([recipient, reason], [9, 3], kind); // RFC 4254 §5.1: unknown channel type
    }
  });
});

describe('requests that nobody knows (T28)', () => {
  it('are refused where an answer is wanted, and ignored where none is', async () => {
    await using serving = await serve(() => 0);
    const raw = await serving.rawOpen();
    const channel = await RawChannel.open(raw);
    for (const [name, body] of [
      ['x@y', none],
      ['x11-req', Uint8Array.of(1)],
      ['auth-agent-req@example.org', none],
      ['xon-xoff', Uint8Array.of(1)],
      ['exit-status', Uint8Array.of(0, 0, 0, 1)],
      ['', none],
    ] as const) {
      channel.notify(name, body);
      raw.client.globalRequest(name, body, false);
      assert.equal(await channel.request(name, body), false, name);
      raw.client.globalRequest(name, body, true);
      await raw.take(connection.requestFailure);
    }
    await raw.quiet();
    raw.client.expectNothing();
    assert.equal(await channel.request('exec', Uint8Array.of(0, 0, 0, 1, 120)), true);
  });
});

describe('a malformed request (T65)', () => {
  const malformed: readonly (readonly [what: string, name: string, body: Uint8Array])[] = [
    ['cut short', 'exec', Uint8Array.of(0, 0, 0, 5, 97)],
    ['with a huge length', 'exec', Uint8Array.of(255, 255, 255, 255, 97)],
    ['without its body', 'exec', none],
    ['with too much', 'exec', Uint8Array.of(0, 0, 0, 1, 97, 0)],
    ['with too much', 'shell', Uint8Array.of(0)],
    ['cut short', 'pty-req', Uint8Array.of(0, 0, 0, 1, 97, 0, 0)],
    ['cut short', 'env', Uint8Array.of(0, 0, 0, 1, 97)],
    ['cut short', 'window-change', Uint8Array.of(0, 0, 0, 1)],
    ['cut short', 'signal', Uint8Array.of(0, 0)],
    ['cut short', 'subsystem', Uint8Array.of(0, 0, 0, 9, 115)],
  ];

  for (const [what, name, body] of malformed) {
    it(`${name} ${what} costs its channel, and nothing else`, async () => {
      await using serving = await serve((session) => session.write('ok'));
      const raw = await serving.rawOpen();
      const [bad, good] = [await RawChannel.open(raw, { id: 1 }), await RawChannel.open(raw, { id: 2 })];
      for (const wantReply of [true, false]) raw.client.channelRequest(bad.server, name, body, wantReply);
      await bad.closed();
      assert.deepEqual(bad.told, ['close']);
      assert.equal(await good.request('exec', Uint8Array.of(0, 0, 0, 1, 120)), true);
      await good.closed();
      assert.equal(new TextDecoder().decode(good.stdout), 'ok');
      assert.deepEqual(serving.takeFailures(), []);
    });
  }

  it('whose own envelope is broken costs the connection, and the server serves on', async () => {
    await using serving = await serve(() => 4);
    const ssh = await serving.connect();
    const raw = await serving.rawOpen();
    const channel = await RawChannel.open(raw);
    const whole = encode(connection.channelRequest, {
      recipient: channel.server,
      request: 'exec',
      wantReply: true,
      body: none,
    });
    raw.client.send(whole.subarray(0, 7));
    await raw.quiet();
    assert.equal(decode(disconnect, raw.client.expect(1)).reason, 2);
    assert.equal((await serving.cause(1))?.code, 'protocol');
    assert.equal((await ssh.run('x')).code, 4);
    await rejectsWith(ssh.subsystem('none'), 'request-failed');
  });
});

const disconnect = {
  number: 1,
  name: 'SSH_MSG_DISCONNECT',
  category: 'disconnect',
  fields: { reason: 'uint32', description: 'text', language: 'name' },
} as const;
