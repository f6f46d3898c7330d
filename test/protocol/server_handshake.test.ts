/**
 * What clients do wrong on the way to a server's keys, and odd things that are right: identification (RFC 4253 §4.2), packets
 * (§6), negotiation and guesses (§7), public values (§8, RFC 5656 §4, RFC 8731 §3), strict key exchange (OpenSSH PROTOCOL §1.9),
 * EXT_INFO (RFC 8308). No method of groups (RFC 4419) is offered, so there is none to attack.
 */

import assert from 'node:assert/strict';
import { fromHex, utf8 } from '../../src/bytes/text.ts';
import { Writer } from '../../src/bytes/writer.ts';
import { exchanges } from '../../src/core/algorithms/exchanges.ts';
import { chooseAlgorithms } from '../../src/core/algorithms/lists.ts';
import { defaultLimits } from '../../src/core/limits.ts';
import type { SshError } from '../../src/errors.ts';
import { ecdh } from '../../src/wire/exchange.ts';
import { encode } from '../../src/wire/message.ts';
import { transport } from '../../src/wire/transport.ts';
import type { Chunking } from '../support/feed.ts';
import { scenario } from '../support/link.ts';
import { memoCrypto } from '../support/memo_crypto.ts';
import { namesOf } from '../support/scripted_end.ts';
import { ServerLink, type ServerLinkOptions, servedLink } from '../support/server_link.ts';
import { testSigner } from '../support/test_keys.ts';

/** A link on which both have identified themselves and the server's KEXINIT was taken. */
function met(chunking: Chunking, options: ServerLinkOptions = {}): ServerLink {
  const link = new ServerLink(chunking, options);
  link.client.identify();
  link.client.takeKexinit();
  return link;
}

/** The server must have ended with this code, told the client this reason, and sent none of these. */
function refused(link: ServerLink, code: SshError['code'], reason: number, never: readonly string[] = []): SshError {
  link.pump();
  const sent = namesOf(link.client.inbox.map(({ payload }) => payload));
  for (const name of never) assert.ok(!sent.includes(name), `${name} must not be sent`);
  assert.equal(link.refused(code), reason);
  return link.server.failed(code);
}

const NO_KEYS = ['message 31', 'SSH_MSG_NEWKEYS'];

scenario('the server takes identifications as clients write them', (chunking) => {
  const lines = [
    'SSH-2.0-x\r\n',
    'SSH-2.0-x\n', // some leave out the CR
    'SSH-2.0-OpenSSH_9.6 a comment - with "anything"\r\n',
    'SSH-2.0-Go-with-minus\r\n',
    'SSH-1.99-x\r\n',
    `SSH-2.0-${'x'.repeat(245)}\r\n`,
  ];
  for (const identification of lines) {
    const link = new ServerLink(chunking, { client: { identification } });
    link.login();
    assert.equal(link.server.connection.peerIdentification, identification.replace(/\r?\n/, ''));
  }
});

scenario('the server refuses what is no identification, and says so to nobody who speaks no SSH', (chunking) => {
  const wrong: readonly (readonly [line: string | Uint8Array, message: RegExp])[] = [
    ['SSH-1.5-x\r\n', /SSH 2\.0 only/],
    ['SSH-2.0-\r\n', /SSH 2\.0 only/],
    ['ssh-2.0-x\r\n', /before its identification/],
    ['Hello\r\nSSH-2.0-x\r\n', /before its identification/],
    ['GET / HTTP/1.1\r\n\r\n', /before its identification/],
    ['SSH-2.0-a\0b\r\n', /NUL/],
    [`SSH-2.0-${'x'.repeat(246)}\r\n`, /256 bytes long/],
    [new Uint8Array(8192).fill(0x61), /8192 bytes without an end of line/],
    [fromHex('16030100'), /TLS/],
  ];
  for (const [line, message] of wrong) {
    const link = new ServerLink(chunking);
    link.client.takeKexinit();
    link.client.sendRaw(line);
    link.client.expectNothing();
    assert.match(link.server.failed('identification').message, message);
  }
});

/** A packet as it stands in the clear, whatever its figures say. */
function rawPacket(length: number, padding: number, rest: number): Uint8Array {
  return new Writer().u32(length).u8(padding).raw(new Uint8Array(rest).fill(2)).finish();
}

scenario('the server refuses packet lengths and paddings that no packet can have (T52)', (chunking) => {
  const cases: readonly (readonly [name: string, packet: Uint8Array])[] = [
    ['length 2^32 - 1', rawPacket(0xffffffff, 4, 0)],
    ['length 3', rawPacket(3, 1, 2)],
    ['length 0', rawPacket(0, 4, 11)],
    ['no block multiple', rawPacket(13, 4, 12)],
    ['just over the limit', rawPacket(256 * 1024 + 4, 4, 0)],
    ['padding 3', rawPacket(12, 3, 11)],
    ['padding that leaves no payload', rawPacket(12, 11, 11)],
    ['padding beyond the packet', rawPacket(12, 255, 11)],
  ];
  for (const [name, packet] of cases) {
    const link = met(chunking);
    link.client.sendRaw(packet);
    const error = refused(link, 'protocol', 2, NO_KEYS);
    assert.equal(error.fault, 'peer', name);
  }
});

