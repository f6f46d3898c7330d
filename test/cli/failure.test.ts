/** Transfers that do not come to their end: a clear line, a status that is not 0, and nothing that looks whole. */

import assert from 'node:assert/strict';
import { closeSync, ftruncateSync, openSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import * as openssh from '../support/peers/openssh.ts';
import { type Peer, peerTest } from '../support/peers/peer.ts';
import { at, type Ended, interrupt, onlyLine, reaching, runCli, scratch } from './spawn_cli.ts';

const options = { ...peerTest(openssh.available()), timeout: 60_000 };
const SIZE = 64 * 1024 ** 3; // sparse; nobody lives to see its end

/** A huge file that takes no room. */
function sparse(): string {
  const path = join(scratch(), 'huge');
  const file = openSync(path, 'w');
  ftruncateSync(file, SIZE);
  closeSync(file);
  return path;
}

/** Resolves once something in `folder` holds a megabyte: the transfer is under way. */
async function underWay(folder: string): Promise<void> {
  const grown = (): boolean =>
    readdirSync(folder).some((name) => {
      try {
        return statSync(join(folder, name)).size > 1_000_000;
      } catch {
        return false; // gone in the meantime
      }
    });
  while (!grown()) await sleep(5);
}

async function withServer(use: (peer: Peer) => Promise<void>): Promise<void> {
  const peer = await openssh.startSshd();
  try {
    await use(peer);
  } finally {
    await peer.stop();
  }
}

/** Transfers a huge file into `folder`, and does `meanwhile` once it is under way. */
async function broken(
  peer: Peer,
  direction: 'get' | 'put',
  folder: string,
  meanwhile: (interruptCli: (signal?: 'SIGTERM') => void) => void,
): Promise<Ended> {
  const [from, to] = [sparse(), join(folder, 'copy')];
  const places = direction === 'get' ? [`${at(peer)}:${from}`, to] : [from, `${at(peer)}:${to}`];
  return runCli([direction, '--json', ...reaching(peer), ...places], {
    running: (child) => {
      underWay(folder).then(() => meanwhile((signal) => interrupt(child, signal)));
    },
  });
}

describe('a server that dies', () => {
  it('during get: status 255, one line, no file', options, () =>
    withServer(async (peer) => {
      const folder = scratch();
      const ended = await broken(peer, 'get', folder, () => void peer.stop());
      assert.equal(ended.status, 255);
      assert.match(onlyLine(ended), /\(connection-lost\)$/);
      assert.equal(ended.stdout.length, 0);
      assert.deepEqual(readdirSync(folder), []);
    }),
  );

  it('during get: a file that was there stays as it was', options, () =>
    withServer(async (peer) => {
      const folder = scratch();
      writeFileSync(join(folder, 'copy'), 'as it was');
      const ended = await broken(peer, 'get', folder, () => void peer.stop());
      assert.equal(ended.status, 255);
      assert.deepEqual(readdirSync(folder), ['copy']);
      assert.equal(readFileSync(join(folder, 'copy'), 'utf8'), 'as it was');
    }),
  );

  it('during put: status 255, one line, no file under the name', options, () =>
    withServer(async (peer) => {
      const folder = scratch();
      const ended = await broken(peer, 'put', folder, () => void peer.stop());
      assert.equal(ended.status, 255);
      assert.match(onlyLine(ended), /\(connection-lost\)$/);
      assert.equal(ended.stdout.length, 0);
      assert.ok(!readdirSync(folder).includes('copy'));
    }),
  );
});

describe('a signal', () => {
  for (const [signal, status] of [
    [undefined, 130],
    ['SIGTERM', 143],
  ] as const) {
    it(`${signal ?? 'SIGINT'} during get: status ${status}, one line, no file`, options, () =>
      withServer(async (peer) => {
        const folder = scratch();
        const ended = await broken(peer, 'get', folder, (interruptCli) => interruptCli(signal));
        assert.equal(ended.status, status);
        assert.match(onlyLine(ended), /\(aborted\)$/);
        assert.deepEqual(readdirSync(folder), []);
      }),
    );
  }

  it('SIGINT during put: status 130, one line, nothing left on the server', options, () =>
    withServer(async (peer) => {
      const folder = scratch();
      const ended = await broken(peer, 'put', folder, (interruptCli) => interruptCli());
      assert.equal(ended.status, 130);
      assert.match(onlyLine(ended), /\(aborted\)$/);
      for (let tries = 0; tries < 100 && readdirSync(folder).length > 0; tries++) await sleep(20);
      assert.deepEqual(readdirSync(folder), []);
    }),
  );
});

describe('a server that says nothing', () => {
  /** Listens, and leaves it at that. */
  async function silent(use: (options: readonly string[], reached: Promise<void>) => Promise<void>): Promise<void> {
    let arrived = (): void => {};
    const reached = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    const sockets: Socket[] = [];
    const server = createServer((socket) => {
      sockets.push(socket);
      socket.on('error', () => {});
      arrived();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { readonly port: number };
    try {
      await use(['-P', String(port), '--insecure-accept-any'], reached);
    } finally {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    }
  }

  it('is given up after --timeout, with status 255', { timeout: 60_000 }, () =>
    silent(async (reach) => {
      const ended = await runCli(['ls', '--timeout', '0.5', ...reach, 'x@127.0.0.1:']);
      assert.equal(ended.status, 255);
      assert.equal(onlyLine(ended), 'Not logged in within 0.5 s (--timeout) (timeout)');
    }),
  );

  it('is given up on SIGINT, with status 130', { timeout: 60_000 }, () =>
    silent(async (reach, reached) => {
      const ended = await runCli(['ls', ...reach, 'x@127.0.0.1:'], {
        running: (child) => void reached.then(() => interrupt(child)),
      });
      assert.equal(ended.status, 130);
      assert.match(onlyLine(ended), /\(aborted\)$/);
    }),
  );
});

describe('a disk', () => {
  it('that is full on this side: status 1 and the reason', options, () =>
    withServer(async (peer) => {
      const ended = await runCli(['get', ...reaching(peer), `${at(peer)}:${sparse()}`, '/dev/full']);
      assert.equal(ended.status, 1);
      assert.match(onlyLine(ended), /\/dev\/full: no space left.*\(bad-local-file\)$/);
    }),
  );
});
