/** Key exchange between two sides of puressh: what each method and host key gives, and later exchanges. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hex } from '../../src/bytes/text.ts';
import type { CryptoProvider } from '../../src/crypto/provider.ts';
import type { Signer } from '../../src/keys/signature.ts';
import { altering, type Ends, ends, keyed, only, signer } from './ends.ts';
import { crypto, pattern, protections } from './tools.ts';

const methods: Readonly<Record<string, number>> = {
  // bytes of the session id, which is a digest of the method's hash
  'curve25519-sha256': 32,
  'curve25519-sha256@libssh.org': 32,
  'ecdh-sha2-nistp256': 32,
  'ecdh-sha2-nistp384': 48,
  'ecdh-sha2-nistp521': 64,
};

const hostKeys: Readonly<Record<string, string>> = {
  'ssh-ed25519': 'ed25519',
  'ecdsa-sha2-nistp256': 'ecdsa256',
  'ecdsa-sha2-nistp384': 'ecdsa384',
  'ecdsa-sha2-nistp521': 'ecdsa521',
  'rsa-sha2-512': 'openssl-rsa2048',
  'rsa-sha2-256': 'openssl-rsa2048',
};

/** Sends a message each way and expects it to arrive. */
function talk({ client, server, pump }: Ends, mark: number): void {
  const [up, down] = [Uint8Array.of(80, mark, 1), Uint8Array.of(80, mark, 2)];
  client.transport.send(up);
  server.transport.send(down);
  pump();
  client.alive();
  server.alive();
  assert.equal(server.payloads.at(-1), hex(up));
  assert.equal(client.payloads.at(-1), hex(down));
}

