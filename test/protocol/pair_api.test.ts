/**
 * Our client and our server as programs use them, on memory pipes in one process and in virtual time: logins, programs, files,
 * forwarding, key exchanges under way, and ends of every kind.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { equalBytes } from '../../src/bytes/bytes.ts';
import { encodeFields } from '../../src/bytes/schema.ts';
import { utf8 } from '../../src/bytes/text.ts';
import { key, keyboardInteractive, password } from '../../src/client/auth.ts';
import type { RekeyLimits } from '../../src/core/rekey.ts';
import { SshError } from '../../src/errors.ts';
import type { Clock } from '../../src/io/clock.ts';
import { memoryPipes } from '../../src/io/memory_pipe.ts';
import type { ForwardTarget, LoginHandlers } from '../../src/server/handlers.ts';
import type { ServerSession, SessionHandlers } from '../../src/server/session.ts';
import type { SftpClient } from '../../src/sftp/client.ts';
import { type MemoryFiles, memoryFiles } from '../../src/sftp/server/memory_fs.ts';
import { sftpSubsystem } from '../../src/sftp_subsystem.ts';
import type { SshClient } from '../../src/ssh_client.ts';
import { channelOpen } from '../../src/wire/requests.ts';
import { ApiPair, readAll } from '../support/api_pair.ts';
import type { Chunking } from '../support/feed.ts';
import { scenario } from '../support/link.ts';
import { PipeEnd } from '../support/pipe_end.ts';
import { rejectsWith } from '../support/rejects.ts';
import { patterned } from '../support/scripted_sftp.ts';
import { testKey, testSigner } from '../support/test_keys.ts';

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

const programs: SessionHandlers = {
  async exec(session) {
    switch (session.command) {
      case 'cat':
        await session.stdin.pipeTo(session.stdout, { preventClose: true });
        return;
      case 'env': {
        const lines = [...session.environment].map(([name, value]) => `${name}=${value}\n`);
        await session.write(lines.join(''));
        return;
      }
      case 'fail':
        await session.write('some output\n');
        await session.writeError('went wrong\n');
        return 42;
      case 'die':
        return { signal: 'SEGV', coreDumped: true, message: 'it was the null page' };
      case 'throw':
        throw new Error('a mistake in the program');
      case 'wait':
        return await untilSignal(session);
    }
    return 127;
  },
};

function untilSignal(session: ServerSession): Promise<{ signal: string }> {
  return new Promise((resolve, reject) => {
    session.onSignal = (signal) => resolve({ signal });
    session.signal.addEventListener('abort', () => reject(session.signal.reason), { once: true });
  });
}

/** Programs, and files in memory, whose times stand still. */
function withFiles(clock: Clock): { readonly files: MemoryFiles; readonly session: SessionHandlers } {
  const now = (): number => 1_700_000_000_000;
  const files = memoryFiles({ now, files: { '/docs/a.txt': 'alpha\n' } });
  return { files, session: { ...programs, subsystems: { sftp: sftpSubsystem(files, { now, clock }) } } };
}

scenario('a client connects, runs programs, and leaves; both sides say the same about it', async (chunking) => {
  const pair = await ApiPair.start({ chunking, server: { session: programs } });
  const ssh = await pair.now(pair.connect());
  const { connection } = pair;
  assert.equal(ssh.info.identification, connection.peer.identification);
  assert.deepEqual(ssh.info.algorithms, connection.algorithms);
  assert.ok(ssh.info.strictKex && connection.strictKex);
  assert.deepEqual(connection.login?.username, 'ada');
  assert.deepEqual(connection.login?.steps, [{ method: 'password' }]);
  assert.deepEqual(connection.peer.address, '192.0.2.7');

  const [cat, failed, died, thrown, unknown] = await pair.now(
    Promise.all([
      ssh.run('cat', { stdin: 'to and fro\n' }),
      ssh.run('fail'),
      ssh.run('die'),
      ssh.run('throw'),
      ssh.run('no such thing'),
    ]),
  );
  assert.deepEqual([text(cat.stdout), cat.code], ['to and fro\n', 0]);
  assert.deepEqual([text(failed.stdout), text(failed.stderr), failed.code], ['some output\n', 'went wrong\n', 42]);
  const { signal, coreDumped, message, code } = died;
  assert.deepEqual(
    { signal, coreDumped, message, code },
    {
      signal: 'SEGV',
      coreDumped: true,
      message: 'it was the null page',
      code: undefined,
    },
  );
  assert.equal(thrown.code, 1);
  assert.deepEqual(
    pair.failures.map((error) => error.message),
    ['a mistake in the program'],
  );
  assert.equal(unknown.code, 127);
  const env = await pair.now(ssh.run('env', { env: { LANG: 'C', EMPTY: '' } }));
  assert.equal(text(env.stdout), 'LANG=C\nEMPTY=\n');

  await pair.now(ssh.close());
  assert.equal(await pair.now(ssh.closed), undefined);
  assert.equal((await pair.now(connection.closed))?.code, 'disconnected');
  assert.equal(pair.server.connections.size, 0);
  assert.equal(pair.clock.timers, 0, 'nothing is left that would wake up');
});

