/** Key files and known_hosts below the user's home, in each runtime. */

import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { HostKeyOffer } from '../../src/client/host_key.ts';
import { pureProvider } from '../../src/crypto/pure/index.ts';
import { fingerprint } from '../../src/keys/public_key.ts';
import { parseShownKey } from '../../src/keys/shown_key.ts';
import { expandHome } from '../../src/transports/home.ts';
import { api } from '../support/connect.ts';
import { testKeys } from '../support/peers/keys.ts';
import { available } from '../support/peers/openssh.ts';
import { peerTest } from '../support/peers/peer.ts';
import { rejectsWith } from '../support/rejects.ts';

const folder = mkdtempSync(join(tmpdir(), 'puressh-home-'));
const home = process.env.HOME;
after(() => {
  rmSync(folder, { recursive: true, force: true });
  if (home !== undefined) process.env.HOME = home;
});

const options = peerTest(available());

function offer(name: 'ed25519' | 'rsa', host = 'example.org', port = 22): HostKeyOffer {
  const [keyType, digits] = testKeys().host[name].public.split(' ') as [string, string];
  const hostKey = new Uint8Array(Buffer.from(digits, 'base64'));
  const shown = { fingerprint: fingerprint(pureProvider, hostKey), key: parseShownKey(hostKey), now: 0 };
  return { host, port, algorithm: keyType, keyType, hostKey, ...shown, crypto: pureProvider };
}

describe('the home directory', () => {
  it('stands for ~', options, async () => {
    process.env.HOME = folder;
    mkdirSync(join(folder, '.ssh'), { recursive: true });
    const path = join(folder, '.ssh', 'id');
    writeFileSync(path, readFileSync(testKeys().user.ecdsa256.openssh));
    const method = api.keyFile('~/.ssh/id');
    const [signer] = await method.signers(pureProvider);
    assert.equal(signer?.keyType, 'ecdsa-sha2-nistp256');
    assert.equal(method.name, '~/.ssh/id');
    const missing = Promise.resolve(api.keyFile('~/.ssh/none').signers(pureProvider));
    assert.equal((await rejectsWith(missing, 'bad-local-file')).path, join(folder, '.ssh', 'none'));
  });

  it('holds the known_hosts file by default', options, async () => {
    process.env.HOME = folder;
    await api.acceptNew().check(offer('ed25519'));
    const file = join(folder, '.ssh', 'known_hosts');
    assert.equal(readFileSync(file, 'utf8'), `example.org ${testKeys().host.ed25519.public}\n`);
    await api.knownHosts().check(offer('ed25519'));
    const types = await api.knownHosts().preferredKeyTypes?.('example.org', 22, pureProvider);
    assert.deepEqual(types, ['ssh-ed25519']);
    await rejectsWith(Promise.resolve(api.knownHosts().check(offer('rsa'))), 'host-key-changed');
  });

  it('must be known', () => {
    assert.throws(() => expandHome('~/.ssh/id', () => undefined), { code: 'bad-argument' });
    assert.equal(
      expandHome('~other/x', () => '/home/me'),
      '~other/x',
    );
    assert.equal(
      expandHome('~', () => '/home/me'),
      '/home/me',
    );
    assert.equal(
      expandHome('/a/~/b', () => '/home/me'),
      '/a/~/b',
    );
  });
});

describe('known_hosts files', () => {
  it('may be several', options, async () => {
    const [first, second] = [join(folder, 'first'), join(folder, 'second')];
    writeFileSync(first, `other.example ${testKeys().host.ed25519.public}\n`);
    writeFileSync(second, `example.org ${testKeys().host.rsa.public}\n`);
    const policy = api.knownHosts([first, join(folder, 'missing'), second]);
    await policy.check(offer('rsa'));
    await policy.check(offer('ed25519', 'other.example'));
    const error = await rejectsWith(Promise.resolve(policy.check(offer('ed25519'))), 'host-key-changed');
    assert.ok(error.message.includes(`${second}:1`), error.message);
  });

  it('take hosts one after the other, whatever the port', options, async () => {
    const file = join(folder, 'growing');
    const policy = api.acceptNew(file);
    await policy.check(offer('ed25519', 'a.example'));
    await policy.check(offer('rsa', 'b.example', 2222));
    await policy.check(offer('ed25519', 'a.example'));
    const { ed25519, rsa } = testKeys().host;
    assert.equal(readFileSync(file, 'utf8'), `a.example ${ed25519.public}\n[b.example]:2222 ${rsa.public}\n`);
  });

  it('that cannot be read or written are an error, and no reason to trust', options, async () => {
    const blocked = join(folder, 'blocked');
    writeFileSync(blocked, '');
    const below = join(blocked, 'known_hosts');
    const writing = Promise.resolve(api.acceptNew(below).check(offer('ed25519')));
    assert.equal((await rejectsWith(writing, 'bad-local-file')).path, below);
    const reading = Promise.resolve(api.knownHosts(folder).check(offer('ed25519')));
    assert.equal((await rejectsWith(reading, 'bad-local-file')).path, folder);
    chmodSync(blocked, 0o600);
  });
});
