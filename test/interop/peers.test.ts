/** The peers themselves: that each starts, serves OpenSSH's own client, and is gone when it should be. */

import assert from 'node:assert/strict';
import { type ExecFileException, execFile, spawn } from 'node:child_process';
import { createPublicKey } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import * as asyncssh from '../support/peers/asyncssh.ts';
import * as dropbear from '../support/peers/dropbear.ts';
import { type KeyName, keyNames, testKeys } from '../support/peers/keys.ts';
import * as openssh from '../support/peers/openssh.ts';
import { findProgram, type Peer, peerTest, type SharedPeer, usePeer } from '../support/peers/peer.ts';
import { firstLine } from '../support/peers/process.ts';

const LIMIT = 60_000;

interface Result {
  readonly status: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

function run(command: string, args: readonly string[], env: Record<string, string> = {}): Promise<Result> {
  return new Promise((resolve) => {
    const options = { env: { ...process.env, ...env }, timeout: 20_000 };
    const child = execFile(command, args, options, (error: ExecFileException | null, stdout, stderr) => {
      const status = error === null ? 0 : typeof error.code === 'number' ? error.code : undefined;
      resolve({ status, stdout, stderr });
    });
    child.stdin?.end();
  });
}

/** Options for `ssh` and `sftp` that keep everything of the machine out and trust the peer's own host keys. */
function clientOptions(peer: Peer, key: string | undefined): string[] {
  const options = ['StrictHostKeyChecking=yes', `UserKnownHostsFile=${peer.knownHosts}`, `Port=${peer.port}`];
  options.push(`User=${peer.username}`, 'IdentitiesOnly=yes', 'IdentityAgent=none', 'NumberOfPasswordPrompts=1');
  if (key !== undefined) options.push('BatchMode=yes', `IdentityFile=${key}`);
  return ['-F', '/dev/null', ...options.flatMap((option) => ['-o', option])];
}

function clientUnavailable(): string | undefined {
  return findProgram('ssh') === undefined || findProgram('sftp') === undefined ? 'there is no ssh client' : undefined;
}

async function downloadsWhatItUploaded(peer: Peer): Promise<void> {
  const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, i) => (i * i) % 251));
  const local = join(peer.dir, 'local');
  await writeFile(local, bytes);
  const batch = join(peer.dir, 'batch');
  await writeFile(batch, `put ${local} ${peer.files}/copy\nget ${peer.files}/copy ${local}-back\n`);
  const args = ['-q', '-b', batch, ...clientOptions(peer, peer.keys.ed25519.openssh), peer.host];
  const result = await run('sftp', args);
  assert.equal(result.status, 0, result.stderr);
  assert.deepEqual(await readFile(`${local}-back`), bytes);
}

interface Case {
  readonly name: string;
  readonly pattern: RegExp;
  readonly shared: () => SharedPeer;
  readonly keys: readonly KeyName[];
}

const cases: readonly Case[] = [
  {
    name: 'startSshd',
    pattern: /^SSH-2\.0-OpenSSH_/,
    shared: () => usePeer(openssh.available() ?? clientUnavailable(), () => openssh.startSshd()),
    keys: keyNames,
  },
  {
    name: 'startDropbear',
    pattern: /^SSH-2\.0-dropbear_/,
    shared: () => usePeer(dropbear.sftpUnavailable() ?? clientUnavailable(), () => dropbear.startDropbear()),
    keys: ['ed25519', 'ecdsa256', 'rsa'],
  },
  {
    name: 'startAsyncssh',
    pattern: /^SSH-2\.0-AsyncSSH_/,
    shared: () => usePeer(asyncssh.available() ?? clientUnavailable(), () => asyncssh.startAsyncssh()),
    keys: keyNames,
  },
];

for (const { name, pattern, shared, keys } of cases) {
  describe(name, () => {
    const server = shared();
    const options = { ...server.options, timeout: LIMIT };

    it('identifies itself', options, async () => {
      assert.match(server.peer.identification, pattern);
      assert.equal(await firstLine(server.peer.port), server.peer.identification);
    });

    for (const key of keys) {
      it(`runs a command for the ${key} key`, options, async () => {
        const { peer } = server;
        const args = [...clientOptions(peer, peer.keys[key].openssh), peer.host, 'echo out; echo err >&2; exit 3'];
        const { status, stdout, stderr } = await run('ssh', args);
        assert.deepEqual({ status, stdout }, { status: 3, stdout: 'out\n' }, `${stderr}\n${await peer.log()}`);
        assert.match(stderr, /err\n/);
      });
    }

    it('serves files over SFTP', options, () => downloadsWhatItUploaded(server.peer));

    it('refuses a host key that is not in known_hosts', options, async () => {
      const { peer } = server;
      const args = [...clientOptions(peer, peer.keys.ed25519.openssh), peer.host, 'true'];
      const other = args.map((arg) => (arg.startsWith('UserKnownHostsFile=') ? 'UserKnownHostsFile=/dev/null' : arg));
      const { status, stderr } = await run('ssh', other);
      assert.equal(status, 255);
      assert.match(stderr, /Host key verification failed/);
    });
  });
}

