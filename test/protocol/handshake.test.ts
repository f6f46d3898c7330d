/** The first key exchange with peers that are strict, lax, guessing, lying or broken: RFC 4253 §6–8, OpenSSH PROTOCOL §1.9. */

import assert from 'node:assert/strict';
import { Reader } from '../../src/bytes/reader.ts';
import { fromHex, utf8 } from '../../src/bytes/text.ts';
import { Writer } from '../../src/bytes/writer.ts';
import { type AlgorithmLists, chooseAlgorithms } from '../../src/core/algorithms/lists.ts';
import type { Kexinit } from '../../src/core/negotiate.ts';
import { pureProvider } from '../../src/crypto/pure/index.ts';
import { SshError } from '../../src/errors.ts';
import { keyPairOf } from '../../src/keys/key_pair.ts';
import { signerOf } from '../../src/keys/private_key.ts';
import type { Signer } from '../../src/keys/signature.ts';
import { ecdh } from '../../src/wire/exchange.ts';
import { encode } from '../../src/wire/message.ts';
import { transport } from '../../src/wire/transport.ts';
import type { Chunking } from '../support/feed.ts';
import { Link, type LinkOptions, scenario } from '../support/link.ts';
import { memoCrypto } from '../support/memo_crypto.ts';
import { namesOf } from '../support/scripted_peer.ts';

const ignore = encode(transport.ignore, { data: utf8('x') });
const debug = encode(transport.debug, { alwaysDisplay: true, message: 'hi', language: '' });
const unimplemented = encode(transport.unimplemented, { sequence: 0 });
const strict = { peer: { strict: true } };
const lax = { peer: { strict: false } };

/** A client that offers these algorithms. */
function offering(lists: Partial<AlgorithmLists>): LinkOptions {
  return { client: { algorithms: chooseAlgorithms(memoCrypto, lists) } };
}

/** A link on which both identified themselves and the client's KEXINIT was taken. */
function met(chunking: Chunking, options: LinkOptions = {}): { link: Link; kexinit: Kexinit } {
  const link = new Link(chunking, options);
  link.peer.identify();
  return { link, kexinit: link.peer.takeKexinit() };
}

