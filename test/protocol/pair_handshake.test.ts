/**
 * Our client and our server through every key exchange method, host key algorithm, cipher and MAC, each at least once, and every
 * form of packets with three key exchanges more, so that keys and counters begin anew under strict key exchange.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat, equalBytes } from '../../src/bytes/bytes.ts';
import { ciphers } from '../../src/core/algorithms/ciphers.ts';
import { exchanges } from '../../src/core/algorithms/exchanges.ts';
import { type AlgorithmLists, chooseAlgorithms } from '../../src/core/algorithms/lists.ts';
import { macs } from '../../src/core/algorithms/macs.ts';
import type { DirectionAlgorithms } from '../../src/core/events.ts';
import { scenario } from '../support/link.ts';
import { memoCrypto } from '../support/memo_crypto.ts';
import { Pair, type PairOptions, sides } from '../support/pair.ts';
import { patterned } from '../support/scripted_sftp.ts';
import { testAlgorithms, testSigner } from '../support/test_keys.ts';

const nothing = new Uint8Array(0);

/** Every cipher, with every MAC that it goes with. */
const forms = [...ciphers].flatMap(([cipher, { kind }]): DirectionAlgorithms[] =>
  kind === 'aead'
    ? [{ cipher, compression: 'none' }]
    : [...macs.keys()].map((mac) => ({ cipher, mac, compression: 'none' })),
);

/** Lists that leave no choice. */
function only(kex: string, hostKey: string, { cipher, mac = 'hmac-sha2-256' }: DirectionAlgorithms): AlgorithmLists {
  return chooseAlgorithms(memoCrypto, { kex: [kex], hostKeys: [hostKey], ciphers: [cipher], macs: [mac] });
}

/** A pair that speaks just this. */
function pairOf(algorithms: AlgorithmLists, options: PairOptions = {}): Pair {
  const hostKeys = algorithms.hostKeys.map((name) => testSigner(name, 'host'));
  return new Pair({
    ...options,
    client: { algorithms, ...options.client },
    server: { algorithms, hostKeys, ...options.server },
  });
}

/** That both sides know the same, and what there is to know is `exchanges` exchanges of these algorithms. */
function agreed(pair: Pair, kex: string, hostKey: string, form: DirectionAlgorithms, exchanges: number): void {
  const { client, server } = pair;
  assert.deepEqual(client.connection.negotiated, { kex, hostKey, toServer: form, toClient: form });
  assert.deepEqual(server.connection.negotiated, client.connection.negotiated);
  assert.deepEqual(server.connection.sessionId, client.connection.sessionId);
  assert.deepEqual(client.connection.hostKey, testSigner(hostKey, 'host').publicKey);
  for (const side of sides) {
    assert.ok(pair.side(side).connection.strict);
    const keys = pair.side(side).of('keys');
    assert.deepEqual(
      keys.map(({ first }) => first),
      Array.from({ length: exchanges }, (_, i) => i === 0),
    );
  }
}

/** Sends a file each way on one channel, and looks at both. */
function exchangeFiles(pair: Pair, id: number, size: number): void {
  const before = sides.map((side) => pair.side(side).channel(id).bytes);
  for (const side of sides) pair.side(side).connection.write(id, [patterned(size, side)]);
  pair.pump();
  pair.alive();
  for (const [i, side] of sides.entries()) {
    const all = concat(...pair.side(side).channel(id).data);
    assert.ok(equalBytes(all.subarray(before[i]), patterned(size, side === 'client' ? 'server' : 'client')), side);
  }
}

describe('every method and every host key', () => {
  for (const kex of exchanges.keys()) {
    it(`${kex} with each host key algorithm: both know the same session and log in`, () => {
      for (const [i, hostKey] of testAlgorithms.entries()) {
        const form = forms[i % forms.length] as DirectionAlgorithms;
        const pair = pairOf(only(kex, hostKey, form)).login();
        agreed(pair, kex, hostKey, form, 1);
        pair.client.connection.disconnect('enough');
        pair.pump();
        assert.equal(pair.client.cause, undefined);
        assert.match(pair.server.failed('disconnected').message, /11, byApplication\): enough/);
      }
    });
  }
});

const curve = 'curve25519-sha256';
const ed25519 = 'ssh-ed25519';

