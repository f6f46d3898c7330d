/** Files of the host as a server sees them, and what a name is there. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import type { HostFile, HostOpen } from '../../src/sftp/server/host_files.ts';
import { ownersOf, parseOwners } from '../../src/transports/owner_names.ts';
import { isWindowsName } from '../../src/transports/windows_names.ts';
import { failsWith, hostFiles, served } from '../support/host_directory.ts';

const READ: HostOpen = { read: true, write: false };
const WRITE: HostOpen = { read: false, write: true };

async function opened<T>(path: string, how: HostOpen, work: (file: HostFile) => Promise<T>): Promise<T> {
  const file = await hostFiles.open(path, how);
  return work(file).finally(() => file.close());
}

describe('files of the host', () => {
  it('are never opened through a link, nor made where one stands', async () => {
    const { at } = served();
    writeFileSync(at('file'), '');
    symlinkSync('file', at('link'));
    symlinkSync('nowhere', at('dangling'));
    for (const name of ['link', 'dangling']) {
      await failsWith('ELOOP', () => hostFiles.open(at(name), READ));
      await failsWith('EEXIST', () => hostFiles.open(at(name), { ...WRITE, create: true }));
    }
  });

  it('open pipes without waiting', async () => {
    const { at } = served();
    execFileSync('mkfifo', [at('pipe')]);
    await opened(at('pipe'), READ, async (file) => assert.equal((await file.stat()).kind, 'other'));
    await failsWith('ENXIO', () => hostFiles.open(at('pipe'), WRITE));
  });

  it('are not left open for programs that are started', async () => {
    const { at } = served();
    writeFileSync(at('file'), '');
    await opened(at('file'), READ, async (file) => {
      assert.equal(await file.place(), at('file'));
      const open = execFileSync('ls', ['-l', '/proc/self/fd'], { encoding: 'utf8' });
      assert.ok(!open.includes(at('file')), open);
    });
  });

  it('tell that the disk is full', async () => {
    const bytes = new Uint8Array(100);
    await opened('/dev/full', WRITE, async (file) => {
      await failsWith('ENOSPC', () => file.write(0, [bytes]));
      await failsWith('ENOSPC', () => file.write(undefined, [bytes, bytes]));
    });
  });

  it('are written to the end when the system takes a part at a time', async () => {
    const { at } = served();
    execFileSync('mkfifo', [at('pipe')]);
    const pieces = Array.from({ length: 300 }, (_, i) => new Uint8Array(1000).fill(i));
    await opened(at('pipe'), { read: true, write: true }, async (pipe) => {
      // A pipe takes 64 KiB, and then fails: everything before must have come in order.
      await failsWith('EAGAIN', () => pipe.write(undefined, pieces));
      const bytes = execFileSync('dd', [`if=${at('pipe')}`, 'iflag=nonblock', 'bs=65536', 'count=1', 'status=none']);
      assert.ok(bytes.length > 4096);
      for (const [index, byte] of bytes.entries()) assert.equal(byte, Math.floor(index / 1000) & 255);
    });
  });

  it('have owners, as passwd and group say', async () => {
    const { users, groups } = await hostFiles.owners();
    assert.equal(users.get(0), 'root');
    const lines = readFileSync('/etc/group', 'utf8').trim().split('\n');
    for (const line of lines) assert.ok(groups.has(Number(line.split(':')[2])), line);
  });
});

describe('parseOwners', () => {
  it('takes the first name of an id, and no line that is something else', () => {
    const text =
      'root:x:0:0:root:/root:/bin/bash\n\n# x:x:7\n+nis:x:8\n-nis:x:9\ntoor:x:0:0\nada:x:1000:100::/\nbad:x:-1\nhalf\n';
    assert.deepEqual(
      [...parseOwners(text)],
      [
        [0, 'root'],
        [1000, 'ada'],
      ],
    );
  });

  it('is asked once for many, and knows nobody where files cannot be read', async () => {
    const paths: string[] = [];
    const owners = ownersOf(async (path) => {
      paths.push(path);
      if (path === '/etc/group') throw new Error('denied');
      return new TextEncoder().encode('ada:x:1000');
    });
    const [first, second] = await Promise.all([owners(), owners()]);
    assert.equal(first, second);
    assert.deepEqual([[...first.users], first.groups.size, paths], [[[1000, 'ada']], 0, ['/etc/passwd', '/etc/group']]);
  });
});

describe('isWindowsName', () => {
  it('refuses what means more than a file on Windows', () => {
    const refused = [
      '',
      'a\\b',
      '..\\secret',
      'a/b',
      'C:',
      'file:stream',
      'a\0',
      'a\nb',
      'a*',
      'a?',
      'a|b',
      '<',
      '>',
      '"',
      '.',
      '..',
      'name.',
      'name ',
      'con',
      'CON',
      'nul.txt',
      'Aux.tar.gz',
      'COM1',
      'com¹.log',
      'LPT9',
      'conin$',
      'CONOUT$.x',
      'prn .txt',
    ];
    for (const name of refused) assert.equal(isWindowsName(name), false, JSON.stringify(name));
    const taken = [
      'a',
      'a.b',
      '.hidden',
      'console',
      'com',
      'com10',
      'nullable.txt',
      'lpt',
      'é \u{1f600}',
      'a b',
      '...x',
      "'",
    ];
    for (const name of taken) assert.equal(isWindowsName(name), true, name);
  });
});
