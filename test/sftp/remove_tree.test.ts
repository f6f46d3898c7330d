/** remove with `recursive`. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SshError } from '../../src/errors.ts';
import { SftpClient } from '../../src/sftp/client.ts';
import { memoryFiles } from '../../src/sftp/server/memory_fs.ts';
import { PosixError } from '../../src/sftp/server/posix_error.ts';
import { DIRECTORY, LINK, listedSftp } from '../support/listed_sftp.ts';
import { rejectsWith } from '../support/rejects.ts';
import { bent, withMemory } from '../support/sftp_memory.ts';

const recursive = { recursive: true } as const;

/** A tree of 10 × 10 directories with a file each. */
function tree(): Record<string, string> {
  const files: Record<string, string> = { '/kept/file': 'kept' };
  for (let i = 0; i < 10; i++) for (let j = 0; j < 10; j++) files[`/d/${i}/${j}/file`] = '';
  return files;
}

describe('SftpClient.remove, recursive', () => {
  it('removes a tree in few round trips, and what links lead to stays', async () => {
    const files = memoryFiles({ files: { ...tree(), '/d/caf\udce9/f\udcff': '' } }); // not UTF-8
    files.symlink('/kept', '/d/link');
    files.symlink('/nowhere', '/d/5/dangling');
    await withMemory(files, async ({ sftp, pipe }) => {
      await sftp.remove('/d', recursive);
      // 311 requests for what goes, some more to find it.
      assert.ok(pipe.rounds < 40, `${pipe.rounds} round trips`);
      assert.equal(await sftp.exists('/d'), false);
      assert.equal((await sftp.readFile('/kept/file')).length, 4);
    });
  });

  it('removes a file, a link and an empty directory as they are', async () => {
    const files = memoryFiles({ files: { '/f': '', '/kept/file': '' } });
    files.symlink('/kept', '/link');
    files.mkdir('/empty', {});
    await withMemory(files, async ({ sftp }) => {
      for (const path of ['/f', '/link', '/empty']) {
        await sftp.remove(path, recursive);
        assert.equal(await sftp.exists(path), false, path);
      }
      assert.equal(await sftp.exists('/kept/file'), true);
      const error = await rejectsWith(sftp.remove('/f', recursive), 'sftp-status');
      assert.equal(error.status, 2);
      await rejectsWith(sftp.remove('/kept'), 'sftp-status');
    });
  });

  it('refuses the root and paths that end in no name, before anything is sent', async () => {
    const server = listedSftp({ directories: () => [] });
    const client = await SftpClient.open(server);
    const sent = server.log.length;
    for (const path of ['/', '//', '', '.', './', '..', 'a/..', 'a/.', '/.', '/../', new Uint8Array(0)]) {
      await rejectsWith(client.remove(path, recursive), 'bad-argument');
    }
    assert.equal(server.log.length, sent);
    await client.close();
  });

  it('what others remove meanwhile is no error', async () => {
    const files = memoryFiles({ files: tree() });
    let count = 0;
    // Every third time somebody else has been there before.
    const sooner =
      (run: (path: string) => void) =>
      (path: string): void => {
        if (++count % 3 === 0) run(path);
        run(path);
      };
    const backend = bent(files, {
      remove: sooner((path) => files.remove(path)),
      rmdir: sooner((path) => files.rmdir(path)),
    });
    await withMemory(backend, async ({ sftp }) => {
      await sftp.remove('/d', recursive);
      assert.equal(await sftp.exists('/d'), false);
    });
  });

  it('reads a directory again that was filled meanwhile, and gives up in the end', async () => {
    const files = memoryFiles({ files: { '/d/a/x': '', '/d/b': '' } });
    let times = 0;
    let most = 2;
    const backend = bent(files, {
      rmdir: (path) => {
        if (path === '/d/a' && times < most) {
          times += 1;
          files.mkdir(`/d/a/new${times}`, {});
        }
        files.rmdir(path);
      },
    });
    await withMemory(backend, async ({ sftp }) => {
      await sftp.remove('/d', recursive);
      assert.equal(times, 2);
      files.mkdir('/d', {});
      files.mkdir('/d/a', {});
      most = Number.POSITIVE_INFINITY;
      const error = await rejectsWith(sftp.remove('/d', recursive), 'sftp-status');
      assert.equal(error.path, '/d/a');
    });
  });

  it('stops at the first refusal, and says which', async () => {
    const files = memoryFiles({ files: tree() });
    let removed = 0;
    const backend = bent(files, {
      remove: (path) => {
        if (path === '/d/0/0/file' || path === '/d/9/9/file') throw new PosixError('EACCES', 'it stays');
        removed += 1;
        files.remove(path);
      },
    });
    await withMemory(backend, async ({ sftp }) => {
      const error: SshError = await rejectsWith(sftp.remove('/d', recursive), 'sftp-status');
      assert.equal(error.status, 3);
      assert.match(error.path ?? '', /^\/d\/[09]\/[09]\/file$/);
      const before = removed;
      await sftp.stat('/');
      assert.equal(removed, before);
      assert.equal(await sftp.exists(error.path as string), true);
    });
  });

  it('is aborted, and the client stays usable', async () => {
    const controller = new AbortController();
    const files = memoryFiles({ files: tree() });
    let count = 0;
    const backend = bent(files, {
      remove: (path) => {
        if (++count === 3) controller.abort();
        files.remove(path);
      },
    });
    await withMemory(backend, async ({ sftp }) => {
      await rejectsWith(sftp.remove('/d', { recursive: true, signal: controller.signal }), 'aborted');
      assert.equal(await sftp.exists('/d'), true);
    });
  });
});

describe('SftpClient.remove, recursive, and a server that means ill', () => {
  it('never enters what LSTAT does not call a directory', async () => {
    for (const attrs of [LINK, {}, 8]) {
      const server = listedSftp({
        directories: (path) => (path === '/d' ? [{ name: 'sub', attrs: DIRECTORY }] : [{ name: 'precious' }]),
        lstat: (path) => (path === '/d' ? DIRECTORY : attrs),
      });
      const client = await SftpClient.open(server);
      await client.remove('/d', recursive);
      const changes = server.log.filter((line) => /^(REMOVE|RMDIR) /.test(line));
      assert.deepEqual(changes, ['REMOVE /d/sub', 'RMDIR /d']);
      await client.close();
    }
  });

  it('never removes by a name that leads elsewhere', async () => {
    for (const name of ['../x', '/etc', 'a/b', '']) {
      const server = listedSftp({ directories: () => [{ name: 'ok' }, { name }], lstat: () => DIRECTORY });
      const client = await SftpClient.open(server);
      const error = await rejectsWith(client.remove('/d', recursive), 'protocol');
      assert.match(error.message, /^remove \/d: the server lists the name /);
      assert.equal(
        server.log.some((line) => line.startsWith('REMOVE ') && line !== 'REMOVE /d/ok'),
        false,
      );
      assert.equal(
        server.log.some((line) => line.startsWith('RMDIR ')),
        false,
      );
      await client.stat('/').catch(() => undefined);
      assert.equal(server.openHandles.size, 0);
      await client.close();
    }
  });
});
