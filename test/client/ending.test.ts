/** How connections end that never became one, and that a program ends by itself when its connection has ended. */

import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { ClientOptions } from '../../src/connect.ts';
import { memoryPipes } from '../../src/io/memory_pipe.ts';
import { api } from '../support/connect.ts';
import { available, startSshd } from '../support/peers/openssh.ts';
import { type Peer, peerTest } from '../support/peers/peer.ts';
import { freePort } from '../support/peers/process.ts';
import { PipeEnd } from '../support/pipe_end.ts';
import { rejectsWith } from '../support/rejects.ts';

const LIMIT = { timeout: 60_000 };
const HOST = '127.0.0.1';

const basics: Omit<ClientOptions, 'port'> = {
  host: HOST,
  username: 'ada',
  auth: [],
  hostKey: api.insecureAcceptAny(),
};

/** Runs `work` with a server that does this with every connection. */
async function against<T>(handle: (socket: Socket) => void, work: (port: number) => Promise<T>): Promise<T> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    handle(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
  try {
    return await work((server.address() as { port: number }).port);
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
}

describe('connect', () => {
  it('says that nothing listens', LIMIT, async () => {
    const port = await freePort();
    const error = await rejectsWith(api.connect({ ...basics, port }), 'connect-failed');
    assert.match(error.message, new RegExp(`127\\.0\\.0\\.1:${port}: nothing listens there`));
  });

  it('says what speaks in place of SSH', LIMIT, async () => {
    const answer = 'HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n';
    const attempt = against(
      (socket) => socket.end(answer),
      (port) => api.connect({ ...basics, port }),
    );
    const error = await rejectsWith(attempt, 'identification');
    assert.match(error.message, /HTTP\/1\.1 400 Bad Request/);
  });

  it('ends when the server stays silent', LIMIT, async () => {
    const attempt = against(
      () => {},
      (port) => api.connect({ ...basics, port, timeouts: { identification: 300 } }),
    );
    const error = await rejectsWith(attempt, 'timeout');
    assert.equal(error.phase, 'identification');
  });

  it('ends when the server identifies itself and says no more', LIMIT, async () => {
    const attempt = against(
      (socket) => socket.write('SSH-2.0-mute\r\n'),
      (port) => api.connect({ ...basics, port, timeouts: { keyExchange: 300 } }),
    );
    const error = await rejectsWith(attempt, 'timeout');
    assert.equal(error.phase, 'key-exchange');
  });

  it('ends when aborted in the middle', LIMIT, async () => {
    const attempt = against(
      (socket) => socket.write('SSH-2.0-mute\r\n'),
      (port) => api.connect({ ...basics, port, signal: AbortSignal.timeout(200) }),
    );
    assert.equal(((await rejectsWith(attempt, 'aborted')).cause as Error).name, 'TimeoutError');
  });

  it('ends when the server hangs up', LIMIT, async () => {
    const attempt = against(
      (socket) => socket.end('SSH-2.0-curt\r\n'),
      (port) => api.connect({ ...basics, port }),
    );
    await rejectsWith(attempt, 'connection-lost');
  });

  it('names the choices when no host key policy is given', LIMIT, async () => {
    const { hostKey: _, ...rest } = basics;
    const error = await rejectsWith(api.connect(rest as ClientOptions), 'bad-argument');
    for (const choice of ['knownHosts()', 'acceptNew()', 'pin(', 'insecureAcceptAny()']) {
      assert.ok(error.message.includes(choice), error.message);
    }
  });

  it('checks its options before it connects', LIMIT, async () => {
    const port = await freePort();
    const wrong: Partial<Record<keyof ClientOptions, unknown>>[] = [
      { host: '' },
      { username: undefined },
      { port: 0 },
      { port: 70_000 },
      { port: 2.5 },
      { auth: undefined },
      { window: 100 },
      { maxPacket: 300_000 },
      { crypto: 'fast' },
    ];
    for (const change of wrong) {
      const name = Object.keys(change)[0] as string;
      const attempt = api.connect({ ...basics, port, ...change } as ClientOptions);
      assert.match((await rejectsWith(attempt, 'bad-argument')).message, new RegExp(name), name);
    }
  });
});

describe('connectOver', () => {
  it('closes the pipe when it fails before it begins', LIMIT, async () => {
    for (const change of [{ username: '' }, { algorithms: { kex: ['rot13'] } }, { signal: AbortSignal.abort() }]) {
      const [ours, theirs] = memoryPipes();
      const end = new PipeEnd(theirs);
      await assert.rejects(api.connectOver(ours, { ...basics, ...change }));
      await end.closing();
    }
  });

  it('takes nothing but a stream', async () => {
    for (const stream of [undefined, null, 'host', {}]) {
      const error = await rejectsWith(api.connectOver(stream as never, basics), 'bad-argument');
      assert.match(error.message, /^connectOver takes a BytePipe/);
    }
  });
});

describe('a program whose connection has ended', () => {
  const options = { ...LIMIT, ...peerTest(available()) };

  it('because it closed it ends by itself', options, async () => {
    const peer = await startSshd();
    const lone = startLone('close', peer);
    assert.equal(await lone.line(0), 'connected');
    assert.equal(await lone.line(1), 'connection-closed connection-closed connection-closed fine');
    await lone.ends();
    await peer.stop();
  });

  it('because the server died ends by itself', options, async () => {
    const peer = await startSshd();
    const lone = startLone('kill', peer);
    assert.equal(await lone.line(0), 'connected');
    await peer.stop();
    assert.equal(await lone.line(1), 'connection-lost connection-lost connection-lost fine');
    await lone.ends();
  });
});

interface Lone {
  /** The line with this number, once it is there. */
  line(number: number): Promise<string>;
  /** Waits for the end of the process; it has a few seconds, and nothing may have gone wrong. */
  ends(): Promise<void>;
}

function startLone(how: string, peer: Peer): Lone {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const program = fileURLToPath(new URL(`../support/lone_session.${extension}`, import.meta.url));
  const leading = 'Deno' in globalThis ? ['run', '-A', '--no-lock', '--no-check'] : [];
  const fifo = join(peer.files, 'fifo');
  execFileSync('mkfifo', [fifo]); // opening it is never answered, since nobody writes
  const login = [String(peer.port), peer.username, peer.keys.ed25519.openssh, peer.knownHosts];
  const args = [...leading, program, how, ...login, fifo];
  const child: ChildProcess = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout?.on('data', (data) => {
    output += data;
  });
  const exited = new Promise<number | null>((resolve) => child.on('exit', (code) => resolve(code)));
  const within = async (milliseconds: number, holds: () => boolean): Promise<boolean> => {
    const limit = performance.now() + milliseconds;
    while (!holds() && performance.now() < limit) await new Promise((resolve) => setTimeout(resolve, 20));
    return holds();
  };
  return {
    async line(number) {
      const there = await within(30_000, () => output.split('\n').length > number + 1);
      assert.ok(there, `no line ${number} in: ${output}`);
      return output.split('\n')[number] as string;
    },
    async ends() {
      let code: number | null | undefined;
      exited.then((value) => {
        code = value;
      });
      const ended = await within(8000, () => code !== undefined);
      child.kill('SIGKILL');
      assert.ok(ended, 'the process does not end');
      assert.equal(code, 0);
    },
  };
}
