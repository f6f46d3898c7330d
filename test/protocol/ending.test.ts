/**
 * Connections that end while something is pending, whole stack: everything rejects at once, with one and the same error, nothing
 * rejects unheard, no timer is left.
 */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { SshError } from '../../src/errors.ts';
import { userauth } from '../../src/wire/userauth.ts';
import { ApiLink, type CutPoint, type Direction, turn } from '../support/api_link.ts';
import { causeOf, playApiSession, sessionKey } from '../support/api_session.ts';
import { type Chunking, chunkings } from '../support/feed.ts';
import { scenario } from '../support/link.ts';
import { patterned, ScriptedSftp } from '../support/scripted_sftp.ts';
import { SftpOverSsh } from '../support/sftp_over_ssh.ts';

/** What a promise came to within two turns of the event loop. */
async function atOnce<T>(promise: Promise<T>): Promise<unknown> {
  const late = Symbol('late');
  const result = await Promise.race([
    promise.then(
      () => 'resolved',
      (error: unknown) => error,
    ),
    turn()
      .then(turn)
      .then(() => late),
  ]);
  assert.notEqual(result, late, 'the promise must settle at once');
  return result;
}

/** Ends the line and gives the error that `promise` rejects with. */
async function lostBy(link: ApiLink, end: 'reset' | 'fin', promise: Promise<unknown>): Promise<SshError> {
  const result = atOnce(promise);
  link[end]();
  const error = await result;
  assert.ok(error instanceof SshError, String(error));
  assert.equal(error.code, 'connection-lost', error.message);
  assert.equal(error.fault, 'network');
  return error;
}

scenario('connect rejects at once when the line breaks at any step of the login', async (chunking) => {
  for (const end of ['reset', 'fin'] as const) {
    const steps: ((link: ApiLink) => Promise<void>)[] = [
      async (link) => link.peer.identify(),
      (link) => link.handshake(),
      async (link) => {
        await link.handshake();
        link.peer.grantService();
        await link.quiet();
        link.peer.expect(userauth.request.number);
      },
    ];
    for (const step of steps) {
      const link = new ApiLink(chunking);
      await step(link);
      await link.quiet();
      await lostBy(link, end, link.connected);
      await link.quiet();
      assert.equal(link.clock.timers, 0);
    }
  }
});

scenario('run and sftp reject at once: before the channel, before the reply, before VERSION', async (chunking) => {
  for (const end of ['reset', 'fin'] as const) {
    for (const what of ['run', 'sftp'] as const) {
      for (let step = 0; step < 3; step++) {
        const link = new ApiLink(chunking);
        const ssh = await link.login();
        const pending: Promise<unknown> = what === 'run' ? ssh.run('true') : ssh.sftp({ clock: link.clock });
        pending.catch(() => {});
        await link.quiet();
        if (step > 0) {
          const channel = await link.channel();
          if (step > 1) channel.success();
        }
        await link.quiet();
        const error = await lostBy(link, end, pending);
        assert.equal(await atOnce(ssh.closed.then((cause) => Promise.reject(cause))), error, 'one cause');
        await link.quiet();
        assert.equal(link.clock.timers, 0);
      }
    }
  }
});

/** A logged-in client with SFTP behind it. */
async function withSftp(chunking: Chunking, server: ScriptedSftp, cut?: CutPoint) {
  const link = new ApiLink(chunking, { client: { auth: [sessionKey] }, ...(cut === undefined ? {} : { cut }) });
  const ssh = await link.login();
  const opening = ssh.sftp({ clock: link.clock });
  opening.catch(() => {});
  const files = await SftpOverSsh.start(link, server);
  const sftp = await link.now(opening);
  return { link, ssh, sftp, files };
}

