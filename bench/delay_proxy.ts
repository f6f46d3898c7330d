/**
 * A TCP relay on loopback that makes the line long: everything arrives half a round trip later, in order, both ways. It
 * limits nothing else, so what a transfer gets over it is what the two ends keep in flight. Its memory is bounded: past
 * `BOUND` bytes on the way it stops reading, which is more than any window it is used with.
 *
 *   node delay_proxy.js PORT MILLISECONDS              relays to PORT on loopback, prints the port it listens on
 *   node delay_proxy.js PORT MILLISECONDS attached     ends with its standard input
 */

import { connect, createServer, type Server, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';

/** Bytes on the way in one direction: 1 GB/s over 250 ms one way. */
const BOUND = 256 * 1024 * 1024;

/** A running relay. */
export interface DelayProxy {
  readonly port: number;
  /** Cuts every connection and stops listening. */
  stop(): Promise<void>;
}

/** Starts a relay to `port` on loopback whose round trip is `delay` milliseconds longer. */
export async function startDelayProxy(port: number, delay: number): Promise<DelayProxy> {
  const sockets = new Set<Socket>();
  // allowHalfOpen: an end is passed on, late like everything else, and does not end the other direction.
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (near) => {
    const memory = new ReadMemory();
    let take = (_: Uint8Array): void => {};
    const far = connect({
      ...{ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true },
      // Bytes that are read into memory of our own cost half as much. A runtime without this gives them as `data`.
      onread: {
        buffer: () => memory.next(),
        callback(count, buffer) {
          take(memory.filled(buffer, count));
          return true;
        },
      },
    });
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
    }
    relay(near, far, delay / 2, () => {});
    take = relay(far, near, delay / 2, (bytes) => memory.give(bytes));
  });
  await listening(server);
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The relay got no port');
  return {
    port: address.port,
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function listening(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
}

/** Something that leaves at a time: bytes, the end, or the failure of the other side. */
interface Departure {
  readonly due: number;
  readonly what: Uint8Array | 'end' | 'cut';
}

const READ_SIZE = 256 * 1024;

/** What bytes are read into, and read into again once they have left. */
class ReadMemory {
  readonly #free: Uint8Array[] = [];

  next(): Uint8Array {
    return this.#free.pop() ?? new Uint8Array(READ_SIZE);
  }

  /** What was read. A little of it is copied, so that many small packets do not hold much memory. */
  filled(buffer: Uint8Array, count: number): Uint8Array {
    if (count > READ_SIZE / 4) return buffer.subarray(0, count);
    const bytes = buffer.slice(0, count);
    this.#free.push(buffer);
    return bytes;
  }

  give(bytes: Uint8Array): void {
    if (bytes.buffer.byteLength === READ_SIZE) this.#free.push(new Uint8Array(bytes.buffer as ArrayBuffer));
  }
}

/** Returns a function that takes what was read; the `data` of `from` are taken too. `left` gets what was sent. */
function relay(
  from: Socket,
  to: Socket,
  oneWay: number,
  left: (bytes: Uint8Array) => void,
): (bytes: Uint8Array) => void {
  const queue: Departure[] = [];
  let head = 0;
  let queued = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const depart = (): void => {
    timer = undefined;
    const now = performance.now();
    for (let next = queue[head]; next !== undefined && next.due <= now; next = queue[head]) {
      head++;
      if (next.what === 'cut') to.destroy();
      else if (next.what === 'end') to.end();
      else {
        const bytes = next.what;
        queued -= bytes.length;
        to.write(bytes, () => left(bytes));
      }
    }
    if (head === queue.length || head > 4096) {
      queue.splice(0, head);
      head = 0;
    }
    arm();
    resume();
  };
  const arm = (): void => {
    const next = queue[head];
    if (next === undefined || timer !== undefined) return;
    timer = setTimeout(depart, Math.max(0, next.due - performance.now()));
  };
  const add = (what: Departure['what']): void => {
    if (to.destroyed) return;
    queue.push({ due: performance.now() + oneWay, what });
    arm();
  };
  const full = (): boolean => queued + to.writableLength > BOUND;
  const resume = (): void => {
    if (from.isPaused() && !full()) from.resume();
  };
  const take = (bytes: Uint8Array): void => {
    queued += bytes.length;
    add(bytes);
    if (full()) from.pause();
  };
  from.on('data', take);
  from.on('end', () => add('end'));
  from.on('error', () => {}); // `close` follows
  from.on('close', () => {
    if (!from.readableEnded) add('cut');
  });
  to.on('drain', resume);
  to.on('close', () => {
    clearTimeout(timer);
    queue.length = 0;
  });
  return take;
}

async function main(): Promise<void> {
  const [port, delay] = process.argv.slice(2, 4).map(Number);
  if (port === undefined || delay === undefined || !(port > 0) || !(delay >= 0)) {
    process.stderr.write('Usage: delay_proxy PORT MILLISECONDS\n');
    process.exitCode = 2;
    return;
  }
  const proxy = await startDelayProxy(port, delay);
  process.stdout.write(`${proxy.port}\n`);
  if (process.argv[4] === 'attached') process.stdin.on('close', () => process.exit(0)).resume();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
