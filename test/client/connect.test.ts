/** Connecting to a real sshd: every kind of key, passwords, policies, and what is told when it does not work. */

import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { api } from '../support/connect.ts';
import { keyNames } from '../support/peers/keys.ts';
import { available, passwordUnavailable, startSshd } from '../support/peers/openssh.ts';
import { type Peer, peerTest, usePeer } from '../support/peers/peer.ts';
import { rejectsWith } from '../support/rejects.ts';

const { connect, keyFile, key, knownHosts, acceptNew, pin, insecureAcceptAny, password, keyboardInteractive } = api;
const LIMIT = 60_000;

/** Options that work; tests change what they are about. */
function optionsFor(peer: Peer) {
  return {
    host: peer.host,
    port: peer.port,
    username: peer.username,
    auth: [keyFile(peer.keys.ed25519.openssh)],
    hostKey: knownHosts(peer.knownHosts),
  };
}

/** `SHA256:…` of a public key `type base64`, computed by the runtime. */
async function fingerprintOf(line: string): Promise<string> {
  const blob = Buffer.from(line.split(' ')[1] as string, 'base64');
  const digest = await crypto.subtle.digest('SHA-256', blob);
  return `SHA256:${Buffer.from(digest).toString('base64').replace(/=+$/, '')}`;
}

