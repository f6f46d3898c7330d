/** TCP connections of each runtime as byte pipes, against a server of `node:net`. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createServer, type Server, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { SshError } from '../../src/errors.ts';
import { dial } from '../support/connect.ts';
import { findProgram } from '../support/peers/peer.ts';
import { freePort } from '../support/peers/process.ts';
import { PipeEnd, pattern } from '../support/pipe_end.ts';
import { rejectsWith } from '../support/rejects.ts';

const MEBIBYTE = 1024 * 1024;
const options = { timeout: 60_000 };
const host = '127.0.0.1';

interface Listening {
  readonly port: number;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A server that treats every connection the same; everything is gone with it. */
async function serve(handle: (socket: Socket) => void): Promise<Listening> {
  const sockets = new Set<Socket>();
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    handle(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as { port: number };
  return {
    port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

const open = async (server: Listening, consumes = true): Promise<PipeEnd> =>
  new PipeEnd(await dial({ host, port: server.port, timeout: 10_000 }), consumes);

/** Writes all of `bytes` in pieces, waiting whenever the pipe says so. */
async function writeAll(end: PipeEnd, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const pieces: Uint8Array[] = [];
    for (let i = 0; i < 8 && at < bytes.length; i++) {
      const size = 1 + ((at * 7) % 40_000);
      pieces.push(bytes.slice(at, at + size));
      at += size;
    }
    const drains = end.drains;
    if (!end.pipe.write(pieces)) await end.until(() => end.drains > drains, 'drain');
  }
}

describe('a TCP pipe', () => {
  it('carries bytes both ways, and never touches a chunk that it has delivered', options, async () => {
    await using server = await serve((socket) => {
      socket.pipe(socket);
    });
    const end = await open(server);
    const bytes = pattern(12 * MEBIBYTE + 5);
    await writeAll(end, bytes);
    await end.until(() => end.received === bytes.length, 'the echo');
    assert.deepEqual(end.bytes, Buffer.from(bytes));
    for (const chunk of end.chunks) assert.equal(Object.getPrototypeOf(chunk), Uint8Array.prototype);
    end.pipe.end();
    assert.equal(await end.closing(), undefined);
    assert.deepEqual(end.notices.slice(-2), ['end', 'closed']);
  });

  it('delivers nothing before it is opened, and loses nothing', options, async () => {
    await using server = await serve((socket) => socket.end('early'));
    const pipe = await dial({ host, port: server.port, timeout: 10_000 });
    await sleep(100);
    const end = new PipeEnd(pipe);
    assert.equal(end.received, 0);
    await end.until(() => end.ended, 'end');
    assert.equal(new TextDecoder().decode(end.bytes), 'early');
    end.pipe.close();
    assert.equal(await end.closing(), undefined);
  });

  it('still receives when it has sent its end', options, async () => {
    await using server = await serve((socket) => {
      let heard = 0;
      socket.on('data', (data) => {
        heard += data.length;
      });
      socket.on('end', () => socket.end(Buffer.from(pattern(heard))));
    });
    const end = await open(server);
    end.pipe.write([pattern(3 * MEBIBYTE)]);
    end.pipe.end();
    assert.equal(end.pipe.write([pattern(10)]), true);
    assert.equal(await end.closing(), undefined);
    assert.deepEqual(end.bytes, Buffer.from(pattern(3 * MEBIBYTE)));
  });

  it('can still send when the peer has sent its end', options, async () => {
    let heard = '';
    await using server = await serve((socket) => {
      socket.end('bye');
      socket.on('data', (data) => {
        heard += data;
      });
    });
    const end = await open(server);
    await end.until(() => end.ended, 'end');
    end.pipe.write([new TextEncoder().encode('and '), new TextEncoder().encode('you')]);
    end.pipe.end();
    assert.equal(await end.closing(), undefined);
    for (let tries = 0; heard !== 'and you' && tries < 100; tries++) await sleep(20);
    assert.equal(heard, 'and you');
  });

  it('holds the peer back until bytes are consumed', options, async () => {
    const total = 64 * MEBIBYTE;
    let sent = 0;
    await using server = await serve((socket) => {
      const block = Buffer.alloc(65536, 7);
      const more = (): void => {
        while (sent < total) {
          sent += block.length;
          if (!socket.write(block)) {
            socket.once('drain', more);
            return;
          }
        }
        socket.end();
      };
      more();
    });
    const end = await open(server, false);
    await sleep(700);
    const held = end.received;
    assert.ok(held >= 65536 && held <= 2 * MEBIBYTE, `${held} bytes were delivered`);
    end.consumes = true;
    end.pipe.consumed(held);
    await end.until(() => end.ended, 'end');
    assert.equal(end.received, total);
    end.pipe.close();
    await end.closing();
  });

  it('says when enough is queued, and when there is room again', options, async () => {
    let peer: Socket | undefined;
    let heard = 0;
    await using server = await serve((socket) => {
      peer = socket;
      socket.pause();
    });
    const end = await open(server);
    let written = 0;
    while (end.pipe.write([new Uint8Array(65536)])) {
      written += 65536;
      assert.ok(written < 256 * MEBIBYTE, 'there is always room');
      await sleep(0);
    }
    written += 65536;
    await sleep(100);
    assert.equal(end.drains, 0);
    peer?.on('data', (data) => {
      heard += data.length;
    });
    peer?.resume();
    await end.until(() => end.drains === 1, 'drain');
    end.pipe.end();
    peer?.on('end', () => peer?.end());
    assert.equal(await end.closing(), undefined);
    assert.equal(heard, written);
  });

  it('tells when the peer resets the connection', options, async () => {
    await using server = await serve((socket) => {
      socket.once('data', () => socket.resetAndDestroy());
    });
    const end = await open(server);
    end.pipe.write([pattern(10)]);
    const cause = await end.closing();
    assert.ok(cause instanceof SshError);
    assert.equal(cause.code, 'connection-lost');
    assert.equal(cause.fault, 'network');
    assert.equal(end.pipe.write([pattern(10)]), true);
    end.pipe.end();
    end.pipe.close();
  });

  it('is closed at once, with the cause that it was given', options, async () => {
    let ends = 0;
    await using server = await serve((socket) => {
      socket.resume();
      socket.on('close', () => ends++);
      socket.on('end', () => socket.end());
    });
    const end = await open(server);
    const cause = new SshError('aborted', 'enough');
    end.pipe.close(cause);
    assert.equal(end.outcome, undefined, 'told from inside the call');
    end.pipe.close();
    assert.equal(await end.closing(), cause);
    for (let tries = 0; ends === 0 && tries < 100; tries++) await sleep(20);
    assert.equal(ends, 1);
  });
});

describe('a TCP connection that is not made', () => {
  it('because nothing listens says so', options, async () => {
    const port = await freePort();
    const error = await rejectsWith(dial({ host, port, timeout: 10_000 }), 'connect-failed');
    assert.equal(error.fault, 'network');
    assert.equal(error.phase, 'connect');
    assert.equal(
      error.message,
      `Cannot connect to 127.0.0.1:${port}: nothing listens there; check the port, and that the server runs`,
    );
  });

  it('because the name is unknown says so', options, async () => {
    const error = await rejectsWith(dial({ host: 'nowhere.invalid', port: 22, timeout: 10_000 }), 'connect-failed');
    assert.match(error.message, /^Cannot connect to nowhere\.invalid:22: the name cannot be resolved/);
  });

  it('because it was aborted before says so', options, async () => {
    const signal = AbortSignal.abort();
    await rejectsWith(dial({ host, port: await freePort(), timeout: 10_000, signal }), 'aborted');
  });

  const node = findProgram('node');
  const deaf = { ...options, ...(node === undefined ? { skip: 'there is no node' } : {}) };

  it('in time names the limit', deaf, async () => {
    await using listener = await deafListener(node as string);
    const error = await rejectsWith(dial({ host, port: listener.port, timeout: 300 }), 'timeout');
    assert.match(error.message, /within 300 ms \(timeouts\.connect\)/);
  });

  it('because it was aborted meanwhile says so', deaf, async () => {
    await using listener = await deafListener(node as string);
    const controller = new AbortController();
    const dialling = dial({ host, port: listener.port, timeout: 600_000, signal: controller.signal });
    setTimeout(() => controller.abort('enough'), 100);
    assert.equal((await rejectsWith(dialling, 'aborted')).cause, 'enough');
  });
});

/** A listener that accepts nobody and whose queue is full, so that a connection hangs: another process that is busy. */
async function deafListener(node: string): Promise<Listening> {
  const program = `
    const { createServer } = require('node:net');
    const server = createServer();
    server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
      console.log(server.address().port);
      setTimeout(() => { const end = Date.now() + 15000; while (Date.now() < end); process.exit(); }, 50);
    });`;
  const child = spawn(node, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const line = await new Promise<string>((resolve) => child.stdout.once('data', (data) => resolve(String(data))));
  const port = Number(line);
  await sleep(300);
  const fillers: PipeEnd[] = [];
  for (let i = 0; i < 4; i++) {
    const filler = await dial({ host, port, timeout: 300 }).catch(() => undefined);
    if (filler === undefined) break;
    fillers.push(new PipeEnd(filler));
  }
  return {
    port,
    async [Symbol.asyncDispose]() {
      for (const filler of fillers) filler.pipe.close();
      child.kill('SIGKILL');
    },
  };
}
