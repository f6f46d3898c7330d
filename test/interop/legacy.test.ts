/**
 * What is legacy, and compression, with software of others in both roles: each CBC cipher, each MAC over SHA-1 and MD5, zlib at
 * once and after the login, over key exchanges. In Node 24 alone: it is the same code elsewhere.
 */

import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import * as pako from 'pako';
import { zlibFrom } from '../../src/compression/zlib_from.ts';
import { type AlgorithmsOption, legacyAlgorithms } from '../../src/core/algorithms/lists.ts';
import * as ssh from '../support/clients/openssh.ts';
import {
  type OwnServer,
  type OwnServerOptions,
  type SharedServer,
  useOwnServer,
} from '../support/clients/own_server.ts';
import { mustRun, run } from '../support/clients/process.ts';
import { putty, options as puttyOptions } from '../support/clients/putty.ts';
import { content } from '../support/clients/suite.ts';
import { api } from '../support/connect.ts';
import * as asyncssh from '../support/peers/asyncssh.ts';
import * as dropbear from '../support/peers/dropbear.ts';
import * as erlang from '../support/peers/erlang.ts';
import * as sshd from '../support/peers/openssh.ts';
import { findProgram, type Peer, peerTest, type SharedPeer, usePeer } from '../support/peers/peer.ts';
import { isThorough } from '../support/thorough.ts';

const REKEY = { bytes: 32 * 1024 };
const compression = zlibFrom(pako);
const { ciphers, macs } = legacyAlgorithms;
/** The quickest: there are many key exchanges here. */
const kex = ['curve25519-sha256'];

interface Protection {
  readonly cipher: string;
  readonly mac: string;
}

/** Each MAC with a cipher, and so each cipher with two of them and more; and with MACs that are not legacy. */
const protections: readonly Protection[] = [
  ...macs.map((mac, i) => ({ cipher: ciphers[(i + (i >> 2)) % ciphers.length] as string, mac })),
  { cipher: '3des-cbc', mac: 'hmac-sha2-512-etm@openssh.com' },
  { cipher: 'aes256-cbc', mac: 'hmac-sha2-256' },
  { cipher: 'aes128-ctr', mac: 'hmac-md5-96' },
];

/** Half of it repeats itself, half cannot be compressed. */
const SIZE = 50_000;
const bytes = new Uint8Array(2 * SIZE);
bytes.set(content(SIZE), SIZE);

/** What stands where nothing is started: its tests are skipped. */
const skipped = { options: { skip: 'tried in Node 24' } };

function servers(reason: string | undefined, start: () => Promise<Peer>): SharedPeer {
  return isThorough ? usePeer(reason, start) : (skipped as SharedPeer);
}

function ownServer(reason: string | undefined, own: OwnServerOptions): SharedServer {
  return isThorough ? useOwnServer(reason, own) : (skipped as SharedServer);
}

const options = (shared: SharedPeer | SharedServer) => ({ ...shared.options, timeout: 60_000 });

/** Writes a file and reads it back; returns what was negotiated, which is the same both ways, and how many bytes were sent. */
async function carries(peer: Peer, algorithms: Exclude<AlgorithmsOption, 'legacy'>, crypto: 'pure' | 'auto') {
  const { host, port, username, keys, knownHosts, files } = peer;
  await using connection = await api.connect({
    host,
    port,
    username,
    auth: [api.keyFile(keys.ed25519.openssh)],
    hostKey: api.knownHosts(knownHosts),
    crypto,
    algorithms: { kex, ...algorithms },
    compression,
    rekey: REKEY,
  });
  await using sftp = await connection.sftp();
  const path = `${files}/carried`;
  await sftp.writeFile(path, bytes);
  assert.equal(Buffer.compare(await sftp.readFile(path), bytes), 0);
  const { toServer, toClient } = connection.info.algorithms;
  assert.deepEqual(toServer, toClient);
  return { ...toServer, keyExchanges: connection.info.keyExchanges, sent: connection.stats.bytesOut };
}

/** One test for each protection, and one for each compression, of a server. */
function tries(shared: SharedPeer, able: readonly Protection[], compressions: readonly string[]): void {
  able.forEach(({ cipher, mac }, i) => {
    const crypto = i % 2 === 0 ? 'pure' : 'auto';
    it(`${crypto}: ${cipher} with ${mac}`, options(shared), async () => {
      const lists = { preset: 'legacy', ciphers: [cipher], macs: [mac], compression: ['none'] } as const;
      const found = await carries(shared.peer, lists, crypto);
      assert.deepEqual([found.cipher, found.mac], [cipher, mac]);
      assert.ok(found.keyExchanges >= 3 && found.sent > 2 * SIZE, `${found.keyExchanges} exchanges`);
    });
  });
  for (const name of compressions) {
    it(`${name}, over key exchanges`, options(shared), async () => {
      const found = await carries(shared.peer, { preset: 'legacy', compression: [name] }, 'auto');
      assert.equal(found.compression, name);
      assert.ok(found.keyExchanges >= 2, `${found.keyExchanges} exchanges`);
      assert.ok(found.sent > SIZE && found.sent < 1.6 * SIZE, `${found.sent} bytes for ${bytes.length}`);
    });
  }
}

