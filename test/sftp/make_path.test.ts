/** mkdir with `recursive`. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { memoryFiles } from '../../src/sftp/server/memory_fs.ts';
import { PosixError } from '../../src/sftp/server/posix_error.ts';
import { rejectsWith } from '../support/rejects.ts';
import { bent, withMemory } from '../support/sftp_memory.ts';

describe('SftpClient.mkdir, recursive', () => {
  it('takes one round trip where the directory above is there, or the directory itself', async () => {
    const files = memoryFiles({ files: { '/a/b/file': '' } });
    await withMemory(files, async ({ sftp, pipe }) => {
      await sftp.mkdir('/a/b/c', { recursive: true, attrs: { permissions: 0o700 } });
      assert.equal(files.stat('/a/b/c').permissions, 0o40700);
      assert.equal(pipe.rounds, 1);
      await sftp.mkdir('/a/b/c', { recursive: true });
      await sftp.mkdir('/', { recursive: true });
      assert.equal(pipe.rounds, 3);
    });
  });

  it('takes three, however much is missing; attributes are for the last', async () => {
    const files = memoryFiles({ files: { '/a/file': '' } });
    await withMemory(files, async ({ sftp, pipe }) => {
      await sftp.mkdir('/a/1/2//3/4/5/', { recursive: true, attrs: { permissions: 0o500 } });
      assert.equal(files.stat('/a/1/2/3/4/5').permissions, 0o40500);
      assert.equal(files.stat('/a/1/2/3/4').permissions, 0o40755);
      assert.equal(pipe.rounds, 3);
    });
  });

  it('makes relative paths, bytes, and what .. leads to', async () => {
    const files = memoryFiles({ home: '/home' });
    await withMemory(files, async ({ sftp }) => {
      await sftp.mkdir('x/y', { recursive: true });
      await sftp.mkdir(Uint8Array.of(0x78, 0x2f, 0xff, 0x2f, 0x7a), { recursive: true });
      await sftp.mkdir('n/../m/o', { recursive: true });
      assert.deepEqual([...files.list('/home/x')].map(({ name }) => name).sort(), ['y', '\udcff']);
      assert.ok(files.stat('/home/m/o'));
    });
  });

  it('names what stands in the way and is no directory', async () => {
    const files = memoryFiles({ files: { '/a/file': '' } });
    files.symlink('a', '/link');
    files.symlink('a/file', '/bad');
    await withMemory(files, async ({ sftp }) => {
      await sftp.mkdir('/link', { recursive: true });
      await sftp.mkdir('/link/new', { recursive: true });
      for (const [path, named] of [
        ['/a/file', '/a/file'],
        ['/a/file/x/y', '/a/file'],
        ['/bad', '/bad'],
      ] as const) {
        const error = await rejectsWith(sftp.mkdir(path, { recursive: true }), 'target-exists');
        assert.equal(error.path, named);
        assert.equal(error.operation, 'mkdir');
      }
      await rejectsWith(sftp.mkdir('/a/file'), 'sftp-status');
      await rejectsWith(sftp.mkdir('/m/n'), 'sftp-status');
    });
  });

  it('tells why the server refuses', async () => {
    const denied = new PosixError('EACCES', 'not here');
    const files = memoryFiles();
    const backend = bent(files, {
      mkdir: (path: string): void => {
        if (path !== '/ok') throw denied;
        files.mkdir(path, {});
      },
    });
    await withMemory(backend, async ({ sftp }) => {
      for (const path of ['/no', '/no/x', '/ok/no']) {
        const error = await rejectsWith(sftp.mkdir(path, { recursive: true }), 'sftp-status');
        assert.equal(error.status, 3);
      }
      const controller = new AbortController();
      controller.abort();
      await rejectsWith(sftp.mkdir('/z', { recursive: true, signal: controller.signal }), 'aborted');
    });
  });

  it('goes on where others make a part of it meanwhile, or MKDIRs are not done in order', async () => {
    const files = memoryFiles();
    let refused = 0;
    const backend = bent(files, {
      // The first time each is asked for it is not done: as if the one above it were not there yet.
      mkdir: (path: string): void => {
        refused += 1;
        if (refused <= 4) throw new PosixError('ENOENT', 'not yet');
        if (path === '/a/b') files.mkdir(path, {});
        files.mkdir(path, {});
      },
    });
    await withMemory(backend, async ({ sftp }) => {
      await sftp.mkdir('/a/b/c', { recursive: true });
      assert.ok(files.stat('/a/b/c'));
    });
  });

  it('refuses paths of endless parts', async () => {
    await withMemory(memoryFiles(), async ({ sftp }) => {
      await rejectsWith(sftp.mkdir('x/'.repeat(1500), { recursive: true }), 'limit');
    });
  });
});