scenario('the server refuses a packet that was changed on the way: reason 5', (chunking) => {
  for (const cipher of ['chacha20-poly1305@openssh.com', 'aes256-gcm@openssh.com', 'aes128-ctr']) {
    const link = servedLink(chunking, { client: { algorithms: { ciphers: [cipher] } } });
    link.client.requestPassword('x');
    const [packet] = link.client.takeOutput();
    assert.ok(packet !== undefined);
    link.client.sendRaw(packet.with(-1, (packet.at(-1) as number) ^ 1));
    refused(link, 'integrity', 5, ['SSH_MSG_USERAUTH_SUCCESS']);
  }
});

scenario('the server refuses X25519 values of zeros, of small order and of wrong length (T51)', (chunking) => {
  const one = new Uint8Array(32);
  one[0] = 1;
  const order8 = fromHex('e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800');
  const values = [
    new Uint8Array(32),
    one,
    order8,
    new Uint8Array(31).fill(9),
    new Uint8Array(33).fill(9),
    new Uint8Array(0),
  ];
  for (const publicValue of values) {
    const link = met(chunking, { client: { algorithms: { kex: ['curve25519-sha256'] } } });
    link.client.sendKexinit();
    link.client.sendInit(publicValue);
    const error = refused(link, 'key-exchange-failed', 3, NO_KEYS);
    assert.deepEqual([error.fault, error.phase], ['peer', 'key-exchange']);
  }
});

scenario('the server refuses NIST points that are no points (T51)', (chunking) => {
  for (const [kex, size] of [
    ['ecdh-sha2-nistp256', 32],
    ['ecdh-sha2-nistp384', 48],
    ['ecdh-sha2-nistp521', 66],
  ] as const) {
    const off = new Uint8Array(2 * size + 1).fill(1);
    off[0] = 4;
    for (const wrong of [new Uint8Array(0), new Uint8Array(1), off, off.subarray(1), off.subarray(0, size + 1)]) {
      const link = met(chunking, { client: { algorithms: { kex: [kex] } } });
      link.client.sendKexinit();
      link.client.sendInit(wrong);
      refused(link, 'key-exchange-failed', 3, NO_KEYS);
    }
  }
});

scenario('every method of key exchange ends in the same keys for both', (chunking) => {
  for (const [kex, { kind }] of exchanges) {
    if (kind !== 'agreement') continue;
    const algorithms = chooseAlgorithms(memoCrypto, { kex: [kex] });
    const link = servedLink(chunking, { server: { algorithms }, client: { algorithms: { kex: [kex] } } });
    assert.equal(link.server.connection.negotiated?.kex, kex);
    assert.deepEqual(link.server.connection.sessionId, link.client.sessionId);
    link.client.rekey();
    link.client.requestPassword('secret');
    link.client.expect(52);
    assert.deepEqual(link.server.connection.sessionId, link.client.sessionId);
  }
});

scenario('the server signs with every kind of host key, with the one that was negotiated', (chunking) => {
  const names = ['ssh-ed25519', 'ecdsa-sha2-nistp256', 'rsa-sha2-512'];
  const hostKeys = names.map((name) => testSigner(name, 'host'));
  for (const [i, name] of names.entries()) {
    const link = servedLink(chunking, { server: { hostKeys }, client: { algorithms: { hostKeys: [name] } } });
    assert.deepEqual(link.client.hostKey, hostKeys[i]?.publicKey);
  }
});

scenario('a client with nothing in common is told so: reason 3 (T66)', (chunking) => {
  for (const changes of [
    { hostKey: ['ssh-dss'] },
    { kex: ['diffie-hellman-group1-sha1'] },
    { kex: ['ext-info-c', 'kex-strict-c-v00@openssh.com'] },
    { cipherToServer: ['3des-cbc'] },
    { cipherToClient: [] },
    { compressionToServer: ['zlib'] },
  ]) {
    const link = met(chunking);
    link.client.sendKexinit(changes);
    assert.equal(refused(link, 'no-common-algorithm', 3, NO_KEYS).fault, 'policy');
  }
});

scenario('a right guess is taken, a wrong one dropped (RFC 4253 §7)', (chunking) => {
  for (const [first, dropped] of [
    ['mlkem768x25519-sha256', false],
    ['ecdh-sha2-nistp256', true],
  ] as const) {
    const link = met(chunking);
    const kex = link.client.kexinit().kex.filter((name) => name !== first);
    link.client.sendKexinit({ kex: [first, ...kex], firstKexPacketFollows: true });
    if (dropped) link.client.send(encode(ecdh.init, { publicValue: utf8('of another method') }));
    // what the client puts first is what is negotiated, so a wrong guess is one that differs from the server's first
    if (dropped) assert.equal(link.client.settle().kex, first);
    link.client.finishExchange();
    link.client.takeExtInfo();
    link.client.requestService();
    link.server.alive();
  }
});

