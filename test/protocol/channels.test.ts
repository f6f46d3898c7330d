/** The connection protocol with peers that are odd but legal, and with peers that are not: RFC 4254, RFC 4253 §11.4. */

import assert from 'node:assert/strict';
import { concat } from '../../src/bytes/bytes.ts';
import { utf8 } from '../../src/bytes/text.ts';
import { Writer } from '../../src/bytes/writer.ts';
import { defaultLimits } from '../../src/core/limits.ts';
import { channelDataHeader, connection } from '../../src/wire/connection.ts';
import { encode } from '../../src/wire/message.ts';
import { transport } from '../../src/wire/transport.ts';
import type { Chunking } from '../support/feed.ts';
import { type Link, type LinkOptions, openLink, scenario } from '../support/link.ts';
import { type ChannelTerms, PeerChannel } from '../support/peer_channel.ts';
import { seededRandom } from '../support/random.ts';
import { namesOf } from '../support/scripted_peer.ts';

const empty = new Uint8Array(0);

function withChannel(
  chunking: Chunking,
  terms: ChannelTerms = {},
  options: LinkOptions = {},
): { link: Link; id: number; channel: PeerChannel } {
  const link = openLink(chunking, options);
  const id = link.client.connection.openChannel('session', empty);
  const channel = new PeerChannel(link.peer, terms);
  return { link, id, channel };
}

function globalRequest(link: Link, wantReply: boolean): void {
  link.peer.send(encode(connection.globalRequest, { request: 'x@y', wantReply, body: utf8('body') }));
}

scenario(
  'unknown requests are answered only if an answer is wanted, global ones and those on a channel',
  (chunking) => {
    const { link, channel } = withChannel(chunking);
    globalRequest(link, false);
    link.peer.expectNothing();
    globalRequest(link, true);
    assert.equal(link.peer.expect(82).length, 1);
    channel.request('x@y', utf8('body'), false);
    link.peer.expectNothing();
    channel.request('x@y', utf8('body'), true);
    assert.deepEqual(link.peer.take(connection.channelFailure), { recipient: channel.id });
    link.peer.expectNothing();
    assert.deepEqual(
      link.client.of('global-request').map(({ request, wantReply, body }) => [request, wantReply, body.length]),
      [
        ['x@y', false, 4],
        ['x@y', true, 4],
      ],
    );
  },
);

scenario('a global request between our channel request and its answer disturbs nothing', (chunking) => {
  const { link, id, channel } = withChannel(chunking);
  const request = link.client.connection.requestChannel(id, 'subsystem', new Writer().string('sftp').finish(), true);
  assert.equal(channel.takeRequest().request, 'subsystem');
  const keys = new Writer().string('a key').string('another key').finish();
  link.peer.send(
    encode(connection.globalRequest, { request: 'hostkeys-00@openssh.com', wantReply: false, body: keys }),
  );
  channel.success();
  link.peer.expectNothing();
  assert.deepEqual(link.client.only('channel-reply'), { type: 'channel-reply', channel: id, id: request, ok: true });
});

scenario('replies go to requests in their order, and those that nobody waits for are ignored', (chunking) => {
  const { link, id, channel } = withChannel(chunking);
  const { connection: client } = link.client;
  const [first, , third] = ['a', 'b', 'c'].map((name, i) => client.requestChannel(id, name, empty, i !== 1));
  const [one, two] = ['d', 'e'].map((name) => client.requestGlobal(name, empty, true));
  for (let i = 0; i < 3; i++) channel.takeRequest();
  for (let i = 0; i < 2; i++) link.peer.expect(80);
  channel.failure();
  channel.success();
  channel.success();
  link.peer.send(encode(connection.requestSuccess, { body: utf8('port') }));
  link.peer.send(encode(connection.requestFailure, {}));
  link.peer.send(encode(connection.requestFailure, {}));
  link.pump();
  link.client.alive();
  assert.deepEqual(
    link.client.of('channel-reply').map((reply) => [reply.id, reply.ok]),
    [
      [first, false],
      [third, true],
    ],
  );
  assert.deepEqual(
    link.client.of('global-reply').map((reply) => [reply.id, reply.ok, reply.body.length]),
    [
      [one, true, 4],
      [two, false, 0],
    ],
  );
});

