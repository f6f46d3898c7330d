/** Many clients at one server, most of them wrong: each ends by itself, and the server serves on. */

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { Reader } from '../../src/bytes/reader.ts';
import { password } from '../../src/client/auth.ts';
import type { SshErrorCode } from '../../src/errors.ts';
import { memoryPipes } from '../../src/io/memory_pipe.ts';
import { encode } from '../../src/wire/message.ts';
import { transport } from '../../src/wire/transport.ts';
import { settled } from '../support/fake_connection.ts';
import { it } from '../support/limited.ts';
import { PipeEnd } from '../support/pipe_end.ts';
import { seededRandom } from '../support/random.ts';
import { rejectsWith } from '../support/rejects.ts';
import { type RawClient, REMOTE, Serving, within } from '../support/serving.ts';

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

/** The server must still serve, and have nobody left. */
async function servesOn(serving: Serving): Promise<void> {
  for (const index of serving.connections.keys()) await serving.cause(index);
  await settled();
  assert.equal(serving.server.connections.size, 0);
  assert.deepEqual(serving.takeFailures(), []);
  const ssh = await serving.connect();
  assert.equal(text((await ssh.run('hello')).stdout), 'hello');
}

const serve = (): Promise<Serving> =>
  Serving.start({ session: { exec: (session) => session.write(session.command ?? '') } });

describe('a crowd of clients', () => {
  it('with nothing in common, as scanners of keys are: each is told so (T66)', async () => {
    await using serving = await serve();
    const crowd = Array.from({ length: 50 }, () => serving.raw());
    const hostKeys = ['ssh-dss', 'ssh-rsa', 'sk-ssh-ed25519@openssh.com'];
    await Promise.all(
      crowd.map(async (raw, i) => {
        raw.client.identify();
        raw.client.sendKexinit({ hostKey: [hostKeys[i % 3] as string] });
        await raw.quiet();
        raw.client.takeKexinit();
        assert.equal(new Reader(raw.client.expect(1), 1).u32(), 3);
      }),
    );
    for (const index of crowd.keys()) assert.equal((await serving.cause(index))?.code, 'no-common-algorithm');
    await servesOn(serving);
  });

  it('that speak something else, or nothing that makes sense', async () => {
    await using serving = await serve();
    const random = seededRandom('crowd');
    const openings: readonly (readonly [what: string, bytes: Uint8Array | string])[] = [
      ['HTTP', 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'],
      ['TLS', Uint8Array.of(0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc)],
      ['SMTP', 'EHLO x\r\n'],
      ['an endless line', 'A'.repeat(10_000)],
      ['noise', random(4000)],
      ['SSH 1', 'SSH-1.5-x\r\n'],
      ['noise behind an identification', `SSH-2.0-x\r\n${'\xff'.repeat(300)}`],
      ['zeros behind an identification', `SSH-2.0-x\r\n${'\0'.repeat(300)}`],
    ];
    for (const [what, bytes] of openings) {
      const [near, far] = memoryPipes();
      const end = new PipeEnd(near);
      const connection = serving.server.accept(far, REMOTE);
      near.write([typeof bytes === 'string' ? new TextEncoder().encode(bytes) : bytes]);
      near.end();
      const cause = await within(connection?.closed ?? assert.fail(), what);
      const codes: readonly (SshErrorCode | undefined)[] = ['identification', 'protocol'];
      assert.ok(codes.includes(cause?.code), `${what}: ${cause?.message}`);
      await end.closing();
    }
    await servesOn(serving);
  });

  it('that go away, at any moment of a login', async () => {
    await using serving = await serve();
    const steps: readonly ((raw: RawClient) => void | Promise<void>)[] = [
      () => {},
      (raw) => raw.client.identify(),
      (raw) => raw.client.sendKexinit(),
      (raw) => raw.client.takeKexinit() && raw.client.sendInit(),
      (raw) => raw.client.takeReply() && raw.client.sendNewkeys(),
      (raw) => raw.client.send(encode(transport.serviceRequest, { service: 'ssh-userauth' })),
      (raw) => raw.client.requestPassword('wrong'),
    ];
    for (let last = 0; last < steps.length; last++) {
      for (const how of ['reset', 'end'] as const) {
        const raw = serving.raw();
        for (const step of steps.slice(0, last + 1)) {
          await step(raw);
          await raw.quiet();
        }
        if (how === 'reset') raw.reset();
        else raw.end();
        const cause = await serving.cause(serving.connections.length - 1);
        assert.ok(['connection-lost', 'identification'].includes(cause?.code ?? ''), `${last}, ${how}: ${cause?.code}`);
      }
    }
    await servesOn(serving);
  });

  it('that are all right, at once', async () => {
    await using serving = await serve();
    const clients = await Promise.all(Array.from({ length: 20 }, () => serving.connect()));
    const results = await Promise.all(clients.map((ssh, i) => ssh.run(`number ${i}`)));
    assert.deepEqual(
      results.map(({ stdout }) => text(stdout)),
      clients.map((_, i) => `number ${i}`),
    );
    await Promise.all(clients.map((ssh) => ssh.close()));
    await servesOn(serving);
  });

  it('that guess passwords, each up to its limit', async () => {
    await using serving = await serve();
    const guess = async (): Promise<void> => {
      const auth = Array.from({ length: 10 }, (_, i) => password(`guess ${i}`));
      const error = await rejectsWith(serving.connect({ auth, maxAuthFailures: 100 }), 'disconnected');
      assert.match(error.message, /\(14, noMoreAuthMethodsAvailable\): Too many authentication failures: 6 attempts/);
    };
    await Promise.all(Array.from({ length: 5 }, guess));
    for (const index of serving.connections.keys()) assert.equal((await serving.cause(index))?.code, 'auth-failed');
    await servesOn(serving);
  });
});