describe('connect to sshd', () => {
  const sshd = usePeer(available(), () => startSshd());
  const options = { ...sshd.options, timeout: LIMIT };

  for (const name of keyNames) {
    for (const format of ['openssh', 'pkcs8'] as const) {
      it(`logs in with an ${name} key in ${format} format`, options, async () => {
        const { peer } = sshd;
        await using ssh = await connect({ ...optionsFor(peer), auth: [keyFile(peer.keys[name][format])] });
        assert.deepEqual(ssh.info.authMethods, ['publickey']);
        assert.equal((await ssh.run('exit 7')).code, 7);
      });
    }
  }

  it('takes the text and the bytes of a key', options, async () => {
    const { peer } = sshd;
    const text = readFileSync(peer.keys.ecdsa256.openssh, 'utf8');
    for (const material of [text, new TextEncoder().encode(text)]) {
      await using ssh = await connect({ ...optionsFor(peer), auth: [key(material)] });
      assert.deepEqual(ssh.info.authMethods, ['publickey']);
    }
  });

  it('knows what the connection is made of', options, async () => {
    const { peer } = sshd;
    await using ssh = await connect({ ...optionsFor(peer), algorithms: { ciphers: ['aes256-ctr'] } });
    const { info } = ssh;
    assert.equal(info.identification, peer.identification);
    assert.deepEqual(info.greeting, []);
    assert.match(info.algorithms.kex, /^(mlkem768|sntrup761)x25519-/);
    assert.equal(info.algorithms.hostKey, 'ssh-ed25519');
    assert.equal(info.algorithms.toServer.cipher, 'aes256-ctr');
    assert.equal(info.algorithms.toClient.mac, 'hmac-sha2-256-etm@openssh.com');
    assert.equal(info.strictKex, true);
    assert.equal(info.hostKey.keyType, 'ssh-ed25519');
    assert.equal(info.hostKey.fingerprint, await fingerprintOf(peer.hostKeys.ed25519 as string));
  });

  it('ends in good order, and says so', options, async () => {
    const { peer } = sshd;
    const ssh = await connect(optionsFor(peer));
    await ssh.close();
    assert.equal(await ssh.closed, undefined);
    await rejectsWith(ssh.run('true'), 'connection-closed');
    await rejectsWith(ssh.rekey(), 'connection-closed');
    await ssh.close();
  });

  it('exchanges keys when told', options, async () => {
    await using ssh = await connect(optionsFor(sshd.peer));
    const negotiated = await ssh.rekey();
    assert.match(negotiated.kex, /^(mlkem768|sntrup761)x25519-/);
    assert.equal((await ssh.run('echo on')).stdout.length, 3);
  });

  describe('host keys', () => {
    it('come in the types that the host is known under', options, async () => {
      const { peer } = sshd;
      const file = join(peer.dir, 'known_rsa');
      writeFileSync(file, `[127.0.0.1]:${peer.port} ${peer.hostKeys.rsa}\n`);
      await using ssh = await connect({ ...optionsFor(peer), hostKey: knownHosts(file) });
      assert.equal(ssh.info.hostKey.keyType, 'ssh-rsa');
      assert.equal(ssh.info.algorithms.hostKey, 'rsa-sha2-512');
    });

    it('that are unknown are refused with their fingerprint', options, async () => {
      const { peer } = sshd;
      const file = join(peer.dir, 'known_none');
      const error = await rejectsWith(connect({ ...optionsFor(peer), hostKey: knownHosts(file) }), 'host-key-unknown');
      assert.equal(error.fault, 'policy');
      assert.ok(error.message.includes(await fingerprintOf(peer.hostKeys.ed25519 as string)), error.message);
      assert.ok(error.message.includes(`[127.0.0.1]:${peer.port}`), error.message);
      assert.ok(error.message.includes(file), error.message);
      assert.equal(existsSync(file), false);
    });

    it('that have changed are refused with both fingerprints and the place of the old one', options, async () => {
      const { peer } = sshd;
      const file = join(peer.dir, 'known_changed');
      writeFileSync(file, `# a comment\n[127.0.0.1]:${peer.port} ${peer.keys.ed25519.public}\n`);
      for (const hostKey of [knownHosts(file), acceptNew(file)]) {
        const error = await rejectsWith(connect({ ...optionsFor(peer), hostKey }), 'host-key-changed');
        assert.ok(error.message.includes(await fingerprintOf(peer.hostKeys.ed25519 as string)), error.message);
        assert.ok(error.message.includes(await fingerprintOf(peer.keys.ed25519.public)), error.message);
        assert.ok(error.message.includes(`${file}:2`), error.message);
      }
    });

    it('that are revoked are refused', options, async () => {
      const { peer } = sshd;
      const file = join(peer.dir, 'known_revoked');
      writeFileSync(file, `@revoked * ${peer.hostKeys.ed25519}\n`);
      await rejectsWith(connect({ ...optionsFor(peer), hostKey: knownHosts(file) }), 'host-key-revoked');
    });

    it('that are new are remembered by acceptNew, for the owner only', options, async () => {
      const { peer } = sshd;
      const file = join(peer.dir, 'home', '.ssh', 'known_hosts');
      await (await connect({ ...optionsFor(peer), hostKey: acceptNew(file) })).close();
      const line = `[127.0.0.1]:${peer.port} ${peer.hostKeys.ed25519}\n`;
      assert.equal(readFileSync(file, 'utf8'), line);
      assert.equal(statSync(file).mode & 0o777, 0o600);
      assert.equal(statSync(join(peer.dir, 'home', '.ssh')).mode & 0o777, 0o700);
      await (await connect({ ...optionsFor(peer), hostKey: acceptNew(file) })).close();
      await (await connect({ ...optionsFor(peer), hostKey: knownHosts(file) })).close();
      assert.equal(readFileSync(file, 'utf8'), line);
    });

    it('are put on a line of their own where the file does not end in one', options, async () => {
      const { peer } = sshd;
      const file = join(peer.dir, 'known_cut');
      writeFileSync(file, `example.org ${peer.keys.rsa.public}`);
      await (await connect({ ...optionsFor(peer), hostKey: acceptNew(file) })).close();
      const added = `[127.0.0.1]:${peer.port} ${peer.hostKeys.ed25519}\n`;
      assert.equal(readFileSync(file, 'utf8'), `example.org ${peer.keys.rsa.public}\n${added}`);
    });

    it('that are pinned are trusted, others are not', options, async () => {
      const { peer } = sshd;
      const right = await fingerprintOf(peer.hostKeys.ed25519 as string);
      const wrong = await fingerprintOf(peer.hostKeys.rsa as string);
      await (await connect({ ...optionsFor(peer), hostKey: pin([wrong, right]) })).close();
      const error = await rejectsWith(connect({ ...optionsFor(peer), hostKey: pin(wrong) }), 'host-key-mismatch');
      assert.ok(error.message.includes(right) && error.message.includes(wrong), error.message);
      const algorithms = { hostKeys: ['rsa-sha2-256'] };
      await (await connect({ ...optionsFor(peer), hostKey: pin(wrong), algorithms })).close();
    });

    it('are not looked at by insecureAcceptAny', options, async () => {
      await (await connect({ ...optionsFor(sshd.peer), hostKey: insecureAcceptAny() })).close();
    });
  });

  describe('failures', () => {
    it('of the login say what was tried and what the server accepts', options, async () => {
      const { peer } = sshd;
      const stranger = keyFile(join(peer.dir, 'stranger'));
      writeFileSync(join(peer.dir, 'stranger'), readFileSync(hostKeyPath(peer)), { mode: 0o600 });
      const auth = [stranger, password('hunter2')];
      const error = await rejectsWith(connect({ ...optionsFor(peer), auth }), 'auth-failed');
      assert.equal(error.phase, 'authentication');
      assert.match(
        error.message,
        /tried publickey ssh-ed25519 SHA256:\S+ from \S*stranger; the server accepts publickey;/,
      );
      assert.equal(error.message.includes('hunter2'), false);
    });

    it('for want of any method say so', options, async () => {
      const error = await rejectsWith(connect({ ...optionsFor(sshd.peer), auth: [] }), 'auth-failed');
      assert.match(error.message, /tried nothing; the server accepts publickey;/);
    });

    it('of a key file name the file', options, async () => {
      const { peer } = sshd;
      const auth = [keyFile(join(peer.dir, 'missing')), keyFile(peer.keys.ed25519.openssh)];
      const error = await rejectsWith(connect({ ...optionsFor(peer), auth }), 'bad-local-file');
      assert.equal(error.path, join(peer.dir, 'missing'));
      writeFileSync(join(peer.dir, 'damaged'), 'not a key');
      const damaged = connect({ ...optionsFor(peer), auth: [keyFile(join(peer.dir, 'damaged'))] });
      assert.match((await rejectsWith(damaged, 'key-format-unsupported')).message, /damaged/);
    });

    it('of the negotiation print both lists', options, async () => {
      const { peer } = sshd;
      const attempt = connect({
        ...optionsFor(peer),
        algorithms: { hostKeys: ['ssh-ed25519'], kex: ['ecdh-sha2-nistp384'] },
      });
      await (await attempt).close();
      const unknown = connect({ ...optionsFor(peer), algorithms: { ciphers: ['arcfour'] } });
      assert.match((await rejectsWith(unknown, 'bad-argument')).message, /arcfour/);
    });
  });

  it('gives up when aborted', options, async () => {
    const { peer } = sshd;
    await rejectsWith(connect({ ...optionsFor(peer), signal: AbortSignal.abort() }), 'aborted');
    const later = new AbortController();
    const hostKey = {
      check: () => {
        later.abort(new Error('changed my mind'));
        return new Promise<void>(() => {});
      },
    };
    const error = await rejectsWith(connect({ ...optionsFor(peer), hostKey, signal: later.signal }), 'aborted');
    assert.equal((error.cause as Error).message, 'changed my mind');
  });

  it('is not ended by the signal once it is there', options, async () => {
    const controller = new AbortController();
    await using ssh = await connect({ ...optionsFor(sshd.peer), signal: controller.signal });
    controller.abort();
    assert.equal((await ssh.run('true')).code, 0);
  });
});

