/** `puressh serve` as a process: who gets in, what they may do, what is written about it, and how it ends. */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, connect as dial } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { isLoopback, shellWord, welcomeText } from '../../src/cli/serve.ts';
import type { SshError } from '../../src/errors.ts';
import { api } from '../support/connect.ts';
import { testKeys } from '../support/peers/keys.ts';
import { findProgram, peerTest } from '../support/peers/peer.ts';
import { type Ended, interrupt, onlyLine, runCli, scratch } from './spawn_cli.ts';

const missing = ['sftp', 'ssh', 'ssh-keygen'].find((name) => findProgram(name) === undefined);
const options = { timeout: 60_000 };
const withOpenssh = { ...peerTest(missing === undefined ? undefined : `there is no ${missing}`), ...options };

/** A server that runs. */
interface Serving {
  readonly port: number;
  readonly child: ChildProcess;
  stdout(): string;
  stderr(): string;
  /** Ends it. */
  interrupt(signal?: 'SIGINT' | 'SIGTERM'): void;
}

const LIMIT_MS = 20_000;

/** Waits until `find` gives something, which it is asked for again and again. */
async function eventually<T>(what: string, find: () => T | undefined | null): Promise<T> {
  const limit = performance.now() + LIMIT_MS;
  for (;;) {
    const found = find();
    if (found !== undefined && found !== null) return found;
    assert.ok(performance.now() < limit, `${what} did not happen`);
    await sleep(10);
  }
}

/** Runs `puressh serve`, uses it, and interrupts it where `use` has not. */
async function serving(args: readonly string[], use: (server: Serving) => Promise<void>, input = ''): Promise<Ended> {
  let used: Promise<void> = Promise.resolve();
  const ended = runCli(['serve', '--port', '0', ...args], {
    input,
    running: (child) => {
      let [stdout, stderr] = ['', ''];
      child.stdout?.on('data', (chunk) => {
        stdout += chunk;
      });
      child.stderr?.on('data', (chunk) => {
        stderr += chunk;
      });
      const ready = async (): Promise<void> => {
        const port = await eventually(`listening: ${stderr}`, () => /^Serving .*:(\d+),|"port":(\d+)/.exec(stdout));
        await use({
          port: Number(port[1] ?? port[2]),
          child,
          stdout: () => stdout,
          stderr: () => stderr,
          interrupt: end,
        });
      };
      let isEnding = false;
      const end = (signal?: 'SIGINT' | 'SIGTERM'): void => {
        // a second signal would end it before it has ended what it does
        if (!isEnding && child.exitCode === null) interrupt(child, signal);
        isEnding = true;
      };
      used = ready().finally(() => end());
    },
  });
  await Promise.all([ended, used]);
  return ended;
}

/** Runs `puressh` as a client of it. */
function client(command: string, server: Serving, secret: string, ...words: string[]): Promise<Ended> {
  const [target, ...rest] = words as [string, ...string[]];
  const reach = ['-P', String(server.port), '--insecure-accept-any', '--password-stdin'];
  const args = command === 'put' ? [...rest, target] : [target, ...rest];
  return runCli([command, ...reach, ...args], { input: `${secret}\n` });
}

interface Sftp {
  readonly status: number | null;
  readonly text: string;
}

/** Runs OpenSSH's `sftp` with commands, or another of its clients. */
function openssh(program: string, args: readonly string[], input = ''): Promise<Sftp> {
  return new Promise((resolve, reject) => {
    const child = spawn(findProgram(program) as string, args, {
      stdio: 'pipe',
      env: { ...process.env, HOME: scratch() },
    });
    let text = '';
    const limit = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        text += chunk;
      });
    }
    child.stdin.on('error', () => {});
    child.on('error', reject);
    child.on('close', (status) => {
      clearTimeout(limit);
      resolve({ status, text });
    });
    child.stdin.end(input);
  });
}

