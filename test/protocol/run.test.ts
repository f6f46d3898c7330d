/** Commands, whole stack: what a server may do in which order, and what `run` makes of it. RFC 4254 §5.3, §6.5, §6.10. */

import assert from 'node:assert/strict';
import { utf8 } from '../../src/bytes/text.ts';
import { Writer } from '../../src/bytes/writer.ts';
import type { RunResult } from '../../src/client/run.ts';
import { connection } from '../../src/wire/connection.ts';
import { encode } from '../../src/wire/message.ts';
import { ApiLink } from '../support/api_link.ts';
import type { Chunking } from '../support/feed.ts';
import { scenario } from '../support/link.ts';
import type { PeerChannel } from '../support/peer_channel.ts';
import { namesOf } from '../support/scripted_peer.ts';

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

/** A command that runs, as both sides see it. */
async function running(
  chunking: Chunking,
): Promise<{ link: ApiLink; result: Promise<RunResult>; channel: PeerChannel }> {
  const link = new ApiLink(chunking);
  const ssh = await link.login();
  const result = ssh.run('true');
  result.catch(() => {});
  const channel = await link.channel();
  assert.deepEqual(channel.takeRequest(), {
    recipient: channel.id,
    request: 'exec',
    wantReply: true,
    body: new Writer().string('true').finish(),
  });
  return { link, result, channel };
}

type Step = 'success' | 'data' | 'stderr' | 'eof' | 'status' | 'signal' | 'close';

const steps: Record<Step, (channel: PeerChannel) => void> = {
  success: (channel) => channel.success(),
  data: (channel) => channel.push(utf8('out')),
  stderr: (channel) => channel.push(utf8('err'), 1),
  eof: (channel) => channel.eof(),
  status: (channel) => channel.exitStatus(3),
  signal: (channel) => {
    const body = new Writer().string('TERM').bool(true).string('killed\u001b').string('en').finish();
    channel.request('exit-signal', body, false);
  },
  close: (channel) => channel.close(),
};

const withCode = { code: 3 };
const withSignal = { signal: 'TERM', coreDumped: true, message: 'killed\\x1b' };

/** Legal orders, and what is known at the end beside the output. */
const orders: [Step[], object][] = [
  [['success', 'data', 'stderr', 'eof', 'status', 'close'], withCode],
  [['success', 'status', 'data', 'stderr', 'eof', 'close'], withCode],
  [['success', 'data', 'status', 'stderr', 'eof', 'close'], withCode],
  [['success', 'data', 'stderr', 'status', 'close'], withCode],
  [['data', 'stderr', 'success', 'eof', 'status', 'close'], withCode],
  [['status', 'stderr', 'data', 'success', 'close'], withCode],
  [['success', 'stderr', 'data', 'eof', 'close'], {}],
  [['success', 'data', 'stderr', 'close'], {}],
  [['success', 'data', 'stderr', 'eof', 'signal', 'close'], withSignal],
  [['success', 'signal', 'data', 'stderr', 'close'], withSignal],
];

scenario('run gives the same result in every legal order, and no code where none was sent', async (chunking) => {
  for (const [order, exit] of orders) {
    for (const together of [true, false]) {
      const { link, result, channel } = await running(chunking);
      for (const step of order) {
        steps[step](channel);
        if (!together) await link.quiet();
      }
      const { stdout, stderr, ...rest } = await link.now(result);
      assert.deepEqual([text(stdout), text(stderr)], ['out', 'err'], order.join());
      assert.deepEqual(rest, exit, order.join());
      assert.ok(!('code' in rest) || exit === withCode);
      assert.deepEqual(namesOf(link.peer.inbox.map(({ payload }) => payload)).slice(-2), [
        'SSH_MSG_CHANNEL_EOF',
        'SSH_MSG_CHANNEL_CLOSE',
      ]);
    }
  }
});

scenario('run has its result although the server goes away right after CLOSE', async (chunking) => {
  for (const end of ['fin', 'reset'] as const) {
    const { link, result, channel } = await running(chunking);
    for (const step of ['success', 'data', 'status', 'eof', 'close'] as const) steps[step](channel);
    if (end === 'reset') await link.quiet(); // what a reset finds on its way is lost
    link[end]();
    assert.equal((await link.now(result)).code, 3);
    assert.equal((await link.now((await link.connected).closed))?.code, 'connection-lost');
    assert.equal(link.clock.timers, 0);
  }
});

scenario('run does not resolve before CLOSE', async (chunking) => {
  const { link, result, channel } = await running(chunking);
  for (const step of ['success', 'data', 'status', 'eof'] as const) steps[step](channel);
  await link.quiet();
  let settled = false;
  result.finally(() => {
    settled = true;
  });
  await link.quiet();
  assert.equal(settled, false);
  channel.close();
  await link.quiet();
  assert.equal(settled, true);
});

scenario('run finishes with megabytes of stderr, and of stdout, that come in any proportion', async (chunking) => {
  const size = chunking === 'bytes' ? 50_000 : 6 * 1024 * 1024;
  for (const kind of [0, 1]) {
    const link = new ApiLink(chunking, { client: { window: chunking === 'bytes' ? 40_000 : 2 ** 21 } });
    const ssh = await link.login();
    const result = ssh.run('noise');
    const channel = await link.channel();
    channel.takeRequest();
    channel.success();
    await link.write(channel, new Uint8Array(size).fill(0x61), kind);
    channel.exitStatus(0);
    channel.close();
    const { stdout, stderr, code } = await link.now(result);
    assert.deepEqual([stdout.length, stderr.length, code], kind === 0 ? [size, 0, 0] : [0, size, 0]);
  }
});