describe('what is legacy, and compression, with sshd', () => {
  const config = [`Ciphers +${ciphers.join(',')}`, `MACs +${macs.join(',')}`, 'Compression yes'];
  const shared = servers(sshd.available(), () => sshd.startSshd({ config }));
  tries(shared, protections, ['zlib@openssh.com']);

  it('zlib@openssh.com, with what is asked ahead of the login', options(shared), async () => {
    const { host, port, username, keys, knownHosts } = shared.peer;
    const auth = [api.keyFile(keys.ecdsa256.openssh), api.keyFile(keys.ed25519.openssh)];
    const to = { host, port, username, auth, hostKey: api.knownHosts(knownHosts), compression, early: true };
    await using connection = await api.connect(to);
    const { stdout } = await connection.run('cat', { stdin: bytes });
    assert.equal(Buffer.compare(stdout, bytes), 0);
    assert.equal(connection.info.algorithms.toServer.compression, 'zlib@openssh.com');
  });
});

describe('a server that has nothing but what is legacy', () => {
  const config = [
    'KexAlgorithms diffie-hellman-group1-sha1',
    'HostKeyAlgorithms ssh-rsa',
    'PubkeyAcceptedAlgorithms ssh-rsa',
    'Ciphers 3des-cbc',
    'MACs hmac-md5',
  ];
  const shared = servers(sshd.available(), () => sshd.startSshd({ config, hostKeys: ['rsa'] }));
  const connect = (algorithms: AlgorithmsOption, signatures?: readonly string[]) => {
    const { host, port, username, keys, knownHosts } = shared.peer;
    const auth = [api.keyFile(keys.rsa.openssh)];
    return api.connect({ host, port, username, auth, hostKey: api.knownHosts(knownHosts), algorithms, signatures });
  };

  it('is reached with the preset, by a user who signs over SHA-1', options(shared), async () => {
    // this one says in server-sig-algs that it takes SHA-2, and does not
    await using connection = await connect('legacy', ['ssh-rsa']);
    const { kex, hostKey, toServer } = connection.info.algorithms;
    assert.deepEqual([kex, hostKey], ['diffie-hellman-group1-sha1', 'ssh-rsa']);
    assert.deepEqual(toServer, { cipher: '3des-cbc', mac: 'hmac-md5', compression: 'none' });
    assert.deepEqual(connection.info.authMethods, ['publickey']);
  });

  it('is reached by whoever follows the advice, step by step; only the login wants more', options(shared), async () => {
    const followed: Record<string, string> = {};
    for (let step = 0; step < 5; step++) {
      const error: unknown = await connect(followed).then(
        () => assert.fail('a user signs over SHA-1 only with the preset'),
        (reason: unknown) => reason,
      );
      assert.ok(error instanceof api.SshError);
      if (error.code === 'auth-failed') break;
      const [, category, text] = /set algorithms: \{ (\w+): '([^']+)' \}/.exec(error.message) ?? [];
      assert.ok(category !== undefined && text !== undefined && !(category in followed), error.message);
      followed[category] = text;
    }
    const expected = { kex: 'diffie-hellman-group1-sha1', hostKeys: 'ssh-rsa', ciphers: '3des-cbc', macs: 'hmac-md5' };
    assert.deepEqual(
      followed,
      Object.fromEntries(Object.entries(expected).map(([category, name]) => [category, `+${name}`])),
    );
  });
});

describe('what is legacy, and compression, with Dropbear', () => {
  const shared = servers(dropbear.sftpUnavailable(), () => dropbear.startDropbear());
  tries(shared, [{ cipher: 'aes128-ctr', mac: 'hmac-sha1' }], ['zlib@openssh.com']);
});

describe('what is legacy, and compression, with Erlang', () => {
  const able = ['aes128-cbc', '3des-cbc'].map((cipher) => ({ cipher, mac: 'hmac-sha1' }));
  const shared = servers(erlang.available(), () => erlang.startErlang());
  tries(shared, able, ['zlib@openssh.com']);
});

describe('what is legacy, and compression, with asyncssh', () => {
  const server = {
    encryption_algs: ciphers,
    mac_algs: macs.filter((mac) => mac !== 'hmac-sha1-etm@openssh.com'),
    compression_algs: ['zlib', 'zlib@openssh.com', 'none'],
  };
  const able = [
    { cipher: '3des-cbc', mac: 'hmac-md5-96-etm@openssh.com' },
    { cipher: 'aes192-cbc', mac: 'hmac-sha1-96' },
  ];
  tries(
    servers(asyncssh.available(), () => asyncssh.startAsyncssh({ server })),
    able,
    ['zlib@openssh.com', 'zlib'],
  );
});

/** Sends bytes through `cat` at our server and back, and says what was negotiated. */
async function echoes(server: OwnServer, command: readonly string[]) {
  const before = server.connections.length;
  const ended = await run(command, { input: bytes, env: { HOME: server.home } });
  assert.equal(ended.code, 0, `${command.join(' ')}: ${ended.stderr}`);
  assert.equal(Buffer.compare(ended.stdout, bytes), 0);
  const { algorithms, stats, keyExchanges } = server.connections[before] ?? assert.fail();
  return { ...(algorithms?.toServer ?? assert.fail()), received: stats.bytesIn, keyExchanges };
}

