/**
 * How much the relay carries: one connection through it, as fast as both ends go.
 *
 *   node relay_load.js BYTES DELAY      prints a JSON object
 */

import { connect, createServer } from 'node:net';
import { startRelay } from './relay.ts';

const [bytes, delay] = process.argv.slice(2).map(Number) as [number, number];
const block = Buffer.alloc(256 * 1024, 'x');

const server = createServer((socket) => {
  let left = bytes;
  const fill = (): void => {
    while (left > 0) {
      const piece = block.subarray(0, Math.min(left, block.length));
      left -= piece.length;
      if (!socket.write(piece)) return;
    }
    socket.end();
  };
  socket.on('drain', fill);
  socket.on('error', () => {});
  fill();
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const relay = await startRelay((server.address() as { port: number }).port, delay);
const buffer = Buffer.alloc(1024 * 1024);
const started = performance.now();
let received = 0;
await new Promise<void>((resolve, reject) => {
  const onread = {
    buffer,
    callback: (count: number) => {
      received += count;
      return true;
    },
  };
  const socket = connect({ port: relay.port, host: '127.0.0.1', onread });
  socket.on('end', resolve);
  socket.on('error', reject);
});
const seconds = (performance.now() - started) / 1000;
process.stdout.write(`${JSON.stringify({ bytes, received, seconds, relay: relay.usage() })}\n`);
relay.stop();
server.close();
if (received !== bytes) process.exitCode = 1;
