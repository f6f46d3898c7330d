/** Tries the programs that the documents show, each as a process, with places and names of the test in place of theirs. */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { PrivateKey } from '../../src/keys/key_pair.ts';
import { api } from '../support/connect.ts';
import { testKeys } from '../support/peers/keys.ts';
import * as openssh from '../support/peers/openssh.ts';
import { findProgram, type Peer, peerTest } from '../support/peers/peer.ts';
import { unavailable as noAgent, startSshAgent } from '../support/peers/ssh_agent.ts';
import { rejectsWith } from '../support/rejects.ts';
import { root } from '../support/root.ts';

const LIMIT_MS = 40_000;
const options = { timeout: 60_000 };
const isSource = import.meta.url.endsWith('.ts');

/** An empty directory inside the repository, since Deno looks for packages from where a program is. */
async function withFolder(use: (folder: string) => Promise<void>): Promise<void> {
  mkdirSync(new URL('build/', root), { recursive: true });
  const folder = mkdtempSync(fileURLToPath(new URL('build/example-', root)));
  try {
    await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Writes the example into `folder` with every replacement made, each of which must be needed. Gives what runs it. */
function prepare(folder: string, name: string, replacements: readonly (readonly [string, string])[]): string[] {
  const extension = isSource ? 'ts' : 'js';
  let text = readFileSync(new URL(`examples/${name}.${extension}`, import.meta.url), 'utf8');
  const source = new URL('../../src/node', import.meta.url).href;
  for (const [from, to] of [["'../../../src/node", `'${source}`] as const, ...replacements]) {
    assert.ok(text.includes(from), from);
    text = text.replaceAll(from, to);
  }
  const program = join(folder, isSource ? 'example.ts' : 'example.mjs');
  writeFileSync(program, text);
  return [...('Deno' in globalThis ? ['run', '-A', '--no-lock', '--no-check'] : []), program];
}

describe('the client examples', () => {
  const withOpenssh = { ...peerTest(openssh.available()), ...options };

  /** Runs an example in a folder of its own against a server that has files. */
  function against(
    name: string,
    replacements: (peer: Peer, folder: string) => [string, string][],
    check: (stdout: string, folder: string, peer: Peer) => void,
  ): Promise<void> {
    return withFolder(async (folder) => {
      const peer = await openssh.startSshd();
      try {
        const args = prepare(folder, name, replacements(peer, folder));
        writeFileSync(join(folder, 'big.log'), 'z'.repeat(1000));
        const how = { cwd: folder, encoding: 'utf8', timeout: LIMIT_MS } as const;
        const { status, stdout, stderr } = spawnSync(process.execPath, args, how);
        assert.deepEqual([status, stderr], [0, ''], stdout);
        check(stdout, folder, peer);
      } finally {
        await peer.stop();
      }
    });
  }

  const login = (peer: Peer): [string, string][] => [
    ["host: 'example.org'", `host: '${peer.host}', port: ${peer.port}`],
    ["'ada'", `'${peer.username}'`],
    ["'~/.ssh/id_ed25519'", `'${peer.keys.ed25519.openssh}'`],
    ['knownHosts()', `knownHosts('${peer.knownHosts}')`],
  ];

  it('run a command, download, and list', withOpenssh, () =>
    against(
      'client',
      (peer) => {
        writeFileSync(join(peer.files, 'big.log'), 'x'.repeat(100_000));
        mkdirSync(join(peer.files, 'srv'));
        writeFileSync(join(peer.files, 'srv', 'entry'), 'four');
        return [
          ...login(peer),
          ["'/var/log/big.log'", `'${join(peer.files, 'big.log')}'`],
          ["'/srv'", `'${join(peer.files, 'srv')}'`],
        ];
      },
      (stdout, folder) => {
        const lines = stdout.trim().split('\n');
        assert.match(lines[0] as string, /^0 \w+$/);
        assert.deepEqual(lines.slice(-2), ['100000 100000', 'entry 4']);
        assert.equal(readFileSync(join(folder, 'big.log'), 'utf8').length, 100_000);
      },
    ),
  );

  it('upload, feed a command, and say what went wrong', withOpenssh, () =>
    against(
      'more',
      (peer) => [...login(peer), ["'/srv/big.log'", `'${join(peer.files, 'up.log')}'`]],
      (stdout, _folder, peer) => {
        const said = '1000\n9\n10\n 0\nsftp-status peer open /no/such: no such file\n';
        assert.equal(stdout, said);
        assert.equal(readFileSync(join(peer.files, 'up.log'), 'utf8').length, 1000);
      },
    ),
  );

  it('trust what known_hosts says, and nobody who is revoked', withOpenssh, () =>
    against(
      'trust',
      (peer, folder) => {
        writeFileSync(join(folder, 'known_hosts'), readFileSync(peer.knownHosts));
        writeFileSync(join(folder, 'revoked_keys'), `${peer.keys.rsa.public}\n`);
        return login(peer).slice(0, 3);
      },
      (stdout) => assert.match(stdout, /^ssh-ed25519 SHA256:\S{43}\n$/),
    ),
  );

  it('connect to a host of ssh_config', withOpenssh, () =>
    against(
      'config',
      ({ host, port, username, keys, knownHosts }, folder) => {
        const file = join(folder, 'ssh_config');
        const lines = [`HostName ${host}`, `Port ${port}`, `User ${username}`, `IdentityFile ${keys.ed25519.openssh}`];
        writeFileSync(file, ['Host box', ...lines, `UserKnownHostsFile ${knownHosts}`].join('\n'));
        return [["sshConfig('box')", `sshConfig('box', { file: '${file}' })`]];
      },
      (stdout) => assert.equal(stdout.trim(), hostname()),
    ),
  );

  it('log in with an agent, and forward it', { ...withOpenssh, ...peerTest(noAgent()) }, async () => {
    const agent = await startSshAgent();
    try {
      await agent.add('-q', testKeys().user.rsa.openssh);
      await against(
        'agent',
        (peer) => [...login(peer), ['agent()', `agent('${agent.socket}')`]],
        (stdout) => assert.match(stdout, /^puressh-test-rsa\n\d+ SHA256:\S+ puressh-test-rsa \(RSA\)\n/),
      );
    } finally {
      await agent.stop();
    }
  });

  it('offer other algorithms, and compress', withOpenssh, () =>
    against('algorithms', login, (stdout) =>
      assert.match(stdout, /^(aes256-gcm|chacha20-poly1305)@openssh.com zlib@openssh.com\n$/),
    ),
  );
});

describe('the example of key files', () => {
  it('converts a key, and shows its fingerprints', options, () =>
    withFolder(async (folder) => {
      const key = await api.makeKey({ type: 'ed25519' }, 'mine');
      const old = { format: 'ppk', passphrase: 'the old one', rounds: 1 } as const;
      writeFileSync(join(folder, 'id.ppk'), api.formatPrivateKey(api.pureProvider, key, old));
      const how = { cwd: folder, encoding: 'utf8', timeout: LIMIT_MS } as const;
      const { status, stdout, stderr } = spawnSync(process.execPath, prepare(folder, 'keys', []), how);
      assert.deepEqual([status, stderr], [0, ''], stdout);
      assert.match(stdout, /^SHA256:\S{43} MD5(:[0-9a-f]{2}){16}\n$/);
      const written = readFileSync(join(folder, 'id'));
      const read = api.parsePrivateKey(written, api.pureProvider, { passphrase: 'the new one' });
      assert.deepEqual(read.publicKey, key.publicKey);
      assert.equal(
        readFileSync(join(folder, 'id.pub'), 'utf8'),
        api.formatPublicKey(key.publicKey.blob, { comment: 'mine' }),
      );
    }),
  );
});

/** A private key, and both halves as files. */
interface KeyPair {
  readonly key: PrivateKey;
  readonly pem: string;
  readonly line: string;
}

function keyPair(): KeyPair {
  const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  const key = api.parsePrivateKey(pem, api.pureProvider);
  return { key, pem, line: `${key.publicKey.type} ${Buffer.from(key.publicKey.blob).toString('base64')} ada\n` };
}

interface RunningServer {
  readonly port: number;
  readonly folder: string;
  readonly ada: PrivateKey;
  stdout(): string;
}

/** Runs a server example in a folder with the files that it reads, and ends it. */
function serving(
  name: string,
  replacements: readonly (readonly [string, string])[],
  use: (server: RunningServer) => Promise<void>,
  adaLine?: string,
): Promise<void> {
  return withFolder(async (folder) => {
    const ada = keyPair();
    writeFileSync(join(folder, 'host_key'), keyPair().pem);
    writeFileSync(join(folder, 'ada.pub'), adaLine ?? ada.line);
    mkdirSync(join(folder, 'served', 'ada'), { recursive: true });
    writeFileSync(join(folder, 'served', 'ada', 'hers'), 'content');
    const args = prepare(folder, name, [['port: 2022', 'port: 0'], ...replacements]);
    const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
    const ended = new Promise<void>((resolve) => child.on('close', () => resolve()));
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (chunk) => {
      stdout += chunk;
    });
    child.stderr.on('data', (chunk) => {
      stderr += chunk;
    });
    try {
      const limit = performance.now() + LIMIT_MS;
      while (!/^\d+\b/.test(stdout)) {
        assert.ok(child.exitCode === null && performance.now() < limit, `no port: ${stdout}${stderr}`);
        await sleep(20);
      }
      await use({ port: Number.parseInt(stdout, 10), folder, ada: ada.key, stdout: () => stdout });
      assert.equal(stderr, '');
    } finally {
      kill(child);
      await ended;
    }
  });
}

function kill(child: ChildProcess): void {
  if (child.exitCode === null) child.kill('SIGKILL');
}

describe('the server example of README.md', () => {
  it('lets in with a key and a password, serves files and runs a command', options, () =>
    serving('server', [["'/srv/files'", "'served'"]], async ({ port, ada, stdout }) => {
      const [, fingerprint] = /^\d+ (SHA256:\S+)\n/.exec(stdout()) as unknown as [string, string];
      const to = { host: '127.0.0.1', port, hostKey: api.pin(fingerprint) };
      const ssh = await api.connect({ ...to, username: 'ada', auth: [api.key(ada)] });
      const date = await ssh.run('date');
      assert.match(new TextDecoder().decode(date.stdout), /^It is \d{4}-.*Z, ada\n$/);
      assert.equal(date.code, 0);
      assert.equal((await ssh.run('id')).code, 127);
      await rejectsWith(ssh.shell(), 'request-failed');
      const sftp = await ssh.sftp();
      assert.equal(new TextDecoder().decode(await sftp.readFile('/ada/hers')), 'content');
      await ssh.close();
      const password = api.password('correct horse battery staple');
      await (await api.connect({ ...to, username: 'bob', auth: [password] })).close();
      await rejectsWith(api.connect({ ...to, username: 'ada', auth: [password] }), 'auth-failed');
      assert.match(stdout(), /^127\.0\.0\.1 is here$/m);
    }),
  );
});

describe('the examples of docs/server.md', () => {
  it('want a code after the key, and give each user a directory', options, () =>
    serving('second_factor', [['/srv/files', 'served']], async ({ port, ada }) => {
      const login = (code: string, ...first: ReturnType<typeof api.key>[]) => {
        const auth = [...first, api.keyboardInteractive(({ prompts }) => prompts.map(() => code))];
        return api.connect({ host: '127.0.0.1', port, hostKey: api.insecureAcceptAny(), username: 'ada', auth });
      };
      const ssh = await login('123456', api.key(ada));
      const sftp = await ssh.sftp();
      assert.equal(new TextDecoder().decode(await sftp.readFile('/hers')), 'content');
      await ssh.close();
      await rejectsWith(login('123457', api.key(ada)), 'auth-failed');
      await rejectsWith(login('123456'), 'auth-failed');
    }),
  );

  it('run a program with its streams', options, () =>
    serving('programs', [], async ({ port, ada }) => {
      const to = { host: '127.0.0.1', port, hostKey: api.insecureAcceptAny() };
      const ssh = await api.connect({ ...to, username: 'ada', auth: [api.key(ada)] });
      const counted = await ssh.run('count', { stdin: new Uint8Array(100_000) });
      assert.deepEqual([counted.code, new TextDecoder().decode(counted.stdout)], [0, '100000\n']);
      const other = await ssh.run('id');
      assert.deepEqual([other.code, new TextDecoder().decode(other.stderr)], [127, 'count is all there is\n']);
      await rejectsWith(ssh.shell(), 'request-failed');
      await rejectsWith(ssh.sftp(), 'sftp-unavailable');
      await ssh.close();
    }),
  );

  const noSsh = ['ssh', 'ssh-keygen'].find((name) => findProgram(name) === undefined);
  const withSsh = { ...peerTest(noSsh === undefined ? undefined : `there is no ${noSsh}`), ...options };

  it('forward to one port and to no other', withSsh, async () => {
    const target = createServer((socket) => socket.on('error', () => {}).end('from the target'));
    await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
    const allowed = (target.address() as { readonly port: number }).port;
    const { openssh: identity, public: line } = testKeys().user.ed25519;
    try {
      await serving(
        'programs',
        [['5432', String(allowed)]],
        async ({ port }) => {
          const forward = (to: string): Promise<string> => {
            const set = [
              'BatchMode=yes',
              'StrictHostKeyChecking=no',
              'UserKnownHostsFile=/dev/null',
              'IdentitiesOnly=yes',
            ];
            const how = ['-F', '/dev/null', ...set.flatMap((each) => ['-o', each]), '-i', identity, '-p', String(port)];
            return output(findProgram('ssh') as string, [...how, '-W', to, 'ada@127.0.0.1']);
          };
          assert.match(await forward(`localhost:${allowed}`), /from the target/);
          assert.match(await forward('localhost:22'), /administratively prohibited|forwarding failed/);
          assert.match(await forward(`127.0.0.1:${allowed}`), /administratively prohibited|forwarding failed/);
        },
        `${line}\n`,
      );
    } finally {
      await new Promise((resolve) => target.close(resolve));
    }
  });

  it('make files when they are read', options, () =>
    withFolder(async (folder) => {
      const how = { cwd: folder, encoding: 'utf8', timeout: LIMIT_MS } as const;
      const { status, stdout, stderr } = spawnSync(process.execPath, prepare(folder, 'backend', []), how);
      assert.deepEqual([status, stderr], [0, '']);
      assert.match(stdout, /^now\n\d{4}-\d\d-\d\dT[\d:.]+Z\n$/);
      assert.ok(!existsSync(join(folder, 'now')));
    }),
  );
});

/** What a program writes, to both outputs. */
function output(program: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    const limit = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
    let text = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        text += chunk;
      });
    }
    child.on('error', reject);
    child.on('close', () => {
      clearTimeout(limit);
      resolve(text);
    });
  });
}
