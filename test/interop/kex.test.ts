/**
 * Every key exchange method that software of others has, in both roles, at the start and again in the middle of a session, with each
 * kind of host key in turn and either provider. In Node 24 alone: it is the same code elsewhere. ML-KEM nobody here has yet.
 */

import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import {
  type OwnServer,
  type OwnServerOptions,
  type SharedServer,
  useOwnServer,
} from '../support/clients/own_server.ts';
import { run } from '../support/clients/process.ts';
import { putty, options as puttyOptions } from '../support/clients/putty.ts';
import { api } from '../support/connect.ts';
import * as asyncssh from '../support/peers/asyncssh.ts';
import * as dropbear from '../support/peers/dropbear.ts';
import * as erlang from '../support/peers/erlang.ts';
import * as openssh from '../support/peers/openssh.ts';
import { type Peer, type SharedPeer, usePeer } from '../support/peers/peer.ts';
import * as proftpd from '../support/peers/proftpd.ts';
import { pythonWith } from '../support/peers/python.ts';
import * as tinyssh from '../support/peers/tinyssh.ts';
import { isThorough } from '../support/thorough.ts';

const LIMIT = { timeout: 60_000 };
/** Less than what is sent below, so that keys are exchanged again in the middle. */
const REKEY = { bytes: 48 * 1024 };
const SIZE = 64_000;
const COMMAND = `head -c ${SIZE} /dev/zero`;
/** Connections at once: much of the time is spent waiting for the other side. */
const AT_ONCE = 4;

/** What stands where nothing is started: its tests are skipped. */
const skipped = { options: { skip: 'tried in Node 24' } };

const group = (name: string): string => `diffie-hellman-group${name}`;
const curves = [
  'curve25519-sha256',
  'curve25519-sha256@libssh.org',
  'ecdh-sha2-nistp256',
  'ecdh-sha2-nistp384',
  'ecdh-sha2-nistp521',
];
const sntrup = 'sntrup761x25519-sha512@openssh.com';
const sha1 = [group('-exchange-sha1'), group('14-sha1'), group('1-sha1')];

type Ssh = Awaited<ReturnType<typeof api.connect>>;

interface Server {
  readonly name: string;
  readonly available: string | undefined;
  readonly start: () => Promise<Peer>;
  readonly kex: readonly string[];
  /** Methods that are tried with each kind of host key alone, as those of `kex` are then too. */
  readonly also?: readonly string[];
  /** What is done in the session; default: a command whose output is long. */
  readonly use?: (ssh: Ssh) => Promise<number>;
  /** How many key exchanges there are then; default 2. */
  readonly exchanges?: number;
}

async function command(ssh: Ssh): Promise<number> {
  const [{ stdout }] = await Promise.all([ssh.run(COMMAND), ssh.rekey()]);
  return stdout.length;
}

/** For servers that run no commands. */
async function file(ssh: Ssh): Promise<number> {
  await using sftp = await ssh.sftp();
  const path = `/tmp/puressh-kex-${process.pid}`;
  await sftp.writeFile(path, new Uint8Array(SIZE));
  const [{ length }] = await Promise.all([sftp.readFile(path), ssh.rekey()]);
  await sftp.remove(path);
  return length;
}

/** Each method once or more; what one of them has is not tried with all. */
const servers: readonly Server[] = [
  {
    name: 'OpenSSH',
    available: openssh.available(),
    start: () => openssh.startSshd({ config: [`KexAlgorithms +${sha1.join(',')}`, 'HostKeyAlgorithms +ssh-rsa'] }),
    kex: [
      'sntrup761x25519-sha512',
      sntrup,
      'curve25519-sha256',
      ...sha1,
      ...['-exchange-sha256', '14-sha256', '16-sha512', '18-sha512'].map(group),
    ],
    also: curves,
  },
  {
    name: 'Dropbear',
    available: dropbear.available(),
    start: () => dropbear.startDropbear(),
    kex: ['curve25519-sha256', group('14-sha256')],
  },
  {
    name: 'TinySSH',
    available: tinyssh.available(),
    start: () => tinyssh.startTinyssh(),
    kex: [sntrup, 'curve25519-sha256@libssh.org'],
    // a second exchange now and then stops it, until something else arrives
    use: async (ssh) => (await ssh.run(COMMAND)).stdout.length,
    exchanges: 1,
  },
  {
    name: 'asyncssh',
    available: asyncssh.available(),
    start: () => asyncssh.startAsyncssh({ server: { kex_algs: '*' } }),
    kex: ['15-sha512', '17-sha512'].map(group),
    also: [],
  },
  {
    name: 'Erlang',
    available: erlang.available(),
    start: () => erlang.startErlang(),
    kex: [group('-exchange-sha256'), group('16-sha512'), 'ecdh-sha2-nistp384'],
    use: file,
  },
  {
    name: 'ProFTPD',
    available: proftpd.available(),
    start: () => proftpd.startProftpd(),
    kex: [group('-exchange-sha256'), group('-exchange-sha1'), group('18-sha512')],
    use: file,
  },
];

function connect(peer: Peer, kex: string, hostKey: string, crypto: 'auto' | 'pure' = 'auto'): Promise<Ssh> {
  const { host, port, username, keys, knownHosts } = peer;
  return api.connect({
    host,
    port,
    username,
    auth: [api.keyFile(keys.ed25519.openssh)],
    hostKey: api.knownHosts(knownHosts),
    crypto,
    algorithms: { kex: [kex], hostKeys: [hostKey] },
  });
}

/** Every server has a key of this kind. */
const HOST_KEY = 'ssh-ed25519';