for (const form of forms) {
  const name = form.mac === undefined ? form.cipher : `${form.cipher} with ${form.mac}`;
  scenario(`${name} carries both ways through three more key exchanges`, (chunking) => {
    const pair = pairOf(only(curve, ed25519, form), { chunking }).login();
    const id = pair.client.connection.openChannel('session', nothing);
    pair.pump();
    assert.deepEqual(pair.client.only('channel-opened').channel, id);
    for (let exchange = 1; exchange <= 4; exchange++) {
      agreed(pair, curve, ed25519, form, exchange);
      for (const size of [1, 1000, 33_000]) exchangeFiles(pair, id, chunking === 'bytes' ? size % 997 : size);
      if (exchange === 4) break;
      if (exchange !== 2) pair.client.connection.rekey();
      if (exchange !== 1) pair.server.connection.rekey();
      pair.pump();
    }
  });
}

describe('negotiation', () => {
  const prefer = (lists: Partial<AlgorithmLists>): AlgorithmLists => chooseAlgorithms(memoCrypto, lists);

  it('takes the first of the client that the server has too, list by list', () => {
    const pair = new Pair({
      client: {
        algorithms: prefer({
          kex: ['ecdh-sha2-nistp384', 'curve25519-sha256@libssh.org', 'curve25519-sha256'],
          hostKeys: ['ecdsa-sha2-nistp521', 'rsa-sha2-512', 'ssh-ed25519'],
          ciphers: ['aes256-ctr', 'aes128-gcm@openssh.com'],
          macs: ['hmac-sha2-512', 'hmac-sha2-256-etm@openssh.com'],
        }),
      },
      server: {
        algorithms: prefer({
          kex: ['curve25519-sha256', 'curve25519-sha256@libssh.org'],
          hostKeys: ['ssh-ed25519', 'rsa-sha2-512', 'ecdsa-sha2-nistp256'],
          ciphers: ['aes128-gcm@openssh.com', 'aes256-ctr'],
          macs: ['hmac-sha2-256-etm@openssh.com', 'hmac-sha2-512'],
        }),
        hostKeys: [testSigner('ssh-ed25519', 'host'), testSigner('ecdsa-sha2-nistp256', 'host')],
      },
    }).login();
    const form = { cipher: 'aes256-ctr', mac: 'hmac-sha2-512', compression: 'none' };
    // no RSA: the server has no such key, so it does not offer what its list would allow
    agreed(pair, 'curve25519-sha256@libssh.org', ed25519, form, 1);
  });

  for (const [list, names, other, option] of [
    ['kex', ['ecdh-sha2-nistp256'], ['ecdh-sha2-nistp521'], 'key exchange method'],
    ['ciphers', ['aes128-ctr'], ['aes256-gcm@openssh.com'], 'cipher'],
    ['macs', ['hmac-sha2-256'], ['hmac-sha2-512'], 'MAC'],
    ['hostKeys', ['ecdsa-sha2-nistp256'], ['ssh-ed25519'], 'host key algorithm'],
  ] as const) {
    it(`without a common ${option} both ends fail, and each says both lists`, () => {
      const common = list === 'macs' ? { ciphers: ['aes128-ctr'] } : {};
      // each has the other's KEXINIT before it hears that the other has given up
      const pair = new Pair({
        order: 'crossing',
        client: { algorithms: prefer({ ...common, [list]: names }) },
        server: { algorithms: prefer({ ...common, [list]: other }), hostKeys: [testSigner('ssh-ed25519', 'host')] },
      });
      pair.pump();
      const messages = [
        pair.client.failed('no-common-algorithm').message,
        pair.server.failed('no-common-algorithm').message,
      ];
      assert.match(
        messages[0] as string,
        new RegExp(`No common ${option}: we offer ${names}; the peer offers ${other}`),
      );
      assert.match(
        messages[1] as string,
        new RegExp(`No common ${option}: we offer ${other}; the peer offers ${names}`),
      );
      assert.ok(messages[0]?.includes(`set algorithms: { ${list}: '+${other}' }`), messages[0]);
      // a server may know the algorithm and have no key for it
      const way = list === 'hostKeys' ? `Give hostKeys a key that signs with ${names}` : `'+${names}' }`;
      assert.ok(messages[1]?.endsWith(way), messages[1]);
    });
  }
});
