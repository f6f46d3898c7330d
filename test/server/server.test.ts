/** A server as a whole: what it can be told, how many it takes, and its end. */

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { key, password } from '../../src/client/auth.ts';
import { DEFAULT_SIGNATURES } from '../../src/core/algorithms/host_key_order.ts';
import type { SshErrorCode } from '../../src/errors.ts';
import { memoryPipes } from '../../src/io/memory_pipe.ts';
import type { BytePipe } from '../../src/io/pipe.ts';
import { pipeFromStreams, streamsFromPipe } from '../../src/io/streams.ts';
import type { ServerConnection } from '../../src/server/connection.ts';
import { type ServerOptions, serverSettings } from '../../src/server/options.ts';
import { passwordsIn } from '../../src/server/passwords.ts';
import { settled } from '../support/fake_connection.ts';
import { it } from '../support/limited.ts';
import { memoCrypto } from '../support/memo_crypto.ts';
import { PipeEnd } from '../support/pipe_end.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ed25519Signer } from '../support/scripted_peer.ts';
import { PASSWORD, REMOTE, Serving } from '../support/serving.ts';
import { testKey, testSigner } from '../support/test_keys.ts';

const hostKey = ed25519Signer(memoCrypto, 7);
const auth = { password: () => true };
const basics: ServerOptions = { hostKeys: [hostKey], auth };

describe('serverSettings', () => {
  it('has defaults', async () => {
    const settings = await serverSettings(basics, memoCrypto);
    assert.deepEqual(settings.methods, ['password']);
    assert.deepEqual(settings.signatures, DEFAULT_SIGNATURES);
    assert.deepEqual(settings.capacity, {
      connections: 1024,
      unauthenticated: 100,
      unauthenticatedPerAddress: Number.POSITIVE_INFINITY,
      sessions: 10,
      programs: 64,
    });
    assert.equal(settings.banner, '');
    assert.deepEqual([settings.session, settings.forward], [{}, {}]);
    const { identificationTime, keyExchangeTime, loginTime, channelCloseTime, authFailures } = settings.limits;
    assert.deepEqual(
      [identificationTime, keyExchangeTime, loginTime, channelCloseTime, authFailures],
      [30_000, 60_000, 120_000, 10_000, 6],
    );
    settings.onConnection({} as ServerConnection);
  });

  it('takes host keys as text, as bytes, as keys, and as whatever signs', async () => {
    const own = testKey('ecdsa-sha2-nistp256', 'host');
    const agent = { ...testSigner('rsa-sha2-256', 'host') };
    const settings = await serverSettings({ ...basics, hostKeys: [own, agent] }, memoCrypto);
    assert.deepEqual(
      settings.hostKeys.map(({ keyType }) => keyType),
      ['ecdsa-sha2-nistp256', 'ssh-rsa'],
    );
    assert.equal(settings.hostKeys[1], agent);
  });

  const wrong: readonly [what: string, options: unknown, message: RegExp, code?: SshErrorCode][] = [
    ['nothing', undefined, /hostKeys, auth/],
    ['no auth', { hostKeys: [hostKey] }, /^auth is required/],
    ['an auth without functions', { ...basics, auth: {} }, /nobody could log in/],
    ['an auth whose members are no functions', { ...basics, auth: { password: 'secret' } }, /auth\.password/],
    ['no host key', { ...basics, hostKeys: [] }, /at least one key/],
    ['a host key in place of a list', { ...basics, hostKeys: 'text' }, /at least one key/],
    ['a host key that is none', { ...basics, hostKeys: [7] }, /not number/],
    ['a host key that is nothing', { ...basics, hostKeys: [undefined] }, /not undefined/],
    ['a file that is no key', { ...basics, hostKeys: ['hello'] }, /begin with -----BEGIN/, 'key-format-unsupported'],
    ['a capacity below one', { ...basics, capacity: { sessions: 0 } }, /capacity\.sessions/],
    ['a capacity that is text', { ...basics, capacity: { connections: 'many' } }, /capacity\.connections/],
    ['a time that is none', { ...basics, timeouts: { login: -1 } }, /timeouts\.login/],
    ['an unknown signature algorithm', { ...basics, signatures: ['ssh-dss'] }, /"ssh-dss"/],
    ['an unknown cipher', { ...basics, algorithms: { ciphers: ['rot13'] } }, /rot13/],
    ['a window below the packet', { ...basics, window: 10 }, /^window/],
    [
      'host keys that sign nothing that is offered',
      { ...basics, algorithms: { hostKeys: ['rsa-sha2-512'] } },
      /No host key signs/,
    ],
    ['a software version with a line end', { ...basics, software: 'a\r\nb' }, /software/i],
    ['an empty software version', { ...basics, software: '' }, /software/i],
    ['a banner that is no text', { ...basics, banner: 7 }, /banner/],
    ['a session that is no object', { ...basics, session: 'exec' }, /session/],
    ['a program that is no function', { ...basics, session: { exec: 'true' } }, /session\.exec/],
    [
      'a subsystem that is no function',
      { ...basics, session: { subsystems: { sftp: {} } } },
      /session\.subsystems\.sftp/,
    ],
    ['a listener for logins that is no function', { ...basics, onLogin: 'ada' }, /options\.onLogin/],
    ['a forwarding that is no function', { ...basics, forward: { connect: true } }, /forward\.connect/],
  ];

  for (const [what, options, message, code = 'bad-argument'] of wrong) {
    it(`refuses ${what}`, async () => {
      const error = await rejectsWith(serverSettings(options as ServerOptions, memoCrypto), code);
      assert.match(error.message, message);
    });
  }

  it('takes what is undefined for not said', async () => {
    const unsaid = { capacity: { sessions: undefined }, timeouts: undefined, banner: undefined, session: undefined };
    const settings = await serverSettings({ ...basics, ...unsaid } as unknown as ServerOptions, memoCrypto);
    assert.equal(settings.capacity.sessions, 10);
  });
});

