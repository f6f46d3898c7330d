/** What a configuration makes of `connect`: algorithms, trust, keys, and servers on the way; with our servers, in memory. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { key, password } from '../src/client/auth.ts';
import { acceptNewIn, knownHostsIn, type TextFile } from '../src/client/known_hosts_policy.ts';
import { type ConfigFile, parseConfig } from '../src/config/parse.ts';
import { type ConfigParts, hostConfigWith, type SshConfigOptions, sshConfigWith } from '../src/configured.ts';
import { type ClientOptions, connectTcp } from '../src/connect.ts';
import { SshError } from '../src/errors.ts';
import { createServer, passwords } from '../src/index.ts';
import type { DialOptions } from '../src/io/dial.ts';
import { memoryPipes } from '../src/io/memory_pipe.ts';
import type { BytePipe } from '../src/io/pipe.ts';
import type { PrivateKey } from '../src/keys/key_pair.ts';
import { formatKnownHostsLine } from '../src/keys/known_hosts.ts';
import { signerOf } from '../src/keys/private_key.ts';
import type { SshServer } from '../src/serve.ts';
import type { SshClient } from '../src/ssh_client.ts';
import { memoCrypto } from './support/memo_crypto.ts';
import { type TestKeyType, testKey } from './support/test_keys.ts';

const runtime = { crypto: { auto: memoCrypto, pure: memoCrypto } };

/** A net in memory: servers by `host:port`, each of which forwards to the others. */
class Net {
  readonly servers = new Map<string, SshServer>();
  readonly dialled: string[] = [];
  readonly hostKey: PrivateKey;

  constructor(type: TestKeyType = 'ssh-ed25519') {
    this.hostKey = testKey(type, 'host');
  }

  async add(name: string): Promise<void> {
    const server = await createServer({
      crypto: memoCrypto,
      hostKeys: [this.hostKey],
      auth: { password: passwords({ ada: 'pw', eve: 'pw' }) },
      forward: { connect: async (target) => this.#pipe(`${name} → ${target.host}:${target.port}`, target) },
    });
    this.servers.set(name, server);
  }

  dial = async ({ host, port }: DialOptions): Promise<BytePipe> => this.#pipe(`${host}:${port}`, { host, port });

  #pipe(what: string, { host, port }: { readonly host: string; readonly port: number }): BytePipe {
    this.dialled.push(what);
    const server = this.servers.get(`${host}:${port}`);
    if (server === undefined) throw new SshError('connect-failed', `Nobody is at ${host}:${port}`);
    const [ours, theirs] = memoryPipes();
    server.serve(theirs);
    return ours;
  }
}

/** known_hosts in memory. */
function textFile(text = ''): TextFile & { text: string } {
  const file = {
    name: 'known_hosts',
    text,
    read: async () => file.text,
    async append(line: string) {
      file.text += `${line}\n`;
    },
  };
  return file;
}

function partsOf(config: string, known: TextFile, net = new Net(), more: Partial<ConfigParts> = {}): ConfigParts {
  const files: readonly ConfigFile[] = [parseConfig(config, '/c')];
  return {
    files: async () => files,
    facts: () => ({ localUser: 'ada', localHost: 'desk', home: '/h', env: {} }),
    crypto: memoCrypto,
    connect: (options) => connectTcp(runtime, net.dial, options),
    keyFile: (path) => key(testKey('ssh-ed25519', path), path),
    agent: () => ({ method: 'publickey', from: 'agent', name: 'agent', signers: () => [] }),
    exists: async () => false,
    publicBlob: () => Promise.reject(new SshError('bad-local-file', 'none')),
    knownHosts: (_paths, { update = false }) => knownHostsIn([known], { update }),
    acceptNew: (_path, { update = false, hash = false }) => acceptNewIn(known, { update, hash }),
    ...more,
  };
}

const login = (): SshConfigOptions['login'] => () => [password('pw')];

function connect(net: Net, options: ClientOptions): Promise<SshClient> {
  return connectTcp(runtime, net.dial, options);
}

