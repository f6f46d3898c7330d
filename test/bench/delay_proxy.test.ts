/** That the relay of the benchmarks is late by what it says, and otherwise changes nothing. */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { type DelayProxy, startDelayProxy } from '../../bench/delay_proxy.ts';
import { median } from '../../bench/runner.ts';
import { table } from '../../bench/table.ts';

async function withRelay(delay: number, serve: (socket: Socket) => void, use: (socket: Socket) => Promise<void>) {
  const sockets = new Set<Socket>();
  const server: Server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    serve(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address() as { readonly port: number };
  const relay: DelayProxy = await startDelayProxy(address.port, delay);
  const socket = connect({ port: relay.port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
  socket.on('error', () => {});
  try {
    await use(socket);
  } finally {
    socket.destroy();
    for (const each of sockets) each.destroy();
    await relay.stop();
    await new Promise((resolve) => server.close(resolve));
  }
}

const echo = (socket: Socket): void => void socket.pipe(socket);

/** All bytes until the other side ends. */
function readAll(socket: Socket): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.on('end', () => resolve(Buffer.concat(chunks)));
    socket.on('close', () => reject(new Error('cut off')));
  });
}

const options = { timeout: 30_000 };

describe('startDelayProxy', () => {
  it('makes every round trip that much longer', options, () =>
    withRelay(80, echo, async (socket) => {
      for (let turn = 0; turn < 3; turn++) {
        const started = performance.now();
        const answer = new Promise<Buffer>((resolve) => socket.once('data', resolve));
        socket.write(`ping ${turn}`);
        assert.equal((await answer).toString(), `ping ${turn}`);
        const taken = performance.now() - started;
        assert.ok(taken >= 78 && taken < 2000, `${taken} ms`);
      }
    }),
  );

  it('keeps every byte and their order, and passes the end on behind them', options, () =>
    withRelay(20, echo, async (socket) => {
      const sent = randomBytes(8_000_000);
      const received = readAll(socket);
      for (let at = 0; at < sent.length; at += 100_003) socket.write(sent.subarray(at, at + 100_003));
      socket.end();
      assert.ok((await received).equals(sent));
    }),
  );

  it('keeps what a reader does not take yet', options, () => {
    const sent = randomBytes(32_000_000); // more than the buffers of all sockets hold
    return withRelay(
      2,
      (socket) => {
        for (let at = 0; at < sent.length; at += 300_007) socket.write(sent.subarray(at, at + 300_007));
        socket.end();
      },
      async (socket) => {
        await new Promise((resolve) => setTimeout(resolve, 100));
        assert.ok((await readAll(socket)).equals(sent));
      },
    );
  });

  it('does not wait for one chunk before it takes the next', options, () =>
    // one after the other it would be longer than the test may take
    withRelay(1000, echo, async (socket) => {
      const received = readAll(socket);
      for (let turn = 0; turn < 50; turn++) {
        socket.write('x');
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      socket.end();
      assert.equal((await received).length, 50);
    }),
  );

  it('lets the answer through after the question has ended', options, () =>
    withRelay(
      20,
      (socket) => {
        socket.resume();
        socket.on('end', () => socket.end('answer'));
      },
      async (socket) => {
        const received = readAll(socket);
        socket.end('question');
        assert.equal((await received).toString(), 'answer');
      },
    ),
  );

  it('passes on that a side was cut off', options, () =>
    withRelay(
      20,
      (socket) => void socket.once('data', () => socket.destroy()),
      async (socket) => {
        const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
        socket.resume();
        socket.on('end', () => socket.end());
        socket.write('x');
        await closed;
      },
    ),
  );
});

describe('median', () => {
  for (const [values, middle] of [
    [[3], 3],
    [[5, 1, 3], 3],
    [[4, 1, 3, 2], 2.5],
  ] as const) {
    it(`of ${values.join(', ')} is ${middle}`, () => assert.equal(median(values), middle));
  }
  it('of nothing is no number', () => assert.ok(Number.isNaN(median([]))));
});

describe('table', () => {
  const rows = [
    ['', 'MB/s'],
    ['sftp', '7'],
  ];
  it('aligns the first column left and the others right', () => assert.equal(table(rows), '      MB/s\nsftp     7'));
  it('aligns all left when asked', () => assert.equal(table(rows, 'left'), '      MB/s\nsftp  7'));
});
