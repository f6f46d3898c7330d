/** Running programs on a real sshd: output, input, how they ended, and how they are ended. */

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SshClient } from '../../src/ssh_client.ts';
import { api } from '../support/connect.ts';
import { available, passwordUnavailable, startSshd } from '../support/peers/openssh.ts';
import { type Peer, peerTest, type SharedPeer, usePeer } from '../support/peers/peer.ts';
import { isRoot } from '../support/peers/user.ts';
import { rejectsWith } from '../support/rejects.ts';

const LIMIT = 60_000;
const MEBIBYTE = 1024 * 1024;

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
const bytesOf = (value: string): Uint8Array => new TextEncoder().encode(value);

function login(peer: Peer): Promise<SshClient> {
  return api.connect({
    host: peer.host,
    port: peer.port,
    username: peer.username,
    auth: [api.keyFile(peer.keys.ed25519.openssh)],
    hostKey: api.knownHosts(peer.knownHosts),
  });
}

/** Bytes that repeat late enough for a lost or doubled packet to show. */
function pattern(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let i = 0; i < length; i++) bytes[i] = (i * 31 + (i >> 11)) & 0xff;
  return bytes;
}

async function readAll(stream: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  const reader = stream.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) chunks.push(part.value);
  return Buffer.concat(chunks);
}

/** Prints this many bytes `x`. */
const flood = (bytes: number, to = 1): string => `head -c ${bytes} /dev/zero | tr '\\0' x >&${to}`;