for (const { name, available, start, kex, also, use = command, exchanges = 2 } of servers) {
  describe(`key exchange with ${name} as server`, () => {
    const shared = isThorough ? usePeer(available, start) : (skipped as SharedPeer);
    const options = { ...shared.options, ...LIMIT };

    kex.forEach((method, i) => {
      it(method, options, async () => {
        await using ssh = await connect(shared.peer, method, HOST_KEY, i % 2 === 0 ? 'auto' : 'pure');
        assert.equal(await use(ssh), SIZE);
        assert.equal(ssh.info.algorithms.kex, method);
        assert.equal(ssh.info.keyExchanges, exchanges);
      });
    });

    if (also !== undefined) {
      it('each method with each kind of host key', options, async () => {
        const known = [...api.defaultAlgorithms(api.pureProvider).hostKeys, ...api.legacyAlgorithms.hostKeys];
        const types = known.filter((type) => !/^sk-|-cert-/.test(type));
        assert.equal(types.length, 7);
        const left = [...also, ...kex].flatMap((method) => types.map((type) => [method, type] as const));
        const worker = async (): Promise<void> => {
          for (let next = left.pop(); next !== undefined; next = left.pop()) {
            await using ssh = await connect(shared.peer, ...next);
            const { algorithms } = ssh.info;
            assert.deepEqual([algorithms.kex, algorithms.hostKey], next);
          }
        };
        // asyncssh keeps how it signs in its key, which all connections share
        await Promise.all(Array.from({ length: name === 'asyncssh' ? 1 : AT_ONCE }, worker));
      });
    }
  });
}

function ownServer(reason: string | undefined, own: OwnServerOptions): SharedServer {
  return isThorough ? useOwnServer(reason, own) : (skipped as SharedServer);
}

/** The methods of the connections since `before`, each of which has exchanged keys more than once. */
function methods(server: OwnServer, before: number): readonly (string | undefined)[] {
  const connections = server.connections.slice(before);
  for (const { keyExchanges, algorithms } of connections) assert.ok(keyExchanges > 1, `once with ${algorithms?.kex}`);
  return connections.map(({ algorithms }) => algorithms?.kex);
}

const legacy: OwnServerOptions = { algorithms: 'legacy', rekey: REKEY };

describe('key exchange with OpenSSH as client', () => {
  const shared = ownServer(openssh.available(), legacy);

  for (const method of sha1) {
    it(method, { ...shared.options, ...LIMIT }, async () => {
      const { server } = shared;
      const target = [
        '-p',
        String(server.port),
        '-i',
        server.keys.ed25519.openssh,
        `${server.username}@${server.host}`,
      ];
      const own = ['-F', 'none', '-o', `UserKnownHostsFile=${server.knownHosts}`, '-o', `KexAlgorithms=${method}`];
      const before = server.connections.length;
      const ended = await run(['ssh', ...own, ...target, COMMAND], { env: { HOME: server.home } });
      assert.deepEqual([ended.code, ended.stdout.length], [0, SIZE], ended.stderr);
      assert.deepEqual(methods(server, before), [method]);
    });
  }
});

describe('key exchange with PuTTY as client', () => {
  const shared = ownServer(putty.unavailable, legacy);
  const byName: Readonly<Record<string, string>> = {
    'ntru-curve25519': sntrup,
    ecdh: 'curve25519-sha256',
    'dh-gex-sha1': group('-exchange-sha256'),
    'dh-group15-sha512': group('15-sha512'),
    'dh-group14-sha1': group('14-sha256'),
    'dh-group1-sha1': group('1-sha1'),
  };

  for (const [name, method] of Object.entries(byName)) {
    it(`${name}: ${method}`, { ...shared.options, ...LIMIT }, async () => {
      const { server } = shared;
      const sessions = join(server.home, '.putty', 'sessions');
      mkdirSync(sessions, { recursive: true });
      // PuTTY adds what is not named, before what it thinks worse
      const others = Object.keys(byName).filter((each) => each !== name);
      writeFileSync(
        join(sessions, name),
        `KEX=${name},WARN,${others.join(',')},dh-group16-sha512,dh-group17-sha512,dh-group18-sha512,rsa\n`,
      );
      const before = server.connections.length;
      const plink = ['plink', '-load', name, '-ssh', ...(await puttyOptions(server)), COMMAND];
      const ended = await run(plink, { env: { HOME: server.home } });
      assert.deepEqual([ended.code, ended.stdout.length], [0, SIZE], ended.stderr);
      assert.deepEqual(methods(server, before), [method]);
    });
  }
});

/** Connects once with each method. */
const ASYNCSSH = `
import asyncio, asyncssh, sys
port, key, known, methods = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4].split(',')
async def main():
    for method in methods:
        async with asyncssh.connect('127.0.0.1', port, username='ada', client_keys=[key], known_hosts=known,
                                    kex_algs=[method], config=None, agent_path=None) as connection:
            result = await connection.run('${COMMAND}', encoding=None)
            print(method, len(result.stdout))
asyncio.run(main())
`;

describe('key exchange with asyncssh as client', () => {
  const python = pythonWith('asyncssh');
  const shared = ownServer(python === undefined ? 'there is no Python with asyncssh' : undefined, legacy);

  it('the group exchange, and a group that OpenSSH has not', { ...shared.options, ...LIMIT }, async () => {
    const { server } = shared;
    const all = ['-exchange-sha256', '15-sha512'].map(group);
    const own = [String(server.port), server.keys.ed25519.openssh, server.knownHosts, all.join(',')];
    const ended = await run([python ?? '', '-W', 'ignore', '-c', ASYNCSSH, ...own]);
    assert.equal(ended.stdout.toString(), all.map((method) => `${method} ${SIZE}\n`).join(''), ended.stderr);
    assert.deepEqual(methods(server, 0), all);
  });
});