scenario(
  'a FIN with a request, a read stream and a command pending: all reject with the one cause, told once',
  async (chunking) => {
    for (const end of ['fin', 'reset'] as const) {
      const silent = new ScriptedSftp({
        request: (name) => (name === 'RMDIR' ? 'silence' : 'honest'),
        read: () => 'silence',
      });
      const { link, ssh, sftp } = await withSftp(chunking, silent.add('/big', patterned(100_000)));
      const file = await link.now(sftp.open('/big'));
      const pending = [sftp.rmdir('/x'), sftp.readFile('/big'), file.read(0, 1000), ssh.run('sleep 60')];
      const results = Promise.allSettled(pending);
      let told = 0;
      const cause = ssh.closed.finally(() => told++);
      await link.quiet();
      link[end]();
      await turn();
      await turn();
      const error = await link.now(cause);
      assert.equal(error?.code, 'connection-lost');
      for (const result of await link.now(results)) {
        assert.equal(result.status, 'rejected');
        assert.equal(causeOf(result.reason), error, `${result.reason} is not the one cause`);
      }
      assert.equal(told, 1);
      const later: Promise<unknown>[] = [
        ssh.run('true'),
        ssh.sftp({ clock: link.clock }),
        sftp.stat('/'),
        ssh.rekey(),
        file.read(0, 1),
      ];
      for (const late of later) {
        assert.equal(causeOf(await atOnce(late)), error, 'later calls reject with it too');
      }
      await link.now(ssh.close());
      assert.equal(link.clock.timers, 0);
    }
  },
);

/** A session whose writer waits for window, and whose reader waits for data. */
async function withWriter(chunking: Chunking) {
  const link = new ApiLink(chunking);
  const ssh = await link.login();
  const opening = ssh.exec('cat');
  const channel = await link.channel(1000);
  channel.takeRequest();
  channel.success();
  const session = await link.now(opening);
  const writer = session.stdin.getWriter();
  const write = writer.write(new Uint8Array(3_000_000));
  const read = session.stdout.getReader().read();
  const pending: Promise<unknown>[] = [write, writer.closed, read, session.exit];
  const results = Promise.allSettled(pending);
  await link.quiet();
  channel.readAll();
  return { link, ssh, channel, results };
}

scenario('a line that breaks after any packet of a key exchange rejects writers and readers', async (chunking) => {
  for (const end of ['fin', 'reset'] as const) {
    for (const starts of ['client', 'server'] as const) {
      for (let packets = 0; packets <= 4; packets++) {
        const { link, ssh, channel, results } = await withWriter(chunking);
        const { peer } = link;
        const rekeying = starts === 'client' ? ssh.rekey() : undefined;
        rekeying?.catch(() => {});
        await link.quiet();
        const steps = [
          () => peer.sendKexinit(),
          () => {
            peer.takeKexinit();
            peer.sendReply();
          },
          () => peer.sendNewkeys(),
          () => channel.push(Uint8Array.of(1)),
        ];
        for (const step of steps.slice(0, packets)) {
          step();
          await link.quiet();
        }
        link[end]();
        const cause = await link.now(ssh.closed);
        assert.equal(cause?.code, 'connection-lost');
        const settled = await link.now(results);
        // the last packet is data for the reader
        if (packets === 4) assert.equal(settled.splice(2, 1)[0]?.status, 'fulfilled');
        for (const result of settled) {
          assert.equal(result.status, 'rejected');
          assert.equal(result.reason, cause);
        }
        if (packets < 3 && rekeying !== undefined) assert.equal(await atOnce(rekeying), cause);
        assert.equal(link.clock.timers, 0);
      }
    }
  }
});

scenario(
  'a server that sends KEXINIT and then nothing: the writer waits, and the exchange times out',
  async (chunking) => {
    const { link, ssh, results } = await withWriter(chunking);
    link.peer.sendKexinit();
    await link.quiet();
    await link.clock.pass(59_000);
    assert.equal(link.ended, undefined);
    await link.clock.pass(2000);
    const cause = await link.now(ssh.closed);
    assert.equal(cause?.code, 'timeout');
    assert.equal(cause.phase, 'key-exchange');
    for (const result of await link.now(results)) {
      assert.equal(result.status, 'rejected');
      assert.equal(result.reason, cause);
    }
    await link.quiet();
    assert.equal(link.clock.timers, 0);
  },
);

scenario('a DISCONNECT is the cause of everything that is pending, with the words of the server', async (chunking) => {
  const link = new ApiLink(chunking);
  const ssh = await link.login();
  const results = Promise.allSettled([ssh.run('a'), ssh.run('b'), ssh.sftp({ clock: link.clock })]);
  await link.quiet();
  link.peer.send(Uint8Array.of(1, 0, 0, 0, 12, 0, 0, 0, 4, 0x62, 0x75, 0x73, 0x79, 0, 0, 0, 0));
  for (const result of await link.now(results)) {
    assert.equal(result.status, 'rejected');
    assert.equal(result.reason.code, 'disconnected');
    assert.match(result.reason.message, /busy/);
    assert.equal(result.reason, await ssh.closed);
  }
  await link.quiet();
  assert.notEqual(link.ended, undefined, 'the pipe is closed');
  assert.equal(link.clock.timers, 0);
});

