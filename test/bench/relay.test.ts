/** That the relay in its own process passes bytes on, says what it used, and stops. */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { startRelay } from '../../bench/relay.ts';

// Deno would need arguments before the script; the benchmarks run in Node
const options = { timeout: 30_000, ...('Deno' in globalThis ? { skip: 'the benchmarks run in Node' } : {}) };

describe('startRelay', () => {
  it('carries bytes, and stops', options, async () => {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket.on('error', () => {}));
      socket.pipe(socket);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const relay = await startRelay((server.address() as { readonly port: number }).port, 10);
    try {
      const socket = connect(relay.port, '127.0.0.1');
      const answer = new Promise<Buffer>((resolve) => socket.once('data', resolve));
      socket.write('ping');
      assert.equal((await answer).toString(), 'ping');
      assert.equal(relay.delay, 10);
      const usage = relay.usage();
      if (existsSync('/proc/self/stat'))
        assert.ok(usage !== undefined && usage.peakMemory > 1e6, JSON.stringify(usage));
      const cut = new Promise<void>((resolve) => socket.on('error', () => {}).on('close', () => resolve()));
      relay.stop();
      await cut;
    } finally {
      relay.stop();
      for (const each of sockets) each.destroy();
      await new Promise((resolve) => server.close(resolve));
    }
  });
});
