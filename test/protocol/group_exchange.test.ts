/** The group exchange (RFC 4419, RFC 8270) with peers that break its rules, in both roles, and with clients older than the RFC. */

import assert from 'node:assert/strict';
import { mpintBody } from '../../src/bytes/mpint.ts';
import { fromHex } from '../../src/bytes/text.ts';
import { Writer } from '../../src/bytes/writer.ts';
import { type ModpGroup, modpAgreement, modpGroup } from '../../src/crypto/groups.ts';
import { parsePublicKey } from '../../src/keys/public_key.ts';
import { verifySignature } from '../../src/keys/signature.ts';
import { ecdh, groupExchange } from '../../src/wire/exchange.ts';
import { decode, encode } from '../../src/wire/message.ts';
import { transport } from '../../src/wire/transport.ts';
import type { Chunking } from '../support/feed.ts';
import { met, offering, refused } from '../support/first_exchange.ts';
import { type Link, scenario } from '../support/link.ts';
import { memoCrypto } from '../support/memo_crypto.ts';
import { ServerLink } from '../support/server_link.ts';
import { ownVectors, type VectorGroup } from '../support/vectors.ts';

const NAME = 'diffie-hellman-group-exchange-sha256';
const none = new Uint8Array(0);
const two = Uint8Array.of(2);
const group = (bits: 1024 | 2048 | 3072): ModpGroup => modpGroup(bits);

interface Prime {
  readonly id: string;
  readonly prime: string;
}
const others = ownVectors<VectorGroup<Prime> & { readonly about: string }>('crypto/groups.json');
const other = fromHex(others.find(({ about }) => about === 'other groups')?.rows[0]?.prime ?? assert.fail());

/** What both hash of a group. */
function hashed(sizes: readonly number[], { prime, generator }: ModpGroup): Uint8Array {
  const writer = new Writer();
  for (const size of sizes) writer.u32(size);
  return writer.mpint(prime).mpint(generator).finish();
}

const asked = { least: 2048, wanted: 3072, most: 8192 };
const ASKED = [2048, 3072, 8192];

// The client

/** A link on which our client has asked for a group. */
function requested(chunking: Chunking): Link {
  const { link } = met(chunking, offering({ kex: [NAME] }));
  link.peer.sendKexinit({ kex: [NAME, 'kex-strict-s-v00@openssh.com'] });
  assert.deepEqual(link.peer.take(groupExchange.request), asked);
  return link;
}

function named(prime: Uint8Array, generator: Uint8Array): Uint8Array {
  return encode(groupExchange.group, { prime, generator });
}

/** Names a group, takes the client's value, and answers; `change` what is answered, `sizes` what is hashed. */
function answer(
  link: Link,
  chosen: ModpGroup,
  change: (publicValue: Uint8Array) => Uint8Array = (value) => value,
  sizes: readonly number[] = ASKED,
): void {
  const { peer } = link;
  peer.send(named(mpintBody(chosen.prime), mpintBody(chosen.generator)));
  const { publicValue: clientPublic } = peer.take(groupExchange.init);
  const responded = modpAgreement(memoCrypto.modularPower, chosen).respond(
    () => new Uint8Array(32).fill(7),
    clientPublic,
  );
  assert.ok('shared' in responded);
  const { hostKey } = peer;
  peer.settle();
  const values = { group: hashed(sizes, chosen), clientPublic, serverPublic: responded.publicValue };
  const digest = peer.takeSecret(responded.shared, { hostKey: hostKey.publicKey, ...values });
  const signature = hostKey.sign(digest, 'ssh-ed25519') as Uint8Array;
  const publicValue = change(responded.publicValue);
  peer.send(encode(groupExchange.reply, { hostKey: hostKey.publicKey, publicValue, signature }));
}

scenario('the client takes a named group, and one that nobody has named', (chunking) => {
  for (const chosen of [group(2048), { bits: 2048, prime: other, generator: Uint8Array.of(5) }]) {
    const link = requested(chunking);
    answer(link, chosen);
    link.peer.sendNewkeys();
    link.peer.expect(transport.newkeys.number);
    assert.equal(link.client.connection.negotiated?.kex, NAME);
    assert.deepEqual(link.client.connection.sessionId, link.peer.sessionId);
    link.client.alive();
  }
});

