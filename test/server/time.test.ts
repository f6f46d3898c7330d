/** What a server does in time: refusals in steps, logins that take too long, clients that say nothing. Time is virtual. */

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { Reader } from '../../src/bytes/reader.ts';
import type { LoginResult } from '../../src/server/handlers.ts';
import type { ServerOptions } from '../../src/server/options.ts';
import { it } from '../support/limited.ts';
import { memoCrypto } from '../support/memo_crypto.ts';
import { ed25519Signer } from '../support/scripted_peer.ts';
import { type RawClient, Serving } from '../support/serving.ts';
import { VirtualClock } from '../support/virtual_clock.ts';

const ada = ed25519Signer(memoCrypto, 1);

async function serve(options: Partial<ServerOptions>): Promise<{ serving: Serving; clock: VirtualClock }> {
  const clock = new VirtualClock();
  return { serving: await Serving.start(options, clock), clock };
}

/** Milliseconds until the next message comes, and its number. */
async function arrival(raw: RawClient, clock: VirtualClock): Promise<[after: number, number: number | undefined]> {
  const began = clock.now();
  await raw.quiet();
  while (raw.client.inbox.length === 0) {
    assert.ok(clock.now() - began < 1000, 'no answer within a second');
    await clock.pass(1);
    await raw.quiet();
  }
  return [clock.now() - began, raw.client.poll()?.[0]];
}

/** The reason of the DISCONNECT that comes next. */
async function disconnectReason(raw: RawClient): Promise<number> {
  await raw.quiet();
  return new Reader(raw.client.expect(1), 1).u32();
}

describe('a refusal', () => {
  const cases: readonly (readonly [took: number, leaves: number])[] = [
    [0, 100],
    [1, 100],
    [99, 100],
    [100, 200],
    [130, 200],
  ];

  it('leaves in steps of time, for users that exist and users that do not', async () => {
    for (const [took, leaves] of cases) {
      const clock = new VirtualClock();
      const take = (): Promise<void> => new Promise((resolve) => void clock.after(took, resolve));
      const known = async (right: boolean): Promise<LoginResult> => {
        if (took > 0) await take();
        return right;
      };
      await using serving = await Serving.start(
        {
          limits: { authFailures: 100 },
          auth: {
            // the password is looked up for known users only, which must not show
            password: async ({ username, password }) => username === 'ada' && (await known(password === 'right')),
            publickey: ({ username }) => username === 'ada' && known(false),
            keyboardInteractive: ({ username }) => username === 'ada' && known(false),
          },
        },
        clock,
      );
      const raw = serving.raw();
      await raw.handshake();
      const tries: readonly ((user: string) => void)[] = [
        (user) => raw.client.requestPassword('wrong', user),
        (user) => raw.client.requestQuery(ada.publicKey, 'ssh-ed25519', user),
        (user) => raw.client.requestSigned(ada, { user }),
        (user) => raw.client.requestKeyboard(user),
      ];
      for (const attempt of tries) {
        attempt('ada');
        assert.deepEqual(await arrival(raw, clock), [leaves, 51], `ada, after ${took} ms`);
        attempt('eve');
        assert.deepEqual(await arrival(raw, clock), [100, 51], 'eve');
      }
      raw.client.requestPassword('right');
      assert.deepEqual(await arrival(raw, clock), [took, 52], 'what is right is not held up');
    }
  });

  it('leaves at once where nobody was asked, or nothing was tried', async () => {
    const { serving, clock } = await serve({ auth: { none: () => false, publickey: () => true } });
    const raw = serving.raw();
    await raw.handshake();
    const tries: readonly ((user: string) => void)[] = [
      (user) => raw.client.request('none', new Uint8Array(0), user),
      (user) => raw.client.request('hostbased', new Uint8Array(0), user),
      (user) => raw.client.requestPassword('x', user),
      (user) =>
        raw.client.requestSigned(ada, {
          user,
          damage: (signature) => signature.with(-9, (signature.at(-9) as number) ^ 1),
        }),
    ];
    for (const attempt of tries) {
      for (const user of ['ada', 'eve']) {
        attempt(user);
        assert.deepEqual(await arrival(raw, clock), [0, 51]);
      }
    }
    await serving.close();
  });

  it('holds up nobody else', async () => {
    const { serving, clock } = await serve({ auth: { password: ({ password }) => password === 'right' } });
    const [slow, other] = [serving.raw(), serving.raw()];
    await slow.handshake();
    await other.handshake();
    slow.client.requestPassword('wrong');
    await slow.quiet();
    other.client.requestPassword('right');
    assert.deepEqual(await arrival(other, clock), [0, 52]);
    assert.deepEqual(await arrival(slow, clock), [100, 51]);
    await serving.close();
  });

  it('is sent to nobody who has gone meanwhile, and keeps no timer', async () => {
    const { serving, clock } = await serve({ auth: { password: () => false } });
    const raw = serving.raw();
    await raw.handshake();
    raw.client.requestPassword('wrong');
    await raw.quiet();
    raw.reset();
    await raw.quiet();
    assert.equal((await serving.cause())?.code, 'connection-lost');
    await clock.pass(5000);
    assert.deepEqual([clock.timers, serving.takeFailures()], [0, []]);
  });
});

