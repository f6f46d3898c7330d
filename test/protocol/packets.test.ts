/** Packets that break RFC 4253 §6: lengths, padding, tags; in the clear and under every kind of protection. */

import assert from 'node:assert/strict';
import { concat } from '../../src/bytes/bytes.ts';
import { utf8 } from '../../src/bytes/text.ts';
import { Writer } from '../../src/bytes/writer.ts';
import { chooseAlgorithms } from '../../src/core/algorithms/lists.ts';
import { encode } from '../../src/wire/message.ts';
import { transport } from '../../src/wire/transport.ts';
import { cut } from '../support/feed.ts';
import { Link, openLink, scenario } from '../support/link.ts';
import { memoCrypto } from '../support/memo_crypto.ts';
import { seededRandom } from '../support/random.ts';

/** A packet as it stands in the clear, whatever its figures say. */
function rawPacket(length: number, padding: number, rest: number): Uint8Array {
  return new Writer().u32(length).u8(padding).raw(new Uint8Array(rest).fill(2)).finish();
}

scenario('the client refuses packet lengths and paddings that no packet can have', (chunking) => {
  const cases: [string, Uint8Array][] = [
    ['length 2^32 - 1', rawPacket(0xffffffff, 4, 11)],
    ['length 2^31', rawPacket(0x80000000, 4, 11)],
    ['length 3', rawPacket(3, 1, 2)],
    ['length 0', rawPacket(0, 4, 11)],
    ['no block multiple', rawPacket(13, 4, 12)],
    ['less than 16 bytes', rawPacket(4, 2, 3)],
    ['just over the limit', rawPacket(256 * 1024 + 4, 4, 11)],
    ['padding 3', rawPacket(12, 3, 11)],
    ['padding 0', rawPacket(12, 0, 11)],
    ['padding that leaves no payload', rawPacket(12, 11, 11)],
    ['padding of the whole packet', rawPacket(12, 12, 11)],
    ['padding beyond the packet', rawPacket(12, 255, 11)],
  ];
  for (const [name, packet] of cases) {
    const link = new Link(chunking);
    link.peer.identify();
    link.peer.sendRaw(packet);
    link.pump();
    const error = link.client.failed('protocol');
    assert.equal(error.fault, 'peer', name);
    assert.equal(error.disconnect, 2, name);
  }
});

scenario('a length is refused by its four bytes alone, before anything is awaited', (chunking) => {
  const link = new Link(chunking);
  link.peer.identify();
  link.peer.sendRaw(Uint8Array.of(0x7f, 0xff, 0xff, 0xfc));
  link.pump();
  assert.match(link.client.failed('protocol').message, /2147483644/);
});

scenario('the client takes packets of the least and of the greatest padding', (chunking) => {
  const link = new Link(chunking, { peer: { strict: false } });
  link.peer.identify();
  const ignore = encode(transport.ignore, { data: utf8('12') });
  for (const padding of [4, 252]) {
    const packet = new Writer().u32(1 + ignore.length + padding).u8(padding);
    link.peer.sendRaw(packet.raw(ignore).raw(new Uint8Array(padding)).finish());
  }
  link.pump();
  link.client.alive();
});

scenario(
  'the client takes a packet of 256 KiB',
  (chunking) => {
    const link = openLink(chunking);
    // packet_length 262144 is 1 + 4 + 4 + data + padding 5
    link.peer.send(encode(transport.ignore, { data: new Uint8Array(262128) }));
    link.pump();
    link.client.alive();
    link.peer.send(encode(transport.ignore, { data: new Uint8Array(262144) }));
    link.pump();
    link.client.failed('protocol');
  },
  ['whole', 'random'],
);

const protections: [string, string | undefined][] = [
  ['chacha20-poly1305@openssh.com', undefined],
  ['aes128-gcm@openssh.com', undefined],
  ['aes256-ctr', 'hmac-sha2-256-etm@openssh.com'],
  ['aes128-ctr', 'hmac-sha2-512'],
];

scenario('one changed bit anywhere in a packet ends the connection, with every kind of protection', (chunking) => {
  for (const [cipher, mac] of protections) {
    const algorithms = chooseAlgorithms(memoCrypto, {
      ciphers: [cipher],
      ...(mac === undefined ? {} : { macs: [mac] }),
    });
    // header, padding length, payload, padding, tag
    for (const place of [0, 1, 2, 3, 4, 5, 12, 40, -1, -16]) {
      const link = openLink(chunking, { client: { algorithms } });
      link.peer.send(encode(transport.debug, { alwaysDisplay: true, message: 'm'.repeat(40), language: '' }));
      const packet = concat(...link.peer.takeOutput());
      const at = place < 0 ? packet.length + place : place;
      packet[at] = (packet[at] as number) ^ 1;
      for (const piece of cut(packet, chunking, seededRandom('pieces'))) link.client.receive(piece);
      // a changed length may also just wait for bytes that never come
      if (place < 4 && !link.client.connection.closed) link.client.receive(new Uint8Array(1 << 18));
      const { cause } = link.client;
      assert.ok(
        cause?.code === 'integrity' || (place < 4 && cause?.code === 'protocol'),
        `${cipher} ${place} ${cause}`,
      );
      assert.ok(!link.client.has('debug'), 'nothing of a changed packet is used');
      assert.equal(link.peer.take(transport.disconnect).reason, cause.code === 'integrity' ? 5 : 2);
    }
  }
});

scenario('a packet that is sent twice, left out or exchanged with the next one ends the connection', (chunking) => {
  for (const order of [
    [0, 0, 1],
    [1, 2],
    [1, 0, 2],
  ]) {
    for (const [cipher, mac] of protections) {
      const algorithms = chooseAlgorithms(memoCrypto, {
        ciphers: [cipher],
        ...(mac === undefined ? {} : { macs: [mac] }),
      });
      const link = openLink(chunking, { client: { algorithms } });
      const packets = ['a', 'b', 'c'].map((message) => {
        link.peer.send(encode(transport.debug, { alwaysDisplay: false, message, language: '' }));
        return concat(...link.peer.takeOutput());
      });
      for (const i of order) {
        for (const piece of cut(packets[i] as Uint8Array, chunking, seededRandom('pieces'))) link.client.receive(piece);
      }
      // with a stream cipher even the length is nonsense then, and that is noticed first
      if (!link.client.connection.closed) link.client.receive(new Uint8Array(1 << 18));
      const { cause } = link.client;
      assert.ok(cause?.code === 'integrity' || cause?.code === 'protocol', `${cipher} ${order} ${cause}`);
      assert.ok(link.client.of('debug').length <= 1, 'only what came in order is used');
    }
  }
});

scenario('the client sends EXT_INFO first after NEWKEYS or never', (chunking) => {
  const link = new Link(chunking, { peer: { extInfo: true } });
  link.peer.handshake();
  link.peer.pump();
  const early = link.peer.inbox.map(({ payload }) => payload[0]);
  assert.ok(!early.slice(1).includes(transport.extInfo.number));
  link.peer.login();
  link.client.connection.requestGlobal('x@y', new Uint8Array(0), true);
  link.client.connection.rekey();
  link.pump();
  const later = link.peer.until(transport.kexinit.number).map(([number]) => number);
  assert.ok(!later.includes(transport.extInfo.number));
});