scenario('streams of a program carry both ways at once, more than any window, while keys change', async (chunking) => {
  const size = chunking === 'bytes' ? 100_000 : 400_000;
  const side = { window: 40_000, maxPacket: 8000, rekey: { bytes: 64 * 1024 } };
  const pair = await ApiPair.start({ chunking, client: side, server: { session: programs, ...side } });
  const ssh = await pair.now(pair.connect());
  const session = await pair.now(ssh.exec('cat'));
  const writer = session.stdin.getWriter();
  const data = patterned(size);
  const writing = (async () => {
    for (let at = 0; at < size; at += 10_000) await writer.write(data.slice(at, at + 10_000));
    await writer.close();
  })();
  const [came] = await pair.now(Promise.all([readAll(session.stdout), writing]));
  assert.ok(equalBytes(came, data));
  assert.equal((await pair.now(session.exit)).code, 0);
  await pair.quiet();
  assert.ok(ssh.info.keyExchanges > (2 * size) / (2 * 65_536), `${ssh.info.keyExchanges} key exchanges`);
  assert.equal(pair.connection.keyExchanges, ssh.info.keyExchanges);
  const before = ssh.info.keyExchanges;
  await pair.now(ssh.rekey());
  pair.connection.rekey();
  await pair.quiet();
  assert.deepEqual([ssh.info.keyExchanges, pair.connection.keyExchanges], [before + 2, before + 2]);
  await pair.now(ssh.close());
});

scenario('a signal reaches the program, and a program hears that its client is gone', async (chunking) => {
  const pair = await ApiPair.start({ chunking, server: { session: programs } });
  const ssh = await pair.now(pair.connect());
  const [first, second] = await pair.now(Promise.all([ssh.exec('wait'), ssh.exec('wait')]));
  first.signal('HUP');
  assert.equal((await pair.now(first.exit)).signal, 'HUP');
  await pair.now(second.close());
  await rejectsWith(pair.now(second.exit), 'channel-closed');
  const controller = new AbortController();
  const running = ssh.run('wait', { signal: controller.signal });
  await pair.quiet();
  controller.abort();
  await rejectsWith(pair.now(running), 'aborted');
  assert.equal((await pair.now(ssh.run('fail'))).code, 42, 'the connection lives on');
  assert.deepEqual(pair.failures, []);
  await pair.now(ssh.close());
});

scenario('what a server does not offer is refused, and costs nothing else', async (chunking) => {
  const pair = await ApiPair.start({ chunking });
  const ssh = await pair.now(pair.connect());
  await rejectsWith(pair.now(ssh.run('true')), 'request-failed');
  await rejectsWith(pair.now(ssh.shell()), 'request-failed');
  await rejectsWith(pair.now(ssh.sftp({ clock: pair.clock })), 'sftp-unavailable');
  await rejectsWith(pair.now(pair.link.openChannel('x11')), 'channel-open-failed');
  await rejectsWith(pair.now(pair.link.openChannel('direct-tcpip')), 'channel-open-failed');
  const many = Array.from({ length: 12 }, () => ssh.openSession());
  const results = await pair.now(Promise.allSettled(many));
  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 10, 'sessions at once');
  await pair.now(ssh.close());
});