/** Options with which OpenSSH's clients trust the test host key and log in with a test key, and nothing else. */
function trusting(port: number): string[] {
  const folder = scratch();
  const known = join(folder, 'known_hosts');
  writeFileSync(known, `[127.0.0.1]:${port} ${testKeys().host.ed25519.public}\n`);
  const set = {
    BatchMode: 'yes',
    UserKnownHostsFile: known,
    GlobalKnownHostsFile: '/dev/null',
    StrictHostKeyChecking: 'yes',
    IdentityFile: testKeys().user.ed25519.openssh,
    IdentitiesOnly: 'yes',
    IdentityAgent: 'none',
  };
  return ['-F', '/dev/null', ...Object.entries(set).flatMap(([name, value]) => ['-o', `${name}=${value}`])];
}

function authorizedFile(text: string): string {
  const path = join(scratch(), 'authorized_keys');
  writeFileSync(path, text);
  return path;
}

const keyArguments = (file: string): string[] => [
  '--user',
  'ada',
  '--authorized-keys',
  file,
  '--host-key',
  testKeys().host.ed25519.path,
];

const content = new Uint8Array(1_500_017).map((_, index) => (index * index + (index >> 9)) & 0xff);

describe('puressh serve and OpenSSH', () => {
  it('sftp logs in with a key, uploads, lists and downloads, and the directory has it', withOpenssh, async () => {
    const [root, own] = [scratch(), scratch()];
    writeFileSync(join(own, 'up.bin'), content);
    const args = ['--root', root, ...keyArguments(authorizedFile(`${testKeys().user.ed25519.public}\n`))];
    const ended = await serving(args, async ({ port }) => {
      const batch = `put ${own}/up.bin there.bin\nls -l\nget there.bin ${own}/down.bin\n`;
      const { status, text } = await openssh(
        'sftp',
        [...trusting(port), '-P', `${port}`, '-b', '-', 'ada@127.0.0.1'],
        batch,
      );
      assert.equal(status, 0, text);
      assert.match(text, /1500017 .* there\.bin/);
    });
    assert.ok(readFileSync(join(own, 'down.bin')).equals(content));
    assert.ok(readFileSync(join(root, 'there.bin')).equals(content));
    assert.match(ended.stderr, /logged in as ada with key SHA256:\S+, SSH-2\.0-OpenSSH_/);
  });

  it('the files of one client are there for the next, in memory', withOpenssh, async () => {
    const own = scratch();
    writeFileSync(join(own, 'up.bin'), content);
    const args = keyArguments(authorizedFile(`${testKeys().user.ed25519.public}\n`));
    await serving(args, async ({ port }) => {
      const sftp = (batch: string) =>
        openssh('sftp', [...trusting(port), '-P', `${port}`, '-b', '-', 'ada@127.0.0.1'], batch);
      const first = await sftp(`mkdir sub\nput ${own}/up.bin sub/there.bin\n`);
      assert.equal(first.status, 0, first.text);
      const second = await sftp(`get /sub/there.bin ${own}/down.bin\n`);
      assert.equal(second.status, 0, second.text);
    });
    assert.ok(readFileSync(join(own, 'down.bin')).equals(content));
  });

  it('ssh gets neither a command, nor a shell, nor a forwarding', withOpenssh, async () => {
    const args = keyArguments(authorizedFile(`${testKeys().user.ed25519.public}\n`));
    await serving(args, async ({ port }) => {
      const ssh = (...words: string[]) => openssh('ssh', [...trusting(port), '-p', `${port}`, ...words]);
      assert.match((await ssh('ada@127.0.0.1', 'id')).text, /exec request failed/);
      assert.match((await ssh('-T', 'ada@127.0.0.1')).text, /shell request failed/);
      assert.match((await ssh('-W', `127.0.0.1:${port}`, 'ada@127.0.0.1')).text, /not permitted|forwarding failed/);
    });
  });

  it('a key that is not in the file is refused, and one of another name', withOpenssh, async () => {
    const other = authorizedFile(
      `from="10.0.0.0/8" ${testKeys().user.ed25519.public}\n${testKeys().user.rsa.public}\n`,
    );
    const ended = await serving(keyArguments(other), async ({ port }) => {
      const login = (name: string, key: string) =>
        openssh('sftp', [...trusting(port), '-i', key, '-P', `${port}`, '-b', '-', `${name}@127.0.0.1`]);
      const { ecdsa256 } = testKeys().user;
      const { status, text } = await login('ada', ecdsa256.openssh);
      assert.notEqual(status, 0);
      assert.match(text, /Permission denied \(publickey\)/);
      assert.notEqual((await login('eve', ecdsa256.openssh)).status, 0);
    });
    assert.match(ended.stderr, /refused ada with key SHA256:\S+: not among the authorized keys\n/);
    assert.match(ended.stderr, /refused ada with key SHA256:\S+: line 1: 'from' does not allow 127\.0\.0\.1\n/);
    assert.match(ended.stderr, /refused eve with key SHA256:\S+: wrong name\n/);
    assert.doesNotMatch(ended.stderr, /logged in/);
  });
});

