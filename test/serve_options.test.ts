/** What a program without types may pass to `createServer`, `listen` and `serve`: each mistake is told at once. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Runtime } from '../src/connect.ts';
import type { Listen } from '../src/io/listen.ts';
import { createServerIn, listenTcp, type ServerOptions } from '../src/serve.ts';
import { memoCrypto } from './support/memo_crypto.ts';
import { rejectsWith } from './support/rejects.ts';
import { ed25519Signer } from './support/scripted_peer.ts';

const runtime: Runtime = { crypto: { auto: memoCrypto, pure: memoCrypto } };
const basics: ServerOptions = { hostKeys: [ed25519Signer(memoCrypto, 7)], auth: { password: () => true } };

describe('createServerIn', () => {
  const wrong: readonly [what: string, options: object, message: RegExp][] = [
    ['files that are none', { sftp: '/srv/files' }, /^sftp is a backend.*not string/],
    ['files that are null', { sftp: null }, /^sftp is a backend/],
    ['a limit of SFTP that is none', { sftp: {}, sftpOptions: { limits: { readLength: 0 } } }, /limits\.readLength/],
  ];
  for (const [what, options, message] of wrong) {
    it(`refuses ${what}`, async () => {
      const made = createServerIn(runtime, { ...basics, ...options } as ServerOptions);
      assert.match((await rejectsWith(made, 'bad-argument')).message, message);
    });
  }

  it('takes what is undefined for not said', async () => {
    const sftpOptions = { limits: { openHandles: undefined }, onError: undefined };
    const server = await createServerIn(runtime, { ...basics, sftp: {}, sftpOptions } as unknown as ServerOptions);
    await server.close();
  });
});

describe('SshServer.serve', () => {
  it('takes nothing but a stream', async () => {
    await using server = await createServerIn(runtime, basics);
    for (const stream of [undefined, null, 'text', {}, { readable: 1 }]) {
      assert.throws(() => server.serve(stream as never), { code: 'bad-argument', message: /^serve takes a BytePipe/ });
    }
    assert.equal(server.connections.size, 0);
  });
});

describe('listenTcp', () => {
  it('refuses a signal that is none', async () => {
    const listen: Listen = () => Promise.reject(new Error('nobody may listen'));
    const options = { ...basics, port: 22, signal: 5 as unknown as AbortSignal };
    assert.match((await rejectsWith(listenTcp(runtime, listen, options), 'bad-argument')).message, /^signal/);
  });
});