scenario('the client refuses groups that it has not asked for, or that are none', (chunking) => {
  const { prime } = group(2048);
  const body = mpintBody(prime);
  const even = mpintBody(prime.with(-1, 0xfe));
  const composite = mpintBody(other.with(-1, (other.at(-1) as number) ^ 0x04));
  for (const [p, g] of [
    [mpintBody(group(1024).prime), two],
    [new Uint8Array(1025).fill(0x7f), two],
    [even, two],
    [composite, two],
    [prime, two], // negative
    [Uint8Array.of(0, ...body), two],
    [none, two],
    [body, none],
    [body, Uint8Array.of(1)],
    [body, mpintBody(prime.with(-1, 0xfe))],
    [body, body],
  ] as const) {
    const link = requested(chunking);
    link.peer.send(named(p, g));
    const error = refused(link, 'key-exchange-failed', 3);
    assert.deepEqual([error.fault, error.phase], ['peer', 'key-exchange']);
  }
});

scenario('a group that is smaller than the client has asked for is refused by name (T61)', (chunking) => {
  const link = requested(chunking);
  link.peer.send(named(mpintBody(group(1024).prime), two));
  const { message } = refused(link, 'key-exchange-failed', 3);
  assert.match(message, /Prime of 1024 bits: from 2048 to 8192 were asked for/);
});

scenario('the client refuses public values that are none', (chunking) => {
  const { prime } = group(2048);
  const less = mpintBody(prime.with(-1, 0xfe));
  for (const value of [none, Uint8Array.of(0), Uint8Array.of(1), less, mpintBody(prime), Uint8Array.of(0, 5)]) {
    const link = requested(chunking);
    answer(link, group(2048), () => value);
    refused(link, 'key-exchange-failed', 3);
  }
});

scenario('the client sees what was changed on the way: sizes, group, values', (chunking) => {
  const sizes = requested(chunking);
  answer(sizes, group(2048), undefined, [1024, 3072, 8192]);
  refused(sizes, 'key-exchange-failed', 3);
  const old = requested(chunking);
  answer(old, group(2048), undefined, [3072]);
  refused(old, 'key-exchange-failed', 3);
  const value = requested(chunking);
  answer(value, group(2048), () => Uint8Array.of(5));
  refused(value, 'key-exchange-failed', 3);
});

scenario('messages out of their order end the exchange of a client', (chunking) => {
  const group31 = named(mpintBody(group(2048).prime), two);
  const reply33 = encode(groupExchange.reply, { hostKey: none, publicValue: two, signature: none });
  for (const first of [
    reply33,
    encode(groupExchange.init, { publicValue: two }),
    encode(groupExchange.request, asked),
  ]) {
    const link = requested(chunking);
    link.peer.send(first);
    refused(link, 'protocol', 3);
  }
  const twice = requested(chunking);
  twice.peer.send(group31);
  twice.peer.expect(groupExchange.init.number);
  twice.peer.send(group31);
  refused(twice, 'protocol', 3);
  for (const broken of [group31.subarray(0, -1), new Writer().raw(group31).u8(0).finish()]) {
    const link = requested(chunking);
    link.peer.send(broken);
    refused(link, 'protocol', 2);
  }
});

// The server

/** A link on which our server waits for a request. */
function listening(chunking: Chunking): ServerLink {
  const link = new ServerLink(chunking, { client: { algorithms: { kex: [NAME] } } });
  link.client.identify();
  link.client.sendKexinit();
  link.client.takeKexinit();
  return link;
}