describe('logins', () => {
  const userKey = testKey('ssh-ed25519', 'user');
  const handlers: LoginHandlers = {
    password: ({ password }) => password === 'right',
    publickey: ({ key }) => key.publicKey.blob.every((byte, i) => byte === userKey.publicKey.blob[i]),
    async keyboardInteractive(_, ask) {
      const [name] = await ask({ title: 'First', prompts: [{ text: 'Name: ', echo: true }] });
      const [word, number] = await ask({
        instruction: `Hello ${name}`,
        prompts: [
          { text: 'Word: ', echo: false },
          { text: 'Number: ', echo: true },
        ],
      });
      return name === 'Ada' && word === 'open' && number === '7';
    },
  };
  const start = (changes: Partial<LoginHandlers> = {}): Promise<ApiPair> =>
    ApiPair.start({ server: { auth: { ...handlers, ...changes } } });

  it('with a password, a key, and answers to questions', async () => {
    const pair = await start();
    const answers: Record<string, string> = { 'Name: ': 'Ada', 'Word: ': 'open', 'Number: ': '7' };
    for (const [method, auth] of [
      ['password', password('right')],
      ['publickey', key(userKey)],
      ['keyboard-interactive', keyboardInteractive(({ prompts }) => prompts.map(({ text }) => answers[text] ?? ''))],
    ] as const) {
      const ssh = await pair.now(pair.connect({ auth: [auth] }));
      assert.deepEqual(ssh.info.authMethods.at(-1), method);
      const steps = pair.connection.login?.steps.map((step) => step.method);
      assert.deepEqual(steps, [method]);
      await pair.now(ssh.close());
    }
  });

  it('that are wrong fail on both sides, in steps of time', async () => {
    const pair = await start();
    const connecting = pair.connect({ auth: [password('wrong')] });
    const closed = pair.connection.closed;
    await assert.rejects(pair.now(connecting), /has not settled/, 'a refusal waits for its step');
    const error = await rejectsWith(pair.now(connecting, 1000), 'auth-failed');
    assert.match(error.message, /tried password/);
    assert.equal((await pair.now(closed))?.code, 'disconnected');
    assert.equal(pair.server.connections.size, 0);
  });

  it('in two steps, of which each is needed', async () => {
    const two: Partial<LoginHandlers> = {
      publickey: () => ({ partial: ['password'] }),
      password: ({ steps, password }) =>
        password === 'right' && steps.length === 1 && steps[0]?.method === 'publickey' ? { identity: 'both' } : false,
    };
    const pair = await start(two);
    const ssh = await pair.now(
      pair.connect({ auth: [key(testSigner('ssh-ed25519', 'user')), password('right')] }),
      1000,
    );
    assert.deepEqual(ssh.info.authMethods, ['publickey', 'password']);
    assert.equal(pair.connection.login?.identity, 'both');
    await pair.now(ssh.close());
    await rejectsWith(pair.now(pair.connect({ auth: [password('right')] }), 1000), 'auth-failed');
  });

  it('an expired password is changed', async () => {
    const change: Partial<LoginHandlers> = {
      password: ({ password, newPassword }) =>
        password === 'old' && (newPassword === 'new' || { changePassword: 'Choose another:' }),
    };
    const pair = await start(change);
    const asked: string[] = [];
    const newPassword = (prompt: string): string => {
      asked.push(prompt);
      return 'new';
    };
    const ssh = await pair.now(pair.connect({ auth: [password('old', { newPassword })] }));
    assert.deepEqual(asked, ['Choose another:']);
    await pair.now(ssh.close());
  });

  it('that take for ever end at the limits of both sides', async () => {
    const pair = await start({ password: () => new Promise(() => {}) });
    const connecting = pair.connect({ timeouts: { auth: 5000 } });
    const { closed } = pair.connection;
    await rejectsWith(pair.now(connecting, 5200), 'timeout');
    assert.equal((await pair.now(closed))?.code, 'connection-lost');
    // a client that never says anything
    pair.server.accept(memoryPipes()[0]);
    await pair.clock.pass(29_999);
    assert.equal(pair.server.connections.size, 1);
    await pair.clock.pass(1);
    assert.equal(pair.server.connections.size, 0);
  });
});