describe('a server', () => {
  it('shows its banner', async () => {
    await using serving = await Serving.start({ banner: 'Hej p\u00e5 dig\n' });
    const shown: string[] = [];
    await serving.connect({ onBanner: (text) => void shown.push(text) });
    assert.deepEqual(shown, ['Hej p\u00e5 dig\n']);
  });

  it('knows of each connection what it is', async () => {
    await using serving = await Serving.start({ software: 'test_2' });
    const ssh = await serving.connect();
    const [connection] = serving.connections;
    assert.ok(connection !== undefined);
    assert.equal(ssh.info.identification, 'SSH-2.0-test_2');
    assert.deepEqual(connection.peer, { ...REMOTE, identification: 'SSH-2.0-puressh_0.1.0' });
    assert.deepEqual(connection.algorithms, ssh.info.algorithms);
    assert.deepEqual([connection.keyExchanges, connection.strictKex], [1, true]);
    assert.equal(connection.login?.username, 'ada');
    await ssh.close();
    const cause = await connection.closed;
    assert.equal(cause?.code, 'disconnected');
  });

  it('serves a client whose address nobody knows', async () => {
    await using serving = await Serving.start();
    const [near, far] = memoryPipes();
    serving.server.accept(far);
    const ssh = await serving.connect({}, near);
    assert.deepEqual(serving.connections[0]?.peer, { identification: 'SSH-2.0-puressh_0.1.0' });
    await ssh.close();
  });

  it('serves any pair of streams', async () => {
    await using serving = await Serving.start({ session: { exec: (session) => session.write('hello') } });
    const [near, far] = memoryPipes();
    serving.server.accept(pipeFromStreams(streamsFromPipe(far)), REMOTE);
    const ssh = await serving.connect({}, near);
    assert.equal(new TextDecoder().decode((await ssh.run('x')).stdout), 'hello');
    await ssh.close();
  });

  it('exchanges keys when it is told to, and only once somebody is logged in', async () => {
    await using serving = await Serving.start({ session: { exec: () => 3 } });
    const raw = serving.raw();
    await raw.quiet();
    serving.connections[0]?.rekey();
    await raw.quiet();
    const ssh = await serving.connect();
    const connection = serving.connections[1];
    connection?.rekey();
    assert.equal((await ssh.run('x')).code, 3);
    assert.deepEqual([connection?.keyExchanges, ssh.info.keyExchanges], [2, 2]);
    await ssh.rekey();
    assert.equal(connection?.keyExchanges, 3);
  });

  it('proves itself with the key that fits what is negotiated', async () => {
    await using serving = await Serving.start({
      hostKeys: [testKey('ssh-ed25519', 'host'), testKey('ecdsa-sha2-nistp256', 'host'), testKey('ssh-rsa', 'host')],
    });
    for (const algorithm of ['rsa-sha2-256', 'rsa-sha2-512', 'ecdsa-sha2-nistp256', 'ssh-ed25519']) {
      const ssh = await serving.connect({ algorithms: { hostKeys: [algorithm] } });
      assert.equal(ssh.info.algorithms.hostKey, algorithm);
    }
  });

  it('takes the signature algorithms that it is told, and announces them', async () => {
    await using serving = await Serving.start({
      auth: { publickey: () => true },
      signatures: ['rsa-sha2-256', 'ecdsa-sha2-nistp256'],
    });
    const rsa = testKey('ssh-rsa', 'user');
    await serving.connect({ auth: [key(rsa)] });
    const raw = serving.raw();
    await raw.handshake();
    assert.equal(raw.client.extensions.get('server-sig-algs'), 'rsa-sha2-256,ecdsa-sha2-nistp256');
    await rejectsWith(serving.connect({ auth: [key(testKey('ssh-ed25519', 'user'))] }), 'auth-failed');
  });
});