describe('Key exchange', () => {
  for (const [kex, size] of Object.entries(methods)) {
    for (const [hostKey, name] of Object.entries(hostKeys)) {
      it(`${kex} with ${hostKey}: both sides get the same`, () => {
        const algorithms = { kex: [kex], hostKeys: [hostKey], ciphers: ['aes128-ctr'], macs: ['hmac-sha2-256'] };
        const key = signer(name);
        const pair = keyed({ client: { algorithms }, server: { algorithms, hostKeys: [key] } });
        const direction = { cipher: 'aes128-ctr', mac: 'hmac-sha2-256', compression: 'none' };
        const negotiated = { kex, hostKey, toServer: direction, toClient: direction };
        for (const { events, transport, ready } of [pair.client, pair.server]) {
          assert.deepEqual(events.at(-1), { type: 'keys', first: true, negotiated });
          assert.deepEqual(transport.kex.negotiated, negotiated);
          assert.equal(hex(transport.kex.hostKey ?? new Uint8Array(0)), hex(key.publicKey));
          assert.equal(transport.kex.sessionId?.length, size);
          assert.equal(ready, 1);
        }
        assert.deepEqual(pair.client.transport.kex.sessionId, pair.server.transport.kex.sessionId);
        assert.deepEqual(pair.client.hostKeys, [hex(key.publicKey)], 'the client is asked');
        assert.deepEqual(pair.server.hostKeys, []);
        talk(pair, 1);
      });
    }

    it(`${kex}: again from either side, under the same session id`, () => {
      const algorithms = { kex: [kex] };
      const pair = keyed({ client: { algorithms }, server: { algorithms } });
      const { client, server } = pair;
      const session = hex(client.transport.kex.sessionId ?? new Uint8Array(0));
      for (const [i, side] of [client, server].entries()) {
        side.transport.rekey();
        talk(pair, i);
        const last = client.events.at(-1);
        assert.ok(last?.type === 'keys' && !last.first);
      }
      for (const { transport, exchanges, ready } of [client, server]) {
        assert.equal(hex(transport.kex.sessionId ?? new Uint8Array(0)), session);
        assert.deepEqual([exchanges, ready], [3, 1]);
      }
      assert.equal(client.hostKeys.length, 1, 'the client is asked once');
    });
  }

  it('leaves none of its secrets in memory', () => {
    const seen: Uint8Array[] = [];
    const see = (bytes: Uint8Array): Uint8Array => {
      assert.ok(bytes.some((byte) => byte !== 0));
      seen.push(bytes);
      return bytes;
    };
    const [stream, mac, x25519] = [crypto.streams['aes128-ctr'], crypto.macs['hmac-sha256'], crypto.agreements.x25519];
    const watched: CryptoProvider = {
      ...crypto,
      streams: {
        ...crypto.streams,
        'aes128-ctr': { ...stream, create: (key, counter) => stream.create(see(key), see(counter)) },
      },
      macs: { ...crypto.macs, 'hmac-sha256': { ...mac, create: (key) => mac.create(see(key)) } },
      agreements: {
        ...crypto.agreements,
        x25519: {
          generate(random) {
            const pair = x25519.generate(random);
            see(pair.secret);
            return pair;
          },
          respond(random, initiator) {
            const answer = x25519.respond(random, initiator);
            assert.ok('shared' in answer);
            see(answer.shared);
            return answer;
          },
          finish: (secret, responder) => see(x25519.finish(secret, responder) as Uint8Array),
        },
      },
    };
    const algorithms = { kex: ['curve25519-sha256'], ciphers: ['aes128-ctr'], macs: ['hmac-sha2-256'] };
    const pair = keyed({ client: { crypto: watched, algorithms }, server: { crypto: watched, algorithms } });
    talk(pair, 1);
    assert.equal(seen.length, 3 + 2 * 2 * 3, 'one secret, two shared, and three keys a direction on each side');
    for (const bytes of seen) assert.deepEqual(bytes, new Uint8Array(bytes.length));
  });

  it('gives another session id to every connection', () => {
    const { client: one } = keyed();
    const { client: other } = keyed({ client: { random: (length) => pattern(length, 5) } });
    assert.notDeepEqual(one.transport.kex.sessionId, other.transport.kex.sessionId);
  });

  for (const protection of protections) {
    const { name, algorithms: wanted } = protection;
    it(`${name}: the keys of three exchanges, one started by both sides at once`, () => {
      const algorithms = {
        kex: ['curve25519-sha256'],
        ciphers: [wanted?.cipher ?? ''],
        ...(wanted?.mac === undefined ? {} : { macs: [wanted.mac] }),
      };
      const pair = keyed({ client: { algorithms }, server: { algorithms } });
      const { client, server } = pair;
      talk(pair, 1);
      client.transport.rekey();
      pair.pump();
      talk(pair, 2);
      client.transport.rekey();
      server.transport.rekey();
      talk(pair, 3);
      assert.deepEqual([client.exchanges, server.exchanges], [3, 3], 'two KEXINITs that cross are one exchange');
      assert.deepEqual(client.transport.kex.negotiated?.toServer, wanted);
    });
  }

  it('asks again when the host key is another one, and only then', () => {
    const [first, second] = [signer('ed25519'), signer('openssl-ed25519')];
    const keys: Signer[] = [first];
    const pair = keyed({ server: { hostKeys: keys } });
    const rekey = (key: Signer): void => {
      keys[0] = key;
      pair.client.transport.rekey();
      talk(pair, 1);
    };
    rekey(first);
    assert.equal(pair.client.hostKeys.length, 1);
    rekey(second);
    rekey(second);
    assert.deepEqual(
      pair.client.hostKeys,
      [first, second].map(({ publicKey }) => hex(publicKey)),
    );
  });

  it('holds NEWKEYS and all input until the host key is trusted', () => {
    const pair = ends({ client: { trusts: false } });
    const { client, server } = pair;
    pair.pump();
    assert.deepEqual([client.hostKeys.length, client.exchanges, server.exchanges], [1, 0, 0]);
    client.run(() => client.answer());
    client.receive(new Uint8Array(0));
    talk(pair, 1);
    assert.deepEqual([client.exchanges, server.exchanges], [1, 1]);
  });

  it('begins once, however often it is asked to', () => {
    const pair = keyed();
    for (let i = 0; i < 5; i++) pair.client.transport.rekey();
    talk(pair, 1);
    assert.deepEqual([pair.client.exchanges, pair.server.exchanges], [2, 2]);
  });

  it('does not begin before the first exchange is done', () => {
    const pair = ends();
    pair.client.transport.rekey();
    pair.server.transport.rekey();
    pair.pump();
    assert.deepEqual([pair.client.exchanges, pair.server.exchanges], [1, 1]);
  });

  it('keeps what it needs of the packets it came in', () => {
    // the relay hands over arrays and wipes them after the receiver has processed them
    const handed: Uint8Array[] = [];
    const wiping = (bytes: Uint8Array): Uint8Array => {
      for (const old of handed.splice(0)) old.fill(0xee);
      const copy = bytes.slice();
      handed.push(copy);
      return copy;
    };
    const pair = keyed({ toServer: wiping, toClient: wiping });
    pair.client.transport.rekey();
    talk(pair, 1);
    assert.equal(hex(pair.client.transport.kex.hostKey ?? new Uint8Array(0)), hex(signer('ed25519').publicKey));
  });
});

