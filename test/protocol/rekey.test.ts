/** Key exchanges after login, in the middle of traffic: RFC 4253 §7.1, §9, and what peers did to other clients there. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { concat, putUint32, uint32At } from '../../src/bytes/bytes.ts';
import { defaultLimits } from '../../src/core/limits.ts';
import { defaultRekeyLimits } from '../../src/core/rekey.ts';
import { SendQueue } from '../../src/core/send_queue.ts';
import { connection } from '../../src/wire/connection.ts';
import { ecdh } from '../../src/wire/exchange.ts';
import { decode, encode } from '../../src/wire/message.ts';
import { transport } from '../../src/wire/transport.ts';
import { type Chunking, drawBelow } from '../support/feed.ts';
import { Link, type LinkOptions, openLink, scenario } from '../support/link.ts';
import { memoCrypto } from '../support/memo_crypto.ts';
import { PeerChannel } from '../support/peer_channel.ts';
import { seededRandom } from '../support/random.ts';
import { ed25519Signer, namesOf } from '../support/scripted_peer.ts';

const KEXINIT = transport.kexinit.number;
const NEWKEYS = transport.newkeys.number;

/** A logged-in link with one channel open. */
function withChannel(chunking: Chunking, options: LinkOptions = {}): { link: Link; id: number; channel: PeerChannel } {
  const link = openLink(chunking, options);
  const id = link.client.connection.openChannel('session', new Uint8Array(0));
  const channel = new PeerChannel(link.peer);
  return { link, id, channel };
}

const received = (link: Link, id: number): Uint8Array => concat(...link.client.channel(id).data);

scenario('5000 data packets between our KEXINIT and the peer’s arrive whole and in order', (chunking) => {
  const { link, id, channel } = withChannel(chunking);
  link.client.connection.rekey();
  link.pump();
  for (let i = 0; i < 5000; i++) {
    const data = new Uint8Array(4);
    putUint32(data, 0, i);
    channel.push(data);
  }
  link.peer.sendKexinit();
  link.peer.takeKexinit();
  link.peer.finishExchange();
  link.client.alive();
  const data = received(link, id);
  assert.equal(data.length, 20_000);
  for (let i = 0; i < 5000; i++) assert.equal(uint32At(data, 4 * i), i);
});

scenario('from our KEXINIT to our NEWKEYS only 1 to 49 leave, then the rest in the order of the calls', (chunking) => {
  const { link, id, channel } = withChannel(chunking);
  const { connection: client } = link.client;
  const { peer } = link;
  const second = client.openChannel('session', new Uint8Array(0));
  const other = new PeerChannel(peer);
  client.rekey();
  client.requestChannel(id, 'a@b', new Uint8Array(0), true);
  client.write(id, [new Uint8Array(70_000)]);
  client.requestGlobal('c@d', new Uint8Array(0), false);
  client.endChannel(second);
  client.closeChannel(second);
  client.openChannel('session', new Uint8Array(0));
  channel.write(new Uint8Array(200_000)); // earns WINDOW_ADJUST
  peer.readKexinit(peer.expect(KEXINIT));
  peer.expectNothing();
  peer.sendKexinit();
  peer.pump();
  const reply = peer.reply();
  peer.expectNothing();
  peer.send(encode(ecdh.reply, reply));
  peer.pump();
  assert.deepEqual(namesOf([peer.expect(NEWKEYS)]), ['SSH_MSG_NEWKEYS']);
  const first = peer.inbox.map(({ payload }) => payload);
  peer.inbox.length = 0;
  const names = namesOf(first);
  const adjustments = names.filter((name) => name === 'SSH_MSG_CHANNEL_WINDOW_ADJUST').length;
  assert.ok(adjustments >= 1);
  assert.deepEqual(
    names.filter((name) => name !== 'SSH_MSG_CHANNEL_WINDOW_ADJUST'),
    [
      'SSH_MSG_CHANNEL_REQUEST',
      'SSH_MSG_GLOBAL_REQUEST',
      'SSH_MSG_CHANNEL_EOF',
      'SSH_MSG_CHANNEL_CLOSE',
      'SSH_MSG_CHANNEL_OPEN',
      'SSH_MSG_CHANNEL_DATA',
      'SSH_MSG_CHANNEL_DATA',
      'SSH_MSG_CHANNEL_DATA',
    ],
  );
  for (const payload of first) if (payload[0] === connection.channelData.number) channel.read(payload);
  assert.equal(channel.bytes, 70_000);
  peer.sendNewkeys();
  other.close();
  peer.pump();
  link.client.alive();
});

