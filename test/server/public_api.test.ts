/** A server as programs make one: over any stream, or listening, with the fingerprints of its keys. */

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import {
  connectOver,
  createServer,
  generateKey,
  insecureAcceptAny,
  memoryPipes,
  password,
  pin,
  type ServerOptions,
  streamsFromPipe,
} from '../../src/index.ts';
import { api } from '../support/connect.ts';
import { settled } from '../support/fake_connection.ts';
import { it } from '../support/limited.ts';
import { PipeEnd } from '../support/pipe_end.ts';
import { rejectsWith } from '../support/rejects.ts';

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

const options = (more: Partial<ServerOptions> = {}): ServerOptions => ({
  hostKeys: [generateKey()],
  auth: { password: ({ username, password }) => username === 'ada' && password === 'secret' },
  session: { exec: (session) => session.write(`${session.login.username}: ${session.command}`) },
  ...more,
});

const client = { host: 'example.org', username: 'ada', auth: [password('secret')], hostKey: insecureAcceptAny() };

describe('createServer', () => {
  it('serves pipes and streams, and knows its own fingerprints', async () => {
    await using server = await createServer(options());
    assert.equal(server.address, undefined);
    assert.equal(server.fingerprints.length, 1);
    for (const wrap of [(pipe: unknown) => pipe, streamsFromPipe]) {
      const [near, far] = memoryPipes();
      const connection = server.serve(wrap(far) as typeof far, { address: '192.0.2.1', port: 9 });
      assert.equal(connection.peer.address, '192.0.2.1');
      const ssh = await connectOver(near, { ...client, hostKey: pin(server.fingerprints) });
      assert.equal(text((await ssh.run('hi')).stdout), 'ada: hi');
      assert.deepEqual([...server.connections], [connection]);
      await ssh.close();
      await connection.closed;
      await settled();
      assert.equal(server.connections.size, 0);
    }
  });

  it('takes no more than it may, and nobody once it is closed: the stream is closed then', async () => {
    const server = await createServer(options({ capacity: { connections: 1 } }));
    const [near, far] = memoryPipes();
    server.serve(far);
    const refused = async (): Promise<void> => {
      const [one, other] = memoryPipes();
      const end = new PipeEnd(one);
      assert.throws(() => server.serve(other), { code: 'limit' });
      await settled();
      assert.equal(end.ended, true);
    };
    await refused();
    near.end();
    await server.close();
    await refused();
    await server.close();
  });
});

describe('listen', () => {
  const host = '127.0.0.1';

  it('serves who connects, until it is closed', async () => {
    const server = await api.listen({ ...options(), port: 0 });
    const { port = 0 } = server.address ?? {};
    assert.equal(server.address?.host, host);
    assert.ok(port > 0);
    const ssh = await api.connect({ ...client, host, port, hostKey: pin(server.fingerprints) });
    assert.equal(text((await ssh.run('hi')).stdout), 'ada: hi');
    const [connection] = server.connections;
    assert.equal(connection?.peer.address, host);
    await server.close();
    assert.equal((await ssh.closed)?.code, 'disconnected');
    await rejectsWith(api.connect({ ...client, host, port }), 'connect-failed');
  });

  it('ends with its signal', async () => {
    const controller = new AbortController();
    const server = await api.listen({ ...options(), port: 0, signal: controller.signal });
    const { port = 0 } = server.address ?? {};
    const ssh = await api.connect({ ...client, host, port });
    controller.abort();
    assert.equal((await ssh.closed)?.code, 'disconnected');
    await server.close();
    await rejectsWith(api.connect({ ...client, host, port }), 'connect-failed');
    await rejectsWith(api.listen({ ...options(), port: 0, signal: controller.signal }), 'aborted');
  });
});