/** A private key that no user has. */
function hostKeyPath(peer: Peer): string {
  return peer.keys.ed25519.openssh.replace(/user_ed25519$/, 'host_ed25519');
}

describe('connect to sshd that wants two keys', () => {
  const sshd = usePeer(available(), () => startSshd({ config: ['AuthenticationMethods publickey,publickey'] }));
  const options = { ...sshd.options, timeout: LIMIT };

  it('goes on with the next key after a partial success', options, async () => {
    const { peer } = sshd;
    const auth = [keyFile(peer.keys.ed25519.openssh), keyFile(peer.keys.ecdsa256.openssh)];
    await using ssh = await connect({ ...optionsFor(peer), auth });
    assert.deepEqual(ssh.info.authMethods, ['publickey', 'publickey']);
  });

  it('never shows a key twice', options, async () => {
    const { peer } = sshd;
    const auth = [keyFile(peer.keys.ed25519.openssh), keyFile(peer.keys.ed25519.pkcs8)];
    const error = await rejectsWith(connect({ ...optionsFor(peer), auth }), 'auth-failed');
    assert.match(error.message, /\(accepted, but not enough\); the server accepts publickey;/);
  });
});

describe('connect to sshd that shows a banner', () => {
  const sshd = usePeer(available(), async () => {
    const banner = new URL('../../LICENSE', import.meta.url);
    return startSshd({ config: [`Banner ${existsSync(banner) ? banner.pathname : '/etc/hostname'}`] });
  });

  it('hands it out before the login', { ...sshd.options, timeout: LIMIT }, async () => {
    const shown: string[] = [];
    await (await connect({ ...optionsFor(sshd.peer), onBanner: (text) => shown.push(text) })).close();
    assert.equal(shown.length, 1);
    assert.ok((shown[0] as string).length > 0);
  });
});

describe('connect to sshd with a password', () => {
  const reason = passwordUnavailable();
  const sshd = usePeer(reason, () => startSshd({ password: true }));
  const options = { ...peerTest(reason), timeout: LIMIT };

  it('logs in with the right one', options, async () => {
    const { peer } = sshd;
    const auth = [password(peer.password as string)];
    await using ssh = await connect({ ...optionsFor(peer), auth });
    assert.deepEqual(ssh.info.authMethods, ['password']);
  });

  it('asks for it, and again when it was wrong', options, async () => {
    const { peer } = sshd;
    const attempts: number[] = [];
    const ask = async (attempt: number): Promise<string> => {
      attempts.push(attempt);
      return attempt === 2 ? (peer.password as string) : 'wrong';
    };
    await using ssh = await connect({ ...optionsFor(peer), auth: [password(ask)] });
    assert.deepEqual(attempts, [1, 2]);
    assert.deepEqual(ssh.info.authMethods, ['password']);
  });

  it('falls back to it after a refused key, and does not tell it to anybody', options, async () => {
    const { peer } = sshd;
    const auth = [keyboardInteractive(() => []), password('wrong-secret')];
    const error = await rejectsWith(connect({ ...optionsFor(peer), auth }), 'auth-failed');
    assert.match(error.message, /tried keyboard-interactive, password;/);
    assert.equal(error.message.includes('wrong-secret'), false);
  });
});