describe('programs on sshd', () => {
  const sshd = usePeer(available(), () => startSshd({ config: ['AcceptEnv PURESSH_*', 'MaxSessions 20'] }));
  const options = { ...sshd.options, timeout: LIMIT };
  let ssh: SshClient;

  before(
    async () => {
      if (sshd.options.skip === undefined) ssh = await login(sshd.peer);
    },
    { timeout: LIMIT },
  );
  after(() => ssh?.close());

  describe('run', () => {
    it('gives both streams and the code', options, async () => {
      const result = await ssh.run('printf out; printf err >&2; exit 3');
      assert.equal(text(result.stdout), 'out');
      assert.equal(text(result.stderr), 'err');
      assert.equal(result.code, 3);
      assert.equal('signal' in result, false);
    });

    it('gives code 0 and empty streams', options, async () => {
      assert.deepEqual(await ssh.run('true'), { stdout: new Uint8Array(0), stderr: new Uint8Array(0), code: 0 });
    });

    it('gives the signal and no code for a killed program', options, async () => {
      const result = await ssh.run('echo before; kill -TERM $$');
      assert.equal(text(result.stdout), 'before\n');
      assert.equal(result.signal, 'TERM');
      assert.equal('code' in result, false);
    });

    it('drains both streams beyond the window at once', options, async () => {
      const result = await ssh.run(`${flood(5 * MEBIBYTE)} & ${flood(6 * MEBIBYTE, 2)}; wait; echo end`);
      assert.equal(result.stdout.length, 5 * MEBIBYTE + 4);
      assert.equal(result.stderr.length, 6 * MEBIBYTE);
      assert.equal(result.code, 0);
    });

    it('feeds text, bytes, streams and iterables, and gives them back byte by byte', options, async () => {
      const bytes = pattern(3 * MEBIBYTE + 17);
      assert.deepEqual(Buffer.from((await ssh.run('cat', { stdin: bytes })).stdout), Buffer.from(bytes));
      assert.equal(text((await ssh.run('cat', { stdin: 'grüße' })).stdout), 'grüße');
      const stream = new ReadableStream<Uint8Array>({
        start(controller) {
          controller.enqueue(bytesOf('a'));
          controller.enqueue(bytesOf('b'));
          controller.close();
        },
      });
      assert.equal(text((await ssh.run('cat', { stdin: stream })).stdout), 'ab');
      async function* pieces(): AsyncGenerator<Uint8Array> {
        yield bytesOf('c');
        await sleep(5);
        yield bytesOf('d');
      }
      assert.equal(text((await ssh.run('cat', { stdin: pieces() })).stdout), 'cd');
    });

    it('ends the input at once where there is none', options, async () => {
      assert.equal((await ssh.run('cat')).stdout.length, 0);
    });

    it('does not mind a program that reads no input', options, async () => {
      assert.equal((await ssh.run('exit 4', { stdin: pattern(4 * MEBIBYTE) })).code, 4);
    });

    it('fails with what the source of the input fails with', options, async () => {
      async function* broken(): AsyncGenerator<Uint8Array> {
        yield bytesOf('x');
        throw new Error('the disk is gone');
      }
      const error = await rejectsWith(ssh.run('cat', { stdin: broken() }), 'bad-argument');
      assert.equal(error.message, 'the disk is gone');
    });

    it('stops at maxOutput and leaves the connection usable', options, async () => {
      const error = await rejectsWith(ssh.run('yes', { maxOutput: 100_000 }), 'limit');
      assert.match(error.message, /100000 bytes.*maxOutput/);
      // a shell on a busy machine may have something to say on stderr
      const exact = await ssh.run(flood(1000), { maxOutput: 1000, stderr: 'ignore' });
      assert.equal(text(exact.stdout), 'x'.repeat(1000));
    });

    it('neither keeps nor counts what is ignored', options, async () => {
      const result = await ssh.run(`${flood(3 * MEBIBYTE)}; echo e >&2`, { stdout: 'ignore', maxOutput: 2 });
      assert.equal(result.stdout.length, 0);
      assert.equal(text(result.stderr), 'e\n');
    });

    it('sets environment variables that the server allows', options, async () => {
      const env = { PURESSH_A: 'one two', OTHER: 'dropped' };
      assert.equal(text((await ssh.run('echo "$PURESSH_A$OTHER"', { env })).stdout), 'one two\n');
    });

    it('is ended by its signal, and leaves the connection usable', options, async () => {
      const controller = new AbortController();
      const running = ssh.run('sleep 600', { signal: controller.signal });
      await sleep(200);
      controller.abort();
      await rejectsWith(running, 'aborted');
      assert.equal((await ssh.run('true')).code, 0);
    });

    it('does not begin under a signal that has fired', options, async () => {
      await rejectsWith(ssh.run('true', { signal: AbortSignal.abort() }), 'aborted');
    });

    it('takes nothing but an AbortSignal as a signal, and opens nothing for another', options, async () => {
      const { channels } = ssh.stats;
      const signal = 5 as unknown as AbortSignal;
      for (const start of [() => ssh.run('true', { signal }), () => ssh.exec('true', { signal })]) {
        const error = await rejectsWith(start(), 'bad-argument');
        assert.equal(error.message, 'signal must be an AbortSignal, not 5');
      }
      assert.equal(ssh.stats.channels, channels);
    });

    it('takes nothing but a string as a command', options, async () => {
      await rejectsWith(ssh.run(['ls', '-l'] as unknown as string), 'bad-argument');
    });
  });

  describe('exec', () => {
    it('talks with a program while it runs', options, async () => {
      await using session = await ssh.exec('while read line; do echo "<$line>"; done; exit 5');
      const writer = session.stdin.getWriter();
      const reader = session.stdout.getReader();
      for (const word of ['one', 'two']) {
        await writer.write(bytesOf(`${word}\n`));
        assert.equal(text((await reader.read()).value as Uint8Array), `<${word}>\n`);
      }
      await writer.close();
      assert.equal((await reader.read()).done, true);
      assert.deepEqual(await session.exit, { code: 5 });
    });

    it('lets a writer that waits be as fast as the program', options, async () => {
      await using session = await ssh.exec('sleep 1; cat');
      const bytes = pattern(6 * MEBIBYTE);
      const written = (async () => {
        const writer = session.stdin.getWriter();
        const buffer = new Uint8Array(65536);
        for (let at = 0; at < bytes.length; at += buffer.length) {
          buffer.set(bytes.subarray(at, at + buffer.length)); // used again for every write
          await writer.write(buffer);
        }
        await writer.close();
      })();
      assert.deepEqual(await readAll(session.stdout), Buffer.from(bytes));
      await written;
    });

    it('ends whether or not its output is read', options, async () => {
      await using session = await ssh.exec(`${flood(MEBIBYTE)}; exit 6`);
      assert.deepEqual(await session.exit, { code: 6 });
      assert.equal((await readAll(session.stdout)).length, MEBIBYTE);
    });

    it('is not held up by stderr that nobody reads', options, async () => {
      await using session = await ssh.exec(`${flood(8 * MEBIBYTE, 2)}; echo done`);
      assert.equal(text(await readAll(session.stdout)), 'done\n');
      assert.deepEqual(await session.exit, { code: 0 });
      const reader = session.stderr.getReader();
      let kept = 0;
      const reading = (async () => {
        for (let part = await reader.read(); !part.done; part = await reader.read()) kept += part.value.length;
      })();
      await rejectsWith(reading, 'limit');
      assert.ok(kept > MEBIBYTE - 65536 && kept <= MEBIBYTE, `${kept} bytes were kept`);
    });

    it('gives all of stderr to whoever reads it', options, async () => {
      await using session = await ssh.exec(`${flood(4 * MEBIBYTE, 2)}`);
      assert.equal((await readAll(session.stderr)).length, 4 * MEBIBYTE);
    });

    it('is closed by this side at any time', options, async () => {
      const session = await ssh.exec('sleep 5');
      await session.close();
      await rejectsWith(session.exit, 'channel-closed');
      await rejectsWith(session.stdin.getWriter().write(bytesOf('x')), 'channel-closed');
    });
  });

  describe('subsystem', () => {
    it('starts one that the server has', options, async () => {
      await using session = await ssh.subsystem('sftp');
      await session.stdin.getWriter().write(new Uint8Array([0, 0, 0, 5, 1, 0, 0, 0, 3]));
      const { value } = await session.stdout.getReader().read();
      assert.deepEqual([...(value as Uint8Array).subarray(4, 9)], [2, 0, 0, 0, 3]);
    });

    it('fails for one that it has not', options, async () => {
      const error = await rejectsWith(ssh.subsystem('nonsense'), 'request-failed');
      assert.match(error.message, /nonsense/);
      assert.equal((await ssh.run('true')).code, 0);
    });
  });

  it('runs many programs at once', options, async () => {
    const codes = await Promise.all([11, 12, 13].map(async (code) => (await ssh.run(`exit ${code}`)).code));
    assert.deepEqual(codes, [11, 12, 13]);
  });

  it('goes on through key exchanges in both directions', options, async () => {
    await using own = await api.connect({
      host: sshd.peer.host,
      port: sshd.peer.port,
      username: sshd.peer.username,
      auth: [api.keyFile(sshd.peer.keys.ed25519.openssh)],
      hostKey: api.knownHosts(sshd.peer.knownHosts),
      rekey: { bytes: 256 * 1024 },
    });
    const bytes = pattern(2 * MEBIBYTE);
    assert.deepEqual(Buffer.from((await own.run('cat', { stdin: bytes })).stdout), Buffer.from(bytes));
  });
});