scenario('closing rejects what is pending, and the peer hears DISCONNECT', async (chunking) => {
  const link = new ApiLink(chunking);
  const ssh = await link.login();
  const pending = ssh.run('sleep 60');
  pending.catch(() => {});
  const channel = await link.channel();
  channel.takeRequest();
  const closing = ssh.close();
  const error = await link.now(pending.catch((reason: unknown) => reason));
  assert.ok(error instanceof SshError && error.code === 'connection-closed');
  assert.ok(link.peer.inbox.some(({ payload }) => payload[0] === 1));
  await link.now(closing);
  assert.equal(await link.now(ssh.closed), undefined);
  assert.equal(link.clock.timers, 0);
});

// The line breaks at every packet

/** Plays the session with a line that breaks there, and looks at what is left. */
async function playAndCut(chunking: Chunking, cut: CutPoint): Promise<void> {
  const link = new ApiLink(chunking, { client: { auth: [sessionKey] }, cut });
  const results: Promise<PromiseSettledResult<unknown>[]>[] = [];
  const track = <T>(promise: Promise<T>): Promise<T> => {
    results.push(Promise.allSettled([promise]));
    return promise;
  };
  track(link.connected);
  try {
    await playApiSession(link, track);
    assert.fail('the session played to its end');
  } catch (error) {
    assert.ok(link.broken, `the script failed before the line was cut: ${error}`);
  }
  await link.quiet();
  const where = `${cut.how} after ${cut.packets} packets ${cut.direction}`;
  const causes = new Set<unknown>();
  for (const result of (await link.now(Promise.all(results))).flat()) {
    if (result.status === 'rejected') causes.add(causeOf(result.reason));
  }
  assert.equal(causes.size, 1, `${where}: one cause, not ${[...causes].join(' and ')}`);
  const [cause] = causes;
  assert.ok(cause instanceof SshError, where);
  const early = link.passed.toClient === 0 && cut.how === 'fin';
  assert.equal(cause.code, early ? 'identification' : 'connection-lost', `${where}: ${cause.message}`);
  assert.equal(link.clock.timers, 0, `${where}: no timer is left`);
}

describe('a line that breaks after every packet of a session', () => {
  const total: Record<Direction, number> = { toClient: 0, toPeer: 0 };

  it('plays to its end when it does not', async () => {
    // far beyond the end, so that packets are counted
    const link = new ApiLink('whole', {
      client: { auth: [sessionKey] },
      cut: { direction: 'toClient', packets: 1e9, how: 'reset' },
    });
    const play = playApiSession(link, (promise) => {
      promise.catch(() => {});
      return promise;
    });
    // the last command meets no server: it is what waits when everything else is done
    await assert.rejects(play, /not settled/);
    link.reset();
    await link.quiet();
    Object.assign(total, link.passed);
    assert.ok(total.toClient > 15 && total.toPeer > 15, JSON.stringify(total));
  });

  for (const direction of ['toClient', 'toPeer'] as const) {
    for (const how of ['reset', 'fin'] as const) {
      it(`rejects everything once: ${how} ${direction}`, async () => {
        for (let packets = 0; packets <= total[direction]; packets++) {
          await playAndCut(chunkings[packets % 3] as Chunking, { direction, packets, how });
        }
      });
    }
  }
});

it('a program whose lines were cut ends by itself, with nothing rejected unheard', { timeout: 60_000 }, async () => {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const program = fileURLToPath(new URL(`../support/lone_cut.${extension}`, import.meta.url));
  const leading = 'Deno' in globalThis ? ['run', '-A', '--no-lock', '--no-check'] : [];
  const child = spawn(process.execPath, [...leading, program], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.on('data', (text) => {
    output += text;
  });
  const killer = setTimeout(() => child.kill('SIGKILL'), 50_000);
  const code = await new Promise((resolve) => child.on('exit', resolve));
  clearTimeout(killer);
  assert.match(output, /7 lines were cut/);
  assert.equal(code, 0, 'a timer that is left would keep it alive until it is killed');
});