async function optionsFor(config: string, more: Partial<ConfigParts> = {}): Promise<Partial<ClientOptions>> {
  return await sshConfigWith(partsOf(config, textFile(), new Net(), more), 'box');
}

describe('sshConfig', () => {
  it('has host, port, user and times', async () => {
    const text =
      'HostName Box.Example\nPort 7\nUser eve\nConnectTimeout 3\nServerAliveInterval 5\nServerAliveCountMax 2';
    const options = await optionsFor(text);
    const { host, port, username, timeouts, keepalive } = options;
    assert.deepEqual([host, port, username], ['box.example', 7, 'eve']);
    assert.deepEqual([timeouts, keepalive], [{ connect: 3000 }, { interval: 5000, count: 2 }]);
    assert.equal((await optionsFor('ServerAliveInterval 0')).keepalive, false);
    assert.equal('keepalive' in (await optionsFor('')), false);
  });

  it('refuses options that there are not, before a file is read', async () => {
    const parts = partsOf('', textFile(), new Net(), { files: () => assert.fail('read') });
    const message = /^sshConfig: there is no option identity; there are file, options, /;
    const options = { identity: '/id' } as SshConfigOptions;
    await assert.rejects(sshConfigWith(parts, 'box', options), { code: 'bad-argument', message });
    await assert.rejects(hostConfigWith(parts, 'box', options), { code: 'bad-argument', message });
  });

  it('leaves out algorithms that only OpenSSH knows, and refuses a list of nothing else', async () => {
    const text = 'MACs umac-64@openssh.com,hmac-sha2-256\nCiphers +aes128-gcm@openssh.com,x\nKexAlgorithms -*nistp*';
    assert.deepEqual((await optionsFor(text)).algorithms, {
      kex: '-*nistp*',
      ciphers: '+aes128-gcm@openssh.com',
      macs: 'hmac-sha2-256',
    });
    assert.equal((await optionsFor('MACs +umac-64@openssh.com')).algorithms, undefined);
    const message = /^\/c:1: MACs names nothing that puressh knows: it knows .*hmac-sha2-256/;
    await assert.rejects(optionsFor('MACs umac-64@openssh.com'), { code: 'not-supported', message });
  });

  it('keeps an order of host keys that is written, and lets known ones go first otherwise', async () => {
    assert.equal((await optionsFor('HostKeyAlgorithms rsa-sha2-512,ssh-ed25519')).hostKeyOrder, 'fixed');
    assert.equal((await optionsFor('HostKeyAlgorithms ^rsa-sha2-512')).hostKeyOrder, 'fixed');
    assert.equal((await optionsFor('HostKeyAlgorithms +ssh-rsa')).hostKeyOrder, undefined);
    assert.equal((await optionsFor('')).hostKeyOrder, undefined);
  });

  it('has signatures of users by plain names', async () => {
    const signatures = async (list: string): Promise<readonly string[] | undefined> =>
      (await optionsFor(`PubkeyAcceptedAlgorithms ${list}`)).signatures;
    assert.deepEqual(await signatures('ssh-ed25519-cert-v01@openssh.com,rsa-sha2-*'), [
      'ssh-ed25519',
      'rsa-sha2-512',
      'rsa-sha2-256',
    ]);
    assert.equal((await signatures('+ssh-rsa'))?.at(-1), 'ssh-rsa');
    assert.equal((await signatures('^ecdsa-sha2-nistp384'))?.[0], 'ecdsa-sha2-nistp384');
    assert.ok(!(await signatures('-rsa*'))?.some((name) => name.startsWith('rsa')));
    await assert.rejects(signatures('nope'), { code: 'not-supported' });
  });

  it('updates the files of the user alone', async () => {
    const text = 'UpdateHostKeys yes\nUserKnownHostsFile /own\nGlobalKnownHostsFile /common';
    const asked: unknown[] = [];
    const knownHosts: ConfigParts['knownHosts'] = (paths, { update = false }) => {
      asked.push([paths, update]);
      return knownHostsIn([], { update });
    };
    const { hostKey } = await optionsFor(text, { knownHosts });
    assert.equal(typeof hostKey?.update, 'function');
    assert.deepEqual(asked, [
      [['/own', '/common'], false],
      [['/own'], true],
    ]);
    const without = await optionsFor('UpdateHostKeys no\nStrictHostKeyChecking accept-new');
    assert.equal(without.hostKey?.update, undefined);
  });

  it('compresses where a library is there', async () => {
    const compression = { deflater: () => ({}) as never, inflater: () => ({}) as never };
    const parts = partsOf('Compression yes', textFile());
    assert.equal((await sshConfigWith(parts, 'box', { compression })).compression, compression);
    assert.equal('compression' in (await sshConfigWith(parts, 'box')), false);
  });
});

