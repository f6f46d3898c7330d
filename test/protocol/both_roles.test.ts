/** The two roles of `core/transport.ts` against each other, renewing keys all the time, each watching what the other sends. */

import assert from 'node:assert/strict';
import { concat } from '../../src/bytes/bytes.ts';
import { chooseAlgorithms } from '../../src/core/algorithms/lists.ts';

import { defaultRekeyLimits, type RekeyLimits } from '../../src/core/rekey.ts';
import { type ClientConfig, CoreClient, clientConfig } from '../support/core_client.ts';
import { type Chunking, cut, drawBelow } from '../support/feed.ts';
import { scenario } from '../support/link.ts';
import { memoCrypto } from '../support/memo_crypto.ts';
import { seededRandom } from '../support/random.ts';
import { TransportServer } from '../support/transport_server.ts';

interface Pair {
  readonly client: CoreClient;
  readonly server: TransportServer;
  pump(): void;
}

function pair(chunking: Chunking, rekey: Partial<RekeyLimits>, changes: Partial<ClientConfig> = {}): Pair {
  const random = seededRandom('both roles');
  const limits = { ...defaultRekeyLimits, ...rekey };
  const client = new CoreClient(clientConfig({ rekey: limits, ...changes }));
  const extensions = new Map([['server-sig-algs', 'ssh-ed25519']]);
  const server = new TransportServer({ random: seededRandom('server'), rekey: limits, extensions });
  const pump = (): void => {
    for (;;) {
      const budget = 1 + drawBelow(random, 40_000);
      const output = concat(...client.takeOutput(budget));
      for (const piece of cut(output, chunking, random)) server.receive(piece);
      const input = concat(...server.transport.takeOutput(budget));
      for (const piece of cut(input, chunking, random)) client.receive(piece);
      if (output.length === 0 && input.length === 0) return;
    }
  };
  pump();
  client.only('authenticated');
  return { client, server, pump };
}

scenario('what is sent comes back whole while both sides renew keys every few packets', (chunking) => {
  const total = chunking === 'bytes' ? 50_000 : 500_000;
  for (const rekey of [{ packets: 12 }, { bytes: total / 12 }]) {
    const { client, server, pump } = pair(chunking, rekey);
    const random = seededRandom('traffic');
    const id = client.connection.openChannel('session', new Uint8Array(0));
    pump();
    const sent: Uint8Array[] = [];
    for (let size = 0; size < total; ) {
      const data = random(1 + drawBelow(random, total / 50));
      sent.push(data);
      size += data.length;
      client.connection.write(id, [data.slice()]);
      if (drawBelow(random, 3) > 0) pump();
      const chance = drawBelow(random, 12);
      if (chance === 0) client.connection.rekey();
      if (chance <= 1) server.transport.rekey();
    }
    pump();
    client.alive();
    assert.deepEqual(concat(...client.channel(id).data), concat(...sent));
    assert.ok(server.exchanges >= 10, `${server.exchanges} key exchanges`);
    assert.equal(client.of('keys').length, server.exchanges);
    assert.equal(server.disconnected, undefined);
  }
});

scenario('both roles agree on everything, method by method and cipher by cipher', (chunking) => {
  const kexes = ['curve25519-sha256', 'curve25519-sha256@libssh.org', 'ecdh-sha2-nistp256'];
  const ciphers = ['chacha20-poly1305@openssh.com', 'aes256-gcm@openssh.com', 'aes128-ctr'];
  for (const [i, kex] of kexes.entries()) {
    const algorithms = chooseAlgorithms(memoCrypto, { kex: [kex], ciphers: [ciphers[i] as string] });
    const { client, server, pump } = pair(chunking, {}, { algorithms });
    const { kex: ofServer } = server.transport;
    assert.equal(ofServer.negotiated?.kex, kex);
    assert.deepEqual(client.connection.negotiated, ofServer.negotiated);
    assert.deepEqual(client.connection.sessionId, ofServer.sessionId);
    assert.ok(ofServer.strict && client.connection.strict);
    server.transport.rekey();
    pump();
    assert.equal(server.exchanges, 2);
    assert.deepEqual(client.connection.sessionId, ofServer.sessionId);
    client.connection.disconnect('done');
    pump();
    assert.match(server.disconnected?.message ?? '', /11, byApplication\): done/);
    assert.equal(client.cause, undefined, 'in good order there is no cause');
  }
});