scenario('strict key exchange forbids all that has no place in it', (chunking) => {
  const early: readonly (readonly [what: string, payload: Uint8Array])[] = [
    ['IGNORE', encode(transport.ignore, { data: utf8('x') })],
    ['DEBUG', encode(transport.debug, { alwaysDisplay: false, message: '', language: '' })],
    ['UNIMPLEMENTED', encode(transport.unimplemented, { sequence: 0 })],
    ['an unknown message', Uint8Array.of(200)],
  ];
  for (const [what, payload] of early) {
    const before = met(chunking);
    before.client.send(payload);
    before.client.sendKexinit();
    assert.equal(refused(before, 'protocol', 2, NO_KEYS).fault, 'peer', `${what} before KEXINIT`);
    const within = met(chunking);
    within.client.sendKexinit();
    within.client.send(payload);
    refused(within, 'protocol', 2, NO_KEYS);
    const late = met(chunking);
    late.client.sendKexinit();
    late.client.sendInit();
    late.client.takeReply();
    late.client.send(payload);
    refused(late, 'protocol', 2);
  }
});

scenario('without strict key exchange they are taken, and the numbers run on (T30)', (chunking) => {
  const link = new ServerLink(chunking, { client: { strict: false } });
  link.client.identify();
  link.client.send(encode(transport.ignore, { data: utf8('x') }));
  link.client.sendKexinit();
  link.client.takeKexinit();
  link.client.finishExchange();
  link.client.takeExtInfo();
  assert.equal(link.server.connection.strict, false);
  assert.equal(link.client.sequence, 4);
  link.client.requestService();
  // the 6th packet, counted from 0
  link.client.send(Uint8Array.of(200));
  assert.equal(link.client.take(transport.unimplemented).sequence, 5);
  link.client.send(encode(transport.unimplemented, { sequence: 5 }));
  link.client.expectNothing();
  link.server.alive();
});

scenario('with it they start anew at NEWKEYS (T30)', (chunking) => {
  const link = servedLink(chunking);
  assert.equal(link.server.connection.strict, true);
  assert.equal(link.client.sequence, 1);
  for (let sequence = 1; sequence < 6; sequence++) {
    link.client.send(Uint8Array.of(200));
    assert.equal(link.client.take(transport.unimplemented).sequence, sequence);
  }
  link.client.rekey();
  link.client.requestPassword('secret');
  link.client.expect(52);
  link.client.send(Uint8Array.of(200));
  assert.equal(link.client.take(transport.unimplemented).sequence, 1, 'and at every later one');
});

scenario('EXT_INFO comes to who takes it, once, first under the first keys (RFC 8308 §2.4)', (chunking) => {
  const link = new ServerLink(chunking);
  link.client.handshake();
  assert.equal(link.client.extensions.get('ping@openssh.com'), '0');
  link.client.requestService();
  link.client.rekey();
  link.client.requestPassword('secret');
  link.client.expect(52);
  const without = new ServerLink(chunking, { client: { extInfo: false } });
  without.client.handshake();
  without.client.requestService();
  without.server.alive();
});

scenario('a client that disconnects, or goes away, ends nothing but itself', (chunking) => {
  const said = servedLink(chunking);
  said.client.send(encode(transport.disconnect, { reason: 11, description: 'b\x1bye', language: '' }));
  said.pump();
  assert.match(said.server.failed('disconnected').message, /\(11, byApplication\): b\\x1bye/);
  said.client.expectNothing();
  const gone = servedLink(chunking);
  gone.cut();
  assert.match(gone.server.failed('connection-lost').message, /in phase auth/);
  const early = new ServerLink(chunking);
  early.cut();
  assert.match(early.server.failed('identification').message, /before it identified itself/);
});

scenario('a client may send its login and its first channel behind NEWKEYS, without waiting', (chunking) => {
  const link = new ServerLink(chunking);
  const { client } = link;
  client.identify();
  client.sendKexinit();
  client.takeKexinit();
  client.sendInit();
  client.takeReply();
  // all in one go, behind a NEWKEYS that the server has not seen
  client.sendNewkeys();
  client.send(encode(transport.serviceRequest, { service: 'ssh-userauth' }));
  client.requestPassword('secret');
  client.open('session', 1);
  client.globalRequest('x@y');
  for (const number of [21, 7, 6, 52, 91, 82]) client.expect(number);
  link.server.alive();
});

scenario('a client that exchanges keys again and again before its login is cut off', (chunking) => {
  const link = servedLink(chunking);
  const { earlyExchanges } = defaultLimits;
  for (let i = 1; i < earlyExchanges; i++) link.client.rekey();
  link.server.alive();
  link.client.sendKexinit();
  const error = refused(link, 'limit', 11);
  assert.match(error.message, /more than 16 key exchanges before the login/);
});
