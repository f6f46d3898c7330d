/** Mistakes of callers: each is `bad-argument`, at once, and costs nothing else that runs on the same session. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Writer } from '../../src/bytes/writer.ts';
import { key, keyboardInteractive, password } from '../../src/client/auth.ts';
import { insecureAcceptAny } from '../../src/client/host_key.ts';
import { type ConnectOptions, settingsOf } from '../../src/client/options.ts';
import { SshError } from '../../src/errors.ts';
import { SftpClient } from '../../src/sftp/client.ts';
import { StallGuard } from '../../src/sftp/stall.ts';
import { encode } from '../../src/wire/message.ts';
import { keyboardAuth, userauth } from '../../src/wire/userauth.ts';
import { ApiLink } from '../support/api_link.ts';
import { api } from '../support/connect.ts';
import { MemoryFiles } from '../support/memory_files.ts';
import { rejectsWith } from '../support/rejects.ts';
import { namesOf } from '../support/scripted_peer.ts';
import { patterned, ScriptedSftp } from '../support/scripted_sftp.ts';

const basics: ConnectOptions = { host: 'h', username: 'u', auth: [], hostKey: insecureAcceptAny() };

/** What a program without types may pass for anything. */
const wrong: readonly unknown[] = [null, 0, true, Number.NaN, {}, [], () => {}];

// biome-ignore lint/suspicious/noExplicitAny: wrong types are the purpose
type Any = any;

describe('settingsOf', () => {
  const mistakes: readonly [string, object][] = [
    ['timeouts.connect', { timeouts: { connect: Number.NaN } }],
    ['timeouts.identification', { timeouts: { identification: -1 } }],
    ['timeouts.auth', { timeouts: { auth: '10' } }],
    ['limits.channels', { limits: { channels: Number.NaN } }],
    ['rekey.bytes', { rekey: { bytes: 0 } }],
    ['rekey.time', { rekey: { time: Number.NaN } }],
    // RFC 4344 §3.1: no more than 2^31 packets under one key
    ['rekey.packets', { rekey: { packets: 2_147_483_649 } }],
    ['keepalive.interval', { keepalive: { interval: 0 } }],
    ['keepalive.count', { keepalive: { count: -1 } }],
    ['maxAuthFailures', { maxAuthFailures: Number.NaN }],
    ['signal', { signal: {} }],
  ];
  for (const [name, options] of mistakes) {
    it(`refuses ${JSON.stringify(options)} and names ${name}`, () => {
      assert.throws(
        () => settingsOf({ ...basics, ...options }),
        (error: SshError) => error.code === 'bad-argument' && error.message.includes(name),
      );
    });
  }

  it('takes infinity for no end', () => {
    const never = Number.POSITIVE_INFINITY;
    const settings = settingsOf({ ...basics, timeouts: { auth: never }, rekey: { time: never, bytes: never } });
    assert.equal(settings.limits.authTime, never);
    assert.deepEqual(settings.rekey, { bytes: never, packets: 2_147_483_648, time: never });
  });

  it('wants options', () => {
    for (const options of [undefined, null]) assert.throws(() => settingsOf(options as Any), { code: 'bad-argument' });
  });
});

describe('connect', () => {
  it('refuses a host that no socket takes', async () => {
    await rejectsWith(api.connect({ ...basics, host: 'a\0b' }), 'bad-argument');
  });
});

describe('Client', () => {
  // OpenSSH ends the whole connection when it finds a null byte in one of these
  const calls: readonly [string, (ssh: Any, value: unknown) => Promise<unknown>][] = [
    ['run', (ssh, value) => ssh.run(value)],
    ['exec', (ssh, value) => ssh.exec(value)],
    ['subsystem', (ssh, value) => ssh.subsystem(value)],
  ];
  for (const [name, run] of calls) {
    it(`${name}: sends nothing but a text without null bytes, and closes its channel`, async () => {
      const link = new ApiLink('whole');
      const ssh = await link.login();
      for (const value of ['echo a\0b', undefined, null, 5, {}]) {
        const refused = run(ssh, value);
        refused.catch(() => {});
        const channel = await link.channel();
        assert.deepEqual(namesOf(link.peer.inbox.splice(0).map(({ payload }) => payload)), ['SSH_MSG_CHANNEL_CLOSE']);
        await rejectsWith(link.now(refused), 'bad-argument');
        channel.close();
      }
    });
  }

  for (const name of ['run', 'exec', 'shell', 'openSession']) {
    it(`${name}: opens no channel for a variable that cannot be sent`, async () => {
      const link = new ApiLink('whole');
      const ssh: Any = await link.login();
      for (const env of [{ 'A\0': 'x' }, { A: 'x\0' }, { A: 5 }]) {
        const options = { env };
        const refused = name === 'run' || name === 'exec' ? ssh[name]('true', options) : ssh[name](options);
        await rejectsWith(refused, 'bad-argument');
        await link.quiet();
        link.peer.expectNothing();
      }
    });
  }
});

