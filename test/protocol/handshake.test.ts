/** The first key exchange with peers that are strict, lax, guessing, lying or broken: RFC 4253 §6–8, OpenSSH PROTOCOL §1.9. */

import assert from 'node:assert/strict';
import { utf8 } from '../../src/bytes/text.ts';
import { Writer } from '../../src/bytes/writer.ts';
import { chooseAlgorithms } from '../../src/core/algorithms/lists.ts';
import { ecdh } from '../../src/wire/exchange.ts';
import { encode } from '../../src/wire/message.ts';
import { transport } from '../../src/wire/transport.ts';
import { userauth } from '../../src/wire/userauth.ts';
import { met, offering, refused } from '../support/first_exchange.ts';
import { Link, scenario } from '../support/link.ts';
import { memoCrypto } from '../support/memo_crypto.ts';

const ignore = encode(transport.ignore, { data: utf8('x') });
const debug = encode(transport.debug, { alwaysDisplay: true, message: 'hi', language: '' });
const unimplemented = encode(transport.unimplemented, { sequence: 0 });
const strict = { peer: { strict: true } };
const lax = { peer: { strict: false } };
// Strict key exchange

scenario('the client refuses IGNORE before the first KEXINIT when both sides are strict', (chunking) => {
  for (const early of [ignore, debug, unimplemented]) {
    const link = new Link(chunking, strict);
    link.peer.identify();
    link.peer.send(early);
    link.peer.sendKexinit();
    link.peer.takeKexinit();
    refused(link, 'protocol', 2);
  }
});

scenario('the client refuses IGNORE between KEXINIT and NEWKEYS when both sides are strict', (chunking) => {
  for (const early of [ignore, debug, unimplemented, Uint8Array.of(200)]) {
    for (const afterReply of [false, true]) {
      const { link } = met(chunking, strict);
      link.peer.sendKexinit();
      if (afterReply) {
        link.peer.send(encode(ecdh.reply, link.peer.reply()));
        link.pump();
        link.peer.expect(transport.newkeys.number);
      }
      link.peer.send(early);
      refused(link, 'protocol', 2);
    }
  }
});

scenario(
  'the client goes on after IGNORE anywhere in the first exchange with a peer that is not strict',
  (chunking) => {
    const { link } = met(chunking, lax);
    const { peer, client } = link;
    const chatter = (): void => {
      for (const payload of [ignore, debug, unimplemented]) peer.send(payload);
    };
    chatter();
    peer.sendKexinit();
    chatter();
    const reply = peer.reply();
    chatter();
    peer.send(encode(ecdh.reply, reply));
    chatter();
    peer.sendNewkeys();
    chatter();
    peer.expect(transport.newkeys.number);
    peer.login();
    client.only('authenticated');
    assert.equal(client.connection.strict, false);
    assert.equal(client.of('debug').length, 5);
  },
);

scenario('IGNORE and DEBUG are welcome again after NEWKEYS, also when both sides are strict', (chunking) => {
  const link = new Link(chunking, strict);
  link.peer.handshake();
  const neverSent = encode(transport.unimplemented, { sequence: 200 });
  for (const payload of [ignore, debug, neverSent]) link.peer.send(payload);
  link.peer.login();
  link.client.only('authenticated');
  assert.equal(link.client.connection.strict, true);
});

scenario('sequence numbers start anew after NEWKEYS when both sides are strict, and go on when not', (chunking) => {
  for (const [options, expected] of [
    [strict, 0],
    [lax, 3],
  ] as const) {
    const link = new Link(chunking, options);
    const { peer } = link;
    peer.handshake();
    peer.expect(transport.serviceRequest.number);
    assert.equal(peer.lastSequence, expected);
    peer.expect(userauth.request.number);
    peer.send(Uint8Array.of(200));
    assert.equal(peer.take(transport.unimplemented).sequence, expected);
  }
});

scenario('the markers stand last in our KEXINIT whatever list the caller gives', (chunking) => {
  const { kexinit } = met(chunking, offering({ kex: ['curve25519-sha256'] }));
  assert.deepEqual(kexinit.kex, ['curve25519-sha256', 'ext-info-c', 'kex-strict-c-v00@openssh.com']);
  assert.equal(kexinit.firstKexPacketFollows, false);
});

scenario("the client's own markers from the peer, or names that only look like markers, change nothing", (chunking) => {
  const { link } = met(chunking, { peer: { strict: false, extInfo: false } });
  const { kex } = link.peer.kexinit();
  link.peer.sendKexinit({ kex: [...kex, 'kex-strict-c-v00@openssh.com', 'ext-info-c', 'kex-strict-s-v00'] });
  link.peer.send(ignore);
  link.peer.finishExchange();
  link.peer.login();
  assert.equal(link.client.connection.strict, false);
});

// Guesses: RFC 4253 §7

const guess = encode(ecdh.reply, { hostKey: utf8('a'), publicValue: utf8('b'), signature: utf8('c') });