describe('trust of sshConfig', () => {
  const line = (host: string, net: Net): string => `${formatKnownHostsLine(host, 22, net.hostKey.publicKey.blob)}\n`;

  async function arrives(
    config: string,
    known: TextFile,
    more: SshConfigOptions = {},
    type?: TestKeyType,
  ): Promise<void> {
    const net = new Net(type);
    await net.add('box:22');
    const parts = partsOf(config, known, net);
    const ssh = await connect(net, await sshConfigWith(parts, 'box', { login: login(), ...more }));
    await ssh.close();
  }

  it('takes a host that is known, whatever StrictHostKeyChecking says', async () => {
    for (const strict of ['yes', 'no', 'ask', 'accept-new']) {
      await arrives(`StrictHostKeyChecking ${strict}`, textFile(line('box', new Net())));
    }
  });

  it('refuses a host that is not known, and says how StrictHostKeyChecking no is not followed', async () => {
    for (const strict of ['yes', 'ask']) {
      await assert.rejects(arrives(`StrictHostKeyChecking ${strict}`, textFile()), { code: 'host-key-unknown' });
    }
    const message = /StrictHostKeyChecking no \(\/c:1\) would trust whoever answers.*accept-new/;
    await assert.rejects(arrives('StrictHostKeyChecking off', textFile()), { code: 'host-key-unknown', message });
  });

  it('remembers a new host with accept-new, and one that a person has said yes to', async () => {
    const known = textFile();
    await arrives('StrictHostKeyChecking accept-new', known);
    assert.equal(known.text, line('box', new Net()));
    const asked = textFile();
    const offers: string[] = [];
    await arrives('HostKeyAlias alias', asked, { askHostKey: ({ host }) => offers.push(host) > 0 });
    assert.deepEqual([asked.text, offers], [line('alias', new Net()), ['alias']]);
    const refused = arrives('', textFile(), { askHostKey: () => false });
    await assert.rejects(refused, { code: 'host-key-unknown' });
    const hashed = textFile();
    await arrives('StrictHostKeyChecking accept-new\nHashKnownHosts yes', hashed);
    assert.match(hashed.text, /^\|1\|/);
  });

  it('looks a host up under its alias', async () => {
    await arrives('HostKeyAlias alias', textFile(line('alias', new Net())));
    await assert.rejects(arrives('HostKeyAlias alias', textFile(line('box', new Net()))), { code: 'host-key-unknown' });
  });

  it('refuses RSA keys of hosts that are smaller than RequiredRSASize', async () => {
    const known = textFile(line('box', new Net('ssh-rsa')));
    await arrives('RequiredRSASize 2048', known, {}, 'ssh-rsa');
    const small = arrives('RequiredRSASize 2049', known, {}, 'ssh-rsa');
    await assert.rejects(small, {
      code: 'host-key-mismatch',
      message: /an RSA key of 2048 bits; RequiredRSASize asks for 2049/,
    });
  });
});

