/** What `sftp` and `scp` can ask puressh's server for, beyond what every client can. */

import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { lines } from '../../support/clients/client.ts';
import { scp, scpCommand, sftpBatch, unavailable } from '../../support/clients/openssh.ts';
import { type OwnServer, useOwnServer } from '../../support/clients/own_server.ts';
import { mustRun } from '../../support/clients/process.ts';
import { clientTests, content, sameBytes } from '../../support/clients/suite.ts';
import { api } from '../../support/connect.ts';

const LIMIT = { timeout: 60_000 };
const LONG_AGO = 981_173_106; // 2001-02-03 04:05:06 UTC
const DATE = /Feb {2}3 {2}2001/;

/** What a batch says, without the commands; throws when one fails. */
async function batch(server: OwnServer, ...commands: readonly string[]): Promise<string[]> {
  const { code, stdout, stderr } = await sftpBatch(server, commands);
  assert.equal(code, 0, `${stderr}${stdout}`);
  return lines(stdout).filter((line) => !line.startsWith('sftp> '));
}

/** What it says of a command that fails. */
async function failure(server: OwnServer, command: string): Promise<string> {
  const { code, stderr } = await sftpBatch(server, [command]);
  assert.equal(code, 1, `${command}: ${stderr}`);
  return stderr;
}

/** A new directory in the served tree, and a file in it. */
function folder(server: OwnServer, name: string, text = 'text'): { readonly at: (name: string) => string } {
  mkdirSync(join(server.files, name));
  writeFileSync(join(server.files, name, 'file'), text);
  return { at: (file) => join(server.files, name, file) };
}

describe('scp', () => {
  const clients = clientTests(scp);
  const options = { ...clients.options, ...LIMIT };

  it('-r -p carries a tree both ways, with its permissions and times', options, async () => {
    const { server } = clients;
    const source = join(server.local, 'tree');
    mkdirSync(join(source, 'deep', 'er'), { recursive: true });
    mkdirSync(join(source, 'empty'));
    for (let i = 0; i < 30; i++) writeFileSync(join(source, 'deep', `file ${i}`), `content ${i}`);
    writeFileSync(join(source, 'deep', 'er', 'exec'), '#!/bin/sh\n');
    chmodSync(join(source, 'deep', 'er', 'exec'), 0o750);
    for (const name of ['deep/er/exec', 'deep/er', 'deep', '.']) utimesSync(join(source, name), LONG_AGO, LONG_AGO);
    const remote = `${server.username}@${server.host}:`;
    await mustRun(scpCommand(server, 'key', '-r', '-p', source, `${remote}/`));
    await mustRun(scpCommand(server, 'key', '-r', '-p', `${remote}/tree`, join(server.local, 'again')));
    for (const place of [join(server.files, 'tree'), join(server.local, 'again')]) {
      await mustRun(['diff', '-r', source, place]);
      const { mode, mtimeMs, atimeMs } = statSync(join(place, 'deep', 'er', 'exec'));
      assert.deepEqual([mode & 0o7777, mtimeMs / 1000, atimeMs / 1000 > 0], [0o750, LONG_AGO, true]);
      assert.equal(statSync(join(place, 'deep')).mtimeMs / 1000, LONG_AGO);
    }
  });

  it('finds what is named from home on', options, async () => {
    const { server } = clients;
    folder(server, 'home');
    for (const [i, path] of ['~/home/file', 'home/file', './home/../home/file', '~ada/home/file'].entries()) {
      const local = join(server.local, `home-${i}`);
      const command = scpCommand(server, 'key', `${server.username}@${server.host}:${path}`, local);
      await mustRun(command);
      assert.equal(readFileSync(local, 'utf8'), 'text', path);
    }
  });

  it('fails for what is not there', options, async () => {
    const { server } = clients;
    const remote = `${server.username}@${server.host}:/missing`;
    await assert.rejects(mustRun(scpCommand(server, 'key', remote, server.local)), /No such file or directory/);
  });
});