describe('capacity', () => {
  const taken: BytePipe[] = [];

  /** So that nothing waits for them in the end. */
  function leave(): void {
    for (const near of taken.splice(0)) near.close();
  }

  /** Whether one more is taken; a pipe that is not must be closed. */
  async function takesOneMore(serving: Serving): Promise<boolean> {
    const [near, far] = memoryPipes();
    const end = new PipeEnd(near);
    if (serving.server.accept(far, REMOTE) !== undefined) {
      taken.push(near);
      return true;
    }
    await settled();
    assert.equal(end.ended, true, 'who is not served is told so');
    return false;
  }

  it('bounds those who are not logged in', async () => {
    await using serving = await Serving.start({ capacity: { unauthenticated: 2, connections: 10 } });
    const mute = serving.raw();
    const ssh = await serving.connect();
    serving.raw();
    assert.equal(await takesOneMore(serving), false);
    assert.equal(serving.server.connections.size, 3);
    mute.reset();
    await serving.cause();
    await settled();
    assert.equal(await takesOneMore(serving), true);
    assert.equal(await takesOneMore(serving), false);
    await ssh.close();
    assert.equal(await takesOneMore(serving), false, 'who was logged in made no room');
    leave();
  });

  it('bounds those of one address who are not logged in', async () => {
    await using serving = await Serving.start({ capacity: { unauthenticatedPerAddress: 2 } });
    const mute = serving.raw();
    await serving.connect();
    serving.raw();
    assert.equal(await takesOneMore(serving), false);
    const elsewhere = serving.server.accept(memoryPipes()[0], { address: '192.0.2.8', port: 1 });
    assert.ok(elsewhere !== undefined);
    mute.reset();
    await serving.cause();
    await settled();
    assert.equal(await takesOneMore(serving), true);
    assert.equal(await takesOneMore(serving), false);
    await elsewhere.close();
    leave();
  });

  it('bounds the programs of one connection, those of ended sessions with them', async () => {
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    await using serving = await Serving.start({ capacity: { programs: 3 }, session: { exec: () => released } });
    const ssh = await serving.connect();
    for (let i = 0; i < 3; i++) {
      const session = await ssh.exec(`${i}`);
      await session.close();
    }
    await rejectsWith(ssh.exec('one too many'), 'request-failed');
    release();
    await settled();
    assert.equal((await ssh.run('again')).code, 0);
  });

  it('bounds all', async () => {
    await using serving = await Serving.start({ capacity: { connections: 2 } });
    const ssh = await serving.connect();
    await serving.connect();
    assert.equal(await takesOneMore(serving), false);
    await ssh.close();
    await serving.cause();
    await settled();
    assert.equal(await takesOneMore(serving), true);
    assert.equal(await takesOneMore(serving), false);
    leave();
  });
});