scenario('a wrong guess of the method costs exactly one packet', (chunking) => {
  const { link } = met(chunking);
  const { kex } = link.peer.kexinit();
  link.peer.sendKexinit({ kex: ['sntrup761x25519-sha512', ...kex], firstKexPacketFollows: true });
  link.peer.send(guess);
  link.peer.finishExchange();
  link.peer.login();
  link.client.only('authenticated');
});

scenario('a guess with the right method is wrong when its first host key algorithm is another', (chunking) => {
  const { link } = met(chunking);
  link.peer.sendKexinit({ hostKey: ['ssh-dss', 'ssh-ed25519'], firstKexPacketFollows: true });
  link.peer.send(guess);
  link.peer.finishExchange();
  link.peer.login();
  link.client.only('authenticated');
});

scenario('only one packet is dropped after a wrong guess', (chunking) => {
  const { link } = met(chunking);
  link.peer.sendKexinit({ hostKey: ['ssh-dss', 'ssh-ed25519'], firstKexPacketFollows: true });
  link.peer.send(guess);
  link.peer.send(guess);
  refused(link, 'key-exchange-failed', 3);
});

scenario('nothing is dropped after a right guess, nor where no packet follows', (chunking) => {
  for (const firstKexPacketFollows of [true, false]) {
    const { link } = met(chunking);
    const first = firstKexPacketFollows ? 'ssh-ed25519' : 'ssh-dss';
    link.peer.sendKexinit({ hostKey: [first, 'ssh-ed25519'], firstKexPacketFollows });
    link.peer.finishExchange();
    link.peer.login();
    link.client.only('authenticated');
  }
});

// Negotiation

scenario("the client's order decides, the markers are no methods", (chunking) => {
  const link = new Link(chunking, {
    client: {
      algorithms: chooseAlgorithms(memoCrypto, {
        kex: ['ecdh-sha2-nistp256', 'curve25519-sha256'],
        ciphers: ['aes256-ctr', 'chacha20-poly1305@openssh.com'],
        macs: ['hmac-sha2-512', 'hmac-sha2-256'],
      }),
    },
  });
  link.peer.handshake();
  const direction = { cipher: 'aes256-ctr', mac: 'hmac-sha2-512', compression: 'none' };
  assert.deepEqual(link.client.connection.negotiated, {
    kex: 'ecdh-sha2-nistp256',
    hostKey: 'ssh-ed25519',
    toServer: direction,
    toClient: direction,
  });
});

scenario('each direction is negotiated by itself', (chunking) => {
  const { link } = met(chunking);
  link.peer.sendKexinit({
    cipherToServer: ['aes128-gcm@openssh.com'],
    cipherToClient: ['aes192-ctr'],
    macToServer: ['unknown-mac'],
    macToClient: ['hmac-sha2-256'],
  });
  link.peer.finishExchange();
  link.peer.login();
  link.client.only('authenticated');
  const { toServer, toClient } = link.client.connection.negotiated ?? {};
  assert.deepEqual(toServer, { cipher: 'aes128-gcm@openssh.com', compression: 'none' });
  assert.deepEqual(toClient, { cipher: 'aes192-ctr', mac: 'hmac-sha2-256', compression: 'none' });
});

scenario('a failed negotiation shows both lists, the category and the option, and tells the peer', (chunking) => {
  const { link } = met(chunking, offering({ kex: ['curve25519-sha256'] }));
  link.peer.sendKexinit({ kex: ['diffie-hellman-group1-sha1', 'diffie-hellman-group14-sha1\u001b'] });
  const { message } = refused(link, 'no-common-algorithm', 3);
  for (const part of [
    'key exchange',
    'curve25519-sha256',
    'diffie-hellman-group1-sha1',
    'algorithms: { kex: ',
    '\\x1b',
  ]) {
    assert.ok(message.includes(part), `${part} in: ${message}`);
  }
  assert.ok(!message.includes('ext-info-c'), message);
});

scenario('a second KEXINIT in the first exchange ends the connection, strict or not', (chunking) => {
  for (const options of [strict, lax]) {
    const { link } = met(chunking, options);
    link.peer.sendKexinit();
    link.peer.sendKexinit();
    assert.match(refused(link, 'protocol', 2).message, /KEXINIT/);
  }
});

scenario('a KEXINIT that is cut short, too long, or has too many names ends the connection', (chunking) => {
  const whole = (link: Link): Uint8Array => encode(transport.kexinit, link.peer.kexinit());
  const names = Array.from({ length: 257 }, (_, i) => `name-${i}`);
  const cases: ((link: Link) => Uint8Array)[] = [
    (link) => whole(link).subarray(0, -1),
    (link) => whole(link).subarray(0, 17),
    (link) => new Writer().raw(whole(link)).u8(0).finish(),
    (link) => encode(transport.kexinit, { ...link.peer.kexinit(), cipherToClient: names }),
  ];
  for (const make of cases) {
    const { link } = met(chunking);
    link.peer.send(make(link));
    refused(link, 'protocol', 2);
  }
});
