/**
 * known_hosts files with OpenSSH: what ssh-keygen does to them, certificates of hosts, which key a host shows, and keys that a server
 * tells, both ways. In Node 24 alone: it is the same code elsewhere.
 */

import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { knownHostsName, matchNames, parseNames } from '../../src/keys/known_hosts.ts';
import { knownHostsRows, run as runNow } from '../keys/tools.ts';
import { options as sshOptions, unavailable } from '../support/clients/openssh.ts';
import { type SharedServer, useOwnServer } from '../support/clients/own_server.ts';
import { mustRun, run } from '../support/clients/process.ts';
import { api } from '../support/connect.ts';
import { type KeyName, keyNames, testKeys } from '../support/peers/keys.ts';
import * as openssh from '../support/peers/openssh.ts';
import { type Peer, peerTest, type SharedPeer, usePeer } from '../support/peers/peer.ts';
import { isThorough } from '../support/thorough.ts';

const crypto = api.pureProvider;
const LIMIT = { timeout: 60_000 };
const elsewhere = { skip: 'tried in Node 24' };
const needed = isThorough ? peerTest(unavailable()) : elsewhere;
const skipped = { options: elsewhere };

function use(start: () => Promise<Peer>): SharedPeer {
  return isThorough ? usePeer(openssh.available(), start) : (skipped as SharedPeer);
}

const dir = mkdtempSync(join(tmpdir(), 'puressh-known-'));
after(() => rmSync(dir, { recursive: true, force: true }));
const path = (name: string): string => join(dir, name);
const text = (name: string): string => readFileSync(path(name), 'utf8');

describe('ssh-keygen and known_hosts files', () => {
  /** With hashed names as what they are, where they are in `names`. */
  function unhashed(file: string, names: readonly string[]): string {
    return file.replace(/\|1\|\S+\|\S+/g, (hashed) => {
      const found = parseNames(hashed);
      return (found && names.find((name) => matchNames(crypto, found, name))) ?? hashed;
    });
  }

  it('find the same lines, and say so in the same words (-F)', { ...needed, ...LIMIT }, () => {
    let count = 0;
    for (const { name, lines, lookups } of knownHostsRows) {
      // it passes over keys of types that it does not know
      if (name === 'only a key of an unknown type') continue;
      const file = `${lines.join('\n')}\n`;
      writeFileSync(path('known'), file);
      for (const { host, port } of lookups) {
        const { stdout } = runNow('ssh-keygen', ['-F', knownHostsName(host, port), '-f', path('known')]);
        const found = api.findHost(crypto, file, host, port);
        assert.equal(api.formatFoundLines(host, port, found), stdout, `${name}: ${host} ${port}`);
        count += found.length;
      }
    }
    assert.ok(count > 30, String(count));
  });

  it('remove the same lines (-R)', { ...needed, ...LIMIT }, async () => {
    let count = 0;
    for (const { name, lines, lookups } of knownHostsRows) {
      const file = `${lines.join('\n')}\n`;
      for (const { host, port } of lookups) {
        for (const each of ['theirs', 'ours']) writeFileSync(path(each), file);
        const { stderr } = runNow('ssh-keygen', ['-R', knownHostsName(host, port), '-f', path('theirs')]);
        // it leaves a file with lines that it cannot read as it is
        if (stderr.includes('is not a valid known_hosts file')) continue;
        count += await api.forgetHost(host, { port, path: path('ours') });
        assert.equal(text('ours'), text('theirs'), `${name}: ${host} ${port}`);
      }
    }
    assert.ok(count > 10, String(count));
  });

  it('hash the same names (-H)', { ...needed, ...LIMIT }, () => {
    for (const { name, lines } of knownHostsRows) {
      const file = `${lines.join('\n')}\n`;
      writeFileSync(path('known'), file);
      const { stderr } = runNow('ssh-keygen', ['-H', '-f', path('known')]);
      if (stderr.includes('is not a valid known_hosts file')) continue;
      const names = lines.flatMap((line) => line.toLowerCase().split(/[ \t,]+/));
      const ours = api.hashHosts(crypto, file).text;
      assert.equal(unhashed(ours, names), unhashed(text('known'), names), name);
      assert.equal(ours.split('|1|').length, text('known').split('|1|').length, name);
    }
  });
});