scenario('both sides may start at once, with data on the way in both directions', (chunking) => {
  const { link, id, channel } = withChannel(chunking);
  const { peer, client } = link;
  for (let round = 0; round < 3; round++) {
    client.connection.rekey();
    client.connection.write(id, [new Uint8Array(3000).fill(round)]);
    channel.push(new Uint8Array(2000).fill(round));
    peer.sendKexinit();
    for (const payload of peer.until(KEXINIT)) {
      if (payload[0] === KEXINIT) peer.readKexinit(payload);
      else channel.read(payload);
    }
    peer.finishExchange();
    channel.readAll();
  }
  client.alive();
  assert.equal(client.of('keys').length, 4);
  assert.equal(received(link, id).length, 6000);
  assert.equal(channel.bytes, 9000);
});

scenario('the session id stays, the host key is not asked for again unless it is another one', (chunking) => {
  const { link } = withChannel(chunking);
  const { sessionId } = link.client.connection;
  link.peer.rekey();
  assert.deepEqual(link.client.connection.sessionId, sessionId);
  const asked = (): number => link.client.of('question').filter(({ question }) => question.kind === 'host-key').length;
  assert.equal(asked(), 1);
  Object.assign(link.peer, { hostKey: ed25519Signer(memoCrypto, 8) });
  link.peer.rekey();
  assert.equal(asked(), 2);
  link.client.alive();
});

scenario('a line that breaks after any packet of a key exchange ends the connection, once', (chunking) => {
  for (const clientStarts of [true, false]) {
    for (let packets = 0; packets <= 5; packets++) {
      const { link, id, channel } = withChannel(chunking);
      const { peer, client } = link;
      if (clientStarts) client.connection.rekey();
      client.connection.write(id, [new Uint8Array(10)]);
      const steps = [
        () => peer.sendKexinit(),
        () => {
          for (const payload of peer.until(KEXINIT)) {
            if (payload[0] === KEXINIT) peer.readKexinit(payload);
            else channel.read(payload);
          }
          peer.send(encode(ecdh.reply, peer.reply()));
        },
        () => peer.sendNewkeys(),
        () => peer.expect(NEWKEYS),
        () => channel.push(new Uint8Array(10)),
      ];
      for (const step of steps.slice(0, packets)) step();
      link.cut();
      const error = client.failed('connection-lost');
      assert.equal(error.fault, 'network');
      client.connection.write(id, [new Uint8Array(10)]);
      assert.equal(client.connection.requestGlobal('x', new Uint8Array(0), true), -1);
      assert.deepEqual(client.takeOutput(), []);
    }
  }
});

scenario('a peer that sends KEXINIT and then nothing: writers have to wait, and the exchange times out', (chunking) => {
  const { link, id } = withChannel(chunking);
  const { connection: client } = link.client;
  link.peer.sendKexinit();
  link.pump();
  const piece = new Uint8Array(64 * 1024);
  let accepted = 0;
  while (accepted < 2 ** 30 && client.write(id, [piece])) accepted += piece.length;
  assert.ok(accepted < 2 * 1024 * 1024, `${accepted} bytes were taken without a word of patience`);
  link.pump();
  assert.ok(!link.client.has('channel-drain'));
  link.advance(defaultLimits.keyExchangeTime - 1);
  link.client.alive();
  link.advance(1);
  assert.equal(link.client.failed('timeout').phase, 'key-exchange');
});