scenario('message 200 is answered with its own sequence number; their UNIMPLEMENTED is not answered', (chunking) => {
  const { link } = withChannel(chunking);
  // after NEWKEYS came SERVICE_ACCEPT (0), SUCCESS (1) and the confirmation of the channel (2)
  link.peer.send(encode(transport.ignore, { data: empty }));
  link.peer.send(encode(transport.debug, { alwaysDisplay: false, message: '', language: '' }));
  assert.equal(link.peer.sequence, 5);
  link.peer.send(Uint8Array.of(200, 1, 2, 3));
  assert.deepEqual(link.peer.take(transport.unimplemented), { sequence: 5 });
  for (const sequence of [5, 0, 77, 0xffffffff]) link.peer.send(encode(transport.unimplemented, { sequence }));
  link.peer.expectNothing();
  link.client.alive();
});

scenario('without strict key exchange the sequence number counts from the first packet', (chunking) => {
  const { link } = withChannel(chunking, {}, { peer: { strict: false } });
  // KEXINIT (0), the reply (1), NEWKEYS (2), SERVICE_ACCEPT (3), SUCCESS (4), the confirmation (5)
  link.peer.send(Uint8Array.of(200));
  assert.deepEqual(link.peer.take(transport.unimplemented), { sequence: 6 });
});

scenario('UNIMPLEMENTED for our global request is its failure', (chunking) => {
  const { link } = withChannel(chunking);
  const id = link.client.connection.requestGlobal('new@example.org', empty, true);
  link.peer.expect(80);
  link.peer.send(encode(transport.unimplemented, { sequence: link.peer.lastSequence }));
  link.pump();
  const { id: answered, ok } = link.client.only('global-reply');
  assert.deepEqual([answered, ok], [id, false]);
});

scenario('a ping is answered with the same bytes', (chunking) => {
  const { link } = withChannel(chunking);
  link.peer.send(encode(transport.ping, { data: utf8('12345') }));
  assert.deepEqual(link.peer.take(transport.pong).data, utf8('12345'));
});

scenario('data packets keep to the peer’s maximum packet and window, whatever we are given to write', (chunking) => {
  const cases: [number, number, number][] = [
    // maximum packet, window, bytes
    [1, 100, 500],
    [9, 1000, 20_000],
    [16_384, 100_000, 1_048_576],
    [32_768, 16_384, 1_048_576],
    [0xffffffff, 2_097_152, 1_048_576],
  ];
  for (const [maxPacket, window, whole] of cases) {
    const size = chunking === 'bytes' ? Math.min(whole, 60_000) : whole;
    const { link, id, channel } = withChannel(chunking, { maxPacket, window });
    const data = seededRandom('upload')(size);
    link.client.connection.write(id, [data.slice(0, 7), empty, data.slice(7)]);
    link.client.connection.endChannel(id);
    while (channel.bytes < size) {
      const before = channel.bytes;
      for (let payload = link.peer.poll(); payload !== undefined; payload = link.peer.poll()) {
        if (payload[0] === connection.channelEof.number) assert.equal(channel.bytes, size, 'EOF comes last');
        else channel.read(payload);
      }
      assert.ok(channel.bytes > before, `nothing came for a window of ${channel.window}`);
      channel.adjust(window - channel.window);
    }
    assert.deepEqual(concat(...channel.data), data);
  }
});

scenario('data of 28 bytes over our maximum packet is taken', (chunking) => {
  const { link, id, channel } = withChannel(chunking);
  assert.equal(channel.maxPacket, 32_768);
  channel.push(new Uint8Array(32_796));
  link.pump();
  link.client.alive();
  assert.equal(link.client.channel(id).bytes, 32_796);
});

scenario('data beyond our window ends the connection', (chunking) => {
  const { link, channel } = withChannel(chunking, {}, { client: { window: 40_000 }, script: { consume: false } });
  channel.push(new Uint8Array(30_000));
  channel.push(new Uint8Array(10_000));
  link.pump();
  link.client.alive();
  channel.push(Uint8Array.of(1));
  link.pump();
  assert.match(link.client.failed('protocol').message, /window/);
});

scenario('window comes back as data is consumed, on stdout and stderr, never in steps under 1024 bytes', (chunking) => {
  const size = chunking === 'bytes' ? 50_000 : 3_000_000;
  const { link, id, channel } = withChannel(chunking, {}, { client: { window: 20_000 } });
  channel.write(new Uint8Array(size), 1);
  channel.write(new Uint8Array(size), 0);
  const log = link.client.channel(id);
  assert.deepEqual([log.bytes, log.stderrBytes], [size, size]);
  assert.ok(Math.min(...channel.adjustments) >= 1024);
  assert.ok(channel.sendWindow <= 20_000, 'no more than the window is ever granted');
});

