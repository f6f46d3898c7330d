/**
 * Agents of OpenSSH and ours, with clients of either: `ssh-agent` logs us in and is forwarded, and `ssh-add` and `ssh` use what
 * `serveAgent` serves.
 */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import { AgentClient } from '../../src/agent/client.ts';
import { AgentLogin } from '../../src/client/agent_login.ts';
import type { AuthMethod } from '../../src/client/auth.ts';
import type { ClientOptions } from '../../src/connect.ts';
import type { BytePipe } from '../../src/io/pipe.ts';
import type { Program } from '../../src/server/session.ts';
import type { SshClient } from '../../src/ssh_client.ts';
import { options as sshOptions, unavailable as sshUnavailable } from '../support/clients/openssh.ts';
import { type OwnServer, startOwnServer } from '../support/clients/own_server.ts';
import { mustRun, run } from '../support/clients/process.ts';
import { api } from '../support/connect.ts';
import * as asyncssh from '../support/peers/asyncssh.ts';
import * as dropbear from '../support/peers/dropbear.ts';
import * as erlang from '../support/peers/erlang.ts';
import { type KeyName, keyNames, testKeys } from '../support/peers/keys.ts';
import * as openssh from '../support/peers/openssh.ts';
import { type Peer, peerTest, usePeer } from '../support/peers/peer.ts';
import { type SshAgent, startSshAgent, unavailable } from '../support/peers/ssh_agent.ts';
import { rejectsWith } from '../support/rejects.ts';
import { isThorough } from '../support/thorough.ts';

const LIMIT = 30_000;
const REASON = unavailable() ?? openssh.available();

/** What takes many processes is done in one runtime. */
const thorough = isThorough ? {} : { skip: 'done in Node 24' };

function connect(peer: Peer, auth: AuthMethod[], more: Partial<ClientOptions> = {}): Promise<SshClient> {
  const { host, port, username, knownHosts } = peer;
  const algorithms = { kex: '^curve25519-sha256' }; // many logins, and this is the quickest
  return api.connect({ host, port, username, auth, hostKey: api.knownHosts(knownHosts), algorithms, ...more });
}

async function output(ssh: SshClient, command: string, agent?: AuthAgent): Promise<string> {
  const { stdout, stderr } = await ssh.run(command, agent === undefined ? {} : { agent });
  return new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
}

type AuthAgent = ReturnType<typeof api.agent>;

const shared = usePeer(REASON, () => openssh.startSshd());

