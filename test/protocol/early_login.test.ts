/** A client that is there before its login is through: what leaves behind the attempt, what waits, and how it may end. */

import assert from 'node:assert/strict';
import { type AuthMethod, key, keyboardInteractive, password } from '../../src/client/auth.ts';
import { SshError } from '../../src/errors.ts';
import { connection } from '../../src/wire/connection.ts';
import { encode } from '../../src/wire/message.ts';
import { userauth } from '../../src/wire/userauth.ts';
import { ApiLink } from '../support/api_link.ts';
import type { Chunking } from '../support/feed.ts';
import { scenario } from '../support/link.ts';
import { memoCrypto } from '../support/memo_crypto.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ed25519Signer, type ScriptedPeer } from '../support/scripted_peer.ts';

const OPENSSH = 'SSH-2.0-OpenSSH_9.2p1\r\n';
const ours = key(ed25519Signer(memoCrypto, 1));

const names = (peer: ScriptedPeer): number[] => peer.inbox.map(({ payload }) => payload[0] as number);
const [OPEN, REQUEST, DATA] = [
  connection.channelOpen.number,
  connection.channelRequest.number,
  connection.channelData.number,
];

/** A client at a server that has its keys and has said nothing since. */
async function keyed(chunking: Chunking, auth: readonly AuthMethod[], identification = OPENSSH) {
  const link = new ApiLink(chunking, { peer: { identification }, client: { auth, early: true, keepalive: false } });
  await link.handshake();
  return { link, peer: link.peer };
}

/** SFTP is asked for something. */
async function asking(link: ApiLink): Promise<void> {
  const ssh = await link.now(link.connected);
  const asked = ssh.sftp({ clock: link.clock, early: true }).then((sftp) => sftp.stat('/f'));
  asked.catch(() => {});
  await link.quiet();
}

async function refuse(link: ApiLink, methods = 'publickey,password'): Promise<void> {
  link.peer.send(encode(userauth.failure, { methods: methods.split(','), partialSuccess: false }));
  await link.quiet();
}

scenario('the channel, the subsystem and SFTP leave behind the attempt, once', async (chunking) => {
  const { link, peer } = await keyed(chunking, [ours]);
  await asking(link);
  const [service, attempt, open, request, ...data] = names(peer);
  assert.deepEqual([service, attempt, open, request], [5, 50, OPEN, REQUEST]);
  assert.ok(data.length > 0 && data.every((number) => number === DATA));
  peer.grantService();
  peer.acceptLogin();
  await link.quiet();
  const ssh = await link.now(link.connected);
  await link.now(ssh.loggedIn);
  assert.deepEqual(ssh.info.authMethods, ['publickey']);
  assert.equal(names(peer).filter((number) => number === OPEN).length, 1, 'nothing is said twice');
  link.fin();
});

scenario('they go again, in order, when another attempt succeeds', async (chunking) => {
  const { link, peer } = await keyed(chunking, [ours, password('secret')]);
  await asking(link);
  const first = names(peer).slice(2);
  const payloads = peer.inbox.slice(2).map(({ payload }) => payload);
  peer.grantService();
  peer.inbox.splice(0); // a server that knows none of it yet
  await refuse(link);
  assert.deepEqual(names(peer), [50], 'nothing behind the second attempt');
  peer.acceptLogin();
  await link.quiet();
  const again = peer.inbox.map(({ payload }) => payload);
  assert.deepEqual(again.slice(0, payloads.length), payloads);
  assert.deepEqual(names(peer).slice(0, first.length), first);
  link.fin();
});

scenario(
  'with any other server they wait for the login, and so does a client that is asked something first',
  async (chunking) => {
    const { link, peer } = await keyed(chunking, [ours], 'SSH-2.0-other_1.0\r\n');
    await asking(link);
    assert.deepEqual(names(peer), [5, 50]);
    peer.grantService();
    const rekeyed = (await link.now(link.connected)).rekey();
    rekeyed.catch(() => {});
    await link.quiet();
    assert.deepEqual(names(peer), [50], 'no key exchange before the login');
    peer.acceptLogin();
    await link.quiet();
    assert.deepEqual(names(peer), [OPEN, 20]);
    link.fin();
    await rejectsWith(link.now(rekeyed), 'connection-lost');
    const person = keyboardInteractive(() => ['x']);
    const prompted = await keyed(chunking, [person]);
    await prompted.link.quiet();
    let isThere = false;
    void prompted.link.connected.then(() => {
      isThere = true;
    });
    prompted.peer.grantService();
    await prompted.link.quiet();
    assert.equal(isThere, false);
    prompted.peer.acceptLogin();
    await prompted.link.now(prompted.link.connected);
    prompted.link.fin();
  },
);

scenario('a login that fails is what everything rejects with', async (chunking) => {
  const { link, peer } = await keyed(chunking, [ours]);
  const ssh = await link.now(link.connected);
  const sftp = await link.now(ssh.sftp({ clock: link.clock, early: true }));
  const asked: Promise<unknown>[] = [sftp.stat('/f'), sftp.ready, ssh.loggedIn];
  const rejected = asked.map((each) => rejectsWith(each, 'auth-failed'));
  peer.grantService();
  peer.inbox.splice(0);
  await refuse(link, 'password');
  const errors = await link.now(Promise.all(rejected));
  assert.equal(new Set(errors.map(({ message }) => message)).size, 1);
  assert.equal((await link.now(ssh.closed))?.code, 'auth-failed');
  await rejectsWith(ssh.run('true'), 'auth-failed');
  assert.equal(link.clock.timers, 0);
});

scenario('its signal ends the login until that is through', async (chunking) => {
  const controller = new AbortController();
  const client = { auth: [ours], early: true, signal: controller.signal };
  const link = new ApiLink(chunking, { peer: { identification: OPENSSH }, client });
  await link.handshake();
  const ssh = await link.now(link.connected);
  const loggedIn = rejectsWith(ssh.loggedIn, 'aborted');
  controller.abort();
  await link.now(loggedIn);
  assert.ok((await link.now(ssh.closed)) instanceof SshError);
});

scenario(
  'nothing is timed while somebody types a password',
  async (chunking) => {
    let answer: (text: string) => void = () => {};
    const typed = password(
      () =>
        new Promise<string>((resolve) => {
          answer = resolve;
        }),
    );
    const { link, peer } = await keyed(chunking, [ours, typed]);
    const ssh = await link.now(link.connected);
    const sftp = await link.now(ssh.sftp({ clock: link.clock, early: true, stallTimeout: 1000 }));
    const asked = sftp.stat('/f', { stallTimeout: 1000 });
    asked.catch(() => {});
    await link.quiet();
    peer.grantService();
    peer.inbox.splice(0);
    await refuse(link);
    for (let i = 0; i < 5; i++) await link.clock.pass(600_000);
    assert.equal(sftp.cause, undefined);
    answer('secret');
    await link.quiet();
    peer.acceptLogin();
    await link.quiet();
    const timedOut = rejectsWith(asked, 'timeout');
    await link.clock.pass(1000);
    await link.clock.pass(1000);
    await link.now(timedOut);
  },
  ['whole'],
);