scenario('window does not come back for data that nobody consumed', (chunking) => {
  const { link, id, channel } = withChannel(chunking, {}, { client: { window: 40_000 }, script: { consume: false } });
  channel.write(new Uint8Array(40_000));
  link.peer.expectNothing();
  link.client.connection.consumed(id, 30_000);
  channel.readAll();
  assert.equal(channel.sendWindow, 30_000);
});

scenario('a channel ends in every legal order, and its number is free only after both CLOSE', (chunking) => {
  const ours = ['end', 'close'] as const;
  for (const first of ['peer', 'us'] as const) {
    const { link, id, channel } = withChannel(chunking);
    const { connection: client } = link.client;
    const act = (): void => {
      for (const step of ours) {
        if (step === 'end') client.endChannel(id);
        else client.closeChannel(id);
      }
    };
    if (first === 'us') {
      act();
      assert.deepEqual(namesOf(link.peer.until(97)), ['SSH_MSG_CHANNEL_EOF', 'SSH_MSG_CHANNEL_CLOSE']);
      assert.ok(!link.client.has('channel-closed'));
      assert.equal(client.openChannel('session', empty), 1, 'number 0 is not free');
      link.peer.expect(90);
    }
    channel.eof();
    channel.exitStatus(0);
    channel.close();
    link.pump();
    if (first === 'peer') assert.deepEqual(namesOf(link.peer.until(97)), ['SSH_MSG_CHANNEL_CLOSE']);
    link.client.only('channel-closed');
    assert.equal(client.openChannel('session', empty), 0, 'number 0 is free again');
    link.client.alive();
  }
});

scenario('late messages for a channel that we closed are dropped', (chunking) => {
  const { link, id, channel } = withChannel(chunking);
  link.client.connection.closeChannel(id);
  link.peer.expect(97);
  channel.push(new Uint8Array(1000));
  channel.push(new Uint8Array(1000), 1);
  channel.adjust(5);
  channel.request('exit-status', Uint8Array.of(0, 0, 0, 1), false);
  channel.request('x@y', empty, true);
  channel.eof();
  link.peer.expectNothing();
  channel.close();
  link.peer.expectNothing();
  link.client.alive();
  link.client.only('channel-closed');
  assert.ok(!link.client.has('channel-data') && !link.client.has('channel-request'));
});

scenario(
  'a peer that never answers CLOSE is not waited for longer than the limit; its number stays taken',
  (chunking) => {
    const { link, id } = withChannel(chunking);
    link.client.connection.closeChannel(id);
    link.pump();
    link.advance(defaultLimits.channelCloseTime - 1);
    assert.ok(!link.client.has('channel-closed'));
    link.advance(1);
    link.client.only('channel-closed');
    assert.equal(link.client.connection.openChannel('session', empty), 1);
    link.advance(60_000);
    link.client.alive();
  },
);

scenario(
  'a peer that closes while we wait for window drops what was queued, and writing on is harmless',
  (chunking) => {
    const { link, id, channel } = withChannel(chunking, { window: 10 });
    const { connection: client } = link.client;
    assert.equal(client.write(id, [new Uint8Array(2_000_000)]), false);
    link.pump();
    channel.close();
    link.pump();
    assert.deepEqual(namesOf(link.peer.until(97)), ['SSH_MSG_CHANNEL_DATA', 'SSH_MSG_CHANNEL_CLOSE']);
    client.write(id, [new Uint8Array(10)]);
    client.endChannel(id);
    client.closeChannel(id);
    client.consumed(id, 10);
    client.requestChannel(id, 'x', empty, true);
    link.peer.expectNothing();
    link.client.only('channel-closed');
  },
);

