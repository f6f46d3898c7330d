/** Forwarding by OpenSSH's client through puressh's server: -L, -R, -D, -W, and what a server without a policy says. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectTcp, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ForwardHandlers } from '../../../src/server/handlers.ts';
import { sshCommand, unavailable } from '../../support/clients/openssh.ts';
import { type OwnServer, useOwnServer } from '../../support/clients/own_server.ts';
import { run, type Started, start } from '../../support/clients/process.ts';
import { content } from '../../support/clients/suite.ts';
import { dial } from '../../support/connect.ts';
import { listen } from '../../support/listen.ts';
import { freePort } from '../../support/peers/process.ts';

const LIMIT = { timeout: 60_000 };
const HOST = '127.0.0.1';
const bytes = content(1024 * 1024 + 1);

/** Takes every connection to loopback, by whatever name, and listens on loopback only. */
const permissive: ForwardHandlers = {
  connect: ({ host, port }) => dial({ host: host === 'the-target' ? HOST : host, port, timeout: 10_000 }),
  listen: ({ port }, _login, accept) => listen({ host: HOST, port }, accept),
};

let echoServer: Server;
let echoPort = 0;
before(async () => {
  echoServer = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => socket.destroy());
    socket.pipe(socket);
  });
  echoServer.listen(0, HOST);
  await once(echoServer, 'listening');
  const address = echoServer.address();
  echoPort = typeof address === 'object' && address !== null ? address.port : 0;
});
after(() => echoServer.close());

/** `ssh` without a command, which forwards as `more` says; ready once it has written `pattern`. */
async function forwarder(server: OwnServer, pattern: RegExp, ...more: readonly string[]): Promise<Started> {
  const options = ['-v', '-N', '-o', 'ExitOnForwardFailure=yes', ...more];
  const started = start(['ssh', ...options, ...sshCommand(server, 'key').slice(1)], { interactive: true });
  await started.until(pattern);
  return started;
}

const READY = /Entering interactive session/;

async function stop(forwarding: Started): Promise<void> {
  forwarding.kill();
  await forwarding.ended;
}

/** A connection to a port of this machine, with what comes from it. */
class Wire {
  readonly socket: Socket;
  readonly ended: Promise<unknown>;
  readonly #chunks: Buffer[] = [];

