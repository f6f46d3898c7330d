/**
 * A provider and a signer that answer with promises, as WebCrypto and agents do: the core holds what comes meanwhile, and a
 * connection that ends in between is none the worse for the answer that comes after.
 */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AuthMethod } from '../../src/client/auth.ts';
import type { CryptoProvider } from '../../src/crypto/provider.ts';
import { SshError } from '../../src/errors.ts';
import { ApiLink, type CutPoint, turn } from '../support/api_link.ts';
import { causeOf, playApiSession } from '../support/api_session.ts';
import type { Chunking } from '../support/feed.ts';
import { scenario } from '../support/link.ts';
import { memoCrypto } from '../support/memo_crypto.ts';
import { ed25519Signer } from '../support/scripted_peer.ts';

/** The value, after some turns of the event loop. */
async function later<T>(value: T | Promise<T>): Promise<T> {
  await turn();
  await turn();
  return value;
}

const { x25519 } = memoCrypto.agreements;

/** The provider of the other tests, taking its time. */
const slow: CryptoProvider = {
  ...memoCrypto,
  agreements: {
    ...memoCrypto.agreements,
    x25519: { ...x25519, finish: (secret, responder) => later(x25519.finish(secret, responder)) },
  },
  ed25519: {
    ...memoCrypto.ed25519,
    verify: (key, message, signature) => later(memoCrypto.ed25519.verify(key, message, signature)),
  },
};

const signer = ed25519Signer(memoCrypto, 1);
const slowKey: AuthMethod = {
  method: 'publickey',
  signer: () => later({ ...signer, sign: (message, algorithm) => later(signer.sign(message, algorithm)) }),
};

function slowLink(chunking: Chunking, cut?: CutPoint): ApiLink {
  return new ApiLink(chunking, {
    client: { crypto: slow, auth: [slowKey] },
    quietTurns: 12,
    ...(cut === undefined ? {} : { cut }),
  });
}

scenario('a whole session works with a provider and a signer that answer later', async (chunking) => {
  const link = slowLink(chunking);
  const play = playApiSession(link, (promise) => {
    promise.catch(() => {});
    return promise;
  });
  await assert.rejects(play, /not settled/, 'the last command is never answered');
  const ssh = await link.connected;
  await link.now(ssh.close());
  assert.equal(await ssh.closed, undefined);
});

scenario(
  'lines that break while an answer is awaited end the connection once, and the answer is forgotten',
  async (chunking) => {
    for (let packets = 1; packets <= 20; packets++) {
      const link = slowLink(chunking, { direction: 'toClient', packets, how: packets % 2 === 0 ? 'reset' : 'fin' });
      const all: Promise<PromiseSettledResult<unknown>[]>[] = [];
      const track = <T>(promise: Promise<T>): Promise<T> => {
        all.push(Promise.allSettled([promise]));
        return promise;
      };
      track(link.connected);
      await playApiSession(link, track).catch(() => {});
      assert.ok(link.broken);
      const causes = new Set<unknown>();
      for (const result of (await link.now(Promise.all(all))).flat()) {
        if (result.status === 'rejected') causes.add(causeOf(result.reason));
      }
      const [cause] = causes;
      assert.ok(causes.size === 1 && cause instanceof SshError && cause.code === 'connection-lost', [...causes].join());
      assert.equal(link.clock.timers, 0);
    }
    await sleep(1);
  },
);
