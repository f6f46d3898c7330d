/** How a runtime's server is put together: SFTP among the caller's programs, and what is refused before there is a server. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { password } from '../src/client/auth.ts';
import { pin } from '../src/client/host_key.ts';
import { connectPipe, type Runtime } from '../src/connect.ts';
import type { Listen } from '../src/io/listen.ts';
import { memoryPipes } from '../src/io/memory_pipe.ts';
import { createServerIn, listenTcp, type ServerOptions } from '../src/serve.ts';
import type { ServerSession } from '../src/server/session.ts';
import { memoryFiles } from '../src/sftp/server/memory_fs.ts';
import { memoCrypto } from './support/memo_crypto.ts';
import { rejectsWith } from './support/rejects.ts';
import { ed25519Signer } from './support/scripted_peer.ts';

const runtime: Runtime = { crypto: { auto: memoCrypto, pure: memoCrypto } };
const basics: ServerOptions = { hostKeys: [ed25519Signer(memoCrypto, 7)], auth: { password: () => true } };

/** Programs that are methods, and keep to themselves what they say. */
class Programs {
  readonly #greeting = 'hello';

  async exec(session: ServerSession): Promise<void> {
    await session.write(this.#greeting);
  }
}

describe('createServerIn', () => {
  it('has SFTP beside programs that are methods of an object with private members', async () => {
    const files = memoryFiles({ files: { '/f': 'content' } });
    await using server = await createServerIn(runtime, { ...basics, session: new Programs(), sftp: files });
    const [near, far] = memoryPipes();
    server.serve(far);
    const hostKey = pin(server.fingerprints);
    const ssh = await connectPipe(runtime, near, { host: 'h', username: 'u', auth: [password('p')], hostKey });
    assert.equal(new TextDecoder().decode((await ssh.run('x')).stdout), 'hello');
    const sftp = await ssh.sftp();
    assert.equal(new TextDecoder().decode(await sftp.readFile('/f')), 'content');
    await ssh.close();
  });

  const wrong: readonly [what: string, options: object, message: RegExp][] = [
    ['files that are none', { sftp: '/srv/files' }, /^sftp is a backend.*not string/],
    ['a limit of SFTP that is none', { sftp: {}, sftpOptions: { limits: { readLength: 0 } } }, /limits\.readLength/],
  ];
  for (const [what, options, message] of wrong) {
    it(`refuses ${what}`, async () => {
      const error = await rejectsWith(
        createServerIn(runtime, { ...basics, ...options } as ServerOptions),
        'bad-argument',
      );
      assert.match(error.message, message);
    });
  }

  it('takes what is undefined for not said', async () => {
    const sftpOptions = { limits: { openHandles: undefined }, onError: undefined };
    const server = await createServerIn(runtime, { ...basics, sftp: {}, sftpOptions } as unknown as ServerOptions);
    await server.close();
  });
});

describe('SshServer', () => {
  it('serves no more than what is a stream', async () => {
    await using server = await createServerIn(runtime, basics);
    for (const stream of [undefined, null, 'text', {}, { readable: 1 }]) {
      assert.throws(() => server.serve(stream as never), { code: 'bad-argument', message: /^serve takes a BytePipe/ });
    }
    assert.equal(server.connections.size, 0);
  });
});

describe('listenTcp', () => {
  const listen: Listen = async ({ host, port }) => ({ address: { host, port }, close: async () => {} });

  it('ends with its signal', async () => {
    const controller = new AbortController();
    const server = await listenTcp(runtime, listen, { ...basics, port: 22, signal: controller.signal });
    const [near, far] = memoryPipes();
    const connection = server.serve(far);
    near.open({ data() {}, end() {}, drain() {}, closed() {} });
    controller.abort();
    assert.equal(await connection.closed, undefined);
    const [, late] = memoryPipes();
    assert.throws(() => server.serve(late), { code: 'limit' });
  });

  it('takes no option that it does not know', async () => {
    const options = { ...basics, port: 22, baner: 'hello' };
    const error = await rejectsWith(listenTcp(runtime, listen, options), 'bad-argument');
    assert.match(error.message, /^listen: there is no option baner; there are .*banner/);
    const created = await rejectsWith(createServerIn(runtime, options), 'bad-argument');
    assert.match(created.message, /^createServer: there is no option port/);
  });

  it('refuses a signal that is none', async () => {
    const options = { ...basics, port: 22, signal: 5 as unknown as AbortSignal };
    assert.match(
      (await rejectsWith(listenTcp(runtime, listen, options), 'bad-argument')).message,
      /^listen: signal must be an AbortSignal/,
    );
  });
});