scenario(
  'requests and replies that pile up behind a key exchange are bounded',
  (chunking) => {
    const { link } = withChannel(chunking);
    link.client.connection.rekey();
    const request = encode(connection.globalRequest, {
      request: 'ping@example.org',
      wantReply: true,
      body: new Uint8Array(0),
    });
    let sent = 0;
    while (!link.client.connection.closed && sent < 2_000_000) {
      for (let i = 0; i < 1000; i++) link.peer.send(request);
      sent += 1000;
      link.pump();
    }
    assert.match(link.client.failed('limit').message, /key exchange/);
    assert.ok(sent <= 50_000, `${sent} replies were kept`);
  },
  ['whole', 'random'],
);

test('SendQueue lets go of any number of payloads that waited', () => {
  const queue = new SendQueue();
  queue.closeGate();
  for (let i = 0; i < 300_000; i++) queue.push(Uint8Array.of(82));
  assert.equal(queue.shift(), undefined);
  queue.openGate(Uint8Array.of(7));
  let count = 0;
  assert.equal(queue.shift()?.[0], 7);
  while (queue.shift() !== undefined) count++;
  assert.equal(count, 300_000);
  assert.equal(queue.bytes, 0);
});

scenario('a user may think about a host key for as long as she likes', (chunking) => {
  const link = new Link(chunking, { script: { onHostKey: () => 'later' } });
  const { peer, client } = link;
  peer.identify();
  peer.sendKexinit();
  peer.takeKexinit();
  peer.send(encode(ecdh.reply, peer.reply()));
  link.pump();
  link.advance(10 * 60_000);
  client.alive();
  const { id } = client.only('question');
  client.connection.answer(id, true);
  client.settle();
  link.advance(1000);
  peer.expect(NEWKEYS);
  peer.sendNewkeys();
  peer.login();
  link.advance(5 * 60_000);
  client.alive();
});

scenario('the limit on a key exchange runs again once the host key has been decided on', (chunking) => {
  const link = new Link(chunking, { script: { onHostKey: () => 'later' } });
  const { peer, client } = link;
  peer.identify();
  peer.sendKexinit();
  peer.takeKexinit();
  peer.send(encode(ecdh.reply, peer.reply()));
  link.pump();
  link.advance(10 * 60_000);
  client.connection.answer(client.only('question').id, true);
  client.settle();
  link.advance(defaultLimits.keyExchangeTime - 1);
  client.alive();
  link.advance(1);
  client.failed('timeout');
});

scenario('keys are renewed after so many bytes, packets or so much time', (chunking) => {
  const never = { bytes: Number.POSITIVE_INFINITY, packets: Number.POSITIVE_INFINITY, time: Number.POSITIVE_INFINITY };
  const cases: [Partial<typeof never>, (link: Link, id: number, channel: PeerChannel) => void][] = [
    [{ bytes: 20_000 }, (link, id) => link.client.connection.write(id, [new Uint8Array(30_000)])],
    [{ bytes: 20_000 }, (_link, _id, channel) => channel.write(new Uint8Array(30_000))],
    [{ packets: 20 }, (_link, _id, channel) => Array.from({ length: 20 }, () => channel.write(new Uint8Array(1)))],
    [{ time: 1000 }, (link) => link.advance(1000)],
  ];
  for (const [limit, act] of cases) {
    const { link, id, channel } = withChannel(chunking, { client: { rekey: { ...never, ...limit } } });
    const { peer } = link;
    act(link, id, channel);
    for (const payload of peer.until(KEXINIT)) {
      if (payload[0] === KEXINIT) peer.readKexinit(payload);
      else channel.read(payload);
    }
    peer.sendKexinit();
    peer.finishExchange();
    channel.readAll();
    assert.equal(link.client.of('keys').length, 2, JSON.stringify(limit));
    link.client.alive();
  }
});