scenario('a session whose stdout alone is read finishes although stderr is megabytes', async (chunking) => {
  const size = chunking === 'bytes' ? 50_000 : 4 * 1024 * 1024;
  const link = new ApiLink(chunking, { client: { window: chunking === 'bytes' ? 40_000 : 2 ** 21 } });
  const ssh = await link.login();
  const opening = ssh.exec('noise');
  const channel = await link.channel();
  channel.takeRequest();
  channel.success();
  const session = await link.now(opening);
  const reader = session.stdout.getReader();
  const first = reader.read();
  await link.write(channel, new Uint8Array(size), 1);
  channel.push(utf8('done'));
  channel.exitStatus(0);
  channel.eof();
  channel.close();
  const part = await link.now(first);
  assert.equal(text(part.value ?? new Uint8Array(0)), 'done');
  assert.equal((await link.now(reader.read())).done, true);
  assert.equal((await link.now(session.exit)).code, 0);
});

scenario('a session ends although nobody reads anything of it', async (chunking) => {
  const link = new ApiLink(chunking);
  const ssh = await link.login();
  const opening = ssh.exec('noise');
  const channel = await link.channel();
  channel.takeRequest();
  channel.success();
  const session = await link.now(opening);
  channel.push(utf8('unread'));
  channel.push(utf8('unread'), 1);
  channel.exitStatus(7);
  channel.eof();
  channel.close();
  assert.equal((await link.now(session.exit)).code, 7);
});

scenario(
  'run fails with request-failed when the server refuses the command, and the connection stays',
  async (chunking) => {
    const { link, result, channel } = await running(chunking);
    channel.failure();
    await link.quiet();
    channel.close();
    await link.quiet();
    await assert.rejects(link.now(result), { code: 'request-failed', message: /true/ });
    const ssh = await link.now(link.connected);
    link.peer.inbox.length = 0;
    const again = ssh.run('true');
    const next = await link.channel();
    assert.equal(next.client, 0, 'the number is free again');
    next.takeRequest();
    next.success();
    next.exitStatus(0);
    next.close();
    await link.quiet();
    assert.equal((await again).code, 0);
  },
);

scenario('run fails with channel-open-failed when the server opens no channel', async (chunking) => {
  const link = new ApiLink(chunking);
  const ssh = await link.login();
  const result = ssh.run('true');
  result.catch(() => {});
  await link.quiet();
  link.peer.expect(connection.channelOpen.number);
  const failure = { recipient: 0, reason: 1, description: 'open failed', language: '' };
  link.peer.send(encode(connection.channelOpenFailure, failure));
  await link.quiet();
  await assert.rejects(link.now(result), { code: 'channel-open-failed', message: /open failed.*MaxSessions/ });
});

scenario(
  'the client answers requests only if asked to, refuses channels of the server, and knows exit requests',
  async (chunking) => {
    const { link, channel } = await running(chunking);
    const { peer } = link;
    peer.until(connection.channelEof.number); // there is no input
    const global = (wantReply: boolean): void =>
      peer.send(encode(connection.globalRequest, { request: 'x@y', wantReply, body: new Uint8Array(0) }));
    const cases: [() => void, string[]][] = [
      [() => global(false), []],
      [() => global(true), ['SSH_MSG_REQUEST_FAILURE']],
      [() => channel.request('x@y', new Uint8Array(0), false), []],
      [() => channel.request('x@y', new Uint8Array(0), true), ['SSH_MSG_CHANNEL_FAILURE']],
      [() => channel.request('exit-status', Uint8Array.of(0, 0, 0, 9), true), ['SSH_MSG_CHANNEL_SUCCESS']],
    ];
    for (const kind of ['x11', 'forwarded-tcpip', 'direct-tcpip', 'auth-agent@openssh.com', 'session']) {
      const open = { kind, sender: 3, window: 1, maxPacket: 1, body: new Uint8Array(0) };
      cases.push([() => peer.send(encode(connection.channelOpen, open)), ['SSH_MSG_CHANNEL_OPEN_FAILURE']]);
    }
    for (const [act, expected] of cases) {
      act();
      await link.quiet();
      assert.deepEqual(namesOf(peer.inbox.splice(0).map(({ payload }) => payload)), expected);
    }
  },
);

scenario('an exit-status that is cut short fails that command and nothing else', async (chunking) => {
  for (const body of [Uint8Array.of(0, 0, 3), Uint8Array.of(0, 0, 0, 3, 0)]) {
    const { link, result, channel } = await running(chunking);
    channel.success();
    channel.request('exit-status', body, false);
    channel.close();
    await assert.rejects(link.now(result), { code: 'protocol', fault: 'peer', message: /exit-status/ });
    link.peer.inbox.length = 0;
    const again = (await link.connected).run('true');
    const next = await link.channel();
    next.takeRequest();
    next.success();
    next.close();
    assert.equal((await link.now(again)).code, undefined);
  }
});