describe('SshdOptions', () => {
  it('config lines win over the defaults', { ...peerTest(openssh.available()), timeout: LIMIT }, async () => {
    const peer = await openssh.startSshd({
      config: ['Ciphers aes128-ctr', 'PrintMotd yes', 'Match all', 'Banner none'],
    });
    try {
      const args = ['-c', 'aes256-ctr', ...clientOptions(peer, peer.keys.ed25519.openssh), peer.host, 'true'];
      const refused = await run('ssh', args);
      assert.equal(refused.status, 255);
      assert.match(refused.stderr, /no matching cipher found. Their offer: aes128-ctr/);
    } finally {
      await peer.stop();
    }
  });

  it('password takes the password and no other', {
    ...peerTest(openssh.passwordUnavailable()),
    timeout: LIMIT,
  }, async () => {
    const peer = await openssh.startSshd({ password: true });
    try {
      const ask = join(peer.dir, 'ask');
      await writeFile(ask, '#!/bin/sh\necho "$ANSWER"\n', { mode: 0o755 });
      const login = (answer: string): Promise<Result> => {
        const env = { SSH_ASKPASS: ask, SSH_ASKPASS_REQUIRE: 'force', ANSWER: answer };
        return run('ssh', [...clientOptions(peer, undefined), peer.host, 'id -un'], env);
      };
      assert.equal((await login(peer.password as string)).stdout, `${peer.username}\n`);
      assert.equal((await login(`${peer.password}x`)).status, 255);
    } finally {
      await peer.stop();
    }
  });
});

describe('Peer', () => {
  const options = { ...peerTest(openssh.available()), timeout: LIMIT };

  it('starts three times at once on ports and in directories of its own', options, async () => {
    const peers = await Promise.all([openssh.startSshd(), openssh.startSshd(), openssh.startSshd()]);
    assert.equal(new Set(peers.map((peer) => peer.port)).size, 3);
    assert.equal(new Set(peers.map((peer) => peer.dir)).size, 3);
    await Promise.all(peers.map((peer) => peer.stop()));
  });

  it('stop ends the server, its sessions and its directory, and keeps the log', options, async () => {
    const peer = await openssh.startSshd();
    const args = [...clientOptions(peer, peer.keys.ed25519.openssh), peer.host, 'sleep 600'];
    const session = run('ssh', args);
    for (let tries = 0; tries < 500 && !/Starting session/.test(await peer.log()); tries++) await sleep(20);
    await peer.stop();
    assert.equal((await session).status, 255);
    assert.equal(await firstLine(peer.port), undefined);
    assert.equal(existsSync(peer.dir), false);
    assert.match(await peer.log(), /Server listening/);
    await peer.stop();
  });

  it('is gone soon after its starter was killed', options, async () => {
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
    const program = fileURLToPath(new URL(`../support/peers/hold.${extension}`, import.meta.url));
    const leading = 'Deno' in globalThis ? ['run', '-A', '--no-lock', '--no-check'] : [];
    const child = spawn(process.execPath, [...leading, program], { stdio: ['ignore', 'pipe', 'inherit'] });
    const line = await new Promise<string>((resolve) => child.stdout.once('data', (data) => resolve(String(data))));
    const { port, dir } = JSON.parse(line) as { port: number; dir: string };
    assert.match((await firstLine(port)) ?? 'silence', /^SSH-2\.0-/);
    child.kill('SIGKILL');
    for (let tries = 0; tries < 200 && existsSync(dir); tries++) await sleep(50);
    assert.equal(await firstLine(port), undefined);
    assert.equal(existsSync(dir), false);
  });

  it('that does not start is an error with its log', options, async () => {
    await assert.rejects(openssh.startSshd({ config: ['NoSuchKeyword yes'] }), /sshd did not start:\n.*NoSuchKeyword/s);
  });
});

describe('testKeys', () => {
  for (const name of keyNames) {
    it(`${name}: the PKCS #8 copy holds the same key`, peerTest(openssh.available()), async () => {
      const key = testKeys().user[name];
      const blob = Buffer.from(key.public.split(' ')[1] as string, 'base64');
      const { n, x } = createPublicKey(await readFile(key.pkcs8)).export({ format: 'jwk' });
      const number = Buffer.from((n ?? x) as string, 'base64url');
      assert.ok(number.length >= 32 && blob.includes(number));
      assert.match(await readFile(key.pkcs8, 'utf8'), /^-----BEGIN PRIVATE KEY-----\n/);
      assert.match(await readFile(key.openssh, 'utf8'), /^-----BEGIN OPENSSH PRIVATE KEY-----\n/);
    });
  }
});

describe('peerTest', () => {
  it('skips with the reason outside CI only', () => {
    assert.deepEqual(peerTest('no sshd', false), { skip: 'no sshd' });
    assert.deepEqual(peerTest('no sshd', true), {});
    assert.deepEqual(peerTest(undefined, false), {});
  });
});
