/** Matching paths: what is found, once each, and what is asked for it. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SftpClient } from '../../src/sftp/client.ts';
import type { GlobOptions } from '../../src/sftp/glob.ts';
import type { RemotePath } from '../../src/sftp/options.ts';
import { memoryFiles } from '../../src/sftp/server/memory_fs.ts';
import { PosixError } from '../../src/sftp/server/posix_error.ts';
import { rejectsWith } from '../support/rejects.ts';
import { bent, collect, withMemory } from '../support/sftp_memory.ts';

const TREE = {
  '/srv/a.txt': '',
  '/srv/b.txt': '',
  '/srv/.hidden/x.txt': '',
  '/srv/.dot.txt': '',
  '/srv/sub/c.txt': '',
  '/srv/sub/deep/d.txt': '',
  '/srv/sub/deep/e.log': '',
  '/srv/other/c.txt': '',
};

async function found(sftp: SftpClient, pattern: RemotePath, options: GlobOptions = {}): Promise<unknown[]> {
  return (await collect(sftp.glob(pattern, options))).map(({ path }) => path).sort();
}

describe('SftpClient.glob', () => {
  it('finds what matches, each path once', async () => {
    const files = memoryFiles({ files: TREE, home: '/srv' });
    files.symlink('/srv/sub', '/srv/link');
    await withMemory(files, async ({ sftp }) => {
      const table: readonly (readonly [string, readonly string[]])[] = [
        ['/srv/*.txt', ['/srv/a.txt', '/srv/b.txt']],
        ['*.txt', ['a.txt', 'b.txt']],
        ['./*.txt', ['a.txt', 'b.txt']],
        ['.*', ['.dot.txt', '.hidden']],
        ['*/c.txt', ['link/c.txt', 'other/c.txt', 'sub/c.txt']],
        ['*/', ['other/', 'sub/'].map((path) => path.slice(0, -1))],
        ['**/*.txt', ['a.txt', 'b.txt', 'other/c.txt', 'sub/c.txt', 'sub/deep/d.txt']],
        ['**/d.txt', ['sub/deep/d.txt']],
        ['sub/**', ['sub/c.txt', 'sub/deep', 'sub/deep/d.txt', 'sub/deep/e.log']],
        ['**/deep/*', ['sub/deep/d.txt', 'sub/deep/e.log']],
        ['**/sub/**/*.txt', ['sub/c.txt', 'sub/deep/d.txt']],
        ['**/*/**/d.txt', ['link/deep/d.txt', 'sub/deep/d.txt']], // the link by `*`
        ['{a,b,*}.txt', ['a.txt', 'b.txt']],
        ['{a.txt,*/c.txt,**/c.txt}', ['a.txt', 'link/c.txt', 'other/c.txt', 'sub/c.txt']],
        ['{/srv/a.txt,a.txt}', ['/srv/a.txt', 'a.txt']],
        ['.hidden/*', ['.hidden/x.txt']],
        ['../srv/[ab].txt', ['../srv/a.txt', '../srv/b.txt']],
        ['/srv/a.txt', ['/srv/a.txt']],
        ['a.txt', ['a.txt']],
        ['a.txt/', []],
        ['sub', ['sub']],
        ['nothing*', []],
        ['no/such/*', []],
        ['a.txt/*', []],
        ['a.txt/b', []],
      ];
      for (const [pattern, paths] of table) assert.deepEqual(await found(sftp, pattern), paths, pattern);
      assert.deepEqual(await found(sftp, '*.txt', { hidden: true }), ['.dot.txt', 'a.txt', 'b.txt']);
      assert.deepEqual(await found(sftp, '**/x.txt', { hidden: true }), ['.hidden/x.txt']);
      assert.deepEqual(await found(sftp, '*.txt', { from: '/srv/sub' }), ['/srv/sub/c.txt']);
      assert.deepEqual(await found(sftp, '/*/other', { from: '/x' }), ['/srv/other']);
    });
  });

  it('finds by bytes, and names that are not UTF-8', async () => {
    const files = memoryFiles({ files: { '/d/caf\udce9': '', '/d/café': '' } });
    await withMemory(files, async ({ sftp }) => {
      const raw = Uint8Array.of(0x2f, 0x64, 0x2f, 0x63, 0x61, 0x66, 0xe9);
      assert.deepEqual(await found(sftp, '/d/caf?'), ['/d/café', raw]);
      assert.deepEqual(await found(sftp, Uint8Array.of(...raw.subarray(0, 3), 0x2a, 0xe9)), [raw]);
      assert.deepEqual(await found(sftp, raw), [raw]);
    });
  });

  it('asks for names in place of listings where it can', async () => {
    const files = memoryFiles({ files: { '/home/ada/.ssh/config': '', '/home/bob/.ssh/config': '', '/home/x/y': '' } });
    const listed: string[] = [];
    const backend = bent(files, {
      list: (path) => {
        listed.push(path);
        return files.list(path);
      },
    });
    await withMemory(backend, async ({ sftp, pipe }) => {
      assert.equal((await found(sftp, '/home/*/.ssh/config')).length, 2);
      assert.deepEqual(listed, ['/home']);
      assert.equal(pipe.rounds, 4); // OPENDIR, READDIR, the two names in turn
      pipe.rounds = 0;
      await found(sftp, '/home/ada/.ssh/config');
      assert.deepEqual([pipe.rounds, listed.length], [1, 1]);
    });
  });

  it('a directory that cannot be read is an error, or told to onError', async () => {
    const files = memoryFiles({ files: TREE });
    const backend = bent(files, {
      list: (path) => {
        if (path === '/srv/sub') throw new PosixError('EACCES', 'no');
        return files.list(path);
      },
    });
    await withMemory(backend, async ({ sftp }) => {
      await rejectsWith(found(sftp, '/srv/**/c.txt'), 'sftp-status');
      const told: unknown[] = [];
      const paths = await found(sftp, '/srv/**/c.txt', { onError: (_, path) => void told.push(path) });
      assert.deepEqual([paths, told], [['/srv/other/c.txt'], ['/srv/sub']]);
    });
  });

  it('looks at no place twice, however many ways lead there', async () => {
    const deep = `/${'a/'.repeat(60)}x`;
    await withMemory(memoryFiles({ files: { [deep]: '' } }), async ({ sftp }) => {
      // Without that these are more ways than could be gone.
      assert.deepEqual(await found(sftp, `${'**/a/'.repeat(12)}**/x`, { from: '/' }), [deep]);
      assert.deepEqual(await found(sftp, `{${'**/a/'.repeat(12)}x,**/x,/**/x}`, { from: '/' }), [deep, deep]);
    });
  });

  it('refuses what is no pattern', async () => {
    await withMemory(memoryFiles(), async ({ sftp }) => {
      for (const pattern of ['', '/', '*/../x', '**/..']) {
        await rejectsWith((async () => found(sftp, pattern))(), 'bad-argument');
      }
    });
  });
});
