/** A server that listens lets go of its signal when it is closed: many servers may share one. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { generateKey } from '../src/index.ts';
import type { Listen } from '../src/io/listen.ts';
import { listenTcp } from '../src/serve.ts';
import { memoCrypto } from './support/memo_crypto.ts';

const runtime = { crypto: { auto: memoCrypto, pure: memoCrypto } };

function serverWith(signal: AbortSignal, closed: () => void): ReturnType<typeof listenTcp> {
  const listen: Listen = async ({ host }) => ({ address: { host, port: 5 }, close: async () => closed() });
  return listenTcp(runtime, listen, { port: 0, signal, hostKeys: [generateKey()], auth: { none: () => true } });
}

it('a closed server has no listener on its signal', async () => {
  const controller = new AbortController();
  const { signal } = controller;
  let listeners = 0;
  const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    listeners++;
    add(...args);
  };
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    listeners--;
    remove(...args);
  };
  const server = await serverWith(signal, () => {});
  assert.deepEqual([listeners, server.address?.port], [1, 5]);
  await server.close();
  assert.equal(listeners, 0);
});

it('a signal closes the server', async () => {
  const controller = new AbortController();
  const closed = new Promise<void>((resolve) => {
    serverWith(controller.signal, resolve).then(() => controller.abort());
  });
  await closed;
});