/** The client must have ended with this code, told the peer this reason, and sent no NEWKEYS. */
function refused(link: Link, code: SshError['code'], reason: number): SshError {
  link.pump();
  const error = link.client.failed(code);
  const left = link.peer.inbox.map(({ payload }) => payload);
  const last = left.pop();
  assert.ok(last !== undefined && last[0] === transport.disconnect.number, 'DISCONNECT is what the client sends last');
  assert.equal(new Reader(last, 1).u32(), reason, error.message);
  assert.ok(!namesOf(left).includes('SSH_MSG_NEWKEYS'), 'no NEWKEYS after a failed key exchange');
  return error;
}

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
  for (const part of ['key exchange', 'curve25519-sha256', 'diffie-hellman-group1-sha1', 'algorithms.kex', '\\x1b']) {
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

// Public values and signatures

/** What happens when the reply is changed. */
function tampered(
  chunking: Chunking,
  options: LinkOptions,
  change: (reply: { hostKey: Uint8Array; publicValue: Uint8Array; signature: Uint8Array }) => object,
): Link {
  const { link } = met(chunking, options);
  link.peer.sendKexinit();
  const reply = link.peer.reply();
  link.peer.send(encode(ecdh.reply, { ...reply, ...change(reply) }));
  return link;
}

scenario('the client refuses X25519 values of zeros, of small order and of wrong length', (chunking) => {
  const one = new Uint8Array(32);
  one[0] = 1;
  // RFC 7748 §6.1 and the list of small orders that every implementation checks against
  const order8 = fromHex('e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800');
  for (const publicValue of [
    new Uint8Array(32),
    one,
    order8,
    new Uint8Array(31).fill(9),
    new Uint8Array(33).fill(9),
    new Uint8Array(0),
  ]) {
    const error = refused(
      tampered(chunking, {}, () => ({ publicValue })),
      'key-exchange-failed',
      3,
    );
    assert.equal(error.fault, 'peer');
    assert.equal(error.phase, 'key-exchange');
  }
});

scenario('the client refuses NIST points that are no points', (chunking) => {
  const options = offering({ kex: ['ecdh-sha2-nistp256'] });
  const off = new Uint8Array(65).fill(1);
  off[0] = 4;
  for (const change of [
    () => new Uint8Array(1), // the point at infinity
    () => off,
    (value: Uint8Array) => value.subarray(0, 64),
    (value: Uint8Array) => new Writer().u8(2).raw(value.subarray(1, 33)).finish(), // compressed: RFC 5656 §4 permits refusal
  ]) {
    const link = tampered(chunking, options, ({ publicValue }) => ({ publicValue: change(publicValue) }));
    refused(link, 'key-exchange-failed', 3);
  }
});

scenario(
  'a public value that the provider refuses later, in a promise, is a failed key exchange too',
  async (chunking) => {
    const refusal = new SshError('crypto', 'no such point');
    const x25519 = { ...memoCrypto.agreements.x25519, finish: () => Promise.reject(refusal) };
    const crypto = { ...memoCrypto, agreements: { ...memoCrypto.agreements, x25519 } };
    const { link } = met(chunking, { client: { crypto } });
    link.peer.sendKexinit();
    link.peer.send(encode(ecdh.reply, link.peer.reply()));
    link.pump();
    const { id, question } = link.client.questions[0] ?? assert.fail('the promise must be a question');
    assert.ok(question.kind === 'work' && link.client.connection.holdsInput);
    await question.promise.then(
      () => assert.fail(),
      (error) => link.client.connection.refuse(id, error),
    );
    link.client.settle();
    assert.equal(refused(link, 'key-exchange-failed', 3).cause, refusal);
  },
);

scenario(
  'the client refuses a host signature that is wrong, empty, of another algorithm or by another key',
  (chunking) => {
    const other = new Uint8Array(64).fill(3);
    for (const change of [
      (signature: Uint8Array) => signature.map((byte, i) => (i === signature.length - 1 ? byte ^ 1 : byte)),
      () => new Uint8Array(0),
      () => new Writer().string('ssh-ed25519').string(other).finish(),
      () => new Writer().string('ssh-ed25519').string(new Uint8Array(0)).finish(),
      (signature: Uint8Array) => new Writer().string('rsa-sha2-256').raw(signature.subarray(15)).finish(),
      (signature: Uint8Array) => new Writer().raw(signature).u8(0).finish(),
    ]) {
      const link = tampered(chunking, {}, ({ signature }) => ({ signature: change(signature) }));
      refused(link, 'key-exchange-failed', 3);
      assert.equal(link.client.connection.hostKey, undefined);
      assert.ok(!link.client.has('question'), 'nobody is asked to trust a key that proved nothing');
    }
  },
);

scenario('the client refuses host keys that are no keys, or not of the type that was agreed', (chunking) => {
  const scalar = new Uint8Array(32).fill(5);
  const p256 = signerOf(
    memoCrypto,
    keyPairOf(memoCrypto, { type: 'ecdsa-sha2-nistp256', curve: 'p256', scalar }),
  ).publicKey;
  for (const hostKey of [new Uint8Array(0), utf8('ssh-ed25519'), new Writer().string('x').finish(), p256]) {
    refused(
      tampered(chunking, {}, () => ({ hostKey })),
      'key-exchange-failed',
      3,
    );
  }
});

scenario('a host key that the policy refuses ends the connection with the error of the policy', (chunking) => {
  const policy = new SshError('host-key-unknown', 'nobody knows this host', { fault: 'policy', disconnect: 9 });
  const { link } = met(chunking, { script: { onHostKey: () => policy } });
  link.peer.sendKexinit();
  link.peer.send(encode(ecdh.reply, link.peer.reply()));
  assert.equal(refused(link, 'host-key-unknown', 9), policy);
  const disconnect = link.peer.inbox.at(-1)?.payload;
  assert.doesNotMatch(new TextDecoder().decode(disconnect), /nobody knows/, 'our policy is not for the peer');
});

scenario('a message of another method where the reply must come ends the exchange', (chunking) => {
  for (const number of [30, 32, 33, 34, 49]) {
    const { link } = met(chunking);
    link.peer.sendKexinit();
    link.peer.send(Uint8Array.of(number));
    refused(link, 'protocol', 3);
  }
});

scenario('NEWKEYS before the exchange is done ends the connection', (chunking) => {
  const { link } = met(chunking, lax);
  link.peer.sendKexinit();
  link.peer.send(encode(transport.newkeys, {}));
  refused(link, 'protocol', 2);
});

/** A P-521 host key whose r and s carry `zeros` superfluous bytes. */
function paddedP521(zeros: number): Signer {
  const crypto = pureProvider;
  const scalar = new Uint8Array(66).fill(6);
  scalar[0] = 0;
  const signer = signerOf(crypto, keyPairOf(crypto, { type: 'ecdsa-sha2-nistp521', curve: 'p521', scalar }));
  return {
    ...signer,
    sign(message, algorithm) {
      const blob = new Reader(signer.sign(message, algorithm) as Uint8Array);
      const name = blob.string();
      const halves = new Reader(blob.string());
      const body = new Writer();
      for (const half of [halves.string(), halves.string()]) {
        body.string(new Writer().raw(new Uint8Array(zeros)).raw(half).finish());
      }
      return new Writer().string(name).string(body.finish()).finish();
    },
  };
}

scenario('the client takes a P-521 host signature with superfluous zeros in front of r and s', (chunking) => {
  for (const zeros of [0, 1]) {
    const link = new Link(chunking, { peer: { hostKey: paddedP521(zeros) } });
    link.peer.handshake();
    assert.equal(link.client.connection.negotiated?.hostKey, 'ecdsa-sha2-nistp521');
    link.client.alive();
  }
});