describe('a login that takes too long', () => {
  it('is ended, wherever it has come to', async () => {
    const timeouts = { login: 5000, identification: 60_000, keyExchange: 60_000 };
    const reaches: readonly ((raw: RawClient) => Promise<void>)[] = [
      async () => {},
      async (raw) => {
        raw.client.identify();
      },
      async (raw) => await raw.handshake(),
    ];
    for (const reach of reaches) {
      const { serving, clock } = await serve({ timeouts });
      const raw = serving.raw();
      await raw.quiet();
      await reach(raw);
      await raw.quiet();
      await clock.pass(4999);
      assert.equal(serving.server.connections.size, 1);
      await clock.pass(1);
      await raw.quiet();
      const cause = await serving.cause();
      assert.equal(cause?.code, 'timeout');
      assert.match(cause.message, /Nobody logged in within 5000 ms/);
      assert.equal(serving.server.connections.size, 0);
      await clock.pass(5000);
      assert.equal(clock.timers, 0);
    }
  });

  it('is ended while a function decides, whose late answer counts for nothing', async () => {
    let answer: (result: LoginResult) => void = () => {};
    const { serving, clock } = await serve({
      timeouts: { login: 5000 },
      auth: { password: () => new Promise((resolve) => (answer = resolve)) },
    });
    const raw = serving.raw();
    await raw.handshake();
    raw.client.requestPassword('x');
    await raw.quiet();
    await clock.pass(5000);
    assert.equal(await disconnectReason(raw), 11);
    answer(true);
    await raw.quiet();
    await clock.pass(5000);
    assert.deepEqual([serving.connections[0]?.login, serving.server.connections.size, clock.timers], [undefined, 0, 0]);
    assert.deepEqual(serving.takeFailures(), []);
  });

  it('is not one that has succeeded', async () => {
    const { serving, clock } = await serve({ timeouts: { login: 5000 }, keepalive: false });
    const raw = serving.raw();
    await raw.login();
    await clock.pass(60_000);
    assert.equal(serving.server.connections.size, 1);
    await serving.close();
  });
});

describe('a client that says nothing', () => {
  it('is not waited for: no identification, no end of a key exchange', async () => {
    const { serving, clock } = await serve({ timeouts: { identification: 1000, keyExchange: 2000 }, keepalive: false });
    const [mute, slow] = [serving.raw(), serving.raw()];
    await slow.login();
    slow.client.sendKexinit();
    await slow.quiet();
    await mute.quiet();
    await clock.pass(1000);
    assert.match((await serving.cause(0))?.message ?? '', /No SSH identification came within 1000 ms/);
    await clock.pass(999);
    assert.equal(serving.server.connections.size, 1);
    await clock.pass(1);
    assert.match((await serving.cause(1))?.message ?? '', /key exchange did not end within 2000 ms/);
  });

  it('is dead when it answers no keepalive', async () => {
    const { serving, clock } = await serve({ keepalive: { interval: 1000, count: 2 } });
    const raw = serving.raw();
    await raw.login();
    await clock.pass(3000);
    await raw.quiet();
    assert.equal((await serving.cause())?.code, 'keepalive-timeout');
  });
});
