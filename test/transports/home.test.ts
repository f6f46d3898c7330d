/** Key files and known_hosts below the user's home, in each runtime. */

import assert from 'node:assert/strict';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { HostKeyOffer } from '../../src/client/host_key.ts';
import { pureProvider } from '../../src/crypto/pure/index.ts';
import { SshError } from '../../src/errors.ts';
import { fingerprint } from '../../src/keys/public_key.ts';
import { parseShownKey } from '../../src/keys/shown_key.ts';
import { expandHome, textFile } from '../../src/transports/home.ts';
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

describe('a change of a known_hosts file', () => {
  const { host, user } = options.skip === undefined ? testKeys() : ({} as ReturnType<typeof testKeys>);
  const before = `# \u00fc\r\na.example ${host.ed25519.public}\nb.example ${host.rsa.public}`;

  it('leaves permissions and everything else as they were, and nothing beside', options, async () => {
    const place = mkdtempSync(join(folder, 'change-'));
    const file = join(place, 'known_hosts');
    writeFileSync(file, before);
    chmodSync(file, 0o640);
    assert.equal(await api.forgetHost('B.example', { path: file }), 1);
    assert.equal(readFileSync(file, 'utf8'), before.slice(0, before.indexOf('b.example')));
    assert.equal(statSync(file).mode & 0o777, 0o640);
    const { ino } = statSync(file);
    assert.equal(await api.forgetHost('b.example', { path: file }), 0);
    assert.equal(await api.forgetHost('a.example', { path: file, port: 2222 }), 0);
    assert.equal(statSync(file).ino, ino, 'a file without a change is left alone');
    assert.deepEqual(readdirSync(place), ['known_hosts']);
  });

  it('keeps bytes that are no text', options, async () => {
    const file = join(folder, 'bytes');
    const comment = Buffer.from([0x23, 0xff, 0xfe, 0x80, 0x0a]);
    writeFileSync(file, Buffer.concat([comment, Buffer.from(`a.example ${host.ed25519.public}\n`)]));
    assert.equal(await api.forgetHost('a.example', { path: file }), 1);
    assert.deepEqual(readFileSync(file), comment);
  });

  it('follows a link, which stays one', options, async () => {
    const [file, link] = [join(folder, 'linked'), join(folder, 'link')];
    writeFileSync(file, before);
    symlinkSync('linked', link);
    assert.equal(await api.forgetHost('a.example', { path: link }), 1);
    assert.ok(lstatSync(link).isSymbolicLink());
    assert.ok(!readFileSync(file, 'utf8').includes('a.example'));
  });

  it('is not lost where many are made at once', options, async () => {
    const file = join(folder, 'many');
    const names = Array.from({ length: 20 }, (_, i) => `host${i}.example`);
    writeFileSync(file, names.map((name) => `${name} ${host.ed25519.public}\n`).join(''));
    const counts = await Promise.all(names.slice(1).map((name) => api.forgetHost(name, { path: file })));
    assert.deepEqual(
      counts,
      counts.map(() => 1),
    );
    assert.equal(readFileSync(file, 'utf8'), `host0.example ${host.ed25519.public}\n`);
  });

  it('and a line that is added wait for each other', async () => {
    const done: string[] = [];
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const system = {
      home: () => undefined,
      read: async () => new TextEncoder().encode('a\n'),
      appendLine: async () => void done.push('append'),
      follow: async () => '/target',
      create: () => held,
      rename: async () => void done.push('rename'),
      remove: async () => {},
    };
    const edited = textFile(system, '/link').edit?.(() => 'b\n');
    await new Promise((resolve) => setImmediate(resolve));
    const added = textFile(system, '/target').append('line');
    await new Promise((resolve) => setImmediate(resolve));
    release();
    await Promise.all([edited, added]);
    assert.deepEqual(done, ['rename', 'append']);
  });

  it('that breaks off leaves nothing beside the file', async () => {
    const removed: string[] = [];
    const system = {
      home: () => undefined,
      read: async () => new TextEncoder().encode('a\n'),
      appendLine: async () => {},
      follow: async (path: string) => path,
      create: async () => {
        throw Object.assign(new Error('full'), { code: 'ENOSPC' });
      },
      rename: async () => {},
      remove: async (path: string) => void removed.push(path),
    };
    const file = textFile(system, '/k');
    await rejectsWith(file.edit?.(() => 'b\n') as Promise<boolean>, 'bad-local-file');
    assert.match(removed.join(), /^\/k\.[0-9a-f]{8}$/);
  });

  it('is made anew when others change the file meanwhile, three times', options, async () => {
    let reads = 0;
    let others = 1;
    const written = new Map<string, string>([['/k', 'a\n']]);
    const file = textFile(
      {
        home: () => undefined,
        async read(path) {
          // somebody else adds a line between reading and replacing
          if (reads++ % 2 === 1 && others-- > 0) written.set(path, `${written.get(path)}x\n`);
          return new TextEncoder().encode(written.get(path));
        },
        appendLine: async () => {},
        follow: async (path) => path,
        create: async (path, bytes) => void written.set(path, new TextDecoder().decode(bytes)),
        async rename(from, to) {
          written.set(to, written.get(from) as string);
          written.delete(from);
        },
        remove: async (path) => void written.delete(path),
      },
      '/k',
    );
    const add = (text = ''): string => `${text}mine\n`;
    assert.equal(await file.edit?.(add), true);
    assert.deepEqual([...written], [['/k', 'a\nx\nmine\n']]);
    others = Number.POSITIVE_INFINITY;
    await rejectsWith(file.edit?.(add) as Promise<boolean>, 'bad-local-file');
    assert.deepEqual([...written.keys()], ['/k']);
  });

  it('that cannot be made is an error, and leaves the file', options, async () => {
    const place = mkdtempSync(join(folder, 'closed-'));
    const link = join(place, 'nowhere');
    symlinkSync('missing', link);
    const blocked = api.forgetHost('a.example', { path: link });
    assert.equal((await rejectsWith(blocked, 'bad-local-file')).path, link);
    assert.deepEqual(readdirSync(place), ['nowhere']);
    assert.equal(await api.forgetHost('a.example', { path: join(place, 'missing') }), 0);
  });

  it('comes from keys that a server has proved', options, async () => {
    const file = join(folder, 'updated');
    const [used, fresh] = [offer('ed25519').key, offer('rsa').key];
    const stale = `example.org ${user.ed25519.public}\n`;
    writeFileSync(file, `example.org ${host.ed25519.public}\n${stale}`);
    const update = { host: 'example.org', port: 22, used, offered: [used.key, fresh.key], crypto: pureProvider };
    const wrong = Promise.reject(new SshError('protocol', 'no proof'));
    wrong.catch(() => {});
    const policy = api.knownHosts(file, { update: true });
    await rejectsWith(Promise.resolve(policy.update?.({ ...update, prove: () => wrong })), 'protocol');
    assert.ok(readFileSync(file, 'utf8').endsWith(stale));
    await policy.update?.({ ...update, prove: async () => {} });
    const lines = [host.ed25519.public, host.rsa.public].map((key) => `example.org ${key}\n`);
    assert.equal(readFileSync(file, 'utf8'), lines.join(''));
  });
});

describe('revoked keys in a file', () => {
  it('are refused, and so is everybody where there is none', options, async () => {
    const [known, revoked] = [join(folder, 'revoking'), join(folder, 'revoked')];
    writeFileSync(known, `example.org ${testKeys().host.ed25519.public}\n`);
    for (const policy of [api.knownHosts(known, { revoked }), api.acceptNew(known, { revoked })]) {
      rmSync(revoked, { force: true });
      await rejectsWith(Promise.resolve(policy.check(offer('ed25519'))), 'bad-local-file');
      writeFileSync(revoked, `${testKeys().host.ed25519.public}\n`);
      const error = await rejectsWith(Promise.resolve(policy.check(offer('ed25519'))), 'host-key-revoked');
      assert.ok(error.message.includes(revoked), error.message);
      writeFileSync(revoked, '# none\n');
      await policy.check(offer('ed25519'));
      writeFileSync(revoked, 'damaged\n');
      const damaged = await rejectsWith(Promise.resolve(policy.check(offer('ed25519'))), 'bad-local-file');
      assert.match(damaged.message, /Line 1/);
    }
  });
});
