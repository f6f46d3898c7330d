/** Public values, host keys and signatures that are wrong, in the first key exchange: RFC 4253 §8, RFC 5656 §4, RFC 8731 §3. */

import assert from 'node:assert/strict';
import { Reader } from '../../src/bytes/reader.ts';
import { fromHex, utf8 } from '../../src/bytes/text.ts';
import { Writer } from '../../src/bytes/writer.ts';
import { pureProvider } from '../../src/crypto/pure/index.ts';
import { SshError } from '../../src/errors.ts';
import { keyPairOf } from '../../src/keys/key_pair.ts';
import { signerOf } from '../../src/keys/private_key.ts';
import type { Signer } from '../../src/keys/signature.ts';
import { ecdh } from '../../src/wire/exchange.ts';
import { encode } from '../../src/wire/message.ts';
import { transport } from '../../src/wire/transport.ts';
import type { Chunking } from '../support/feed.ts';
import { met, offering, refused } from '../support/first_exchange.ts';
import { Link, type LinkOptions, scenario } from '../support/link.ts';
import { memoCrypto } from '../support/memo_crypto.ts';

const lax = { peer: { strict: false } };

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
      tampered(chunking, offering({ kex: ['curve25519-sha256'] }), () => ({ publicValue })),
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