/** The rest of an exchange, after the request whose `sizes` both hash. */
function exchanged(link: ServerLink, sizes: readonly number[], bits: number): void {
  const { client } = link;
  const { prime, generator } = client.take(groupExchange.group);
  assert.deepEqual([8 * (prime.length - 1), [...generator]], [bits, [2]]);
  const chosen: ModpGroup = { bits, prime: prime.slice(1), generator };
  const agreement = modpAgreement(memoCrypto.modularPower, chosen);
  const { secret, publicValue: clientPublic } = agreement.generate((length) => new Uint8Array(length).fill(3));
  client.send(encode(groupExchange.init, { publicValue: clientPublic }));
  const { hostKey, publicValue, signature } = client.take(groupExchange.reply);
  const shared = agreement.finish(secret, publicValue);
  assert.ok(shared instanceof Uint8Array);
  const { hostKey: algorithm } = client.settle();
  const values = { group: hashed(sizes, chosen), clientPublic, serverPublic: publicValue };
  const digest = client.takeSecret(shared, { hostKey, ...values });
  assert.equal(verifySignature(memoCrypto, algorithm, parsePublicKey(hostKey), digest, signature), true);
  client.sendNewkeys();
  client.expect(transport.newkeys.number);
  client.takeExtInfo();
  client.requestService();
  link.server.alive();
}

scenario(
  'the server names the smallest group that is as large as the client wants',
  (chunking) => {
    for (const [least, wanted, most, bits] of [
      [2048, 2048, 8192, 2048],
      [1024, 1024, 8192, 2048],
      [2048, 2049, 8192, 3072],
      [2048, 3072, 8192, 3072],
      [1, 4097, 100_000, 6144],
      [2048, 7680, 7680, 6144], // nothing is as large, and the largest that is allowed is next
      [3072, 9000, 100_000, 8192],
    ] as const) {
      const link = listening(chunking);
      link.client.send(encode(groupExchange.request, { least, wanted, most }));
      exchanged(link, [least, wanted, most], bits);
    }
  },
  ['whole'],
);

scenario('the server answers clients that are older than the RFC, and hashes what they have sent', (chunking) => {
  for (const [wanted, bits] of [
    [1024, 2048],
    [2048, 2048],
  ] as const) {
    const link = listening(chunking);
    link.client.send(encode(groupExchange.requestOld, { wanted }));
    exchanged(link, [wanted], bits);
  }
});

scenario('the server refuses requests that it cannot meet', (chunking) => {
  for (const [least, wanted, most] of [
    [3072, 2048, 8192],
    [2048, 8192, 4096],
    [0, 0, 0],
    [1024, 1024, 1024],
    [2049, 2050, 3071],
    [8193, 8193, 16384],
    [0xffffffff, 0xffffffff, 0xffffffff],
  ] as const) {
    const link = listening(chunking);
    link.client.send(encode(groupExchange.request, { least, wanted, most }));
    assert.equal(link.refused('key-exchange-failed'), 3);
    assert.equal(link.server.failed('key-exchange-failed').fault, 'peer');
  }
});

scenario('messages out of their order end the exchange of a server', (chunking) => {
  const request = encode(groupExchange.request, { least: 2048, wanted: 2048, most: 8192 });
  const init = encode(groupExchange.init, { publicValue: two });
  for (const first of [init, Uint8Array.of(31), Uint8Array.of(33), Uint8Array.of(49)]) {
    const link = listening(chunking);
    link.client.send(first);
    assert.equal(link.refused('protocol'), 3);
  }
  for (const second of [
    request,
    encode(groupExchange.requestOld, { wanted: 2048 }),
    encode(ecdh.init, { publicValue: two }),
  ]) {
    const link = listening(chunking);
    link.client.send(request);
    link.client.expect(groupExchange.group.number);
    link.client.send(second);
    assert.equal(link.refused('protocol'), 3);
  }
});

scenario('the server refuses public values that are none, and signs nothing', (chunking) => {
  const { prime } = group(2048);
  const less = mpintBody(prime.with(-1, 0xfe));
  for (const publicValue of [none, Uint8Array.of(0), Uint8Array.of(1), less, mpintBody(prime), Uint8Array.of(0, 5)]) {
    const link = listening(chunking);
    link.client.send(encode(groupExchange.request, { least: 2048, wanted: 2048, most: 8192 }));
    assert.deepEqual(decode(groupExchange.group, link.client.expect(31)).prime, mpintBody(prime));
    link.client.send(encode(groupExchange.init, { publicValue }));
    assert.equal(link.refused('key-exchange-failed'), 3);
  }
});