describe('Key exchange with crypto that answers later', () => {
  const later = <T>(value: T): Promise<T> => new Promise((resolve) => setTimeout(() => resolve(value), 0));
  const slow: CryptoProvider = {
    ...crypto,
    agreements: {
      ...crypto.agreements,
      x25519: {
        generate: (random) => crypto.agreements.x25519.generate(random),
        respond: async (random, initiator) => later(await crypto.agreements.x25519.respond(random, initiator)),
        finish: async (secret, responder) => later(await crypto.agreements.x25519.finish(secret, responder)),
      },
    },
    ed25519: {
      publicKey: (seed) => crypto.ed25519.publicKey(seed),
      sign: async (seed, message) => later(await crypto.ed25519.sign(seed, message)),
      verify: async (key, message, signature) => later(await crypto.ed25519.verify(key, message, signature)),
    },
  };

  async function pumpSlowly({ client, server, pump }: Ends): Promise<void> {
    for (let worked = true; worked; ) {
      pump();
      const both = [await client.work(), await server.work()];
      worked = both.includes(true);
    }
    pump();
  }

  it('gives the same, with input held meanwhile', async () => {
    const key = signer('ed25519');
    const hostKey: Signer = { ...key, sign: async (message, algorithm) => later(await key.sign(message, algorithm)) };
    const pair = ends({ client: { crypto: slow }, server: { crypto: slow, hostKeys: [hostKey] } });
    await pumpSlowly(pair);
    assert.deepEqual([pair.client.exchanges, pair.server.exchanges], [1, 1]);
    pair.client.transport.rekey();
    pair.client.transport.send(Uint8Array.of(80, 1));
    pair.server.transport.send(Uint8Array.of(80, 2));
    await pumpSlowly(pair);
    pair.client.alive();
    pair.server.alive();
    assert.deepEqual([pair.client.exchanges, pair.server.exchanges], [2, 2]);
    assert.deepEqual([pair.client.payloads, pair.server.payloads], [['5002'], ['5001']]);
  });

  it('fails as it does with crypto that answers at once', async () => {
    const zeros = only(31, (payload) => {
      const changed = payload.slice();
      // the public value follows the host key blob: 1 + 4 + 51 + 4 bytes
      changed.fill(0, 60, 92);
      return [changed];
    });
    const pair = ends({ client: { crypto: slow }, toClient: altering(zeros) });
    await pumpSlowly(pair);
    const error = pair.client.failed('key-exchange-failed');
    assert.deepEqual([error.fault, error.disconnect], ['peer', 3]);
    assert.equal(pair.client.exchanges, 0);
  });
});
