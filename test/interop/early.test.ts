/** Real servers that are asked before they have answered: what is known of them holds, and what goes wrong is told. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AuthMethod } from '../../src/client/auth.ts';
import type { SshClient } from '../../src/ssh_client.ts';
import { api } from '../support/connect.ts';
import * as asyncssh from '../support/peers/asyncssh.ts';
import * as dropbear from '../support/peers/dropbear.ts';
import * as openssh from '../support/peers/openssh.ts';
import { type Peer, type SharedPeer, usePeer } from '../support/peers/peer.ts';
import { rejectsWith } from '../support/rejects.ts';
import { patterned } from '../support/scripted_sftp.ts';

const LIMIT = 30_000;
const BYTES = patterned(100_000);

function connect(peer: Peer, key: 'ed25519' | 'rsa' = 'ed25519', before: AuthMethod[] = []): Promise<SshClient> {
  const { host, port, username } = peer;
  const auth = [...before, api.keyFile(peer.keys[key].openssh)];
  return api.connect({ host, port, username, auth, hostKey: api.knownHosts(peer.knownHosts), early: true });
}

/** A file there and back, each on a connection of its own, as the command does it. */
async function thereAndBack(peer: Peer): Promise<void> {
  const path = `${peer.files}/early`;
  for (const before of [[], [api.key(api.generateKey('stranger'))]]) {
    await using ssh = await connect(peer, 'ed25519', before);
    const sftp = await ssh.sftp({ early: true });
    await sftp.put(BYTES, path);
  }
  await using ssh = await connect(peer, 'rsa');
  const sftp = await ssh.sftp({ early: true });
  assert.deepEqual(await sftp.readFile(path), BYTES);
  await sftp.ready;
  // a channel that is not the first is awaited
  const second = await ssh.sftp({ early: true });
  assert.equal((await second.stat(path)).size, BYTES.length);
  const missing = await rejectsWith(second.get(`${peer.files}/missing`, new WritableStream()), 'sftp-status');
  assert.equal(missing.status, 2);
}

const peers: readonly (readonly [string, () => SharedPeer])[] = [
  ['OpenSSH', () => usePeer(openssh.available(), () => openssh.startSshd())],
  ['Dropbear', () => usePeer(dropbear.sftpUnavailable(), () => dropbear.startDropbear())],
  ['asyncssh', () => usePeer(asyncssh.available(), () => asyncssh.startAsyncssh())],
];

for (const [name, share] of peers) {
  describe(`early, ${name}`, () => {
    const shared = share();
    it('moves a file there and back', { ...shared.options, timeout: LIMIT }, () => thereAndBack(shared.peer));
  });
}

describe('early, OpenSSH without', () => {
  const none = usePeer(openssh.available(), () => openssh.startSshd({ config: ['Subsystem other /bin/false'] }));
  it('the subsystem says so, and the connection goes on', { ...none.options, timeout: LIMIT }, async () => {
    await using ssh = await connect(none.peer);
    await ssh.loggedIn;
    const sftp = await ssh.sftp({ early: true });
    const error = await rejectsWith(sftp.stat('/'), 'sftp-unavailable');
    assert.match(error.message, /refused the subsystem "sftp"/);
    assert.equal((await ssh.run('echo on')).code, 0);
  });

  const closed = usePeer(openssh.available(), () => openssh.startSshd({ config: ['MaxSessions 0'] }));
  it('a session to give says so, and ends the connection', { ...closed.options, timeout: LIMIT }, async () => {
    await using ssh = await connect(closed.peer);
    const sftp = await ssh.sftp({ early: true });
    // whether its refusal still gets through before it ends the connection is a matter of luck
    const error = await sftp.stat('/').then(
      () => assert.fail('it gave one'),
      (reason: unknown) => reason,
    );
    assert.match(String(error), /MaxSessions/);
    assert.ok((await ssh.closed) !== undefined);
  });
});