/** Certificates of sshd's host keys by the user key `rsa`, each right or wrong in its own way; `theirs`: OpenSSH 9.2 takes it. */
const certificates: Readonly<Record<KeyName, { args: readonly string[]; theirs: boolean; ours: string }>> = {
  ed25519: { args: ['-n', 'other,127.0.0.1'], theirs: true, ours: '' },
  ecdsa256: { args: ['-n', '[127.0.0.1]:22,localhost'], theirs: false, ours: 'principals' },
  ecdsa384: { args: ['-n', '127.0.0.1', '-V', '20200101:20210101'], theirs: false, ours: 'valid until 202' },
  ecdsa521: { args: ['-n', '127.0.0.1', '-O', 'critical:x@y=1'], theirs: false, ours: "option 'x@y'" },
  // from 10.3 on OpenSSH says what we do
  rsa: { args: [], theirs: true, ours: 'names no principals' },
};

describe('certificates of hosts at sshd', () => {
  const sshd = use(async () => {
    const config = keyNames.map((name) => {
      copyFileSync(`${testKeys().host[name].path}.pub`, path(`${name}.pub`));
      const authority = testKeys().user.rsa.openssh;
      const args = ['-q', '-s', authority, '-h', '-I', `host ${name}`, ...certificates[name].args, path(`${name}.pub`)];
      assert.equal(runNow('ssh-keygen', args).status, 0);
      return `HostCertificate ${path(`${name}-cert.pub`)}`;
    });
    return openssh.startSshd({ config });
  });

  /** Connects with a known_hosts file, as HOST for the server. */
  async function connect(known: string, algorithms: readonly string[], more = {}) {
    const { host, port, username, keys } = sshd.peer;
    writeFileSync(path('known'), known.replaceAll('HOST', `[${host}]:${port}`));
    const auth = [api.keyFile(keys.ed25519.openssh)];
    const hostKey = api.knownHosts(path('known'), more);
    return api.connect({ host, port, username, auth, hostKey, algorithms: { hostKeys: algorithms } });
  }

  const authority = (): string => testKeys().user.rsa.public;

  for (const name of keyNames) {
    const { args, theirs, ours } = certificates[name];
    it(`are judged as by ssh: ${name}, ${args.join(' ') || 'for nobody'}`, { ...sshd.options, ...LIMIT }, async () => {
      const { host, port, username, keys } = sshd.peer;
      const { blob } = api.parseCertificate(
        Buffer.from(text(`${name}-cert.pub`).split(' ')[1] ?? '', 'base64'),
        crypto,
      );
      const type = text(`${name}-cert.pub`).split(' ')[0] ?? '';
      const algorithm = name === 'rsa' ? 'rsa-sha2-512-cert-v01@openssh.com' : type;
      const known = `@cert-authority HOST ${authority()}\n`;
      if (ours === '') {
        await using ssh = await connect(known, [algorithm]);
        assert.equal(ssh.info.algorithms.hostKey, algorithm);
        assert.deepEqual(ssh.info.hostKey.blob, blob);
        assert.equal(ssh.info.hostKey.keyType, type);
      } else {
        await assert.rejects(connect(known, [algorithm]), ({ code, message }: { code: string; message: string }) => {
          assert.equal(code, 'host-key-certificate', message);
          assert.ok(message.includes(ours), message);
          return true;
        });
      }
      const target = ['-p', String(port), '-l', username, host, 'true'];
      const file = ['StrictHostKeyChecking=yes', `UserKnownHostsFile=${path('known')}`, 'GlobalKnownHostsFile=none'];
      const trust = [...file, `HostKeyAlgorithms=${algorithm}`, 'BatchMode=yes', 'IdentitiesOnly=yes'];
      const login = ['-i', keys.ed25519.openssh, ...trust.flatMap((option) => ['-o', option])];
      const { code } = await run(['ssh', '-F', 'none', ...login, ...target]);
      assert.equal(code === 0, theirs);
    });
  }

  it('are asked for first where an authority is known', { ...sshd.options, ...LIMIT }, async () => {
    const { host, port, username, keys } = sshd.peer;
    writeFileSync(path('known'), `[${host}]:${port} ${testKeys().host.rsa.public}\n@cert-authority * ${authority()}\n`);
    const auth = [api.keyFile(keys.ed25519.openssh)];
    const login = { host, port, username, auth };
    await using ssh = await api.connect({ ...login, hostKey: api.knownHosts(path('known')) });
    assert.equal(ssh.info.algorithms.hostKey, 'ssh-ed25519-cert-v01@openssh.com');
    // without an authority by the key that is known, and in the order of the list where that is fixed
    writeFileSync(path('known'), `[${host}]:${port} ${testKeys().host.rsa.public}\n`);
    await using known = await api.connect({ ...login, hostKey: api.knownHosts(path('known')) });
    assert.match(known.info.algorithms.hostKey, /^rsa-sha2-512$/);
    const fixed = api.connect({ ...login, hostKey: api.knownHosts(path('known')), hostKeyOrder: 'fixed' });
    await assert.rejects(fixed, { code: 'host-key-changed' });
  });

  it('are refused once they, their key or their authority are revoked', { ...sshd.options, ...LIMIT }, async () => {
    const known = `@cert-authority HOST ${authority()}\nHOST ${testKeys().host.ed25519.public}\n`;
    const algorithms = ['ssh-ed25519-cert-v01@openssh.com'];
    const refused = async (more: { revoked?: string }, lines = known): Promise<void> => {
      await assert.rejects(connect(lines, algorithms, more), { code: 'host-key-revoked' });
    };
    await refused({}, `${known}@revoked * ${authority()}\n`);
    await refused({}, `@revoked HOST ${testKeys().host.ed25519.public}\n${known}`);
    writeFileSync(path('ca.pub'), authority());
    writeFileSync(path('spec'), 'id: host ed25519\n');
    for (const args of [['-s', path('ca.pub'), path('spec')], [path('ca.pub')], [path('ed25519.pub')]]) {
      await mustRun(['ssh-keygen', '-q', '-k', '-f', path('krl'), ...args]);
      await refused({ revoked: path('krl') });
    }
    await refused({ revoked: path('ca.pub') });
    writeFileSync(path('spec'), 'id: host rsa\n');
    await mustRun(['ssh-keygen', '-q', '-k', '-f', path('krl'), '-s', path('ca.pub'), path('spec')]);
    await using ssh = await connect(known, algorithms, { revoked: path('krl') });
    assert.equal(ssh.info.hostKey.keyType, algorithms[0]);
    for (const content of ['', 'nonsense\n']) {
      rmSync(path('krl'), { force: true });
      if (content !== '') writeFileSync(path('krl'), content);
      await assert.rejects(connect(known, algorithms, { revoked: path('krl') }), { code: 'bad-local-file' });
    }
  });

  it('tells its keys, which end up in our file', { ...sshd.options, ...LIMIT }, async () => {
    const { host, port, username, keys } = sshd.peer;
    const name = `[${host}]:${port}`;
    const line = (key: string): string => `${name} ${key}\n`;
    writeFileSync(path('known'), `# c\n${line(testKeys().host.ecdsa384.public)}${line(keys.ecdsa384.public)}`);
    const auth = [api.keyFile(keys.ed25519.openssh)];
    const hostKey = api.knownHosts(path('known'), { update: true });
    await using ssh = await api.connect({ host, port, username, auth, hostKey });
    assert.equal(ssh.info.algorithms.hostKey, 'ecdsa-sha2-nistp384');
    while (ssh.info.hostKeyUpdate.state !== 'done') await new Promise((resolve) => setTimeout(resolve, 5));
    assert.deepEqual(ssh.info.hostKeyUpdate, { state: 'done' });
    const { host: server } = testKeys();
    const added = keyNames.filter((each) => each !== 'ecdsa384').map((each) => line(server[each].public));
    const [comment, first, ...rest] = text('known').split(/(?<=\n)/);
    assert.deepEqual([comment, first], ['# c\n', line(server.ecdsa384.public)]);
    assert.deepEqual(rest.sort(), added.sort());
  });
});

describe('ssh at our server', () => {
  const clients = (isThorough ? useOwnServer(unavailable()) : skipped) as SharedServer;

  for (const known of ['ed25519', 'rsa'] as const) {
    it(`learns all keys from one, by UpdateHostKeys: ${known}`, { ...clients.options, ...LIMIT }, async () => {
      const { server } = clients;
      const name = `[${server.host}]:${server.port}`;
      const { host } = testKeys();
      const stale = server.keys[known].public;
      writeFileSync(path('theirs'), `${name} ${host[known].public}\n${name} ${stale}\n`);
      const login = sshOptions({ ...server, knownHosts: path('theirs') });
      // it updates while the session goes on
      const update = ['-o', 'UpdateHostKeys=yes', '-o', 'HashKnownHosts=no', '-p', String(server.port)];
      const { code, stderr } = await run(['ssh', ...login, ...update, '-l', server.username, server.host, 'cat'], {
        input: 'x',
      });
      assert.equal(code, 0, stderr);
      const lines = text('theirs').trim().split('\n').sort();
      assert.deepEqual(lines, keyNames.map((each) => `${name} ${host[each].public}`).sort(), stderr);
    });
  }
});