  constructor(port: number) {
    this.socket = connectTcp({ port, host: HOST, allowHalfOpen: true });
    this.socket.on('error', () => {}); // a reset is an end, too
    this.socket.on('data', (chunk) => this.#chunks.push(chunk));
    this.ended = new Promise((resolve) => {
      for (const event of ['end', 'close']) this.socket.once(event, resolve);
    });
  }

  get received(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  async until(length: number): Promise<Buffer> {
    for (let waited = 0; this.received.length < length; waited += 10) {
      assert.ok(waited < 20_000, `${this.received.length} bytes of ${length}`);
      await sleep(10);
    }
    return this.received;
  }
}

/** What comes back for all of `bytes` and the end of them. */
async function exchange(port: number): Promise<Buffer> {
  const wire = new Wire(port);
  wire.socket.end(bytes);
  await wire.ended;
  wire.socket.destroy();
  return wire.received;
}

async function echoes(port: number): Promise<void> {
  const received = await exchange(port);
  assert.equal(Buffer.compare(received, bytes), 0, `${received.length} bytes came back for ${bytes.length}`);
}

/** The port that `-R 0:…` was given. */
function allocated(text: string): number {
  return Number(/Allocated port (\d+) for remote forward/.exec(text)?.[1]);
}

describe('forwarding with OpenSSH', () => {
  const clients = useOwnServer(unavailable(), { forward: permissive });
  const options = { ...clients.options, ...LIMIT };

  it('-L carries connections to the target, beside each other', options, async () => {
    const port = await freePort();
    const forwarding = await forwarder(clients.server, READY, '-L', `${HOST}:${port}:the-target:${echoPort}`);
    try {
      await Promise.all([1, 2, 3, 4].map(() => echoes(port)));
    } finally {
      await stop(forwarding);
    }
  });

  it('-L ends the connection whose target does not answer, and lives on', options, async () => {
    const [port, nobody] = [await freePort(), await freePort()];
    const more = ['-L', `${HOST}:${port}:${HOST}:${nobody}`, '-L', `${HOST}:${await freePort()}:${HOST}:${echoPort}`];
    const forwarding = await forwarder(clients.server, READY, ...more);
    try {
      assert.equal((await exchange(port)).length, 0);
      await forwarding.until(/open failed: connect failed: the target cannot be reached/);
      await echoes(Number(more[3]?.split(':')[1]));
    } finally {
      await stop(forwarding);
    }
    // the dial failed, and the server was told
    assert.match(String(clients.server.errors.splice(0)), new RegExp(`${nobody}`));
  });

  it(
    '-R carries connections to the server back to the client, on a port that the server chooses',
    options,
    async () => {
      const forwarding = await forwarder(
        clients.server,
        /Allocated port \d+ for remote forward/,
        '-R',
        `0:${HOST}:${echoPort}`,
      );
      try {
        const port = allocated(await forwarding.until(/remote forward success/));
        assert.ok(port > 0);
        await Promise.all([1, 2, 3, 4].map(() => echoes(port)));
      } finally {
        await stop(forwarding);
      }
    },
  );

  for (const bind of ['', `${HOST}:`, '*:', 'localhost:']) {
    it(`-R ${bind}PORT listens on the port that the client names, until it goes`, options, async () => {
      const port = await freePort();
      const rule = `${bind}${port}:${HOST}:${echoPort}`;
      const forwarding = await forwarder(clients.server, /remote forward success/, '-R', rule);
      try {
        await echoes(port);
        const second = await run([
          'ssh',
          '-N',
          '-o',
          'ExitOnForwardFailure=yes',
          '-R',
          rule,
          ...sshCommand(clients.server, 'key').slice(1),
        ]);
        assert.equal(second.code, 255);
        assert.match(second.stderr, /remote port forwarding failed/);
      } finally {
        await stop(forwarding);
      }
      clients.server.errors.splice(0); // the port was taken
      await gone(port);
    });
  }

  it('-R of a port ends when the client cancels it, and a new one begins', options, async () => {
    const { server } = clients;
    const [first, second] = [await freePort(), await freePort()];
    const socket = join(server.home, 'control');
    const forwarding = await forwarder(server, READY, '-M', '-S', socket, '-R', `${first}:${HOST}:${echoPort}`);
    const tell = (what: string, rule: string): ReturnType<typeof run> =>
      run(['ssh', '-F', '/dev/null', '-S', socket, '-O', what, '-R', rule, server.host]);
    try {
      await forwarding.until(/remote forward success/);
      await echoes(first);
      assert.equal((await tell('cancel', `${first}:${HOST}:${echoPort}`)).code, 0);
      await gone(first);
      const added = await tell('forward', `${second}:${HOST}:${echoPort}`);
      assert.equal(added.code, 0, added.stderr);
      await echoes(second);
      const chosen = await tell('forward', `0:${HOST}:${echoPort}`);
      await echoes(Number(chosen.stdout.toString()));
    } finally {
      await stop(forwarding);
    }
  });

  it('-D carries SOCKS connections to wherever they want', options, async () => {
    const port = await freePort();
    const forwarding = await forwarder(clients.server, READY, '-D', `${HOST}:${port}`);
    try {
      const wire = new Wire(port);
      wire.socket.write(Uint8Array.of(5, 1, 0)); // RFC 1928: version, methods
      assert.deepEqual([...(await wire.until(2))], [5, 0]);
      const name = Buffer.from('the-target');
      wire.socket.write(Buffer.concat([Uint8Array.of(5, 1, 0, 3, name.length), name, portBytes(echoPort)]));
      const reply = await wire.until(12);
      assert.equal(reply[3], 0, `SOCKS reply ${reply[3]}`);
      wire.socket.end('over and out');
      await wire.ended;
      assert.equal(wire.received.subarray(12).toString(), 'over and out');
      wire.socket.destroy();
    } finally {
      await stop(forwarding);
    }
  });

  it('-W is a connection to the target in place of a session', options, async () => {
    const command = ['ssh', '-W', `the-target:${echoPort}`, ...sshCommand(clients.server, 'key').slice(1)];
    const { code, stdout, stderr } = await run(command, { input: bytes });
    assert.equal(code, 0, stderr);
    assert.equal(Buffer.compare(stdout, bytes), 0);
  });

  it('ends with the client, also in the middle of connections', options, async () => {
    const { server } = clients;
    const forwarding = await forwarder(server, /Allocated port/, '-R', `0:${HOST}:${echoPort}`);
    const port = allocated(await forwarding.until(/remote forward success/));
    const wire = new Wire(port);
    wire.socket.write('hello');
    assert.equal((await wire.until(5)).toString(), 'hello');
    forwarding.kill('SIGKILL');
    await forwarding.ended;
    await wire.ended;
    wire.socket.destroy();
    await gone(port);
    assert.equal(server.ssh.connections.size, 0);
  });
});

describe('a server without a policy for forwarding', () => {
  const clients = useOwnServer(unavailable());
  const options = { ...clients.options, ...LIMIT };

  it('refuses -W', options, async () => {
    const command = ['ssh', '-W', `${HOST}:${echoPort}`, ...sshCommand(clients.server, 'key').slice(1)];
    const { code, stderr } = await run(command);
    assert.equal(code, 255);
    assert.match(stderr, /administratively prohibited: not permitted/);
  });

  it('refuses -R', options, async () => {
    const more = ['-N', '-o', 'ExitOnForwardFailure=yes', '-R', `0:${HOST}:${echoPort}`];
    const { code, stderr } = await run(['ssh', ...more, ...sshCommand(clients.server, 'key').slice(1)]);
    assert.equal(code, 255);
    assert.match(stderr, /remote port forwarding failed/);
  });

  it('refuses each connection of -L, of -L to a socket and of -D, and runs commands beside', options, async () => {
    const { server } = clients;
    const ports = [await freePort(), await freePort(), await freePort()] as const;
    const more = ['-L', `${HOST}:${ports[0]}:${HOST}:${echoPort}`, '-L', `${HOST}:${ports[1]}:/run/some.sock`];
    const command = [
      'ssh',
      '-v',
      ...more,
      '-D',
      `${HOST}:${ports[2]}`,
      ...sshCommand(server, 'key', 'echo up; cat').slice(1),
    ];
    const session = start(command, { interactive: true });
    try {
      await session.until(/^up$/m);
      for (const port of ports.slice(0, 2)) assert.equal((await exchange(port)).length, 0);
      const wire = new Wire(ports[2]);
      wire.socket.write(Buffer.concat([Uint8Array.of(4, 1), portBytes(echoPort), Uint8Array.of(127, 0, 0, 1, 0)]));
      await wire.ended; // SOCKS 4 as OpenSSH speaks it has no way to say no
      assert.equal(wire.received.subarray(8).length, 0);
      wire.socket.destroy();
      session.child.stdin.end('still here\n');
      const { code, stdout, stderr } = await session.ended;
      assert.deepEqual([code, stdout.toString()], [0, 'up\nstill here\n']);
      assert.match(stderr, /administratively prohibited: not permitted/);
      assert.match(stderr, /unknown channel type/);
    } finally {
      session.kill();
    }
  });
});

function portBytes(port: number): Uint8Array {
  return Uint8Array.of(port >> 8, port & 0xff);
}

/** Waits until nobody listens on a port of this machine any more. */
async function gone(port: number): Promise<void> {
  for (let waited = 0; ; waited += 20) {
    const socket = connectTcp({ port, host: HOST });
    const refused = await new Promise<boolean>((resolve) => {
      socket.on('connect', () => resolve(false));
      socket.on('error', () => resolve(true));
    });
    socket.destroy();
    if (refused) return;
    assert.ok(waited < 10_000, `port ${port} is still open`);
    await sleep(20);
  }
}