describe('keys of sshConfig', () => {
  async function signerNames(config: string, more: Partial<ConfigParts>, skipped: string[] = []): Promise<string[]> {
    const options = await sshConfigWith(partsOf(config, textFile(), new Net(), more), 'box', {
      onSkipped: (name, error) => void skipped.push(`${name} ${error.code}`),
    });
    const names: string[] = [];
    for (const method of options.auth) {
      assert.ok('signers' in method);
      for (const signer of await method.signers(memoCrypto)) names.push(`${method.from} ${signer.comment ?? ''}`);
    }
    return names;
  }
  const named = (path: string): ReturnType<ConfigParts['keyFile']> => ({
    method: 'publickey',
    name: path,
    signer: () => ({ ...signerOf(memoCrypto, testKey('ssh-ed25519', path)), comment: path }),
  });
  const agent: ConfigParts['agent'] = (path) => ({
    method: 'publickey',
    from: 'agent',
    signers: () => [{ ...signerOf(memoCrypto, testKey('ssh-ed25519', 'agent')), comment: path ?? 'usual' }],
  });

  it('has those of files before those of the agent, and leaves out what is missing', async () => {
    const exists = async (path: string): Promise<boolean> => path !== '/gone' && path !== '/gone.pub';
    const skipped: string[] = [];
    const config = 'IdentityFile /one\nIdentityFile /gone\nIdentityFile /two';
    const names = await signerNames(config, { exists, keyFile: named, agent }, skipped);
    assert.deepEqual(names, ['files /one', 'files /two', 'agent usual']);
    assert.deepEqual(skipped, ['/gone bad-local-file']);
  });

  it('has the usual files where none are named, and no agent where there is to be none', async () => {
    const exists = async (path: string): Promise<boolean> => path === '~/.ssh/id_rsa';
    const names = await signerNames('IdentityAgent none', { exists, keyFile: named, agent });
    assert.deepEqual(names, ['files ~/.ssh/id_rsa']);
    assert.deepEqual(await signerNames('IdentityAgent /sock', { agent }), ['agent /sock']);
    assert.deepEqual(await signerNames('PubkeyAuthentication no', { agent }), []);
  });

  it('has all ways to log in in the order that is asked for', async () => {
    const text = 'PreferredAuthentications password,publickey\nIdentityAgent none\nIdentityFile /one';
    const parts = partsOf(text, textFile(), new Net(), { exists: async () => true });
    const { auth } = await sshConfigWith(parts, 'box', { login: login() });
    assert.deepEqual(
      auth.map(({ method }) => method),
      ['password', 'publickey'],
    );
  });

  it('goes on with the others where one cannot be used', async () => {
    const keyFile: ConfigParts['keyFile'] = (path) => (path === '/bad' ? key('nonsense', path) : named(path));
    const skipped: string[] = [];
    const parts = { exists: async () => true, keyFile, agent };
    const names = await signerNames('IdentityFile /bad\nIdentityFile /good', parts, skipped);
    assert.deepEqual(names, ['files /good', 'agent usual']);
    assert.deepEqual(skipped, ['/bad key-format-unsupported']);
  });
});

