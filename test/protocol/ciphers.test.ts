/**
 * Every cipher × MAC form × three later key exchanges × strict or not. What breaks here in other clients: the sequence number
 * that strict key exchange resets, in ciphers that use it and in those that do not.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { concat } from '../../src/bytes/bytes.ts';
import { chooseAlgorithms } from '../../src/core/algorithms/lists.ts';
import { encode } from '../../src/wire/message.ts';
import { transport } from '../../src/wire/transport.ts';
import { chunkings } from '../support/feed.ts';
import { Link } from '../support/link.ts';
import { memoCrypto } from '../support/memo_crypto.ts';
import { PeerChannel } from '../support/peer_channel.ts';
import { seededRandom } from '../support/random.ts';

const streams = ['aes128-ctr', 'aes192-ctr', 'aes256-ctr'];
const macs = ['hmac-sha2-256', 'hmac-sha2-512', 'hmac-sha2-256-etm@openssh.com', 'hmac-sha2-512-etm@openssh.com'];
const combinations: { ciphers: string[]; macs?: string[] }[] = [
  { ciphers: ['chacha20-poly1305@openssh.com'] },
  { ciphers: ['aes128-gcm@openssh.com'] },
  { ciphers: ['aes256-gcm@openssh.com'] },
  ...streams.flatMap((cipher) => macs.map((mac) => ({ ciphers: [cipher], macs: [mac] }))),
  // of what is legacy, each way to protect packets
  { ciphers: ['aes256-cbc'], macs: ['hmac-sha1'] },
  { ciphers: ['3des-cbc'], macs: ['hmac-md5-96-etm@openssh.com'] },
];

/** Sequence number that the client counts for our next packet. */
function nextSequence(link: Link): number {
  link.peer.send(Uint8Array.of(200));
  return link.peer.take(transport.unimplemented).sequence;
}

/** Data in both directions, of sizes around the block sizes. */
function exchange(link: Link, id: number, channel: PeerChannel): void {
  const random = seededRandom('data');
  const log = link.client.channel(id);
  const [before, sentBefore] = [log.bytes, channel.bytes];
  const pieces = [1, 2, 7, 8, 15, 16, 17, 31, 500].map((size) => random(size));
  for (const piece of pieces) {
    channel.push(piece);
    link.client.connection.write(id, [piece.slice()]);
    link.pump();
  }
  channel.readAll();
  const all = concat(...pieces);
  assert.deepEqual(concat(...log.data).subarray(before), all);
  assert.deepEqual(concat(...channel.data).subarray(sentBefore), all);
}

for (const lists of combinations) {
  const name = [lists.ciphers, lists.macs ?? []].flat().join(' + ');
  for (const strict of [true, false]) {
    test(`${name} lives through three key exchanges, ${strict ? 'strict' : 'not strict'}`, () => {
      for (const chunking of chunkings) {
        const algorithms = chooseAlgorithms(memoCrypto, lists);
        const link = new Link(chunking, { client: { algorithms }, peer: { strict, algorithms: lists } });
        link.login();
        const id = link.client.connection.openChannel('session', new Uint8Array(0));
        const channel = new PeerChannel(link.peer);
        exchange(link, id, channel);
        for (let round = 0; round < 3; round++) {
          const sequence = link.peer.sequence;
          if (round === 1) {
            link.client.connection.rekey();
            link.peer.takeKexinit();
            link.peer.sendKexinit();
            link.peer.finishExchange();
          } else link.peer.rekey();
          // KEXINIT, the reply and NEWKEYS came between
          assert.equal(nextSequence(link), strict ? 0 : sequence + 3);
          link.client.connection.requestGlobal('x@y', new Uint8Array(0), false);
          link.peer.expect(80);
          if (strict) assert.equal(link.peer.lastSequence, 1, 'the UNIMPLEMENTED was 0');
          exchange(link, id, channel);
        }
        const { toServer, toClient } = link.client.connection.negotiated ?? assert.fail();
        assert.deepEqual(
          [toServer, toClient],
          [
            { cipher: lists.ciphers[0], ...(lists.macs && { mac: lists.macs[0] }), compression: 'none' },
            { cipher: lists.ciphers[0], ...(lists.macs && { mac: lists.macs[0] }), compression: 'none' },
          ],
        );
        assert.equal(link.client.connection.strict, strict);
        link.client.alive();
      }
    });
  }
}

test('IGNORE and DEBUG between the messages of a later exchange are welcome, strict or not', () => {
  for (const strict of [true, false]) {
    const link = new Link('random', { peer: { strict } });
    link.login();
    const chatter = (): void => link.peer.send(encode(transport.ignore, { data: new Uint8Array(3) }));
    chatter();
    link.peer.sendKexinit();
    chatter();
    link.peer.takeKexinit();
    chatter();
    link.peer.finishExchange();
    chatter();
    link.pump();
    link.client.alive();
  }
});