describe('password and key', () => {
  it('refuse what is not there, as a variable that is not set', () => {
    for (const value of [undefined, null, 5] as Any[]) {
      for (const make of [password, key]) assert.throws(() => make(value), { code: 'bad-argument' });
    }
  });

  it('a function that gives no text is a mistake of the caller, and not of the server', async () => {
    for (const auth of [password(() => undefined as Any), keyboardInteractive(() => [5] as Any)]) {
      const link = new ApiLink('whole', { client: { auth: [auth] } });
      await link.handshake();
      link.peer.grantService();
      await link.quiet();
      link.peer.expect(50);
      if (auth.method === 'password') {
        link.peer.send(encode(userauth.failure, { methods: ['password'], partialSuccess: false }));
      } else {
        const prompts = new Writer().string('Code?').bool(true).finish();
        link.peer.send(
          encode(keyboardAuth.infoRequest, { title: '', instruction: '', language: '', count: 1, prompts }),
        );
      }
      await rejectsWith(link.now(link.connected), 'bad-argument');
    }
  });
});

describe('StallGuard', () => {
  const clock = { now: () => 0, after: () => () => {} };

  it('refuses a limit that is no number', () => {
    for (const limit of [Number.NaN, -1, '5', null]) {
      const make = (): StallGuard => new StallGuard(clock, limit as number, clock.now, () => {});
      assert.throws(make, { code: 'bad-argument' }, String(limit));
    }
  });

  it('never sets a timer for longer than timers take', () => {
    const delays: number[] = [];
    const after = (delay: number): (() => void) => {
      delays.push(delay);
      return () => {};
    };
    new StallGuard({ ...clock, after }, 2 ** 40, clock.now, () => {}).start();
    assert.deepEqual(delays, [2_147_483_647]);
  });
});

describe('SftpClient', () => {
  const calls: readonly [string, (sftp: Any, value: unknown) => Promise<unknown>][] = [
    ['stat', (sftp, value) => sftp.stat(value)],
    ['lstat', (sftp, value) => sftp.lstat(value)],
    ['realpath', (sftp, value) => sftp.realpath(value)],
    ['open', (sftp, value) => sftp.open(value)],
    ['list', (sftp, value) => sftp.list(value).next()],
    ['mkdir', (sftp, value) => sftp.mkdir(value)],
    ['remove', (sftp, value) => sftp.remove(value)],
    ['rename', (sftp, value) => sftp.rename('/file', value)],
    ['symlink', (sftp, value) => sftp.symlink(value, '/link')],
    ['get from', (sftp, value) => sftp.get(value, '/local')],
    ['put to', (sftp, value) => sftp.put(new Uint8Array(1), value)],
    ['readFile', (sftp, value) => sftp.readFile(value)],
    ['readable', (sftp, value) => sftp.readable(value).getReader().read()],
  ];
  for (const [name, run] of calls) {
    it(`${name}: takes nothing but a path`, async () => {
      const sftp = await SftpClient.open(new ScriptedSftp().add('/file', patterned(10)), {
        localFiles: new MemoryFiles(),
      });
      for (const value of [...wrong, undefined, '/a\0b', Uint8Array.of(0x2f, 0)]) {
        await rejectsWith(run(sftp, value), 'bad-argument');
      }
      assert.equal((await sftp.stat('/file')).size, 10);
    });
  }

  const others: readonly [string, readonly unknown[], (sftp: Any, value: unknown) => Promise<unknown>][] = [
    ['get to', [undefined, null, 0, true], (sftp, value) => sftp.get('/file', value)],
    ['put from', [undefined, ...wrong], (sftp, value) => sftp.put(value, '/new')],
    ['writeFile', [undefined, ...wrong], (sftp, value) => sftp.writeFile('/new', value)],
    ['setstat', [undefined, null, 0], (sftp, value) => sftp.setstat('/file', value)],
    ['signal', [0, {}], (sftp, value) => sftp.stat('/file', { signal: value })],
    ['stallTimeout', [Number.NaN, -1], (sftp, value) => sftp.stat('/file', { stallTimeout: value })],
    ['maxBytes', [Number.NaN, -1, '1', 1n], (sftp, value) => sftp.readFile('/file', { maxBytes: value })],
    ['start', [Number.NaN, -1, 1.5, 1n], (sftp, value) => sftp.readFile('/file', { start: value })],
  ];
  for (const [name, values, run] of others) {
    it(`${name}: a wrong value leaves the session as it was`, async () => {
      const sftp = await SftpClient.open(new ScriptedSftp().add('/file', patterned(10)), {
        localFiles: new MemoryFiles(),
      });
      for (const value of values) await rejectsWith(run(sftp, value), 'bad-argument');
      assert.equal((await sftp.readFile('/file')).length, 10);
    });
  }

  it('open: wants a pipe, and a sensible longest packet', async () => {
    for (const pipe of [undefined, ...wrong]) await rejectsWith(SftpClient.open(pipe as Any), 'bad-argument');
    for (const maxPacket of [0, Number.NaN, '9'] as Any[]) {
      await rejectsWith(SftpClient.open(new ScriptedSftp(), { maxPacket }), 'bad-argument');
    }
  });
});

describe('local files of this runtime', () => {
  it('refuse a path with a null byte as an error of ours', async () => {
    const localFiles =
      'Deno' in globalThis
        ? (await import('../../src/transports/deno_files.ts')).denoFiles
        : (await import('../../src/transports/node_files.ts')).nodeFiles;
    const sftp = await SftpClient.open(new ScriptedSftp().add('/file', patterned(10)), { localFiles });
    for (const run of [() => sftp.get('/file', '/tmp/a\0b'), () => sftp.put('/tmp/a\0b', '/new')]) {
      await assert.rejects(run(), (error) => error instanceof SshError && error.code === 'bad-local-file');
    }
  });
});