describe('onConnection', () => {
  it('may close a connection, which then is never served', async () => {
    await using serving = await Serving.start({ onConnection: (connection) => void connection.close() });
    const error = await rejectsWith(serving.connect(), 'identification');
    assert.match(error.message, /closed before it identified itself/);
    await serving.cause();
    await settled();
    assert.equal(serving.server.connections.size, 0);
  });

  it('that throws is told, and the connection is not served', async () => {
    await using serving = await Serving.start({
      capacity: { unauthenticated: 1 },
      onConnection: (connection) => {
        if (connection === serving.connections[0]) throw new Error('no room in the log');
      },
    });
    await rejectsWith(serving.connect(), 'identification');
    assert.deepEqual(serving.takeFailures(), ['internal: no room in the log']);
    await settled();
    assert.equal(serving.server.connections.size, 0);
    await serving.connect();
  });
});

describe('onLogin', () => {
  it('hears who has logged in, before anything that they ask for', async () => {
    const heard: unknown[] = [];
    await using serving = await Serving.start({
      onLogin: (login, connection) => void heard.push([login.username, login === connection.login]),
      session: { exec: () => void heard.push('exec') },
    });
    await rejectsWith(serving.connect({ auth: [password('wrong')] }), 'auth-failed');
    const ssh = await serving.connect();
    await ssh.run('x');
    assert.deepEqual(heard, [['ada', true], 'exec']);
  });

  it('may close the connection, and where it throws that is told, and the connection ends', async () => {
    let throws = false;
    await using serving = await Serving.start({
      onLogin: (_login, connection) => {
        if (throws) throw new Error('no such home');
        connection.close();
      },
      session: { exec: () => assert.fail('nothing runs') },
    });
    for (const failures of [[], ['internal: no such home']]) {
      const number = serving.connections.length;
      const raw = serving.raw();
      await raw.handshake();
      raw.client.requestPassword(PASSWORD);
      raw.client.open('session', 1);
      await raw.quiet();
      raw.client.until(1);
      assert.equal(await serving.cause(number), undefined);
      assert.deepEqual(serving.takeFailures(), failures);
      throws = true;
    }
    assert.equal(serving.server.connections.size, 0);
  });
});

describe('close', () => {
  it('ends everything: clients, programs, and those who are not logged in', async () => {
    const ended: string[] = [];
    const serving = await Serving.start({
      session: {
        async exec(session) {
          await new Promise<void>((resolve) => session.signal.addEventListener('abort', () => resolve()));
          ended.push(String(session.signal.reason.code));
        },
      },
    });
    const raw = serving.raw();
    await raw.handshake();
    const ssh = await serving.connect();
    const running = rejectsWith(ssh.run('x'), 'disconnected');
    await raw.quiet();
    const closing = serving.server.close();
    assert.equal(serving.server.accept(memoryPipes()[0]), undefined, 'nobody is taken any more');
    await closing;
    await running;
    assert.equal((await ssh.closed)?.code, 'disconnected');
    await raw.quiet();
    raw.client.expect(1);
    assert.deepEqual(ended, ['channel-closed']);
    assert.equal(serving.server.connections.size, 0);
    for (const connection of serving.connections) assert.equal(await connection.closed, undefined);
    await serving.server.close();
  });

  it('of one connection leaves the others alone', async () => {
    await using serving = await Serving.start({ session: { exec: () => 0 } });
    const [one, two] = [await serving.connect(), await serving.connect()];
    await serving.connections[0]?.close();
    assert.equal((await one.closed)?.code, 'disconnected');
    assert.equal((await two.run('x')).code, 0);
  });
});

describe('passwordsIn', () => {
  it('knows its users and nobody else', async () => {
    const check = passwordsIn(memoCrypto, { ada: PASSWORD, bob: '' });
    const says = (username: string, password: string): unknown =>
      check({ username, password, steps: [], peer: { identification: '' } });
    assert.equal(says('ada', PASSWORD), true);
    assert.equal(says('bob', ''), true);
    for (const [username, wrong] of [
      ['ada', ''],
      ['ada', `${PASSWORD} `],
      ['bob', PASSWORD],
      ['eve', ''],
      ['', ''],
      ['constructor', 'x'],
      ['__proto__', ''],
    ] as const) {
      assert.equal(says(username, wrong), false, username);
    }
  });

  it('lets in over a connection', async () => {
    await using serving = await Serving.start({ auth: { password: passwordsIn(memoCrypto, { ada: 'pa' }) } });
    await serving.connect({ auth: [password('pa')] });
  });
});