interface Files {
  readonly pair: ApiPair;
  readonly ssh: SshClient;
  readonly sftp: SftpClient;
  readonly files: MemoryFiles;
}

async function openFiles(chunking: Chunking, rekey: Partial<RekeyLimits> = {}): Promise<Files> {
  let files: MemoryFiles | undefined;
  const pair = await ApiPair.start({
    chunking,
    client: { rekey, maxPacket: 3000 },
    server(clock) {
      const served = withFiles(clock);
      files = served.files;
      return { rekey, maxPacket: 3000, session: served.session };
    },
  });
  const ssh = await pair.now(pair.connect());
  const sftp = await pair.now(ssh.sftp({ clock: pair.clock }));
  return { pair, ssh, sftp, files: files ?? assert.fail() };
}

scenario('files are written, read, listed, renamed and removed', async (chunking) => {
  const { pair, ssh, sftp, files } = await openFiles(chunking);
  const size = chunking === 'bytes' ? 12_000 : 400_000;
  assert.equal(text(await pair.now(sftp.readFile('/docs/a.txt'))), 'alpha\n');
  await pair.now(sftp.writeFile('/docs/b.bin', patterned(size)));
  assert.deepEqual(files.get('/docs/b.bin'), patterned(size));
  assert.equal((await pair.now(sftp.stat('/docs/b.bin'))).size, size);
  await pair.now(sftp.mkdir('/docs/sub'));
  await pair.now(sftp.rename('/docs/b.bin', '/docs/sub/c.bin'));
  const names: string[] = [];
  const listing = (async () => {
    for await (const entry of sftp.list('/docs')) names.push(String(entry.name));
  })();
  await pair.now(listing);
  assert.deepEqual(names.sort(), ['a.txt', 'sub']);
  assert.ok(equalBytes(await pair.now(sftp.readFile('/docs/sub/c.bin')), patterned(size)));
  const missing = await rejectsWith(pair.now(sftp.readFile('/docs/b.bin')), 'sftp-status');
  assert.equal(missing.path, '/docs/b.bin');
  await pair.now(sftp.remove('/docs/sub/c.bin'));
  await pair.now(sftp.rmdir('/docs/sub'));
  await pair.now(sftp.close());
  await pair.now(ssh.close());
  assert.equal(pair.clock.timers, 0);
});

scenario('files go both ways at once while both sides renew keys again and again', async (chunking) => {
  const size = chunking === 'bytes' ? 30_000 : 500_000;
  const { pair, ssh, sftp, files } = await openFiles(chunking, { bytes: size / 8 });
  files.put('/down', patterned(size, 'down'));
  const [down] = await pair.now(Promise.all([sftp.readFile('/down'), sftp.writeFile('/up', patterned(size, 'up'))]));
  assert.ok(equalBytes(down, patterned(size, 'down')));
  assert.ok(equalBytes(files.get('/up') ?? new Uint8Array(0), patterned(size, 'up')));
  assert.ok(ssh.info.keyExchanges >= 3, `${ssh.info.keyExchanges} key exchanges`);
  assert.equal(pair.connection.keyExchanges, ssh.info.keyExchanges);
  await pair.now(ssh.close());
});

