/** SSH over what is no TCP connection: an sshd on the streams of a program that runs behind another connection. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { ClientOptions } from '../../src/connect.ts';
import { api } from '../support/connect.ts';
import { available, startSshd } from '../support/peers/openssh.ts';
import { findProgram, usePeer } from '../support/peers/peer.ts';
import { pattern } from '../support/pipe_end.ts';
import { rejectsWith } from '../support/rejects.ts';

const MEBIBYTE = 1024 * 1024;

describe('connectOver', () => {
  const sshd = usePeer(available(), () => startSshd());

  it('runs over the streams of a program behind another connection', { ...sshd.options, timeout: 60_000 }, async () => {
    const { peer } = sshd;
    const options: ClientOptions = {
      host: peer.host,
      port: peer.port,
      username: peer.username,
      auth: [api.keyFile(peer.keys.ed25519.openssh)],
      hostKey: api.knownHosts(peer.knownHosts),
    };
    await using outer = await api.connect(options);
    await using server = await outer.exec(`${findProgram('sshd')} -i -f ${join(peer.dir, 'sshd_config')}`);
    const inner = await api.connectOver({ readable: server.stdout, writable: server.stdin }, options);
    const bytes = pattern(5 * MEBIBYTE);
    const copy = await inner.run('cat', { stdin: bytes });
    assert.deepEqual(Buffer.from(copy.stdout), Buffer.from(bytes));
    const sftp = await inner.sftp();
    assert.equal(typeof (await sftp.realpath('.')), 'string');
    const pending = rejectsWith(inner.run('sleep 30'), 'connection-lost');
    await outer.close();
    assert.equal((await inner.closed)?.code, 'connection-lost');
    await pending;
    await rejectsWith(sftp.realpath('.'), 'connection-lost');
  });
});
