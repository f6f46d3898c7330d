/** ssh_config in the command: `--config`, `-o`, a way through two servers, and the agent of the user. */

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import * as openssh from '../support/peers/openssh.ts';
import { findProgram, type Peer, usePeer } from '../support/peers/peer.ts';
import { isThorough } from '../support/thorough.ts';
import { onlyLine, runCli, scratch } from './spawn_cli.ts';

const elsewhere = isThorough ? undefined : 'is done in Node 24 only';

describe('ssh_config', () => {
  const gate = usePeer(elsewhere ?? openssh.available(), () => openssh.startSshd());
  const box = usePeer(elsewhere ?? openssh.available(), () => openssh.startSshd());
  const options = elsewhere === undefined ? { ...box.options, timeout: 60_000 } : { skip: elsewhere };

  const entry = (host: string, { port, username, keys, knownHosts }: Peer): string =>
    `Host ${host}\n  HostName 127.0.0.1\n  Port ${port}\n  User ${username}\n  IdentityFile ${keys.ed25519.openssh}\n` +
    `  UserKnownHostsFile "${knownHosts}"\n`;

  function homeWith(config: string): string {
    const home = scratch();
    mkdirSync(join(home, '.ssh'), { mode: 0o700 });
    writeFileSync(join(home, '.ssh', 'config'), config, { mode: 0o600 });
    return home;
  }

  it('is read from the home of the user, or another file, or not at all', options, async () => {
    const HOME = homeWith(entry('box', box.peer));
    const reached = await runCli(['run', 'box', 'echo there'], { env: { HOME } });
    assert.deepEqual([reached.status, reached.stdout.toString(), reached.stderr], [0, 'there\n', '']);
    const other = join(scratch(), 'other');
    writeFileSync(other, entry('else', box.peer));
    assert.equal((await runCli(['ls', '--config', other, 'else:'], { env: { HOME } })).status, 0);
    const none = await runCli(['ls', '-F', 'none', 'box:'], { env: { HOME } });
    assert.equal(none.status, 255);
    assert.match(onlyLine(none), /\bbox\b.*\(connect-failed\)$/);
  });

  it('comes behind -o, and -o behind the command’s own options', options, async () => {
    const HOME = homeWith(`${entry('box', box.peer).replace(/Port \d+/, 'Port 1')}Ciphers aes256-gcm@openssh.com\n`);
    const env = { HOME };
    const port = String(box.peer.port);
    const own = [
      'run',
      '--json',
      '-P',
      port,
      '-o',
      'Port=2',
      '-C',
      '--mac',
      'hmac-sha2-512',
      '-o',
      'Ciphers=aes128-ctr',
    ];
    const both = await runCli([...own, 'box', 'true'], { env });
    assert.equal(both.status, 0, both.stderr);
    const { cipher, mac, compression } = JSON.parse(both.stdout.toString()).algorithms;
    assert.deepEqual([cipher, mac, compression], ['aes128-ctr', 'hmac-sha2-512', 'zlib@openssh.com']);
  });

  it('--legacy reaches what offers nothing else, and its advice is --legacy', options, async () => {
    const old = await openssh.startSshd({
      config: ['KexAlgorithms diffie-hellman-group1-sha1', 'Ciphers 3des-cbc', 'MACs hmac-md5'],
    });
    try {
      const HOME = homeWith(entry('old', old));
      const refused = await runCli(['run', 'old', 'true'], { env: { HOME } });
      assert.equal(refused.status, 255);
      assert.match(onlyLine(refused), /--kex \+diffie-hellman-group1-sha1, or --legacy\b/);
      const reached = await runCli(['run', '--legacy', '--json', 'old', 'true'], { env: { HOME } });
      assert.equal(reached.status, 0, reached.stderr);
      const { kex, cipher, mac } = JSON.parse(reached.stdout.toString()).algorithms;
      assert.deepEqual([kex, cipher, mac], ['diffie-hellman-group1-sha1', '3des-cbc', 'hmac-md5']);
    } finally {
      await old.stop();
    }
  });

  it('says where a mistake is, and what is not followed', options, async () => {
    const HOME = homeWith(`${entry('box', box.peer)}Host *\n  Prot 22\n`);
    const wrong = await runCli(['ls', 'box:'], { env: { HOME } });
    assert.equal(wrong.status, 2);
    assert.match(onlyLine(wrong), /\.ssh\/config:8: prot is no keyword of ssh_config: .*\(bad-config\)$/);
    const exec = homeWith(`Match exec "test %n = box"\n${entry('box', box.peer).replace(/Host.*\n/, '')}`);
    const asked = await runCli(['ls', 'box:'], { env: { HOME: exec } });
    assert.deepEqual([asked.status, /which --match-exec allows \(bad-config\)$/.test(onlyLine(asked))], [2, true]);
    assert.equal((await runCli(['ls', '--match-exec', 'box:'], { env: { HOME: exec } })).status, 0);
    const proxy = await runCli(['ls', '-F', 'none', '-o', 'ProxyCommand=nc %h %p', 'box:']);
    assert.equal(proxy.status, 1);
    assert.match(
      onlyLine(proxy),
      /^-o: puressh does not do what proxycommand asks for: write ProxyJump.*\(not-supported\)$/,
    );
  });

  it('leads through other servers', options, async () => {
    const jump = entry('box', box.peer).replace('\n', '\n  ProxyJump gate\n');
    const HOME = homeWith(`${entry('gate', gate.peer)}${jump}`);
    const { status, stdout, stderr } = await runCli(['run', 'box', 'echo $SSH_CONNECTION'], { env: { HOME } });
    assert.deepEqual([status, stderr], [0, '']);
    assert.match(stdout.toString(), new RegExp(`^127\\.0\\.0\\.1 \\d+ 127\\.0\\.0\\.1 ${box.peer.port}\n$`));
    assert.match(await gate.peer.log(), /Accepted publickey/);
    const refused = await runCli(['ls', '-o', 'UserKnownHostsFile=/dev/null', '-P', '1', 'box:'], { env: { HOME } });
    assert.equal(refused.status, 1);
    assert.match(onlyLine(refused), /^Through .*@127\.0\.0\.1:\d+: .*\(channel-open-failed\)$/);
  });

  it('has hosts that are new remembered, or refused with advice', options, async () => {
    const { port, username, keys, host } = box.peer;
    const known = join(scratch(), 'known');
    const trust = (strict: string): string[] => [
      '-o',
      `StrictHostKeyChecking=${strict}`,
      '-o',
      `UserKnownHostsFile=${known}`,
    ];
    const list = (strict: string) =>
      runCli([
        'ls',
        '-F',
        'none',
        ...trust(strict),
        '-P',
        String(port),
        '-i',
        keys.rsa.openssh,
        `${username}@${host}:`,
      ]);
    const refused = await list('no');
    assert.equal(refused.status, 255);
    assert.match(onlyLine(refused), /StrictHostKeyChecking no \(-o\).*--insecure-accept-any.*\(host-key-unknown\)$/);
    assert.equal((await list('accept-new')).status, 0);
    assert.match(readFileSync(known, 'utf8'), /^\[127\.0\.0\.1\]:\d+ ssh-ed25519 /);
  });

  const agentTools = ['ssh-agent', 'ssh-add'].every((name) => findProgram(name) !== undefined);
  const withAgent = agentTools ? options : { skip: elsewhere ?? 'there is no ssh-agent' };

  it('logs in with the agent, which opens what is encrypted in a file', withAgent, async () => {
    const folder = scratch();
    const socket = join(folder, 'agent');
    const key = join(folder, 'key');
    copyFileSync(box.peer.keys.ed25519.openssh, key);
    chmodSync(key, 0o600);
    const { stdout } = spawnSync('ssh-agent', ['-a', socket, '-s'], { encoding: 'utf8' });
    const agent = Number(/SSH_AGENT_PID=(\d+)/.exec(stdout)?.[1]);
    try {
      const env = { SSH_AUTH_SOCK: socket };
      execFileSync('ssh-add', ['-q', key], { env: { ...process.env, ...env } });
      execFileSync('ssh-keygen', ['-q', '-p', '-a', '1', '-N', 'secret', '-f', key]);
      const { port, username, knownHosts, host } = box.peer;
      const place = ['-F', 'none', '-P', String(port), '--known-hosts', knownHosts, '-o', 'IdentitiesOnly=yes'];
      const login = (...more: string[]) => runCli(['run', ...place, ...more, `${username}@${host}`, 'true'], { env });
      assert.equal((await login('-i', key)).status, 0);
      copyFileSync(`${box.peer.keys.ed25519.openssh}.pub`, `${key}.pub`);
      assert.equal((await login('-i', `${key}.pub`)).status, 0);
      const forwarded = await runCli(
        ['run', ...place, '-i', key, '-o', 'ForwardAgent=yes', `${username}@${host}`, 'ssh-add -L'],
        { env },
      );
      assert.match(forwarded.stdout.toString(), /^ssh-ed25519 /);
      const without = await login('-i', key, '-o', 'IdentityAgent=none');
      assert.match(onlyLine(without), /\(key-passphrase-needed\)$/);
    } finally {
      process.kill(agent);
    }
  });
});