describe('what is legacy, and compression, of a server of ours', () => {
  const shared = ownServer(ssh.unavailable(), {
    algorithms: {
      preset: 'legacy',
      kex: [...kex, 'diffie-hellman-group1-sha1'],
      compression: ['none', 'zlib@openssh.com'],
    },
    compression,
    rekey: REKEY,
  });

  // of each hash some, before and after encryption
  for (const { cipher, mac } of protections.filter((_, i) => i % 4 === 0 || i % 4 === 3)) {
    it(`ssh: ${cipher} with ${mac}`, options(shared), async () => {
      const found = await echoes(shared.server, ssh.sshCommand(shared.server, 'key', '-c', cipher, '-m', mac, 'cat'));
      assert.deepEqual([found.cipher, found.mac], [cipher, mac]);
      assert.ok(found.keyExchanges >= 2, `${found.keyExchanges} exchanges`);
    });
  }

  it('ssh with nothing but what is legacy, a user who signs over SHA-1 among it', options(shared), async () => {
    const { keys } = shared.server;
    const old = ['KexAlgorithms=diffie-hellman-group1-sha1', 'Ciphers=3des-cbc', 'MACs=hmac-md5', 'Compression=no'];
    const sha1 = ['HostKeyAlgorithms=ssh-rsa', 'PubkeyAcceptedAlgorithms=ssh-rsa', `IdentityFile=${keys.rsa.openssh}`];
    const [program = '', ...rest] = ssh.sshCommand(shared.server, 'key', 'cat');
    const more = [...old, ...sha1].flatMap((option) => ['-o', option]);
    const found = await echoes(shared.server, [program, ...more, ...rest]);
    assert.deepEqual([found.cipher, found.mac], ['3des-cbc', 'hmac-md5']);
    const { algorithms, login } = shared.server.connections.at(-1) ?? assert.fail();
    assert.deepEqual([algorithms?.kex, algorithms?.hostKey], ['diffie-hellman-group1-sha1', 'ssh-rsa']);
    assert.equal(login?.username, 'ada');
  });

  it('ssh -C: zlib@openssh.com, over key exchanges', options(shared), async () => {
    const found = await echoes(shared.server, ['ssh', '-C', ...ssh.sshCommand(shared.server, 'key', 'cat').slice(1)]);
    assert.equal(found.compression, 'zlib@openssh.com');
    assert.ok(found.received > SIZE && found.received < 1.6 * SIZE, `${found.received} bytes`);
    assert.ok(found.keyExchanges >= 2, `${found.keyExchanges} exchanges`);
  });
});

describe('what is legacy of a server of ours that offers nothing else', () => {
  const algorithms = { kex, ciphers: ['3des-cbc'], macs: ['hmac-sha1-96'] };
  const shared = ownServer(putty.unavailable, { algorithms, rekey: REKEY });

  it('plink: 3des-cbc with hmac-sha1-96', options(shared), async () => {
    const sessions = join(shared.server.home, '.putty', 'sessions');
    mkdirSync(sessions, { recursive: true });
    writeFileSync(join(sessions, 'old'), 'Cipher=3des,WARN\n'); // else it asks whether a weak cipher will do
    const plink = ['plink', '-load', 'old', '-ssh', ...(await puttyOptions(shared.server)), 'cat'];
    const found = await echoes(shared.server, plink);
    assert.deepEqual([found.cipher, found.mac], ['3des-cbc', 'hmac-sha1-96']);
    assert.ok(found.keyExchanges >= 2, `${found.keyExchanges} exchanges`);
  });
});

const noDbclient = isThorough && findProgram('dbclient') === undefined ? peerTest('there is no dbclient') : {};

for (const name of ['zlib', 'zlib@openssh.com']) {
  describe(`compression of a server of ours that offers ${name}`, () => {
    const shared = ownServer(putty.unavailable, { algorithms: { kex, compression: [name] }, compression });

    it(`plink -C: ${name}`, options(shared), async () => {
      const plink = ['plink', '-ssh', '-C', ...(await puttyOptions(shared.server)), 'cat'];
      const found = await echoes(shared.server, plink);
      assert.equal(found.compression, name);
      assert.ok(found.received > SIZE && found.received < 1.6 * SIZE, `${found.received} bytes`);
    });

    it(`dbclient: ${name}`, { ...options(shared), ...noDbclient }, async () => {
      const { home, host, port, username, keys } = shared.server;
      const key = join(home, 'dropbear-key');
      await mustRun(['dropbearconvert', 'openssh', 'dropbear', keys.ed25519.openssh, key]);
      const how = ['-y', '-y', '-i', key, '-p', String(port), '-l', username];
      const found = await echoes(shared.server, ['dbclient', ...how, host, 'cat']);
      assert.equal(found.compression, name);
      assert.ok(found.received > SIZE && found.received < 1.6 * SIZE, `${found.received} bytes`);
    });
  });
}