scenario('messages for channels that are not there end the connection', (chunking) => {
  const cases: Uint8Array[] = [
    encode(connection.channelWindowAdjust, { recipient: 9, bytes: 1 }),
    concat(channelDataHeader(9, 1), Uint8Array.of(1)),
    encode(connection.channelEof, { recipient: 9 }),
    encode(connection.channelClose, { recipient: 9 }),
    encode(connection.channelRequest, { recipient: 9, request: 'x', wantReply: false, body: empty }),
    encode(connection.channelSuccess, { recipient: 9 }),
    encode(connection.channelFailure, { recipient: 0xffffffff }),
    encode(connection.channelOpenConfirmation, { recipient: 9, sender: 0, window: 0, maxPacket: 0, body: empty }),
    encode(connection.channelOpenConfirmation, { recipient: 0, sender: 0, window: 0, maxPacket: 0, body: empty }),
    encode(connection.channelOpenFailure, { recipient: 0, reason: 1, description: '', language: '' }),
  ];
  for (const payload of cases) {
    const { link } = withChannel(chunking);
    link.peer.send(payload);
    link.pump();
    link.client.failed('protocol');
    assert.equal(link.peer.take(transport.disconnect).reason, 2);
  }
});

scenario('data after EOF, a window past 2^32 - 1, and lengths that lie end the connection', (chunking) => {
  const cases: ((channel: PeerChannel) => void)[] = [
    (channel) => {
      channel.eof();
      channel.push(Uint8Array.of(1));
    },
    (channel) => channel.adjust(0xffffffff),
    (channel) => channel.peer.send(concat(channelDataHeader(channel.client, 5), utf8('four'))),
    (channel) => channel.peer.send(concat(channelDataHeader(channel.client, 3), utf8('four'))),
    (channel) => channel.peer.send(channelDataHeader(channel.client, 0xffffffff)),
  ];
  for (const act of cases) {
    const { link, channel } = withChannel(chunking);
    act(channel);
    link.pump();
    link.client.failed('protocol');
  }
});

scenario('two EOFs, empty data, extended data of unknown kind and adjustments of 0 are harmless', (chunking) => {
  const { link, id, channel } = withChannel(chunking);
  channel.push(empty);
  channel.push(utf8('abc'), 77);
  channel.adjust(0);
  channel.eof();
  channel.eof();
  link.pump();
  link.client.alive();
  assert.equal(link.client.of('channel-eof').length, 1);
  assert.deepEqual(
    link.client.channel(id).stderr.map((data) => data.length),
    [3],
  );
});

scenario('a channel that the peer refuses is told with the reason, and its number is free', (chunking) => {
  const link = openLink(chunking);
  const id = link.client.connection.openChannel('session', empty);
  link.peer.expect(90);
  const failure = { recipient: id, reason: 1, description: 'open failed\u0007', language: '' };
  link.peer.send(encode(connection.channelOpenFailure, failure));
  link.pump();
  const { error } = link.client.only('channel-refused');
  assert.equal(error.code, 'channel-open-failed');
  assert.match(error.message, /open failed\\x07/);
  assert.match(error.message, /MaxSessions/);
  assert.equal(link.client.connection.openChannel('session', empty), id);
});

scenario('the last words of a peer that disconnects are in the error, sanitised', (chunking) => {
  const { link } = withChannel(chunking);
  const description = 'Too much\u001b[31m';
  link.peer.send(encode(transport.disconnect, { reason: 12, description, language: 'en' }));
  link.peer.sendRaw(new Uint8Array(100)); // whatever comes after it is nobody's business
  link.pump();
  const { message, fault } = link.client.failed('disconnected');
  assert.match(message, /12, tooManyConnections\): Too much\\x1b\[31m/);
  assert.equal(fault, 'peer');
  link.peer.expectNothing();
});

scenario('keepalives: asked for after silence, satisfied by any byte, and an end after too many', (chunking) => {
  const { link } = withChannel(chunking, {}, { client: { keepalive: { interval: 1000, count: 3 } } });
  const { peer, client } = link;
  link.advance(999);
  peer.expectNothing();
  link.advance(1);
  const { request, wantReply } = peer.take(connection.globalRequest);
  assert.deepEqual([request, wantReply], ['keepalive@openssh.com', true]);
  peer.send(encode(connection.requestFailure, {}));
  link.pump();
  assert.ok(!client.has('global-reply'), 'the answer to a keepalive concerns nobody');
  for (let i = 0; i < 10; i++) {
    link.advance(900);
    peer.send(encode(transport.ignore, { data: empty }));
    link.pump();
  }
  peer.expectNothing();
  link.advance(3000);
  for (let i = 0; i < 3; i++) peer.take(connection.globalRequest);
  client.alive();
  link.advance(1000);
  assert.equal(client.failed('keepalive-timeout').fault, 'network');
  assert.match(client.cause?.message ?? '', /4 times 1000 ms/);
});