describe('sessions on sshd that allows two', () => {
  const sshd = usePeer(available(), () => startSshd({ config: ['MaxSessions 2'] }));

  it('are two at most, and the error says why', { ...sshd.options, timeout: LIMIT }, async () => {
    await using ssh = await login(sshd.peer);
    const sessions = await Promise.all([ssh.openSession(), ssh.openSession()]);
    const error = await rejectsWith(ssh.openSession(), 'channel-open-failed');
    assert.match(error.message, /MaxSessions/);
    for (const session of sessions) await session.close();
    for (let i = 0; i < 4; i++) {
      const sftp = await ssh.sftp();
      await sftp.close();
    }
    assert.equal((await ssh.run('exit 8')).code, 8);
  });
});

describe('signals on sshd', () => {
  // sshd passes none on to programs of root
  const reason = isRoot() ? passwordUnavailable() : available();
  const sshd = usePeer(reason, () => startSshd({ password: isRoot() }));
  const options = { ...sshd.options, timeout: LIMIT };

  it('reach the program', options, async () => {
    await using ssh = await login(sshd.peer);
    await using session = await ssh.exec('echo; exec sleep 60');
    await session.stdout.getReader().read(); // it runs
    session.signal('SIGTERM');
    const exit = await session.exit;
    assert.equal(exit.signal, 'TERM');
    assert.equal('code' in exit, false);
  });

  it('end a program whose run is aborted', options, async () => {
    await using ssh = await login(sshd.peer);
    const mark = join(sshd.peer.files, 'pid');
    const controller = new AbortController();
    const running = ssh.run(`echo $$ >${mark}; exec sleep 60`, { signal: controller.signal });
    await until('the process has begun', () => existsSync(mark) && readFileSync(mark).length > 0);
    const pid = readFileSync(mark, 'utf8').trim();
    assert.equal(spawnSync('kill', ['-0', pid]).status, 0, 'it runs');
    controller.abort();
    await rejectsWith(running, 'aborted');
    await until('the process has ended', () => spawnSync('kill', ['-0', pid]).status !== 0);
  });
});

