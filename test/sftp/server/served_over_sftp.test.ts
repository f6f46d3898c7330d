/** A served directory through the SFTP server and a client of SFTP. */

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { memoryPipes } from '../../../src/io/memory_pipe.ts';
import { SftpClient } from '../../../src/sftp/client.ts';
import type { SftpBackend } from '../../../src/sftp/server/backend.ts';
import { serveSftp } from '../../../src/sftp/server/server.ts';
import { api } from '../../support/connect.ts';
import { served } from '../../support/host_directory.ts';
import { pattern } from '../../support/pipe_end.ts';
import { rejectsWith } from '../../support/rejects.ts';

/** A session of a client with the backend, which ends well with the work. */
async function session<T>(backend: SftpBackend, work: (sftp: SftpClient) => Promise<T>): Promise<T> {
  const [near, far] = memoryPipes();
  const unexpected: unknown[] = [];
  const serving = serveSftp(far, { backend, onError: (error) => unexpected.push(error) });
  serving.catch(() => {}); // closing a client cuts the pipe
  const sftp = await SftpClient.open(near, { localFiles: api.localFiles });
  try {
    return await work(sftp);
  } finally {
    await sftp.close();
    await serving.catch(() => {});
    assert.deepEqual(unexpected, []);
  }
}

async function refused(status: number, promise: Promise<unknown>): Promise<void> {
  assert.equal((await rejectsWith(promise, 'sftp-status')).status, status);
}

describe('a directory served over SFTP', () => {
  it('takes and gives files, lists and changes them', async () => {
    const { at, outside, files } = served();
    const bytes = pattern(3_000_000);
    await session(files, async (sftp) => {
      assert.equal(await sftp.realpath('.'), '/');
      await sftp.mkdir('/dir');
      writeFileSync(join(outside, 'upload'), bytes);
      await sftp.put(join(outside, 'upload'), '/dir/file');
      assert.deepEqual(new Uint8Array(readFileSync(at('dir/file'))), bytes);
      assert.deepEqual(await sftp.readFile('/dir/file'), bytes);
      await sftp.get('/dir/file', join(outside, 'download'));
      assert.deepEqual(new Uint8Array(readFileSync(join(outside, 'download'))), bytes);
      await sftp.setstat('/dir/file', { permissions: 0o600, atime: 1, mtime: 2 });
      const { mode, mtimeMs } = statSync(at('dir/file'));
      assert.deepEqual([mode & 0o7777, mtimeMs], [0o600, 2000]);
      await sftp.symlink('dir/file', '/link');
      assert.equal(await sftp.readlink('/link'), 'dir/file');
      assert.equal(await sftp.realpath('/link'), '/dir/file');
      const names: unknown[] = [];
      for await (const { name, attrs } of sftp.list('/dir')) names.push(name, attrs.size);
      assert.deepEqual(names, ['file', bytes.length]);
      await sftp.rename('/dir/file', '/file');
      await rejectsWith(sftp.rename('/file', '/link'), 'target-exists');
      await sftp.rename('/file', '/link', { overwrite: true });
      await sftp.rmdir('/dir');
      await sftp.remove('/link');
      assert.deepEqual(readdirSync(at()), []);
    });
  });

  it('gives no byte of what lies outside', async () => {
    const { at, outside, files } = served();
    symlinkSync(outside, at('up'));
    symlinkSync('/etc', at('etc'));
    writeFileSync(at('file'), '');
    await session(files, async (sftp) => {
      await sftp.symlink('../../secret', '/made');
      for (const path of ['/up/secret', '/made', '/etc/passwd', '../secret', '/../root2/secret']) {
        await refused(2, sftp.readFile(path));
        await refused(2, sftp.stat(path));
      }
      await refused(2, sftp.writeFile('/up/new', 'x'));
      await refused(2, sftp.readFile('/file/below'));
      assert.ok(!existsSync(join(outside, 'new')));
    });
  });

  it('lists many entries, and bytes of any name where the runtime has them', async () => {
    const { at, files } = served();
    mkdirSync(at('many'));
    for (let i = 0; i < 3000; i++) writeFileSync(at(`many/file-${i}`), '');
    await session(files, async (sftp) => {
      const seen = new Set<unknown>();
      for await (const { name, attrs } of sftp.list('/many')) {
        assert.equal(attrs.size, 0);
        seen.add(name);
      }
      assert.equal(seen.size, 3000);
      const name = new Uint8Array([0x2f, 0x61, 0xff]);
      const written = await sftp.writeFile(name, 'bytes').then(
        () => true,
        () => false,
      );
      if (written) assert.deepEqual(await sftp.readFile(name), new TextEncoder().encode('bytes'));
      assert.equal(existsSync(Buffer.concat([Buffer.from(at()), name])), written);
    });
  });

  it('is not changed where it is only to be read', async () => {
    const { at, files } = served({ readOnly: true });
    writeFileSync(at('file'), 'content');
    await session(files, async (sftp) => {
      assert.deepEqual(await sftp.readFile('/file'), new TextEncoder().encode('content'));
      await refused(3, sftp.writeFile('/file', 'x'));
      await refused(3, sftp.writeFile('/new', 'x'));
      await refused(8, sftp.remove('/file'));
      await refused(8, sftp.mkdir('/dir'));
      await refused(8, sftp.setstat('/file', { permissions: 0 }));
      assert.equal(sftp.extensions.has('posix-rename@openssh.com'), false);
      assert.equal(sftp.extensions.has('statvfs@openssh.com'), true);
    });
    assert.deepEqual([readdirSync(at()), readFileSync(at('file'), 'latin1')], [['file'], 'content']);
  });
});
