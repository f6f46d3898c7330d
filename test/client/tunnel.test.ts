/** A byte stream through a server, with a server of ours that connects it to something in memory. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { utf8 } from '../../src/bytes/text.ts';
import { password } from '../../src/client/auth.ts';
import { insecureAcceptAny } from '../../src/client/host_key.ts';
import { connectOver, createServer, passwords } from '../../src/index.ts';
import { memoryPipes } from '../../src/io/memory_pipe.ts';
import type { BytePipe } from '../../src/io/pipe.ts';
import type { SshClient } from '../../src/ssh_client.ts';
import { memoCrypto } from '../support/memo_crypto.ts';
import { testKey } from '../support/test_keys.ts';

/** Gives back what it gets, and ends when the other side does. */
function echo(): BytePipe {
  const [near, far] = memoryPipes();
  far.open({
    data(bytes) {
      far.write([bytes.slice()]);
      far.consumed(bytes.length);
    },
    end: () => far.end(),
    drain() {},
    closed() {},
  });
  return near;
}

async function connected(asked: unknown[] = []): Promise<SshClient> {
  const server = await createServer({
    crypto: memoCrypto,
    hostKeys: [testKey('ssh-ed25519', 'host')],
    auth: { password: passwords({ ada: 'pw' }) },
    forward: {
      connect(target) {
        asked.push(target.host, target.port);
        return target.host === 'echo' ? echo() : undefined;
      },
    },
  });
  const [ours, theirs] = memoryPipes();
  server.serve(theirs);
  const login = { host: 'x', username: 'ada', auth: [password('pw')], hostKey: insecureAcceptAny() };
  return await connectOver(ours, { ...login, crypto: memoCrypto });
}

describe('openTunnel', () => {
  it('carries bytes both ways, and tells when it has ended', { timeout: 30_000 }, async () => {
    const asked: unknown[] = [];
    await using ssh = await connected(asked);
    let closed = 0;
    const ended = new Promise<void>((resolve) => {
      const onClosed = (): void => {
        closed++;
        resolve();
      };
      ssh.openTunnel('echo', 7, { onClosed }).then((pipe) => {
        pipe.open({
          data(bytes) {
            assert.deepEqual(bytes, utf8('over there'));
            pipe.consumed(bytes.length);
            pipe.end();
          },
          end() {},
          drain() {},
          closed: (cause) => assert.equal(cause, undefined),
        });
        pipe.write([utf8('over there')]);
      });
    });
    await ended;
    assert.deepEqual([asked, closed], [['echo', 7], 1]);
  });

  it('rejects when the server refuses, and goes on without', { timeout: 30_000 }, async () => {
    await using ssh = await connected();
    await assert.rejects(ssh.openTunnel('elsewhere', 7), { code: 'channel-open-failed' });
    (await ssh.openTunnel('echo', 7)).close();
  });

  it('tells a mistake before anything is sent', { timeout: 30_000 }, async () => {
    const asked: unknown[] = [];
    await using ssh = await connected(asked);
    await assert.rejects(ssh.openTunnel('', 7), { code: 'bad-argument' });
    for (const port of [0, 65536, 1.5, '7' as never]) {
      await assert.rejects(ssh.openTunnel('echo', port), { code: 'bad-argument' });
    }
    const signal = AbortSignal.abort();
    await assert.rejects(ssh.openTunnel('echo', 7, { signal }), { code: 'aborted' });
    assert.deepEqual(asked, []);
  });
});