describe('ProxyJump of sshConfig', () => {
  const config = `Host box
  HostName box.example
  ProxyJump eve@gate:2222
Host gate
  HostName gate.example
  ProxyJump first
Host round
  ProxyJump round
Host long
  ProxyJump a,a2,a3,a4,a5,a6,a7,a8,a9
Host *
  StrictHostKeyChecking accept-new`;

  async function netOf(...names: string[]): Promise<Net> {
    const net = new Net();
    for (const name of names) await net.add(name);
    return net;
  }

  it('goes through each server with its own configuration, and ends with all of them', {
    timeout: 30_000,
  }, async () => {
    const net = await netOf('first:22', 'gate.example:2222', 'box.example:22');
    const parts = partsOf(config, textFile(), net);
    const ssh = await connect(net, await sshConfigWith(parts, 'box', { login: login() }));
    assert.deepEqual(net.dialled, ['first:22', 'first:22 → gate.example:2222', 'gate.example:2222 → box.example:22']);
    const users = [...net.servers.values()].map(({ connections }) => [...connections][0]?.login?.username);
    assert.deepEqual(users, ['ada', 'eve', 'ada']);
    await ssh.close();
    await Promise.all(
      [...net.servers.values()].flatMap(({ connections }) => [...connections].map((each) => each.closed)),
    );
    for (const [name, { connections }] of net.servers) assert.equal(connections.size, 0, name);
  });

  it('says which server on the way it was, and leaves none connected', { timeout: 30_000 }, async () => {
    const net = await netOf('first:22', 'gate.example:2222');
    const options = await sshConfigWith(partsOf(config, textFile(), net), 'box', { login: login() });
    const message = /^Through eve@gate\.example:2222: /;
    await assert.rejects(connect(net, options), { code: 'channel-open-failed', message });
    await Promise.all(
      [...net.servers.values()].flatMap(({ connections }) => [...connections].map((each) => each.closed)),
    );
    for (const { connections } of net.servers.values()) assert.equal(connections.size, 0);
  });

  it('says at which server on the way the login failed', async () => {
    const net = await netOf('first:22', 'gate.example:2222', 'box.example:22');
    const wrong: SshConfigOptions['login'] = ({ host }) => [password(host === 'gate.example' ? 'wrong' : 'pw')];
    const options = await sshConfigWith(partsOf(config, textFile(), net), 'box', { login: wrong });
    const message = /^Through eve@gate\.example:2222: Login as "eve" failed/;
    await assert.rejects(connect(net, options), { code: 'auth-failed', message });
  });

  it('says once how a server on the way is trusted', async () => {
    const net = await netOf('first:22', 'gate.example:2222');
    const strict = `Host first\n  StrictHostKeyChecking yes\n${config}`;
    const options = await sshConfigWith(partsOf(strict, textFile(), net), 'box', { login: login() });
    const message =
      /^Through eve@gate\.example:2222: Through ada@first:22: first shows (?:(?!; for a server).)*; for a server on the way [^;]*$/;
    await assert.rejects(connect(net, options), { code: 'host-key-unknown', message });
  });

  it('refuses circles and ways that are too long', async () => {
    const net = await netOf('round:22');
    const parts = partsOf(config, textFile(), net);
    const round = connect(net, await sshConfigWith(parts, 'round', { login: login() }));
    await assert.rejects(round, { code: 'bad-config', message: /in a circle: ada@round:22, ada@round:22$/ });
    const long = connect(net, await sshConfigWith(parts, 'long', { login: login() }));
    await assert.rejects(long, { code: 'bad-config', message: /more than 8 servers/ });
    assert.deepEqual(net.dialled, []);
  });

  it('goes through servers that have one address, each in its own network', { timeout: 30_000 }, async () => {
    const net = await netOf('192.168.1.1:22');
    const routers = `Host inner\n  ProxyJump outer\nHost inner outer\n  HostName 192.168.1.1\n  StrictHostKeyChecking accept-new`;
    const parts = partsOf(routers, textFile(), net);
    const ssh = await connect(net, await sshConfigWith(parts, 'inner', { login: login() }));
    assert.deepEqual(net.dialled, ['192.168.1.1:22', '192.168.1.1:22 → 192.168.1.1:22']);
    await ssh.close();
    const mutual = partsOf('Host a\n  ProxyJump b\nHost b\n  ProxyJump a', textFile(), net);
    const round = connect(net, await sshConfigWith(mutual, 'a', { login: login() }));
    await assert.rejects(round, { code: 'bad-config', message: /in a circle: ada@a:22, ada@b:22, ada@a:22$/ });
  });

  it('hands on servers whose users have odd names', async () => {
    const net = await netOf('a:22', 'b:22', 'c:22');
    const odd = `Host c\n  ProxyJump 'x"%%\\ #y@a,b'\nHost *\n  StrictHostKeyChecking accept-new`;
    const options = await sshConfigWith(partsOf(odd, textFile(), net), 'c', { login: login() });
    const message = /^Through ada@b:22: Through .*@a:22: Login as "x"%\\ #y" failed/;
    await assert.rejects(connect(net, options), { code: 'auth-failed', message });
  });

  it('takes options for the host itself only, and the same files', async () => {
    const parts = partsOf(config, textFile());
    const { proxyJump, port } = await hostConfigWith(parts, 'box', { options: ['Port=5', 'ProxyJump=none'] });
    assert.deepEqual([proxyJump, port], [[], 5]);
  });
});
