/** Whom the command trusts, what it logs in with, and what it says when either fails. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import * as openssh from '../support/peers/openssh.ts';
import { type Peer, peerTest, usePeer } from '../support/peers/peer.ts';
import { at, onlyLine, reaching, runCli, scratch } from './spawn_cli.ts';

function fingerprintOf(line: string | undefined): string {
  const blob = Buffer.from((line as string).split(' ')[1] as string, 'base64');
  return `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`;
}

describe('trust', () => {
  const sshd = usePeer(openssh.available(), () => openssh.startSshd());
  const options = { ...sshd.options, timeout: 60_000 };
  const list = (trust: readonly string[], home?: string) => {
    const { peer } = sshd;
    const login = ['-P', String(peer.port), '-i', peer.keys.ed25519.openssh];
    const env: Record<string, string> = home === undefined ? {} : { HOME: home };
    return runCli(['ls', ...trust, ...login, `${at(peer)}:${peer.files}`], { env });
  };

  it('is by default what ~/.ssh/known_hosts says', options, async () => {
    const home = scratch();
    mkdirSync(join(home, '.ssh'));
    copyFileSync(sshd.peer.knownHosts, join(home, '.ssh', 'known_hosts'));
    assert.equal((await list([], home)).status, 0);
  });

  it('is refused to an unknown host, with the fingerprint and what to do', options, async () => {
    const ended = await list([]);
    assert.equal(ended.status, 255);
    const line = onlyLine(ended);
    const fingerprint = fingerprintOf(sshd.peer.hostKeys.ed25519);
    assert.ok(line.includes(`--pin ${fingerprint}`), line);
    assert.match(line, /--accept-new.*\(host-key-unknown\)$/);
    assert.doesNotMatch(line, /pin\(|acceptNew/);
  });

  it(
    'is refused to a host whose key has changed, with both fingerprints and where the old one stands',
    options,
    async () => {
      const { peer } = sshd;
      const file = join(scratch(), 'known_hosts');
      writeFileSync(file, `# a comment\n[127.0.0.1]:${peer.port} ${peer.keys.ed25519.public}\n`);
      const ended = await list(['--known-hosts', file]);
      assert.equal(ended.status, 255);
      const line = onlyLine(ended);
      assert.ok(line.includes(fingerprintOf(peer.hostKeys.ed25519)), line);
      assert.ok(line.includes(fingerprintOf(peer.keys.ed25519.public)), line);
      assert.ok(line.includes(`${file}:2`), line);
      assert.match(line, /\(host-key-changed\)$/);
      assert.equal(ended.stdout.length, 0);
    },
  );

  it('is given once and kept with --accept-new', options, async () => {
    const home = scratch();
    assert.equal((await list(['--accept-new', '-F', 'none'], home)).status, 0);
    // the server may have told its other keys before the end
    const known = readFileSync(join(home, '.ssh', 'known_hosts'), 'utf8');
    assert.match(known, /^\[127\.0\.0\.1\]:\d+ ssh-ed25519 \S+\n(?:\[127\.0\.0\.1\]:\d+ \S+ \S+\n)*$/);
    assert.equal((await list([], home)).status, 0);
  });

  it('is not given to a revoked key by the options that name files', options, async () => {
    const { knownHosts, hostKeys } = sshd.peer;
    const revoked = join(scratch(), 'revoked');
    writeFileSync(revoked, `${Object.values(hostKeys).join('\n')}\n`);
    for (const trust of [['--known-hosts', knownHosts], ['--accept-new']]) {
      const ended = await list([...trust, '-o', `RevokedHostKeys=${revoked}`]);
      assert.equal(ended.status, 255);
      assert.match(onlyLine(ended), /\(host-key-revoked\)$/);
    }
  });

  it('is given by pin to one key, of any kind', options, async () => {
    const { hostKeys } = sshd.peer;
    assert.equal((await list(['--pin', fingerprintOf(hostKeys.ed25519)])).status, 0);
    const rsa = ['--pin', fingerprintOf(hostKeys.rsa), '--host-key', 'rsa-sha2-256'];
    assert.equal((await list(rsa)).status, 0);
    const other = await list(['--pin', fingerprintOf(hostKeys.rsa)]);
    assert.equal(other.status, 255);
    assert.match(onlyLine(other), /--host-key \(host-key-mismatch\)$/);
  });

  it('is given to anybody only when told so, and then writes nothing', options, async () => {
    const home = scratch();
    assert.equal((await list(['--insecure-accept-any'], home)).status, 0);
    assert.ok(!existsSync(join(home, '.ssh')));
  });

  it('needs a fingerprint that is one', options, async () => {
    const ended = await list(['--pin', 'SHA256:short']);
    assert.equal(ended.status, 2);
    assert.match(onlyLine(ended), /\(bad-argument\)$/);
  });
});

describe('login with keys', () => {
  const sshd = usePeer(openssh.available(), () => openssh.startSshd());
  const options = { ...sshd.options, timeout: 60_000 };
  const homeWith = (keys: Readonly<Record<string, string>>): string => {
    const home = scratch();
    mkdirSync(join(home, '.ssh'));
    for (const [name, path] of Object.entries(keys)) copyFileSync(path, join(home, '.ssh', name));
    return home;
  };
  const list = (own: readonly string[], env: Record<string, string> = {}) => {
    const { peer } = sshd;
    const trust = ['-P', String(peer.port), '--known-hosts', peer.knownHosts];
    return runCli(['ls', ...trust, ...own, `${at(peer)}:${peer.files}`], { env });
  };

  for (const name of ['ed25519', 'ecdsa256', 'ecdsa384', 'ecdsa521', 'rsa'] as const) {
    it(`takes ${name} keys in both formats`, options, async () => {
      const { openssh: own, pkcs8 } = sshd.peer.keys[name];
      for (const path of [own, pkcs8]) {
        const ended = await list(['-i', path]);
        assert.equal(ended.status, 0, `${path}: ${ended.stderr}`);
      }
    });
  }

  it('takes the keys of the user by default', options, async () => {
    const { rsa, ecdsa256 } = sshd.peer.keys;
    assert.equal((await list([], { HOME: homeWith({ id_rsa: rsa.openssh }) })).status, 0);
    assert.equal((await list([], { HOME: homeWith({ id_ecdsa: ecdsa256.pkcs8 }) })).status, 0);
  });

  it('takes the name of the user by default', options, async () => {
    const { peer } = sshd;
    const args = ['ls', ...reaching(peer), `${peer.host}:${peer.files}`];
    assert.equal((await runCli(args, { env: { USER: peer.username } })).status, 0);
    const other = await runCli(args, { env: { USER: 'nobody-here' } });
    assert.match(onlyLine(other), /Login as "nobody-here" failed.*\(auth-failed\)$/);
  });

  it(
    'goes on where a key of the user is encrypted or damaged, and says so when nothing else lets in',
    options,
    async () => {
      const { rsa, ed25519 } = sshd.peer.keys;
      const home = homeWith({ id_rsa: rsa.openssh, id_ed25519: ed25519.openssh });
      const encrypted = join(home, '.ssh', 'id_ed25519');
      chmodSync(encrypted, 0o600);
      execFileSync('ssh-keygen', ['-q', '-p', '-a', '1', '-N', 'secret', '-f', encrypted]);
      const first = await list([], { HOME: home });
      assert.equal(first.status, 0, first.stderr);
      writeFileSync(join(home, '.ssh', 'id_rsa'), 'no key at all');
      const ended = await list([], { HOME: home });
      assert.equal(ended.status, 1);
      const line = onlyLine(ended);
      assert.match(
        line,
        /id_ed25519.* not tried: ~\/\.ssh\/id_rsa \(key-format-unsupported\) \(key-passphrase-needed\)$/,
      );
      const named = await list(['-i', encrypted], { HOME: home });
      assert.equal(named.status, 1);
      assert.match(onlyLine(named), /\(key-passphrase-needed\)$/);
    },
  );

  it('says what is wrong with a key that was named', options, async () => {
    const missing = await list(['-i', '/no/such/key']);
    assert.equal(missing.status, 1);
    assert.match(onlyLine(missing), /\/no\/such\/key: no such file or directory \(bad-local-file\)$/);
    const publicKey = await list(['-i', `${sshd.peer.keys.rsa.openssh}.pub`]);
    assert.equal(publicKey.status, 255);
    assert.match(onlyLine(publicKey), /is a public key, and no agent has the private one.*\(auth-failed\)$/);
  });

  it('ends with 255 when the server knows none of the keys', options, async () => {
    const peer = await openssh.startSshd({ config: ['AuthorizedKeysFile /dev/null'] });
    try {
      const ended = await runCli(['ls', ...reaching(peer), `${at(peer)}:`]);
      assert.equal(ended.status, 255);
      assert.match(onlyLine(ended), /^Login as ".*" failed: tried publickey ssh-ed25519.*-i.*\(auth-failed\)$/);
    } finally {
      await peer.stop();
    }
  });
});

describe('login with a password', () => {
  const options = { ...peerTest(openssh.passwordUnavailable()), timeout: 60_000 };
  const withPassword = async (config: readonly string[], use: (peer: Peer) => Promise<void>): Promise<void> => {
    const peer = await openssh.startSshd({ password: true, config });
    try {
      await use(peer);
    } finally {
      await peer.stop();
    }
  };
  const run = (peer: Peer, input: string, ...words: string[]) => {
    const args = ['-P', String(peer.port), '--known-hosts', peer.knownHosts, '--password-stdin'];
    return runCli(['run', ...args, at(peer), ...words], { input });
  };

  it('takes the first line of standard input, and no more', options, () =>
    withPassword([], async (peer) => {
      const ended = await run(peer, `${peer.password}\nnot for the command\n`, 'wc -c; id -un');
      assert.deepEqual([ended.status, ended.stdout.toString().trim().split(/\s+/)], [0, ['0', peer.username]]);
      assert.equal((await run(peer, `${peer.password}\r\n`, 'true')).status, 0);
      assert.equal((await run(peer, `${peer.password}`, 'true')).status, 0);
    }),
  );

  it('ends with 255 when it is wrong, and does not show it', options, () =>
    withPassword([], async (peer) => {
      const ended = await run(peer, 'wrong-guess\n', 'true');
      assert.equal(ended.status, 255);
      assert.match(onlyLine(ended), /tried password.*\(auth-failed\)$/);
      assert.doesNotMatch(ended.stderr, /wrong-guess/);
    }),
  );
});