scenario('connections are forwarded through the server, and ended on either side', async (chunking) => {
  const size = chunking === 'bytes' ? 5000 : 30_000;
  const targets: ForwardTarget[] = [];
  const [near, far] = memoryPipes();
  const pair = await ApiPair.start({
    chunking,
    server: {
      forward: {
        connect(target, login) {
          assert.equal(login.username, 'ada');
          targets.push(target);
          return target.port === 80 && near;
        },
      },
    },
  });
  const ssh = await pair.now(pair.connect());
  const target = { host: 'web.example', port: 80, originHost: '127.0.0.1', originPort: 50_000 };
  const open = (changes: Partial<typeof target>) =>
    pair.link.openChannel('direct-tcpip', {
      body: encodeFields(channelOpen['direct-tcpip'], { ...target, ...changes }),
    });
  await rejectsWith(pair.now(open({ port: 81 })), 'channel-open-failed');
  const channel = new PipeEnd(await pair.now(open({})));
  assert.deepEqual(targets, [{ ...target, port: 81 }, target]);
  const service = new PipeEnd(far);
  channel.pipe.write([patterned(size, 'up')]);
  service.pipe.write([patterned(size, 'down')]);
  await pair.quiet();
  assert.deepEqual(new Uint8Array(service.bytes), patterned(size, 'up'));
  assert.deepEqual(new Uint8Array(channel.bytes), patterned(size, 'down'));
  service.pipe.end();
  await pair.quiet();
  assert.ok(channel.ended && channel.outcome === undefined, 'one half has ended');
  channel.pipe.write([utf8('more')]);
  channel.pipe.end();
  await pair.quiet();
  assert.equal(service.received, size + 4);
  channel.pipe.close();
  await pair.quiet();
  assert.deepEqual(channel.outcome, { cause: undefined });
  assert.deepEqual(service.outcome, { cause: undefined });
  await pair.now(ssh.close());
});

describe('a line that is lost', () => {
  /** A session with everything in it; all its promises, settled. */
  async function play(cutAfter?: number): Promise<{ pair: ApiPair; results: PromiseSettledResult<unknown>[] }> {
    const pair = await ApiPair.start({
      server: (clock) => ({ session: withFiles(clock).session }),
      ...(cutAfter === undefined ? {} : { cutAfter }),
    });
    const all: Promise<unknown>[] = [];
    const track = <T>(promise: Promise<T>): Promise<T> => {
      all.push(promise);
      return promise;
    };
    const session = (async () => {
      const ssh = await track(pair.connect());
      track(ssh.closed);
      track(pair.connection.closed);
      await track(ssh.run('cat', { stdin: patterned(5000) }));
      const waiting = track(ssh.exec('wait'));
      const sftp = await track(ssh.sftp({ clock: pair.clock }));
      await Promise.all([track(sftp.writeFile('/x', patterned(50_000))), track(ssh.rekey()), track(sftp.stat('/'))]);
      await track(sftp.readFile('/x'));
      track((await waiting).exit);
      await track(ssh.close());
    })();
    all.push(session);
    session.catch(() => {});
    const results = await pair.now(
      session.catch(() => {}).then(() => Promise.allSettled(all)),
      30_000,
    );
    return { pair, results };
  }

  it('is none when it is not: the session plays to its end', async () => {
    const { pair, results } = await play();
    const failed = results.flatMap((result) => (result.status === 'rejected' ? [String(result.reason)] : []));
    assert.equal(failed.length, 1, 'the program that nobody ended');
    assert.equal(pair.clock.timers, 0);
    assert.deepEqual(pair.failures, []);
  });

  it('at any moment ends everything on both sides: nothing hangs, no timer stays', async () => {
    const { pair: whole } = await play();
    assert.ok(whole.deliveries > 30, `${whole.deliveries} deliveries`);
    for (let after = 0; after < whole.deliveries; after++) {
      const { pair, results } = await play(after);
      const about = `cut after ${after} deliveries`;
      for (const result of results) {
        if (result.status === 'rejected') assert.ok(result.reason instanceof SshError, `${about}: ${result.reason}`);
      }
      await pair.quiet();
      assert.equal(pair.server.connections.size, 0, about);
      assert.equal(pair.clock.timers, 0, about);
      assert.deepEqual(pair.failures, [], about);
    }
  });
});

describe('quiet connections', () => {
  it('live on for hours with keepalive on both sides, and renew their keys', async () => {
    const keepalive = { interval: 60_000, count: 3 };
    const pair = await ApiPair.start({ client: { keepalive }, server: { keepalive, session: programs } });
    const ssh = await pair.now(pair.connect());
    await pair.clock.pass(3 * 3_600_000);
    assert.equal(ssh.info.keyExchanges, 4);
    assert.equal((await pair.now(ssh.run('fail'))).code, 42);
    await pair.now(ssh.close());
  });
});