describe('puressh serve', () => {
  it('makes a password, prints it once, and lets in with it alone', options, async () => {
    const ended = await serving(['--user', 'ada'], async (server) => {
      const made = await eventually('a password', () =>
        /^puressh: The password of ada, made for this run: (\S+)$/m.exec(server.stderr()),
      );
      const secret = made[1] as string;
      assert.match(secret, /^(?:[a-km-np-z2-9]{4}-){3}[a-km-np-z2-9]{4}$/);
      const right = await client('ls', server, secret, 'ada@127.0.0.1:/');
      assert.deepEqual([right.status, right.stderr], [0, '']);
      const wrong = await client('ls', server, `${secret}x`, 'ada@127.0.0.1:/');
      assert.equal(wrong.status, 255);
      assert.match(onlyLine(wrong), /tried password.*\(auth-failed\)$/);
      const other = await client('ls', server, secret, 'eve@127.0.0.1:/');
      assert.match(onlyLine(other), /tried password.*\(auth-failed\)$/);
      assert.equal((server.stdout() + server.stderr()).split(secret).length, 2);
    });
    assert.match(ended.stderr, /refused ada with password: wrong name or password\n/);
    assert.match(ended.stderr, /refused eve with password: wrong name or password\n/);
  });

  it('is called by default as who runs it', options, async () => {
    const name = (text: string): string | undefined => /, to (\S+)\n/.exec(text)?.[1];
    const own = process.env.USER || process.env.LOGNAME || process.env.USERNAME;
    await serving([], async (server) => {
      const shown = await eventually('a name', () => name(server.stdout()));
      if (own !== undefined && /^\w+$/.test(own)) assert.equal(shown, own);
      assert.match(server.stdout(), new RegExp(`^ {2}sftp -P ${server.port} ${shown}@127\\.0\\.0\\.1$`, 'm'));
    });
  });

  it('shows the fingerprint that clients can pin', options, async () => {
    const args = ['--user', 'ada', '--password', 'secret'];
    await serving(args, async (server) => {
      const [, fingerprint] = /^Host key (SHA256:\S+) \(ssh-ed25519\), made for this run/m.exec(server.stdout()) ?? [];
      const reach = ['-P', String(server.port), '--password-stdin', '--pin', fingerprint as string];
      const ended = await runCli(['ls', ...reach, 'ada@127.0.0.1:'], { input: 'secret\n' });
      assert.deepEqual([ended.status, ended.stderr], [0, '']);
    });
  });

  it('takes the password from the first line of standard input, and never shows it', options, async () => {
    const ended = await serving(
      ['--user', 'ada', '--password-stdin'],
      async (server) => {
        assert.equal((await client('ls', server, 'from a pipe', 'ada@127.0.0.1:')).status, 0);
      },
      'from a pipe\r\nand no more',
    );
    assert.doesNotMatch(ended.stdout.toString() + ended.stderr, /from a pipe|and no more|made for this run: \w+-/);
  });

  it('with --read-only lets read and not write', options, async () => {
    const [root, own] = [scratch(), scratch()];
    writeFileSync(join(root, 'there'), 'content');
    writeFileSync(join(own, 'new'), 'new');
    const args = ['--root', root, '--read-only', '--user', 'ada', '--password', 'secret'];
    const ended = await serving(args, async (server) => {
      const got = await client('get', server, 'secret', 'ada@127.0.0.1:there', '-');
      assert.deepEqual([got.status, got.stdout.toString()], [0, 'content']);
      const put = await client('put', server, 'secret', 'ada@127.0.0.1:new', join(own, 'new'));
      assert.equal(put.status, 1);
      assert.match(onlyLine(put), /permission denied.*\(sftp-status\)$/);
    });
    assert.deepEqual(readdirSync(root), ['there']);
    assert.match(ended.stdout.toString(), /, read-only, over SFTP/);
  });

  it('serves nothing outside of --root', options, async () => {
    const folder = scratch();
    mkdirSync(join(folder, 'root'));
    writeFileSync(join(folder, 'outside'), 'secret');
    const args = ['--root', join(folder, 'root'), '--user', 'ada', '--password', 'secret'];
    await serving(args, async (server) => {
      const got = await client('get', server, 'secret', 'ada@127.0.0.1:../outside', '-');
      assert.equal(got.status, 1);
      assert.match(onlyLine(got), /no such file \(sftp-status\)$/);
    });
  });

  it('writes what clients send harmless to a terminal', options, async () => {
    const ended = await serving(['--user', 'ada', '--password', 'secret'], async ({ port }) => {
      const username = 'a\u001b[31m\nSerious: \u202e';
      const login = { host: '127.0.0.1', port, username, auth: [api.password('x')], hostKey: api.insecureAcceptAny() };
      await assert.rejects(api.connect(login), (error: SshError) => error.code === 'auth-failed');
    });
    assert.match(ended.stderr, / refused a\\x1b\[31m\\x0aSerious: \\u202e with password: /);
  });

  it('warns where other machines can reach it', options, async () => {
    const args = ['--host', '0.0.0.0', '--user', 'ada', '--password', 'secret'];
    const ended = await serving(args, async () => {});
    assert.match(ended.stderr, /^puressh: WARNING: other machines can reach 0\.0\.0\.0:\d+: whoever has /);
    const local = await serving(['--user', 'ada', '--password', 'secret'], async () => {});
    assert.doesNotMatch(local.stderr, /WARNING/);
  });

  it('with -q writes no lines about clients', options, async () => {
    const ended = await serving(['-q', '--user', 'ada', '--password', 'secret'], async (server) => {
      assert.equal((await client('ls', server, 'secret', 'ada@127.0.0.1:')).status, 0);
    });
    assert.equal(onlyLine(ended), 'Ended by SIGINT (aborted)');
  });

  it('with --json writes one object for everything that happens', options, async () => {
    const root = scratch();
    const args = ['--json', '--root', root, '--user', 'ada', '--password', 'secret'];
    const ended = await serving(args, async (server) => {
      await client('ls', server, 'wrong', 'ada@127.0.0.1:');
      await client('ls', server, 'secret', 'ada@127.0.0.1:');
      await eventually('both ends', () => server.stdout().split('"event":"end"')[2]);
    });
    const [listening, ...events] = ended.stdout
      .toString()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.deepEqual(Object.keys(listening), [
      'event',
      'time',
      'host',
      'port',
      'username',
      'root',
      'readOnly',
      'hostKeys',
    ]);
    assert.deepEqual([listening.event, listening.host, listening.root], ['listening', '127.0.0.1', root]);
    const told = events.map(({ event, id }) => `${id} ${event}`);
    assert.deepEqual(told, ['1 connection', '1 refused', '1 end', '2 connection', '2 login', '2 session', '2 end']);
    const login = events[4];
    assert.deepEqual([login.address, login.username, login.method], ['127.0.0.1', 'ada', 'password']);
    assert.deepEqual(Object.keys(login.algorithms), ['kex', 'hostKey', 'cipher', 'mac', 'compression']);
    assert.deepEqual([events[6].code, typeof events[6].seconds], ['disconnected', 'number']);
    assert.equal(onlyLine(ended), 'Ended by SIGINT (aborted)');
  });
});

describe('puressh serve ends', () => {
  for (const [signal, status] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    it(`on ${signal} with status ${status}, and tells its clients`, options, async () => {
      let told: Promise<SshError | undefined> = Promise.resolve(undefined);
      const ended = await serving(['--user', 'ada', '--password', 'secret'], async ({ port, interrupt: end }) => {
        const auth = [api.password('secret')];
        const hostKey = api.insecureAcceptAny();
        const ssh = await api.connect({ host: '127.0.0.1', port, username: 'ada', auth, hostKey });
        told = ssh.closed;
        end(signal);
        await told;
      });
      assert.deepEqual([ended.status, ended.signal], [status, null], ended.stderr);
      assert.equal((await told)?.code, 'disconnected');
      assert.match(ended.stderr, new RegExp(`\npuressh: Ended by ${signal} \\(aborted\\)\n$`));
      assert.doesNotMatch(ended.stderr, /\n +at /);
    });
  }

  it('with a client that never says a word', options, async () => {
    const ended = await serving(
      ['--user', 'ada', '--password', 'secret'],
      async ({ port, stderr, child, interrupt: end }) => {
        const socket = dial({ port, host: '127.0.0.1', allowHalfOpen: true });
        socket.on('error', () => {});
        await eventually('the connection', () => /connected/.exec(stderr()));
        end();
        await eventually('the end', () => (child.exitCode === null ? undefined : true));
        socket.destroy();
      },
    );
    assert.equal(ended.status, 130, ended.stderr);
  });
});

describe('puressh serve does not begin', () => {
  const password = ['--password', 'secret'];

  it('on a port that is in use: status 255', options, async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const { port } = taken.address() as { readonly port: number };
    try {
      const ended = await runCli(['serve', '--port', String(port), ...password]);
      assert.equal(ended.status, 255);
      assert.match(onlyLine(ended), /^Cannot listen on 127\.0\.0\.1:\d+: the port is in use; .*\(listen-failed\)$/);
      assert.equal(ended.stdout.length, 0);
    } finally {
      await new Promise((resolve) => taken.close(resolve));
    }
  });

  it('over what is no directory: status 1', options, async () => {
    const file = join(scratch(), 'file');
    writeFileSync(file, '');
    for (const [root, reason] of [
      ['/no/such', 'no such file or directory'],
      [file, 'not a directory'],
    ] as const) {
      const ended = await runCli(['serve', '--port', '0', '--root', root, ...password]);
      assert.equal(ended.status, 1, ended.stderr);
      assert.ok(onlyLine(ended).includes(root), ended.stderr);
      assert.match(onlyLine(ended), new RegExp(`${reason}.*\\(bad-local-file\\)$`));
    }
  });

  it('with authorized keys that nobody could log in with: status 1, and why', options, async () => {
    const begin = (file: string) => runCli(['serve', '--port', '0', '--authorized-keys', file]);
    const none = await begin('/no/such');
    assert.equal(none.status, 1);
    assert.match(onlyLine(none), /authorized keys in \/no\/such: no such file.*\(bad-local-file\)$/);
    const empty = authorizedFile('# nobody\n');
    assert.equal(onlyLine(await begin(empty)), `Nobody could log in with ${empty}: it has no key (bad-local-file)`);
    const damaged = authorizedFile('# two\nssh-ed25519 AAAA\nhello world\n');
    const line = onlyLine(await begin(damaged));
    assert.ok(line.includes(`${damaged}:2 lets nobody in: `), line);
    assert.ok(line.includes(`${damaged}:3 lets nobody in: `), line);
  });

  it('with a host key that is none: status 1', options, async () => {
    const file = join(scratch(), 'key');
    writeFileSync(file, 'no key at all');
    const none = await runCli(['serve', '--port', '0', '--host-key', '/no/such', ...password]);
    assert.equal(none.status, 1);
    assert.match(onlyLine(none), /host key \/no\/such: no such file.*\(bad-local-file\)$/);
    const wrong = await runCli(['serve', '--port', '0', '--host-key', file, ...password]);
    assert.equal(wrong.status, 1);
    assert.ok(onlyLine(wrong).includes(file), wrong.stderr);
    assert.match(onlyLine(wrong), /\(key-format-unsupported\)$/);
  });

  it('with a host key that is encrypted: status 1, and how to make one in the clear', options, async () => {
    const file = join(scratch(), 'key');
    writeFileSync(file, api.formatPrivateKey(api.pureProvider, api.generateKey(), { passphrase: 'p', rounds: 1 }));
    const ended = await runCli(['serve', '--port', '0', '--host-key', file, ...password]);
    assert.equal(ended.status, 1);
    assert.match(onlyLine(ended), /is encrypted, .*keygen convert --no-passphrase.*\(key-passphrase-needed\)$/);
  });

  it('with an empty password on standard input: status 2', options, async () => {
    const ended = await runCli(['serve', '--port', '0', '--password-stdin'], { input: '\n' });
    assert.equal(ended.status, 2);
    assert.match(onlyLine(ended), /no password \(bad-argument\)$/);
  });
});