async function until(what: string, isSo: () => boolean): Promise<void> {
  for (let tries = 0; !isSo(); tries++) {
    assert.ok(tries < 400, `not so: ${what}`);
    await sleep(25);
  }
}

describe('programs on sshd that ends', () => {
  const options = { ...peerTest(available()), timeout: LIMIT };

  it('all end with the one cause', options, async () => {
    const peer = await startSshd();
    const ssh = await login(peer);
    const session = await ssh.exec('sleep 60');
    const sftp = await ssh.sftp();
    const fifo = join(peer.files, 'fifo');
    execFileSync('mkfifo', [fifo]);
    const pending = [
      ssh.run('sleep 60'),
      session.exit,
      session.stdout.getReader().read(),
      session.stderr.getReader().read(),
      sftp.open(fifo), // nobody writes
      sftp.rmdir(join(peer.files, 'later')),
    ];
    const settled = Promise.allSettled(pending);
    await sleep(1000);
    await peer.stop();
    const cause = await ssh.closed;
    assert.equal(cause?.code, 'connection-lost');
    for (const result of await settled) {
      assert.equal(result.status, 'rejected');
      assert.equal(result.reason, cause);
    }
    assert.equal(await rejectsWith(ssh.run('true'), 'connection-lost'), cause);
    assert.equal(await rejectsWith(ssh.sftp(), 'connection-lost'), cause);
  });
});

describe('sftp on sshd without it', () => {
  const having = (config: string): SharedPeer => usePeer(available(), () => startSshd({ config: [config] }));

  describe('because there is no such subsystem', () => {
    const sshd = having('Subsystem other /bin/false');
    it('is unavailable', { ...sshd.options, timeout: LIMIT }, async () => {
      await using ssh = await login(sshd.peer);
      const error = await rejectsWith(ssh.sftp(), 'sftp-unavailable');
      assert.match(error.message, /the subsystem "sftp"/);
      assert.equal((await ssh.run('true')).code, 0);
    });
  });

  describe('because its program is missing', () => {
    const sshd = having('Subsystem sftp /no/such/sftp-server');
    it('is unavailable', { ...sshd.options, timeout: LIMIT }, async () => {
      await using ssh = await login(sshd.peer);
      const error = await rejectsWith(ssh.sftp(), 'sftp-unavailable');
      assert.match(error.message, /closed the channel before it said a word of SFTP/);
    });
  });
});