describe('sftp', () => {
  const clients = useOwnServer(unavailable());
  const options = { ...clients.options, ...LIMIT };

  it('ls shows names, owners, sizes and dates', options, async () => {
    const { server } = clients;
    const { at } = folder(server, 'ls', 'twelve bytes');
    chmodSync(at('file'), 0o4751);
    utimesSync(at('file'), LONG_AGO, LONG_AGO);
    symlinkSync('file', at('link'));
    linkSync(at('file'), at('second'));
    const owner = lines((await mustRun(['stat', '-c', '%U %G', at('file')])).stdout)[0]?.replace(' ', ' +');
    const named = await batch(server, 'cd /ls', 'ls -la');
    // sftp 9 asks for the names of the owners, and writes a ? where a server does not tell the number of links
    assert.match(
      named.find((line) => line.endsWith(' file')) ?? '',
      new RegExp(`^-rwsr-x--x +[2?] ${owner} +12 Feb +3 +2001 file$`),
    );
    assert.match(named.find((line) => / link( |$)/.test(line)) ?? '', /^lrwxrwxrwx /);
    assert.deepEqual(named.filter((line) => /^d.* \.\.?$/.test(line)).length, 2);
    const plain = await batch(server, 'ls -1 /ls');
    assert.deepEqual(
      plain.map((line) => line.replace('/ls/', '')),
      ['file', 'link', 'second'],
    );
  });

  it('ls sorts by time and size, and takes patterns', options, async () => {
    const { server } = clients;
    const { at } = folder(server, 'sorted', '123');
    for (const [name, size, time] of [
      ['b.txt', 1, 30],
      ['a.txt', 5, 10],
      ['c.dat', 9, 20],
    ] as const) {
      writeFileSync(at(name), 'x'.repeat(size));
      utimesSync(at(name), LONG_AGO + time, LONG_AGO + time);
    }
    const names = async (command: string): Promise<string[]> =>
      (await batch(server, command)).map((line) => line.slice(line.lastIndexOf('/') + 1));
    assert.deepEqual(await names('ls -1 -t /sorted/*.*'), ['b.txt', 'c.dat', 'a.txt']);
    assert.deepEqual(await names('ls -1 -S /sorted/*.*'), ['c.dat', 'a.txt', 'b.txt']);
    assert.deepEqual(await names('ls -1 /sorted/[ab].txt'), ['a.txt', 'b.txt']);
    await batch(server, `lcd ${server.local}`, 'cd /sorted', 'get *.txt', 'rm *.txt');
    assert.deepEqual(
      [readFileSync(join(server.local, 'a.txt'), 'utf8'), readdirSync(at('')).sort()],
      ['xxxxx', ['c.dat', 'file']],
    );
  });

  it('df tells the figures of the file system', options, async () => {
    const { server } = clients;
    const [head, figures] = await batch(server, 'df /');
    assert.match(head ?? '', /Size +Used +Avail +\(root\) +%Capacity/);
    const size = Number(figures?.trim().split(/ +/)[0]);
    const host =
      lines((await mustRun(['stat', '-f', '-c', '%b %S', server.files])).stdout)[0]
        ?.split(' ')
        .map(Number) ?? [];
    assert.equal(size, ((host[0] ?? 0) * (host[1] ?? 0)) / 1024);
  });

  it('cp copies on the server', options, async () => {
    const { server } = clients;
    const bytes = content(3 * 1024 * 1024 + 1);
    const { at } = folder(server, 'cp');
    writeFileSync(at('source'), bytes);
    await batch(server, 'cp /cp/source /cp/target');
    sameBytes(at('target'), bytes);
  });

  it('ln and symlink make links', options, async () => {
    const { server } = clients;
    const { at } = folder(server, 'ln');
    await batch(server, 'cd /ln', 'ln file hard', 'ln -s file soft', 'symlink ../nowhere dangling');
    assert.equal(statSync(at('hard')).ino, statSync(at('file')).ino);
    assert.deepEqual([readlinkSync(at('soft')), readlinkSync(at('dangling'))], ['file', '../nowhere']);
    assert.match(await failure(server, 'ln /ln/missing /ln/x'), /No such file or directory/);
    assert.match(await failure(server, 'ln -s file /ln/soft'), /[Ff]ailure/);
  });

  it('chmod changes permissions, chown and chgrp owners, as far as the server may', options, async () => {
    const { server } = clients;
    const { at } = folder(server, 'chmod');
    symlinkSync('file', at('link'));
    await batch(server, 'chmod 640 /chmod/file');
    assert.equal(statSync(at('file')).mode & 0o7777, 0o640);
    await batch(server, 'chmod 2755 /chmod/link');
    assert.equal(statSync(at('file')).mode & 0o7777, 0o2755);
    const isRoot = process.getuid?.() === 0;
    const { uid, gid } = statSync(at('file'));
    for (const command of ['chown 12345 /chmod/file', 'chgrp 23456 /chmod/file']) {
      if (isRoot) await batch(server, command);
      else assert.match(await failure(server, command), /[Pp]ermission denied/);
    }
    const after = statSync(at('file'));
    assert.deepEqual([after.uid, after.gid], isRoot ? [12345, 23456] : [uid, gid]);
  });

  it('get -p and put -p keep permissions and times', options, async () => {
    const { server } = clients;
    const { at } = folder(server, 'times');
    chmodSync(at('file'), 0o604);
    utimesSync(at('file'), LONG_AGO, LONG_AGO);
    const local = join(server.local, 'times');
    await batch(server, `get -p /times/file ${local}`, `put -p ${local} /times/again`);
    for (const path of [local, at('again')]) {
      const { mode, mtimeMs } = statSync(path);
      assert.deepEqual([mode & 0o7777, mtimeMs / 1000], [0o604, LONG_AGO]);
    }
    assert.match((await batch(server, 'ls -l /times/again'))[0] ?? '', DATE);
    await batch(server, `put ${local} /times/new`);
    assert.notEqual(statSync(at('new')).mtimeMs / 1000, LONG_AGO);
  });

  it('get -r and put -r carry trees, put -f with fsync', options, async () => {
    const { server } = clients;
    const source = join(server.local, 'tree');
    mkdirSync(join(source, 'a', 'b'), { recursive: true });
    for (const name of ['one', 'a/two', 'a/b/three']) writeFileSync(join(source, name), name);
    await batch(server, `put -rf ${source} /tree`, `get -r /tree ${join(server.local, 'again')}`);
    await mustRun(['diff', '-r', source, join(server.files, 'tree')]);
    await mustRun(['diff', '-r', source, join(server.local, 'again')]);
  });

  it('rename replaces a file, and old renaming does not', options, async () => {
    const { server } = clients;
    const { at } = folder(server, 'rename', 'new');
    writeFileSync(at('old'), 'old');
    assert.match(await failure(server, 'rename -l /rename/file /rename/old'), /[Ff]ailure/);
    assert.equal(readFileSync(at('old'), 'utf8'), 'old');
    await batch(server, 'rename /rename/file /rename/old');
    assert.deepEqual([readFileSync(at('old'), 'utf8'), existsSync(at('file'))], ['new', false]);
  });

  it('mkdir, rmdir and rm say why they do not', options, async () => {
    const { server } = clients;
    folder(server, 'full');
    assert.match(await failure(server, 'mkdir /full'), /[Ff]ailure/);
    assert.match(await failure(server, 'rmdir /full'), /[Ff]ailure/);
    assert.match(await failure(server, 'rmdir /missing'), /No such file or directory/);
    assert.match(await failure(server, 'rm /missing'), /No such file or directory/);
    assert.match(await failure(server, 'get /full'), /not a regular file|is a directory/);
    assert.match(await failure(server, 'put /etc/hostname /missing/deep'), /No such file or directory/);
  });

  it('starts at the top and goes no higher', options, async () => {
    const { server } = clients;
    const { at } = folder(server, 'top');
    symlinkSync('/etc', at('out'));
    const said = await batch(server, 'pwd', 'cd top', 'pwd', 'cd ../../..', 'pwd', 'cd top', 'cd', 'pwd');
    const places = said.map((line) => line.replace('Remote working directory: ', ''));
    assert.deepEqual(places, ['/', '/top', '/', '/']);
    assert.match(await failure(server, 'ls /top/out/passwd'), /not found|No such file|[Pp]ermission/);
    assert.equal(lstatSync(at('out')).isSymbolicLink(), true);
  });

  it('is given many small files beside each other', options, async () => {
    const { server } = clients;
    folder(server, 'small');
    const source = join(server.local, 'small');
    mkdirSync(source);
    for (let i = 0; i < 300; i++) writeFileSync(join(source, String(i)), String(i));
    await Promise.all(['x', 'y', 'z'].map((name) => batch(server, `put -r ${source} /small/${name}`)));
    for (const name of ['x', 'y', 'z']) await mustRun(['diff', '-r', source, join(server.files, 'small', name)]);
    rmSync(source, { recursive: true });
  });
});

describe('sftp on a server that is read-only', () => {
  const clients = useOwnServer(unavailable(), {
    sftp: api.memoryFiles({ files: { '/docs/a': 'text' } }),
    sftpOptions: { readOnly: true },
  });
  const options = { ...clients.options, ...LIMIT };

  it('reads, and is refused every change', options, async () => {
    const { server } = clients;
    const local = join(server.local, 'a');
    await batch(server, `get /docs/a ${local}`);
    assert.equal(readFileSync(local, 'utf8'), 'text');
    for (const command of [
      `put ${local} /docs/b`,
      'rm /docs/a',
      'mkdir /x',
      'chmod 600 /docs/a',
      'rename /docs/a /b',
      'ln -s a /b',
    ]) {
      assert.match(await failure(server, command), /[Pp]ermission denied|not support/, command);
    }
    assert.deepEqual(await batch(server, 'ls -1 /docs'), ['/docs/a']);
  });
});
