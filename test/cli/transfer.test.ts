/** `puressh get`, `put` and `ls` against OpenSSH's sshd. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import * as openssh from '../support/peers/openssh.ts';
import { usePeer } from '../support/peers/peer.ts';
import { at, onlyLine, reaching, runCli, scratch } from './spawn_cli.ts';

const content = randomBytes(3_000_017);

describe('puressh get', () => {
  const sshd = usePeer(openssh.available(), () => openssh.startSshd());
  const options = { ...sshd.options, timeout: 60_000 };
  const remote = (): string => {
    const path = join(sshd.peer.files, 'big file.bin');
    if (!existsSync(path)) writeFileSync(path, content);
    return `${at(sshd.peer)}:${path}`;
  };

  it('downloads under the name of the remote file, silently in a pipe', options, async () => {
    const cwd = scratch();
    const ended = await runCli(['get', ...reaching(sshd.peer), remote()], { cwd });
    assert.deepEqual([ended.status, ended.stderr, ended.stdout.toString()], [0, '', '']);
    assert.deepEqual(readdirSync(cwd), ['big file.bin']);
    assert.ok(readFileSync(join(cwd, 'big file.bin')).equals(content));
  });

  it('downloads to a path, and into a directory', options, async () => {
    const folder = scratch();
    const path = join(folder, 'other');
    assert.equal((await runCli(['get', ...reaching(sshd.peer), remote(), path])).status, 0);
    assert.ok(readFileSync(path).equals(content));
    assert.equal((await runCli(['get', ...reaching(sshd.peer), remote(), folder])).status, 0);
    assert.ok(readFileSync(join(folder, 'big file.bin')).equals(content));
  });

  it('replaces a file and keeps its permissions', options, async () => {
    const path = join(scratch(), 'there');
    writeFileSync(path, 'old', { mode: 0o600 });
    assert.equal((await runCli(['get', ...reaching(sshd.peer), remote(), path])).status, 0);
    assert.ok(readFileSync(path).equals(content));
    assert.equal(statSync(path).mode & 0o777, 0o600);
  });

  it('writes to standard output', options, async () => {
    const ended = await runCli(['get', ...reaching(sshd.peer), remote(), '-']);
    assert.equal(ended.status, 0, ended.stderr);
    assert.ok(ended.stdout.equals(content));
  });

  it('reads a file of procfs, whose size is 0', { ...options }, async () => {
    if (process.platform !== 'linux') return;
    const ended = await runCli(['get', ...reaching(sshd.peer), `${at(sshd.peer)}:/proc/version`, '-']);
    assert.equal(ended.stdout.toString(), readFileSync('/proc/version', 'utf8'));
  });

  it('reports as one JSON object with exactly the documented members', options, async () => {
    const path = join(scratch(), 'x');
    const args = ['--cipher', 'aes256-ctr', '--mac', 'hmac-sha2-512', '--kex', 'ecdh-sha2-nistp384'];
    const ended = await runCli(['get', '--json', ...args, ...reaching(sshd.peer), remote(), path]);
    assert.equal(ended.status, 0, ended.stderr);
    assert.equal(ended.stderr, '');
    assert.match(ended.stdout.toString(), /^\{.*\}\n$/);
    const report = JSON.parse(ended.stdout.toString());
    const { seconds, megabytesPerSecond, requests, maxRequestsInFlight, maxBytesInFlight, ...others } = report;
    const { roundTrip, window, adjustments, shortReads, ...rest } = others;
    assert.deepEqual(rest, {
      bytes: content.length,
      lanes: 1,
      maxWindow: 67108864,
      resumedFrom: 0,
      files: 1,
      directories: 0,
      links: 0,
      skipped: [],
      failed: [],
      algorithms: {
        kex: 'ecdh-sha2-nistp384',
        hostKey: 'ssh-ed25519',
        cipher: 'aes256-ctr',
        mac: 'hmac-sha2-512',
        compression: 'none',
      },
    });
    assert.ok(seconds > 0 && seconds < 60);
    assert.ok(Math.abs(megabytesPerSecond - content.length / 1e6 / seconds) < 0.01);
    assert.ok(maxRequestsInFlight > 1 && maxRequestsInFlight <= 128);
    assert.ok(maxBytesInFlight > 32768 && maxBytesInFlight <= 128 * 262144);
    assert.ok(requests > content.length / 262144 && window >= 2097152 && adjustments > 0 && shortReads >= 0);
    assert.ok(roundTrip === null || roundTrip > 0);
  });

  it('has no MAC to report with AES-GCM, and one request in flight with -R 1', options, async () => {
    const path = join(scratch(), 'x');
    const args = ['-R', '1', '--cipher', 'aes128-gcm@openssh.com', '--crypto', 'pure', '--host-key', 'rsa-sha2-512'];
    const ended = await runCli(['get', '--json', ...args, ...reaching(sshd.peer), remote(), path]);
    assert.equal(ended.status, 0, ended.stderr);
    const report = JSON.parse(ended.stdout.toString());
    assert.equal(report.maxRequestsInFlight, 1);
    assert.equal(report.algorithms.mac, null);
    assert.equal(report.algorithms.hostKey, 'rsa-sha2-512');
    assert.ok(readFileSync(path).equals(content));
  });

  it('says which remote file is missing, with status 1', options, async () => {
    const cwd = scratch();
    const ended = await runCli(['get', ...reaching(sshd.peer), `${at(sshd.peer)}:/no/such`], { cwd });
    assert.equal(ended.status, 1);
    assert.equal(onlyLine(ended), 'open /no/such: no such file (sftp-status)');
    assert.deepEqual(readdirSync(cwd), []);
  });

  it('says of a remote directory that it is one, with status 1', options, async () => {
    const cwd = scratch();
    const ended = await runCli(['get', ...reaching(sshd.peer), `${at(sshd.peer)}:/etc`], { cwd });
    assert.equal(ended.status, 1);
    assert.equal(onlyLine(ended), '/etc on the server is a directory: give -r, or the path of a file (sftp-status)');
    assert.deepEqual(readdirSync(cwd), []);
  });

  it('says which local directory is missing, with status 1', options, async () => {
    const ended = await runCli(['get', ...reaching(sshd.peer), remote(), join(scratch(), 'no', 'file')]);
    assert.equal(ended.status, 1);
    assert.match(onlyLine(ended), /\/no\/file: the directory .*\/no is not there: make it first \(bad-local-file\)$/);
  });
});

describe('puressh put', () => {
  const sshd = usePeer(openssh.available(), () => openssh.startSshd());
  const options = { ...sshd.options, timeout: 60_000 };
  const local = (): string => {
    const path = join(scratch(), 'local.bin');
    writeFileSync(path, content);
    return path;
  };

  it('uploads to a path, and reports', options, async () => {
    const path = join(sshd.peer.files, 'there');
    const ended = await runCli(['put', '--json', ...reaching(sshd.peer), local(), `${at(sshd.peer)}:${path}`]);
    assert.equal(ended.status, 0, ended.stderr);
    assert.ok(readFileSync(path).equals(content));
    const report = JSON.parse(ended.stdout.toString());
    const before = ['bytes', 'seconds', 'megabytesPerSecond', 'requests', 'maxRequestsInFlight', 'maxBytesInFlight'];
    const line = ['shortReads', 'lanes', 'roundTrip', 'window', 'maxWindow', 'adjustments', 'resumedFrom'];
    const count = ['files', 'directories', 'links', 'skipped', 'failed', 'algorithms'];
    assert.deepEqual(Object.keys(report), [...before, ...line, ...count]);
    assert.equal(report.bytes, content.length);
  });

  it('uploads under its own name into a directory, with or without a slash', options, async () => {
    for (const ending of ['', '/']) {
      const folder = join(sshd.peer.files, `into${ending.length}`);
      mkdirSync(folder);
      const ended = await runCli(['put', ...reaching(sshd.peer), local(), `${at(sshd.peer)}:${folder}${ending}`]);
      assert.equal(ended.status, 0, ended.stderr);
      assert.deepEqual(readdirSync(folder), ['local.bin']);
      assert.ok(readFileSync(join(folder, 'local.bin')).equals(content));
    }
  });

  it('uploads standard input', options, async () => {
    const path = join(sshd.peer.files, 'piped');
    const args = ['put', ...reaching(sshd.peer), '-', `${at(sshd.peer)}:${path}`];
    const ended = await runCli(args, { input: content });
    assert.equal(ended.status, 0, ended.stderr);
    assert.ok(readFileSync(path).equals(content));
  });

  it('writes into the file itself with --in-place', options, async () => {
    const path = join(sshd.peer.files, 'kept');
    writeFileSync(path, 'old');
    const before = statSync(path).ino;
    const args = ['put', '--in-place', ...reaching(sshd.peer), local(), `${at(sshd.peer)}:${path}`];
    assert.equal((await runCli(args)).status, 0);
    assert.equal(statSync(path).ino, before);
    assert.ok(readFileSync(path).equals(content));
  });

  it('says which local file is missing, with status 1', options, async () => {
    const ended = await runCli(['put', ...reaching(sshd.peer), '/no/such', `${at(sshd.peer)}:/tmp/x`]);
    assert.equal(ended.status, 1);
    assert.match(onlyLine(ended), /\/no\/such: no such file or directory \(bad-local-file\)$/);
  });

  it('says which remote directory is missing, with status 1', options, async () => {
    const ended = await runCli(['put', ...reaching(sshd.peer), local(), `${at(sshd.peer)}:/no/such/file`]);
    assert.equal(ended.status, 1);
    assert.match(
      onlyLine(ended),
      /^open \/no\/such\/file: the directory \/no\/such is not there: make it first \(sftp-status\)$/,
    );
  });
});

describe('puressh get and put of many, and sftp', () => {
  const sshd = usePeer(openssh.available(), () => openssh.startSshd());
  const options = { ...sshd.options, timeout: 60_000 };

  it(
    'move directories both ways, with permissions and times, and leave out what they are told to',
    options,
    async () => {
      const [here, there] = [scratch(), join(sshd.peer.files, 'tree')];
      mkdirSync(join(here, 't', 'sub'), { recursive: true });
      for (const name of ['a', 'sub/b', 'sub/c.o', 'd.o']) writeFileSync(join(here, 't', name), name, { mode: 0o640 });
      utimesSync(join(here, 't', 'a'), 1000, 2000);
      const put = ['put', '-r', '-p', '--json', '--exclude', '*.o', ...reaching(sshd.peer), join(here, 't')];
      const sent = await runCli([...put, `${at(sshd.peer)}:${there}`]);
      assert.deepEqual([sent.status, sent.stderr], [0, '']);
      const report = JSON.parse(sent.stdout.toString());
      assert.deepEqual([report.files, report.directories, report.bytes, report.failed], [2, 1, 6, []]);
      assert.deepEqual(readdirSync(there, { recursive: true }).sort(), ['a', 'sub', 'sub/b']);
      assert.deepEqual(
        [statSync(join(there, 'a')).mtimeMs, statSync(join(there, 'a')).mode & 0o777],
        [2_000_000, 0o640],
      );
      const got = await runCli(['get', '-r', ...reaching(sshd.peer), `${at(sshd.peer)}:${there}`, here]);
      assert.deepEqual([got.status, got.stderr], [0, '']);
      assert.equal(readFileSync(join(here, 'tree', 'sub', 'b'), 'utf8'), 'sub/b');
    },
  );

  it('take what a pattern matches, and go on when one file fails, with status 1', options, async () => {
    const [here, there] = [scratch(), join(sshd.peer.files, 'many')];
    mkdirSync(there);
    for (const name of ['1.log', '2.log', 'other']) writeFileSync(join(there, name), name);
    mkdirSync(join(there, '3.log'));
    const target = `${at(sshd.peer)}:${there}`;
    const ended = await runCli(['get', '--json', ...reaching(sshd.peer), `${target}/*.log`, `${target}/nope`, here]);
    assert.equal(ended.status, 1, ended.stderr);
    assert.deepEqual(readdirSync(here).sort(), ['1.log', '2.log']);
    assert.deepEqual(ended.stderr.split('\n').sort(), [
      '',
      `puressh: ${there}/3.log on the server is a directory: give -r, or the path of a file (sftp-status)`,
      `puressh: open ${there}/nope: no such file (sftp-status)`,
    ]);
    const { files, failed, bytes } = JSON.parse(ended.stdout.toString());
    assert.deepEqual([files, bytes], [2, 10]);
    assert.deepEqual(failed.map((each: { path: string }) => each.path).sort(), [`${there}/3.log`, `${there}/nope`]);
  });

  it('keep what is there with --overwrite never, and go on from a part with --resume-target', options, async () => {
    const here = scratch();
    const remote = join(sshd.peer.files, 'whole');
    writeFileSync(remote, 'the whole of it');
    writeFileSync(join(here, 'whole'), 'the who');
    const get = ['get', ...reaching(sshd.peer), `${at(sshd.peer)}:${remote}`, join(here, 'whole')];
    const kept = await runCli([...get, '--overwrite', 'never']);
    assert.deepEqual([kept.status, onlyLine(kept)], [0, `${join(here, 'whole')} is there already: left out`]);
    const resumed = await runCli([...get, '--resume-target', '--json']);
    assert.equal(resumed.status, 0, resumed.stderr);
    assert.equal(readFileSync(join(here, 'whole'), 'utf8'), 'the whole of it');
    assert.equal(JSON.parse(resumed.stdout.toString()).resumedFrom, 7);
  });

  it('sftp does what standard input says, up to the first command that fails', options, async () => {
    const folder = join(sshd.peer.files, 'shell');
    mkdirSync(folder);
    writeFileSync(join(folder, 'f'), 'x');
    const input = ['ls -1', '@cp f g', '-rm nope', 'cat g', 'cd nope', 'rm f'].join('\n');
    const args = ['sftp', ...reaching(sshd.peer), `${at(sshd.peer)}:${folder}`];
    const ended = await runCli(args, { input });
    assert.equal(ended.status, 1);
    assert.equal(ended.stdout.toString(), 'sftp> ls -1\nf\nsftp> rm nope\nsftp> cat g\nxsftp> cd nope\n');
    assert.match(ended.stderr, /^puressh: remove .*nope: no such file \(sftp-status\)\npuressh: .*\n$/);
    assert.ok(existsSync(join(folder, 'f')));
  });

  it('sftp says which file of commands is missing before it connects', options, async () => {
    const ended = await runCli(['sftp', '-b', '/no/such', '-P', '1', '127.0.0.1']);
    assert.equal(ended.status, 1);
    assert.match(onlyLine(ended), /\/no\/such: no such file or directory \(bad-local-file\)$/);
  });
});

describe('puressh ls', () => {
  const sshd = usePeer(openssh.available(), () => openssh.startSshd());
  const options = { ...sshd.options, timeout: 60_000 };
  const folder = (): string => {
    const path = join(sshd.peer.files, 'listed');
    if (existsSync(path)) return path;
    mkdirSync(path);
    writeFileSync(join(path, 'b'), 'four', { mode: 0o640 });
    mkdirSync(join(path, 'a'), { mode: 0o755 });
    // A name that is not UTF-8 and would turn a terminal red.
    execFileSync('/bin/sh', ['-c', `: > "$1/$(printf 'c\\377\\033[31m')"`, 'sh', path]);
    return path;
  };

  it('prints one name a line, sorted and safe for a terminal', options, async () => {
    const ended = await runCli(['ls', ...reaching(sshd.peer), `${at(sshd.peer)}:${folder()}`]);
    assert.equal(ended.status, 0, ended.stderr);
    assert.equal(ended.stdout.toString(), 'a\nb\nc\ufffd\\x1b[31m\n');
  });

  it('prints attributes with -l', options, async () => {
    const ended = await runCli(['ls', '-l', ...reaching(sshd.peer), `${at(sshd.peer)}:${folder()}`]);
    const lines = ended.stdout.toString().split('\n');
    assert.equal(lines.length, 4);
    assert.match(lines[0] as string, /^drwxr-xr-x {2}.* {2}\d{4}-\d\d-\d\d \d\d:\d\d {2}a$/);
    assert.match(lines[1] as string, /^-rw-r----- {2} *\d+ {2} *\d+ {2} *4 {2}\d{4}-\d\d-\d\d \d\d:\d\d {2}b$/);
  });

  it('prints one JSON object', options, async () => {
    const ended = await runCli(['ls', '--json', ...reaching(sshd.peer), `${at(sshd.peer)}:${folder()}`]);
    const report = JSON.parse(ended.stdout.toString());
    assert.deepEqual(Object.keys(report), ['entries', 'algorithms']);
    const [a, b] = report.entries;
    assert.deepEqual([a.name, a.type, a.permissions], ['a', 'directory', '0755']);
    assert.deepEqual([b.name, b.type, b.size, b.permissions], ['b', 'file', 4, '0640']);
  });

  it('says of a file that it is no directory, and of what is missing that it is', options, async () => {
    const list = (path: string) => runCli(['ls', ...reaching(sshd.peer), `${at(sshd.peer)}:${folder()}/${path}`]);
    const file = await list('b');
    assert.deepEqual([file.status, file.stdout.toString()], [1, '']);
    assert.match(onlyLine(file), /listed\/b is not a directory, and ls lists nothing else \(sftp-status\)$/);
    assert.match(onlyLine(await list('d')), /^opendir .*listed\/d: no such file \(sftp-status\)$/);
  });

  it('lists where the session starts when no path is given', options, async () => {
    const ended = await runCli(['ls', ...reaching(sshd.peer), `${at(sshd.peer)}:`]);
    assert.equal(ended.status, 0, ended.stderr);
  });

  it('says which directory is missing, with status 1', options, async () => {
    const ended = await runCli(['ls', ...reaching(sshd.peer), `${at(sshd.peer)}:/no/such`]);
    assert.equal(ended.status, 1);
    assert.equal(onlyLine(ended), 'opendir /no/such: no such file (sftp-status)');
    assert.equal(ended.stdout.length, 0);
  });
});