scenario('no key exchange of ours starts before login, whatever the limits say', (chunking) => {
  const link = new Link(chunking, { client: { rekey: { bytes: 1, packets: 1, time: 1 } } });
  const { peer } = link;
  peer.handshake();
  peer.grantService();
  link.advance(50);
  link.client.connection.rekey();
  assert.deepEqual(namesOf([peer.expect(50)]), ['SSH_MSG_USERAUTH_REQUEST']);
  peer.expectNothing();
  assert.ok(defaultRekeyLimits.bytes > 1);
});

scenario('after DISCONNECT nothing leaves, neither queued data nor another KEXINIT', (chunking) => {
  for (const end of ['disconnect', 'protocol', 'lost'] as const) {
    const { link, id } = withChannel(chunking, { client: { rekey: { ...defaultRekeyLimits, packets: 10 } } });
    const { peer, client } = link;
    client.connection.write(id, [new Uint8Array(500_000)]);
    if (end === 'disconnect') client.connection.disconnect('bye');
    if (end === 'protocol') client.receive(sealed(peer, Uint8Array.of(NEWKEYS)));
    if (end === 'lost') client.connection.endOfInput();
    client.settle();
    link.pump();
    const names = namesOf(peer.inbox.map(({ payload }) => payload));
    assert.deepEqual(names, end === 'lost' ? [] : ['SSH_MSG_DISCONNECT'], end);
    assert.ok(client.connection.closed);
  }
});

/** The bytes of one packet, not on the line yet. */
function sealed(peer: Link['peer'], payload: Uint8Array): Uint8Array {
  peer.send(payload);
  return concat(...peer.takeOutput());
}

scenario('traffic in both directions survives a key exchange every few packets, started by either side', (chunking) => {
  const random = seededRandom('traffic');
  const total = chunking === 'bytes' ? 40_000 : 400_000;
  const { link, id, channel } = withChannel(chunking, {
    client: { rekey: { ...defaultRekeyLimits, bytes: total / 10 } },
  });
  const { peer, client } = link;
  const sent: Uint8Array[] = [];
  let back = 0;
  const take = (payload: Uint8Array): void => {
    if (payload[0] === KEXINIT) {
      peer.readKexinit(payload);
      peer.sendKexinit();
      peer.finishExchange();
    } else channel.read(payload);
  };
  while (back < total) {
    const size = 1 + drawBelow(random, 5000);
    const data = random(size);
    back += size;
    sent.push(data);
    if (channel.sendWindow < size) channel.readAll();
    channel.push(data);
    client.connection.write(id, [data.slice()]);
    if (drawBelow(random, 20) === 0) {
      for (const payload of [...drain(peer)]) take(payload);
      peer.sendKexinit();
      for (const payload of peer.until(KEXINIT)) {
        if (payload[0] === KEXINIT) peer.readKexinit(payload);
        else channel.read(payload);
      }
      peer.finishExchange();
    }
    for (const payload of drain(peer)) take(payload);
  }
  for (const payload of drain(peer)) take(payload);
  client.alive();
  const all = concat(...sent);
  assert.deepEqual(received(link, id), all);
  assert.deepEqual(concat(...channel.data), all);
  assert.ok(client.of('keys').length > 5, `${client.of('keys').length} key exchanges`);
});

function* drain(peer: Link['peer']): Generator<Uint8Array> {
  for (let payload = peer.poll(); payload !== undefined; payload = peer.poll()) yield payload;
}

scenario('a KEXINIT in a later exchange carries no markers and needs none', (chunking) => {
  const { link } = withChannel(chunking);
  link.client.connection.rekey();
  const { kex } = decode(transport.kexinit, link.peer.expect(KEXINIT));
  assert.deepEqual(kex, link.peer.algorithms.kex);
});