describe('ssh-agent', () => {
  const options = { ...shared.options, timeout: LIMIT };
  let agent: SshAgent;
  before(async () => {
    if (shared.options.skip === undefined) agent = await startSshAgent({ SSH_ASKPASS: '/bin/false', DISPLAY: 'none' });
  });
  after(() => agent?.stop());

  it('lists its keys, logs in, and is forwarded to a command', options, async () => {
    const { keys } = shared.peer;
    const ours = api.agent(agent.socket);
    assert.deepEqual(await ours.identities(), []);
    await agent.add('-q', keys.rsa.openssh, keys.ed25519.openssh);
    const comments = (await ours.identities()).map(({ comment }) => comment);
    assert.deepEqual(comments, ['puressh-test-rsa', 'puressh-test-ed25519']);
    await using ssh = await connect(shared.peer, [ours]);
    assert.deepEqual(ssh.info.authMethods, ['publickey']);
    assert.equal(await output(ssh, 'test -z "$SSH_AUTH_SOCK" && echo none'), 'none\n');
    const listed = await output(ssh, 'ssh-add -l; ssh-add -L | cut -d" " -f1; ssh-add -D; ssh-add -l | wc -l', ours);
    assert.match(listed, /^\d+ SHA256:\S+ puressh-test-rsa \(RSA\)\n\d+ SHA256:\S+ puressh-test-ed25519 \(ED25519\)\n/);
    assert.match(listed, /\nssh-rsa\nssh-ed25519\n/);
    assert.match(listed, /\n2\n/, 'what comes over the connection removes no keys');
  });

  it('logs in with every type of key, and with a certificate for each', { ...options, ...thorough }, async () => {
    const authority = join(agent.dir, 'authority');
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', authority]);
    const trusting = await openssh.startSshd({
      config: [`TrustedUserCAKeys ${authority}.pub`, 'AuthorizedKeysFile none'],
    });
    try {
      for (const name of keyNames) {
        await agent.add('-q', '-D');
        const file = agent.copy(testKeys().user[name].openssh, `user_${name}`);
        await agent.add('-q', file);
        await using plain = await connect(shared.peer, [api.agent(agent.socket)]);
        assert.deepEqual(plain.info.authMethods, ['publickey'], name);
        const sign = ['-q', '-s', authority, '-I', `id ${name}`, '-n', trusting.username, '-V', '-1m:+5m'];
        execFileSync('ssh-keygen', [...sign, `${file}.pub`]);
        await agent.add('-q', '-D');
        await agent.add('-q', file); // with the certificate beside it
        await using certified = await connect(trusting, [api.agent(agent.socket)]);
        assert.deepEqual(certified.info.authMethods, ['publickey'], `certificate of ${name}`);
        // the agent has the key alone, and the certificate is named
        await agent.add('-q', '-D');
        writeFileSync(`${agent.dir}/alone`, readFileSync(file), { mode: 0o600 });
        await agent.add('-q', `${agent.dir}/alone`);
        const named = api.keyFile(`${file}.pub`, { certificate: `${file}-cert.pub` });
        await using joined = await connect(trusting, [named, api.agent(agent.socket)], { identitiesOnly: true });
        assert.deepEqual(joined.info.authMethods, ['publickey'], `certificate of ${name}, named`);
      }
    } finally {
      await trusting.stop();
    }
  });

  it('signs with RSA by the hash that is asked for', { ...options, ...thorough }, async () => {
    await agent.add('-q', '-D');
    await agent.add('-q', testKeys().user.rsa.openssh);
    for (const [hash, options] of [
      ['rsa-sha2-256', { signatures: ['rsa-sha2-256'] }],
      ['ssh-rsa', { algorithms: { preset: 'legacy', kex: ['curve25519-sha256'] } }], // behind SHA-2, which is refused
    ] as const) {
      const picky = await openssh.startSshd({ config: [`PubkeyAcceptedAlgorithms ${hash}`] });
      try {
        await using ssh = await connect(picky, [api.agent(agent.socket)], options);
        assert.deepEqual(ssh.info.authMethods, ['publickey']);
        await rejectsWith(connect(picky, [api.agent(agent.socket)]), 'auth-failed');
      } finally {
        await picky.stop();
      }
    }
  });

  it('is used for a key file that is encrypted, and for one that is named', { ...options, ...thorough }, async () => {
    const file = agent.copy(testKeys().user.ecdsa256.openssh, 'encrypted');
    await agent.add('-q', '-D');
    await agent.add('-q', testKeys().user.ed25519.openssh, file);
    execFileSync('ssh-keygen', ['-q', '-p', '-a', '1', '-P', '', '-N', 'secret', '-f', file]);
    const passphrase = (): string => assert.fail('it was asked for');
    for (const auth of [api.keyFile(file, { passphrase }), api.keyFile(file), api.keyFile(`${file}.pub`)]) {
      const ours = api.agent(agent.socket);
      await using ssh = await connect(shared.peer, [ours, auth], { identitiesOnly: true });
      assert.deepEqual(ssh.info.authMethods, ['publickey']);
    }
    await agent.add('-q', '-D');
    await rejectsWith(connect(shared.peer, [api.agent(agent.socket), api.keyFile(file)]), 'key-passphrase-needed');
    const asking = api.keyFile(file, { passphrase: () => 'secret' });
    await using ssh = await connect(shared.peer, [api.agent(agent.socket), asking]);
    assert.deepEqual(ssh.info.authMethods, ['publickey']);
    const named = connect(shared.peer, [api.agent(agent.socket), api.keyFile(`${file}.pub`)]);
    assert.match(
      (await rejectsWith(named, 'auth-failed')).message,
      /is a public key, and no agent has the private one/,
    );
  });

  it('may refuse to sign, and the next key has its turn', { ...options, ...thorough }, async () => {
    await agent.add('-q', '-D');
    await agent.add('-q', '-c', testKeys().user.ecdsa384.openssh);
    const only = connect(shared.peer, [api.agent(agent.socket)]);
    assert.match((await rejectsWith(only, 'auth-failed')).message, /ecdsa384\) \(the agent refused to sign\);/);
    await agent.add('-q', testKeys().user.ed25519.openssh);
    await using ssh = await connect(shared.peer, [api.agent(agent.socket)]);
    assert.deepEqual(ssh.info.authMethods, ['publickey']);
  });

  it('signs with a key that is limited to a host, there only, and is not forwarded it', {
    ...options,
    ...thorough,
  }, async () => {
    const other = await openssh.startSshd({ hostKeys: ['ecdsa256'] });
    try {
      await agent.add('-q', '-D');
      const host = `[127.0.0.1]:${shared.peer.port}`;
      const known = join(agent.dir, 'known_hosts');
      writeFileSync(known, `${host} ${shared.peer.hostKeys.ed25519}\n`);
      const limits = ['-h', host, '-H', known];
      await agent.add('-q', ...limits, testKeys().user.ecdsa521.openssh);
      const ours = api.agent(agent.socket);
      await using ssh = await connect(shared.peer, [ours]);
      assert.match(await output(ssh, 'ssh-add -l', ours), /^The agent has no identities/);
      const elsewhere = await rejectsWith(connect(other, [ours]), 'auth-failed');
      assert.match(elsewhere.message, /ecdsa521\) \(the agent refused to sign\)/);
      // the same key without limits
      await agent.add('-q', '-D');
      await agent.add('-q', testKeys().user.ecdsa521.openssh);
      assert.match(await output(ssh, 'ssh-add -l', ours), /ecdsa521 \(ECDSA\)\n$/);
    } finally {
      await other.stop();
    }
  });

  it('that is gone is told of, or passed over', { ...options, ...thorough }, async () => {
    const gone = await startSshAgent();
    await gone.add('-q', testKeys().user.ed25519.openssh);
    const ours = api.agent(gone.socket);
    assert.equal((await ours.identities()).length, 1);
    await gone.stop();
    const error = await rejectsWith(connect(shared.peer, [ours]), 'agent-failed');
    assert.match(error.message, /^Cannot reach the agent: Cannot connect to \S+: nothing is there$/);
    await using ssh = await connect(shared.peer, [ours, api.keyFile(shared.peer.keys.ed25519.openssh)]);
    assert.deepEqual(ssh.info.authMethods, ['publickey']);
  });
});