describe('lines of authorized keys', () => {
  it('that let nobody in, or to nothing, are told at the start', withOpenssh, async () => {
    const key = testKeys().user.ed25519.public;
    const file = authorizedFile(`${key}\nunheard-of ${key}\ncommand="uptime" ${testKeys().user.rsa.public}\n`);
    const ended = await serving(keyArguments(file), async () => {});
    const lines = ended.stderr.split('\n');
    assert.match(lines[0] as string, new RegExp(`^puressh: ${file}:2 lets nobody in: Unknown option`));
    assert.equal(lines[1], `puressh: ${file}:3 binds its key to a command, and serve runs none`);
    assert.equal(lines.length, 4);
  });
});

describe('what serve tells', () => {
  const facts = {
    host: '127.0.0.1',
    port: 2022,
    username: 'ada',
    root: null,
    readOnly: false,
    hostKeys: [{ type: 'ssh-ed25519', fingerprint: 'SHA256:abc' }],
  };

  it('is how to connect', () => {
    assert.deepEqual(welcomeText(facts, false).split('\n'), [
      'Serving files in memory, which are gone when it ends, over SFTP on 127.0.0.1:2022, to ada',
      'Host key SHA256:abc (ssh-ed25519)',
      '  sftp -P 2022 ada@127.0.0.1',
      '  puressh ls -P 2022 --pin SHA256:abc ada@127.0.0.1:',
      'Ctrl-C ends it.',
    ]);
  });

  it('is an address that clients understand', () => {
    const lines = (host: string) => welcomeText({ ...facts, host }, false).split('\n');
    assert.equal(lines('::1')[2], "  sftp -P 2022 'ada@[::1]'");
    assert.match(lines('::1')[0] as string, / on \[::1\]:2022,/);
    for (const host of ['::', '0.0.0.0']) assert.doesNotMatch(lines(host)[2] as string, /::|0\.0\.0\.0/);
  });

  it('is one word to a shell', () => {
    assert.equal(shellWord('ada@example.org:/x'), 'ada@example.org:/x');
    assert.equal(shellWord("it's"), "'it'\\''s'");
    assert.equal(shellWord('$x'), "'$x'");
    assert.equal(shellWord(''), "''");
  });

  it('knows the addresses of this machine alone', () => {
    for (const host of ['127.0.0.1', '127.1.2.3', '::1', '::ffff:127.0.0.1']) assert.ok(isLoopback(host), host);
    for (const host of ['0.0.0.0', '::', '10.0.0.1', '127.evil.example', '::ffff:10.0.0.1', 'fe80::1']) {
      assert.ok(!isLoopback(host), host);
    }
  });
});