describe('serveAgent', () => {
  const options = { ...shared.options, ...thorough, timeout: LIMIT };
  const all = keyNames.map((name) =>
    api.parsePrivateKey(readFileSync(testKeys().user[name].openssh), api.pureProvider),
  );
  let listener: Server;
  let socket: string;
  before(async () => {
    if (options.skip !== undefined) return;
    listener = createServer({ allowHalfOpen: true }, (stream) => {
      stream.on('error', () => {});
      const { readable, writable } = Duplex.toWeb(stream);
      api.serveAgent(
        { readable: readable as ReadableStream<Uint8Array>, writable },
        api.agentOf(api.pureProvider, all),
      );
    });
    socket = join(shared.peer.dir, 'ours');
    listener.listen(socket);
    await once(listener, 'listening');
  });
  after(() => listener?.close());

  it('is an agent to ssh-add', options, async () => {
    const env = { SSH_AUTH_SOCK: socket };
    const { stdout } = await mustRun(['ssh-add', '-L'], { env });
    assert.deepEqual(
      stdout.toString().trim().split('\n'),
      keyNames.map((name) => `${testKeys().user[name].public} puressh-test-${name}`),
    );
    assert.equal((await mustRun(['ssh-add', '-l'], { env })).stdout.toString().split('\n').length, keyNames.length + 1);
    const file = testKeys().user.rsa.openssh;
    // with RSA it asks for SHA-1
    const tested = keyNames.filter((name) => name !== 'rsa').map((name) => `${testKeys().user[name].openssh}.pub`);
    await mustRun(['ssh-add', '-T', ...tested], { env });
    for (const refused of [['-D'], ['-d', `${file}.pub`], [file], ['-x']]) {
      assert.notEqual((await run(['ssh-add', ...refused], { env, input: '' })).code, 0, refused.join(' '));
    }
  });

  it('is an agent to ssh, with every type of key', options, async () => {
    const { host, port, username, knownHosts } = shared.peer;
    const fixed = [
      '-F',
      '/dev/null',
      '-o',
      'KexAlgorithms=curve25519-sha256',
      '-o',
      `UserKnownHostsFile=${knownHosts}`,
      '-o',
      `IdentityAgent=${socket}`,
    ];
    for (const name of keyNames) {
      const only = ['-o', 'IdentitiesOnly=yes', '-i', `${testKeys().user[name].openssh}.pub`, '-o', 'BatchMode=yes'];
      const command = ['ssh', ...fixed, ...only, '-p', String(port), '-l', username, host, 'echo', name];
      assert.equal((await mustRun(command)).stdout.toString(), `${name}\n`);
    }
  });

  it('serves keys in memory to programs on a real server', options, async () => {
    const keys: readonly KeyName[] = ['ed25519', 'ecdsa521'];
    const agent = api.agentOf(
      api.pureProvider,
      all.filter((_, index) => keys.includes(keyNames[index] as KeyName)),
    );
    const auth = [api.key(readFileSync(testKeys().user.ed25519.openssh))];
    await using ssh = await connect(shared.peer, auth);
    const { stdout } = await ssh.run('ssh-add -l', { agent });
    assert.match(new TextDecoder().decode(stdout), /^256 SHA256:\S+ \S+ \(ED25519\)\n521 SHA256:\S+ \S+ \(ECDSA\)\n$/);
  });
});

describe('ssh -A to our server', () => {
  const reason = REASON ?? sshUnavailable();
  const options = { ...peerTest(reason), ...thorough, timeout: LIMIT };
  const exec: Program = async (session) => {
    const agent = new AgentClient(() => session.agent());
    const [signer] = await agent.signers();
    const signature = await signer?.sign(new Uint8Array(16), 'ssh-ed25519');
    agent.close();
    await session.write(`${session.hasAgent} ${signer?.comment} ${signature?.length}\n`);
  };
  let server: OwnServer;
  let agent: SshAgent;
  before(async () => {
    if (options.skip !== undefined) return;
    server = await startOwnServer({ session: { exec } });
    agent = await startSshAgent();
    await agent.add('-q', testKeys().user.ed25519.openssh);
  });
  after(async () => {
    await server?.stop();
    await agent?.stop();
  });

  it('gives its programs the agent', options, async () => {
    const { host, port, username } = server;
    const quick = ['-o', 'KexAlgorithms=curve25519-sha256'];
    const own = [...sshOptions(server), ...quick].map((each) =>
      each === 'IdentityAgent=none' ? `IdentityAgent=${agent.socket}` : each,
    );
    const target = `-p ${port} -l ${username} ${host} x`.split(' ');
    const command = (more: string): string[] => ['ssh', ...own, more, ...target];
    assert.equal((await mustRun(command('-A'))).stdout.toString(), 'true puressh-test-ed25519 83\n');
    const without = await run(command('-a'));
    assert.equal(without.code, 1);
    assert.deepEqual(
      server.errors.splice(0).map(({ message }) => message),
      ['Cannot reach the agent: The client forwards no agent to this session'],
    );
  });
});

describe('keys of an agent', () => {
  const others = [
    ['Dropbear', dropbear.available(), dropbear.startDropbear],
    ['asyncssh', asyncssh.available(), asyncssh.startAsyncssh],
    ['Erlang', erlang.available(), erlang.startErlang],
  ] as const;
  for (const [name, reason, start] of others) {
    it(`are asked about and then sign: ${name}`, { ...peerTest(reason), ...thorough, timeout: LIMIT }, async () => {
      const peer = await start();
      try {
        const rsa = api.parsePrivateKey(readFileSync(peer.keys.rsa.openssh), api.pureProvider);
        const ring = api.agentOf(api.pureProvider, [api.generateKey('stranger'), rsa]);
        const open = async (): Promise<BytePipe> => {
          const [near, far] = api.memoryPipes();
          api.serveAgent(far, ring);
          return near;
        };
        await using ssh = await connect(peer, [new AgentLogin({ open, mayBeMissing: false })]);
        assert.deepEqual(ssh.info.authMethods, ['publickey']);
      } finally {
        await peer.stop();
      }
    });
  }
});
